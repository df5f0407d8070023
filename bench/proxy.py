"""
What the proxy costs a turn, beside the bare server in one run.

    python -m bench.proxy                                    5,000 messages, 40 turns, 100 streams: five minutes

A model's server of the test, a process of its own, streams 50 pieces, one each 30 ms, and writes into each when it was sent. A
client asks it directly and through the proxy, in turn, a new question each time, with memory in it. Shown are the milliseconds to the first byte of the answer,
how long a piece is on its way (of the second half of a stream), and both with many streams at once. Without memory: with `X-Recalld-Record: no`.
Where others use the processors, the milliseconds to the first byte are theirs, too: what the supervisor itself uses of a processor until then
is shown next to them.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from bench.served import Served, served
from bench.speed import write
from tests.loopback import free_port

PIECES, GAP_S = 50, 0.03
QUESTIONS = ("花生 过敏 是 谁", "what was the deploy timeout", "上次 备份 在 哪里", "what is the weekend plan", "谁 换 了 端口")
HEAD = "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"


class Timed(NamedTuple):
    """
    A stream: milliseconds to its first byte, those that each piece was on its way, and whether memory was in the request.

    *used* are the milliseconds of a processor that the supervisor used until the first byte.
    """

    first: float
    pieces: list[float]
    memory: bool = False
    used: float = 0.0


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Be the model's server for one connection."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            size = next((int(one[15:]) for one in head.decode().lower().split("\r\n") if one.startswith("content-length:")), 0)
            has_memory = "true" if b"<memory>" in await reader.readexactly(size) else "false"
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            for n in range(PIECES):
                ended = '"stop"' if n == PIECES - 1 else "null"
                piece = f'data: {{"at": {time.monotonic()}, "memory": {has_memory}, "choices": [{{"index": 0, "delta": {{"content": "字 "}}, "finish_reason": {ended}}}]}}\n\n'.encode()
                writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                await writer.drain()
                await asyncio.sleep(GAP_S)
            writer.write(b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def serve(port: int) -> None:
    async with await asyncio.start_server(answer, "127.0.0.1", port) as server:
        await server.serve_forever()


async def timed(port: int, key: str, question: str, *, records: bool = True, cpu_s: Callable[[], float] = float) -> Timed:
    """Ask, and return when what came; *cpu_s* returns the seconds of a processor that the supervisor has used."""
    body = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": question}]}).encode()
    more = "" if records else "X-Recalld-Record: no\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    used, first, ways, memory = cpu_s(), 0.0, [], False
    began = time.monotonic()
    writer.write(f"{HEAD.format(port=port, key=key)}{more}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    await reader.readuntil(b"\r\n\r\n")
    while len(ways) < PIECES:
        line = await reader.readline()
        now = time.monotonic()
        if line.startswith(b"data: "):
            if not first:
                first, used = (now - began) * 1000, (cpu_s() - used) * 1000
            piece = json.loads(line[6:])
            ways.append((now - piece["at"]) * 1000)
            memory = piece["memory"]
    writer.close()
    return Timed(first, ways, memory, used)


def shown(name: str, found: Iterable[Timed]) -> Timed:
    """Print the medians, and return them with the least time to a first byte in place of the pieces."""
    all_of = [*found]
    # with many streams, from the second half on: they all begin at once
    first, ways = [one.first for one in all_of], [way for one in all_of for way in one.pieces[PIECES // 2 :]]
    hundredths, middle, least = statistics.quantiles(ways, n=100), statistics.median(first), min(first)
    print(
        f"{name:34} first byte {middle:6.1f} ms, {least:5.1f} at the least, a piece {statistics.median(ways):5.2f} ms, p99 {hundredths[98]:6.2f} ms, "
        f"memory in {sum(one.memory for one in all_of)} of {len(all_of)}, {statistics.median(one.used for one in all_of):.1f} ms of a processor"
    )
    return Timed(middle, [least])


async def measure(bare: int, port: int, here: Served, turns: int, streams: int) -> None:
    key = (here.root / ".recalld" / "token").read_text().strip()
    questions = (f"{one} {n}" for n, one in enumerate(itertools.cycle(QUESTIONS)))
    for _ in range(3):
        await timed(port, key, next(questions))
    direct, through, passed = [], [], []
    for _ in range(turns):
        direct.append(await timed(bare, key, next(questions)))
        through.append(await timed(port, key, next(questions), cpu_s=here.cpu_s))
        passed.append(await timed(port, key, next(questions), records=False, cpu_s=here.cpu_s))
    bare_one = shown("bare server", direct)
    for name, found in (("through the proxy", through), ("through the proxy, no memory", passed)):
        one = shown(name, found)
        more, least = one.first - bare_one.first, one.pieces[0] - bare_one.pieces[0]
        print(f"  {more:.1f} ms more to the first byte, {least:.1f} at the least")
    for name, where in (("bare server", bare), ("through the proxy", port)):
        found = await asyncio.gather(*(timed(where, key, next(questions)) for _ in range(streams)))
        shown(f"{name}, {streams} streams", found)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--messages", type=int, default=5_000)
    options.add_argument("--turns", type=int, default=40)
    options.add_argument("--streams", type=int, default=100)
    options.add_argument("--serve", type=int, default=0, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.serve:
        asyncio.run(serve(given.serve))
        return
    bare, port = free_port(), free_port()
    model = subprocess.Popen([sys.executable, "-m", "bench.proxy", "--serve", str(bare)])
    try:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            write(root, given.messages)
            with served(root) as here:  # which makes the index
                here.await_rest()
            where = {"RECALLD_SERVE_PORT": str(port), "RECALLD_SERVE_UPSTREAM": f"http://127.0.0.1:{bare}/v1"}
            with served(root, **where) as here:
                here.await_rest()
                asyncio.run(measure(bare, port, here, given.turns, given.streams))
                print(f"memory: {here.memory_mb():.0f} MB")
    finally:
        model.terminate()
        model.wait()


if __name__ == "__main__":
    main()
