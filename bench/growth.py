"""
What a stranger writes, and what it costs: processor seconds and peak memory of each command against the size of the memory.

    python -m bench.growth                                      a table for 1,000 and 10,000
    python -m bench.growth --sizes 1000 10000 100000 --kinds equal notes

Kinds: `equal` messages without id and time; `unfiled` messages of one day, each another; `big`, one message of that many times 600
bytes (60 MB at 100,000); `notes`, a file each; `sessions`, a message each; `lines` of memory.md. Each command is a process of its
own without a supervisor, in the order of the table; `archive` files what is un-written, after which `search` is asked again. The last
column is what the next size costs in times of the one before: for ten times as much 10 is a line, since what the same command costs beside
no memory is taken off.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Final

NOW: Final = datetime(2026, 1, 31, 12, tzinfo=UTC)
#: Bytes of the big message for each of n.
_BIG: Final = 600
_WORDS: Final = "the backup of the {n}th house is in the study, 备份在书房，编号 {n}"
#: The commands, in their order; each is asked for something that all memories have.
COMMANDS: Final[Mapping[str, Sequence[str]]] = {
    "inject": ("inject", "--query", "where is the backup?"),
    "append": ("append", "--role", "user", "--text", "one more"),
    "search": ("search", "backup study"),
    "context": ("context", "--query", "where is the backup?"),
    "status": ("status",),
    "archive": ("run", "--until-settled", "--no-worker"),
    "search, filed": ("search", "backup study"),
    "fsck": ("fsck",),
}


def _history(root: Path, raws: list[dict[str, object]]) -> None:
    (root / "history.json").write_text(json.dumps(raws, ensure_ascii=False), encoding="utf-8")


def _unfiled(n: int, **fields: object) -> dict[str, object]:
    at = NOW - timedelta(hours=6) + timedelta(milliseconds=100 * n)
    return {"id": f"u{n}", "role": "user", "text": _WORDS.format(n=n), "createdAt": at.isoformat(), **fields}


def equal(root: Path, n: int) -> None:
    _history(root, [{"role": "user", "text": _WORDS.format(n=1)} for _ in range(n)])


def unfiled(root: Path, n: int) -> None:
    _history(root, [_unfiled(i) for i in range(n)])


def big(root: Path, n: int) -> None:
    words = " ".join(_WORDS.format(n=i) for i in range(n * _BIG // 70))
    _history(root, [{"role": "user", "text": words}])


def notes(root: Path, n: int) -> None:
    for i in range(n):
        place = root / "memory" / f"folder-{i // 1000}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"note-{i}.md").write_text(f"# Note {i}\n\n{_WORDS.format(n=i)}\n", encoding="utf-8")


def sessions(root: Path, n: int) -> None:
    _history(root, [_unfiled(i, session=f"s{i}") for i in range(n)])


def lines(root: Path, n: int) -> None:
    text = "".join(f"2026-01-{1 + i % 30:02}|chat|{_WORDS.format(n=i)}\n" for i in range(n))
    (root / "memory.md").write_text(text, encoding="utf-8")


KINDS: Final[Mapping[str, Callable[[Path, int], None]]] = {
    one.__name__: one for one in (equal, unfiled, big, notes, sessions, lines)
}


def measured(root: Path, words: Sequence[str]) -> tuple[float, int, int]:
    """Return the processor seconds of the command, its peak MB, and its exit code."""
    command = [sys.executable, "-m", "recalld", "-w", str(root), *words]
    environ = {
        **{key: one for key, one in os.environ.items() if not key.startswith("RECALLD_")},
        "RECALLD_NOW": NOW.isoformat(),
    }
    child = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, code, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(code)
    return used.ru_utime + used.ru_stime, used.ru_maxrss // 1024, child.returncode


def column(kind: str, n: int) -> dict[str, tuple[float, int, int]]:
    """Return the figures of each command beside so many of *kind*."""
    with tempfile.TemporaryDirectory(prefix="growth-") as folder:
        root = Path(folder)
        subprocess.run([sys.executable, "-m", "recalld", "-w", str(root), "init"], stdout=subprocess.DEVNULL, check=True)
        if n:
            KINDS[kind](root, n)
        return {name: measured(root, words) for name, words in COMMANDS.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--kinds", nargs="+", choices=[*KINDS], default=[*KINDS])
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    nothing = column("equal", 0)
    print(
        f"| kind | command | {' | '.join(f'{n:,}: s, MB' for n in options.sizes)} | times |\n|---|---|{'---|' * len(options.sizes)}---|"
    )
    for kind in options.kinds:
        found = [column(kind, n) for n in options.sizes]
        for name in COMMANDS:
            own = [one[name][0] - nothing[name][0] for one in found]
            cells = [f"{one[name][0]:.2f}, {one[name][1]}{f' (exit {one[name][2]})' if one[name][2] else ''}" for one in found]
            times = " ".join(f"{b / a:.1f}" if a > 0.05 else "–" for a, b in pairwise(own))
            print(f"| {kind} | {name} | {' | '.join(cells)} | {times} |", flush=True)


if __name__ == "__main__":
    main()
