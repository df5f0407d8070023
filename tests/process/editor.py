"""
A person at an editor that saves by rename, and can be killed: a summary, memory.md and a note of one's own are edited.

Before and after each save it tells what it saves, so that one who reads it knows what a person's files have to hold.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.checker.formats import EDITED, read_summary

#: Files that nobody but the person writes.
OWN = ("memory.md", "memory/2026-01-05-搬家.md")


def edit(root: Path, seed: int, pause_s: float) -> Callable[[], int]:
    """What the editor's process runs: edits for ever, a line of JSON on standard output before and after each."""

    def life() -> int:
        chance = random.Random(f"{seed}-{os.getpid()}")
        while True:
            time.sleep(chance.uniform(0, 2 * pause_s))
            summaries = sorted((root / "memory" / "summary").glob("20*.md"))
            path = chance.choice([*(root / name for name in OWN), *summaries[-2:]])
            with contextlib.suppress(FileNotFoundError):
                _save(path, root, chance)

    return life


def _save(path: Path, root: Path, chance: random.Random) -> None:
    """Open, type a line somewhere, save: another file under a name of the editor's own, then a rename."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = text.split("\n")
    lines.insert(chance.randrange(len(lines) + 1), f"我补一句：{chance.randrange(10**6)}")
    told = {"path": path.relative_to(root).as_posix(), "text": "\n".join(lines)}
    other = path.with_name(f".{path.name}.swp")
    with other.open("w", encoding="utf-8") as file:
        file.write(told["text"])
    other.chmod(0o600)
    _tell({**told, "saved": False})
    os.rename(other, path)
    _tell({**told, "saved": True})


def _tell(what: Mapping[str, object]) -> None:
    os.write(1, json.dumps(what).encode() + b"\n")


def by_hand(summary: str) -> str:
    """What of a saved summary is the person's: all of it but an untouched part of the machine's at its end."""
    above, mark, _ = summary.rpartition(EDITED)
    return above if mark and read_summary(summary.encode()).digest_holds else summary


@dataclass
class Saves:
    """What the editors have told. *may* holds saves that were begun after the last one that was done."""

    done: dict[str, str] = field(default_factory=dict)
    may: dict[str, list[str]] = field(default_factory=dict)
    count: int = 0

    def note(self, lines: Sequence[str]) -> None:
        for told in map(json.loads, lines):
            path, text = told["path"], told["text"]
            if told["saved"]:
                self.done[path], self.may[path] = text, []
                self.count += 1
            else:
                self.may.setdefault(path, []).append(text)

    @property
    def paths(self) -> set[str]:
        return self.done.keys() | self.may.keys()

    def missing(self, root: Path) -> list[str]:
        """The files that do not hold what was saved last: to the letter, and a summary a person's part as its beginning."""
        found = []
        for name in sorted(self.done):
            text = (root / name).read_text(encoding="utf-8") if (root / name).exists() else ""
            wanted = [self.done[name], *self.may[name]]
            if not any(text == one if name in OWN else text.startswith(by_hand(one)) for one in wanted):
                found.append(name)
        return found
