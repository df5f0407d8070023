"""
Compare our tool with the SDK's own: `python -m tests.anthropic_tool.judge --sequences 2000`, with the package `anthropic` installed.

--record FILE writes the first sequences with the SDK's answers, one a line, for the test that runs everywhere.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from anthropic.lib.tools import ToolError  # type: ignore[import-not-found, unused-ignore]
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool  # type: ignore[import-not-found, unused-ignore]

from recalld.supervisor.interfaces.tools.registry import Reply
from tests.anthropic_tool.sequences import comparable, files_in, ours, sequence, why_different

_RECORDED = 30  # sequences


def main() -> int:
    """Return 0 if nothing differs but what is listed."""
    options = argparse.ArgumentParser()
    options.add_argument("--sequences", type=int, default=2000)
    options.add_argument("--record", type=Path)
    asked = options.parse_args()
    reasons: Counter[str] = Counter()
    recorded, done = [], 0
    for seed in range(asked.sequences):
        with tempfile.TemporaryDirectory() as folder:
            steps = _compared(seed, Path(folder), reasons)
        done += len(steps)
        recorded += [steps] if seed < _RECORDED else []
    if asked.record:
        lines = (json.dumps(steps, ensure_ascii=False) for steps in recorded)
        asked.record.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(f"{asked.sequences} sequences, {done} commands, {sum(reasons.values())} of them different for a listed reason:")
    for why, count in reasons.most_common():
        print(f"{count:7}  {why}")
    return 0


def _compared(seed: int, folder: Path, reasons: Counter[str]) -> list[dict[str, Any]]:
    """Return the commands of a sequence with their answers; exit with both where they differ."""
    tool, judge = ours(folder / "ours"), BetaLocalFilesystemMemoryTool(str(folder / "theirs"))
    steps = []
    for command in sequence(seed):
        before = files_in(folder / "ours")
        answer = tool(command)
        if why := why_different(command):
            if not answer.is_error or files_in(folder / "ours") != before:
                sys.exit(f"seed {seed}, {command}: {answer}")
            reasons[why] += 1
            steps.append({"command": command, "answer": None})
            continue
        expected, why = _judged(judge, command)
        reasons.update([why] if why else [])
        same = answer.is_error if why else comparable(answer) == comparable(expected)
        if not same or files_in(folder / "ours") != _files(folder / "theirs"):
            sys.exit(f"seed {seed}, {command}:\nours   {answer}\ntheirs {expected}\n{files_in(folder / 'ours')}")
        if _without_empty_folders(folder):
            if command["command"] != "rename" or not answer.is_error:
                sys.exit(f"seed {seed}, {command}: a folder is missing")
            reasons["a rename that fails leaves the new folder in the SDK, empty"] += 1
        steps.append({"command": command, "answer": None if why else comparable(expected)})
    return steps


def _judged(judge: Any, command: dict[str, Any]) -> tuple[Reply, str]:
    """Return the SDK's answer, and why it is none to compare with."""
    try:
        return Reply(judge.call(command)), ""
    except ToolError as error:
        return Reply(str(error), is_error=True), ""
    except OSError as error:
        return Reply(str(error), is_error=True), f"the SDK raises {type(error).__name__} where we answer with a sentence"


def _files(root: Path) -> dict[str, bytes]:
    memories = root / "memories"
    found = {path.relative_to(memories).as_posix(): path for path in memories.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in sorted(found.items())}


def _without_empty_folders(folder: Path) -> bool:
    """Delete the folders that only the SDK has made, and tell whether there were any."""
    memories, found = folder / "theirs" / "memories", False
    for path in sorted(memories.rglob("*"), reverse=True):
        if path.is_dir() and not (folder / "ours" / "memory" / path.relative_to(memories)).is_dir():
            path.rmdir()
            found = True
    return found


if __name__ == "__main__":
    sys.exit(main())
