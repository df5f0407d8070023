"""
What `recalld mcp` costs: from its start to its first answers, its memory, and a thousand searches.

    python -m bench.mcp_server                                     5,000 messages: a minute
    python -m bench.mcp_server --messages 100000 --searches 1000
    python -m bench.mcp_server --served                            beside a supervisor, which answers

Made-up talk (talk.py) in dated files, whose index is made beforehand; no supervisor unless it is asked for. The client is a pipe and JSON, so that only the
server is measured. A start is the process until it has answered `initialize`, then until its first search is there; the end is from
the close of its input until the process is gone. Figures are medians of the runs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from bench.served import ENVIRON, memory_mb, processor_s, served
from bench.speed import write

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
ASKED = ("server backup failed because", "服务器 备份 失败", "what did we say about the database?", "数据库 连接 超时", "谢谢")
RUNS = 5


class Server:
    """A process of `recalld mcp` that is asked over its pipes."""

    def __init__(self, root: Path) -> None:
        self.began = time.perf_counter()
        command = [sys.executable, "-P", "-m", "recalld", "-w", str(root), "mcp"]
        environ = {**os.environ, **ENVIRON, "PYTHONPATH": str(Path(__file__).parents[1])}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ)
        self.ask("initialize", HELLO)

    def ask(self, method: str, params: object) -> dict:
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def call(self, tool: str, **arguments: object) -> dict:
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
        assert not answer["isError"], answer
        return answer

    def seconds(self) -> float:
        return time.perf_counter() - self.began

    def cpu_s(self) -> float:
        return processor_s(self.process.pid)

    def memory_mb(self) -> float:
        return memory_mb(self.process.pid, "VmRSS")

    def end(self) -> float:
        began = time.perf_counter()
        self.process.stdin.close()
        assert self.process.wait(60) == 0
        self.process.stdout.close()
        return time.perf_counter() - began


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--messages", type=int, default=5_000)
    options.add_argument("--searches", type=int, default=1_000)
    options.add_argument("--served", action="store_true", help="beside a supervisor")
    found = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="mcp-") as folder, ExitStack() as stack:
        root = Path(folder)
        write(root, found.messages)
        Server(root).call("memory_search", query="backup")  # makes the index, and the cache of jieba
        if found.served:
            stack.enter_context(served(root))
        starts = []
        for _ in range(RUNS):
            server = Server(root)
            hello, hello_cpu = server.seconds(), server.cpu_s()
            server.call("memory_search", query=ASKED[1])
            first, first_cpu, held = server.seconds(), server.cpu_s(), server.memory_mb()
            starts.append((hello, hello_cpu, first, first_cpu, held, server.end()))
        names = ("initialize s", "processor s", "first search s", "processor s", "VmRSS MB", "end s")
        for name, values in zip(names, zip(*starts, strict=True), strict=True):
            print(f"{name:16}{statistics.median(values):8.2f}")
        server = Server(root)
        times = []
        for n in range(found.searches):
            began = time.perf_counter()
            server.call("memory_search", query=f"{ASKED[n % len(ASKED)]} {n // len(ASKED)}")
            times.append((time.perf_counter() - began) * 1000)
        times.sort()
        print(
            f"{found.searches:,} searches: median {statistics.median(times):.1f} ms, 99 % {times[int(len(times) * 0.99)]:.1f} ms"
        )
        print(f"after them      {server.memory_mb():8.2f} VmRSS MB, {server.cpu_s():.1f} s of processor")
        server.end()


if __name__ == "__main__":
    main()
