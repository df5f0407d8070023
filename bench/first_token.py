"""
Time to the first token of an answer, by where memory is in the messages (`context.memory_in`).

    python -m bench.first_token --python build/test-llm/venv/bin/python --model build/test-llm/smollm2.gguf --history history.json [--runs 3]

Shown are the processor's seconds of the server, which works in one thread: on a machine that does nothing else these pass by the
clock as well, and on a busy one they stay what they are.

The history is archived but for its last 40 messages. These are said again as 20 turns: each question gets its memory and the last of
the talk, and what was answered then is the answer. The turns that are shown, and the one before each, are sent to llama.cpp's server,
which keeps what it has worked out for an equal beginning, as local and paid ones do. `none` has no memory. `script/test-llm` brings server and model.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import shutil
import socket
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.served import settle
from recalld import Memory
from recalld.supervisor.storage.clock import fixed_clock, from_wire
from tests.llm.llama import Llama

TURNS = 20
SHOWN = (2, 10, 20)
PLACES: dict[str, dict[str, str]] = {
    "none": {"RECALLD_RECALL_MEMORY_TOKENS": "0"},
    **{place: {"RECALLD_CONTEXT_MEMORY_IN": place} for place in ("question", "system", "message")},
}
SYSTEM = "You are the assistant of this house. Answer in one sentence."
CONTEXT_TOKENS = 8192


@contextmanager
def llama(python: str, model: str) -> Iterator[tuple[int, int]]:
    """Have llama.cpp's server run, with nothing kept from before; yields its port and its process id."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    server = Llama(port, python, model, CONTEXT_TOKENS, threads=1)
    server.start()
    assert server.process
    try:
        yield port, server.process.pid
    finally:
        server.kill()


def processor_s(pid: int) -> float:
    """Return the processor's seconds that the process has taken so far."""
    used = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, used)) / os.sysconf("SC_CLK_TCK")


def first_token_s(server: tuple[int, int], messages: list[dict[str, str]]) -> float:
    """Return the processor's seconds until the model's first token is there."""
    port, pid = server
    body = json.dumps({"messages": messages, "stream": True, "max_tokens": 1, "temperature": 0.0})
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    began = processor_s(pid)
    connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    assert answer.status == http.client.OK, answer.read(2000)
    took = 0.0
    for line in answer:
        if line.startswith(b'data: {"') and not took and json.loads(line[6:])["choices"][0]["delta"].get("content"):
            took = processor_s(pid) - began
    connection.close()
    return took or processor_s(pid) - began


def prepare(history: Path, root: Path) -> list[dict[str, Any]]:
    """Archive all but the last turns below *root*; returns the messages of these."""
    messages = [one for one in json.loads(history.read_text(encoding="utf-8")) if one["role"] in {"user", "assistant", "agent"}]
    first = next(n for n in range(len(messages) - 2 * TURNS, len(messages)) if messages[n]["role"] == "user")
    root.mkdir()
    (root / "recalld.toml").write_text('[archive]\ntimezone = "UTC"\n')
    (root / "history.json").write_text(json.dumps(messages[:first]), encoding="utf-8")
    assert settle(root, messages[first]["createdAt"]) == 0, "the history could not be archived"
    return messages[first:]


def turns(root: Path, said: list[dict[str, Any]], server: tuple[int, int], environ: dict[str, str]) -> list[tuple[float, int]]:
    """Say the turns; returns for each the seconds to the first token, and recalld's estimate of its tokens."""
    took = []
    questions = [n for n, one in enumerate(said) if one["role"] == "user"]
    for count, (n, after) in enumerate(zip(questions, [*questions[1:], len(said)], strict=True), 1):
        memory = Memory(root, environ=environ, clock=fixed_clock(from_wire(said[n]["createdAt"])))
        turn = memory.context(said[n]["text"], SYSTEM)
        is_asked = {count, count + 1} & {*SHOWN}
        seconds = first_token_s(server, list(turn.messages)) if is_asked else 0.0
        took.append((seconds, turn.memory_tokens + turn.history_tokens))
        memory.append([{key: one[key] for key in ("role", "text", "createdAt")} for one in said[n:after]])
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True, help="that of the environment with xllamacpp, which script/test-llm makes")
    parser.add_argument("--model", required=True)
    parser.add_argument("--history", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--place", action="append", choices=list(PLACES), help="these only; else all")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        said = prepare(given.history, Path(folder) / "archived")
        print(
            "| memory_in | "
            + " | ".join(f"turn {n}, s" for n in SHOWN)
            + " | tokens at turn 20 |\n|---|"
            + "---|" * (len(SHOWN) + 1)
        )
        for place in given.place or PLACES:
            runs = []
            for run in range(given.runs):
                root = Path(shutil.copytree(Path(folder) / "archived", Path(folder) / f"{place}-{run}"))
                with llama(given.python, given.model) as server:
                    runs.append(turns(root, said, server, PLACES[place]))
            cells = [" · ".join(f"{one[min(n, len(one)) - 1][0]:.1f}" for one in runs) for n in SHOWN]
            size = statistics.mean(one[min(TURNS, len(one)) - 1][1] for one in runs)
            print(f"| {place} | " + " | ".join(cells) + f" | {size:.0f} |", flush=True)


if __name__ == "__main__":
    main()
