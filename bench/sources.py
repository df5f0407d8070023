"""
What a supervisor needs while it collects years of logs of Claude Code and Codex: seconds of processor, wall time, and memory.

    python -m bench.sources                  600 MB, two years: hours, since it rests nine tenths of the time
    python -m bench.sources --megabytes 130  half an hour or so

The logs are made here: of a session most bytes are what tools returned. A supervisor without a model reads them into an empty
workspace. Shown is every half minute how far it is, its share of a core so far and the most memory that it had (RSS): until all
is read, and what follows from it, such as its vectors, is done.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from bench.imports import WORDS

DAYS, QUESTIONS, CALLS, RESULT = 730, 12, 6, 9_000
BEGIN = datetime(2024, 1, 1, 9, tzinfo=UTC)
SHOW_S, QUIET_S = 30, 0.5


def claude_code(number: int, chance: Random) -> list[dict[str, Any]]:
    """Return the records of one session: each question has calls of tools and an answer."""
    records = []
    for n, (at, role, content) in enumerate(_talk(number, chance)):
        message = {"role": role, "content": content, "id": f"{number}-{n}"}
        records.append({"type": role, "uuid": f"u{number}-{n}", "sessionId": f"s{number}", "timestamp": at, "message": message})
    return records


def codex(number: int, chance: Random) -> list[dict[str, Any]]:
    """Return the records of one session, as the terminal showed them and as the model got them."""
    records: list[dict[str, Any]] = [{"type": "session_meta", "payload": {"id": f"c{number}", "cwd": "/home/lea/api"}}]
    for at, role, content in _talk(number, chance):
        for part in content:
            payloads: list[dict[str, Any]] = []
            if part["type"] == "text":
                item = {"type": "message", "role": role, "content": [{**part, "type": "input_text"}]}
                shown = {"type": "user_message" if role == "user" else "agent_message", "message": part["text"]}
                payloads = [item, shown]
            elif part["type"] == "tool_use":
                payloads = [{"type": "function_call", "name": "shell", "call_id": part["id"], "arguments": part["input"]}]
            else:
                payloads = [{"type": "function_call_output", "output": part["content"]}]
            kinds = ("response_item", "event_msg")
            records += [{"type": kind, "timestamp": at, "payload": p} for kind, p in zip(kinds, payloads, strict=False)]
    return records


def _talk(number: int, chance: Random) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """Return time, role and parts of what was said and done in a session."""
    began, talk = BEGIN + timedelta(days=number % DAYS, minutes=number // DAYS * 40), []
    for question in range(QUESTIONS):
        said: list[tuple[str, dict[str, Any]]] = [("user", _text(chance, 20))]
        for call in range(CALLS):
            key = f"{number}-{question}-{call}"
            said += [("assistant", {"type": "tool_use", "id": key, "name": "Bash", "input": {"command": f"make {key}"}})]
            said += [("user", {"type": "tool_result", "tool_use_id": key, "content": "output of it\n" * (RESULT // 13)})]
        said.append(("assistant", _text(chance, 60)))
        for n, (role, part) in enumerate(said):
            at = began + timedelta(minutes=question * 2, seconds=n)
            talk.append((f"{at:%Y-%m-%dT%H:%M:%S}.000Z", role, [part]))
    return talk


def _text(chance: Random, count: int) -> dict[str, Any]:
    return {"type": "text", "text": " ".join(chance.choices(WORDS, k=count))}


def write_logs(folder: Path, megabytes: int) -> int:
    """Write sessions of both clients until there is so much, and return how many bytes that is."""
    chance, size, number = Random(52), 0, 0
    while size < megabytes * 1_000_000:
        make, name = ((claude_code, "claude/p/s"), (codex, "codex/rollout-"))[number % 2]
        path = folder / f"{name}{number}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{json.dumps(record)}\n" for record in make(number, chance)), encoding="utf-8")
        size, number = size + path.stat().st_size, number + 1
    return size


def used(pid: int) -> tuple[float, int]:
    """Return the seconds of processor that the process had, with its workers, and the most memory of it in MB."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = sum(map(int, fields[11:15]))
    peak = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    return ticks / os.sysconf("SC_CLK_TCK"), int(peak.split()[1]) // 1024


def waiting(root: Path) -> int | None:
    """Return how many files wait to be read, None before the first look."""
    states = [json.loads(path.read_bytes()) for path in root.glob(".recalld/sources/*.json")]
    return sum(len(state["pending"]) for state in states) if len(states) > 1 else None


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--megabytes", type=int, default=600)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        size, root = write_logs(Path(folder), given.megabytes), Path(folder) / "workspace"
        print(f"{size / 1e6:.0f} MB of logs", flush=True)
        command = [sys.executable, "-P", "-m", "recalld", "-w", str(root)]
        subprocess.run([*command, "init"], check=True, stdout=subprocess.DEVNULL)
        with (root / "recalld.toml").open("a", encoding="utf-8") as file:
            for kind, name in (("claude-code", "claude"), ("codex", "codex")):
                file.write(f'\n[[sources.take]]\nfrom = "{kind}"\npath = "{folder}/{name}"\nevery = "5m"\n')
        supervisor, began = (
            subprocess.Popen([*command, "run"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL),
            time.monotonic(),
        )
        try:
            left, before_s, seconds = None, 0.0, SHOW_S * 1.0
            while left != 0 or seconds - before_s > QUIET_S:
                before_s = seconds
                time.sleep(SHOW_S)
                left, (seconds, peak), wall = waiting(root), used(supervisor.pid), time.monotonic() - began
                print(
                    f"{wall:6.0f} s: {seconds:6.1f} s of processor ({seconds / wall:.1%}), {peak} MB, {left} files wait",
                    flush=True,
                )
        finally:
            supervisor.terminate()
            supervisor.wait()


if __name__ == "__main__":
    main()
