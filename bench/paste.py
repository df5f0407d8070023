"""
What a pasted megabyte costs a turn: milliseconds of processor of `inject` and `context`, compared with the same without it.

    python -m bench.paste [--bytes 1000000] [--runs 9]

Three memories of 300 short messages of one day: as they are, with a paste among them that is filed, and with one that is not filed yet. Each
is asked a short question, and the same below a paste of as many bytes. One process asks in turn; the first answer is not counted.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

from bench.served import ENVIRON, settle
from recalld import Memory
from recalld.supervisor.storage.clock import fixed_clock, to_wire

NOW: Final = datetime(2026, 1, 2, 12, tzinfo=UTC)
MESSAGES: Final = 300
QUESTION: Final = "where is the backup of the house?"
#: A busy machine finds the same.
PATIENT: Final = {"RECALLD_RECALL_TIMEOUT_MS": "60000"}


def paste(size: int) -> str:
    words = " ".join(f"the backup of the {n}th house is in the study, 备份在书房，编号 {n}" for n in range(size // 70))
    return words.encode()[:size].decode("utf-8", "ignore")


def history(root: Path, pasted: str) -> None:
    def said(n: int, text: str) -> dict[str, str]:
        return {"id": f"m{n}", "role": "user", "text": text, "createdAt": to_wire(NOW - timedelta(days=1, minutes=-n))}

    raws = [said(n, f"small talk {n}: the bicycle is in the shed, 自行车在车库 {n}") for n in range(MESSAGES)]
    raws += [said(MESSAGES, pasted)] if pasted else []
    (root / "history.json").write_text(json.dumps(raws, ensure_ascii=False), encoding="utf-8")


def spent(ask: Callable[[], object], runs: int) -> float:
    """Return the median milliseconds of processor of so many runs."""
    times = []
    for _ in range(runs + 1):
        began = time.process_time()
        ask()
        times.append((time.process_time() - began) * 1000)
    return statistics.median(times[1:])


def row(name: str, pasted: str, size: int, runs: int, *, is_filed: bool) -> str:
    with tempfile.TemporaryDirectory(prefix="paste-") as folder:
        root = Path(folder)
        history(root, pasted)
        if is_filed:
            settle(root, to_wire(NOW), {**ENVIRON, **PATIENT})
        memory = Memory(root, environ=PATIENT, clock=fixed_clock(NOW))
        asked = (QUESTION, f"{paste(size)}\n{QUESTION}")
        cells = [spent(partial(ask, one), runs) for ask in (memory.inject, memory.context) for one in asked]
    return f"| {name} | {' | '.join(f'{cell:.0f}' for cell in cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    print("| memory | inject | below a paste | context | below a paste |\n|---|---|---|---|---|")
    pasted = paste(options.bytes)
    for name, text, is_filed in (
        ("300 messages", "", True),
        ("and a paste", pasted, True),
        ("and a paste, unfiled", pasted, False),
    ):
        print(row(name, text, options.bytes, options.runs, is_filed=is_filed), flush=True)


if __name__ == "__main__":
    main()
