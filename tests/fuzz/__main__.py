"""
Feed rubbish to every reader and to whole workspaces: ``python -m tests.fuzz --cases 20000``.

One case in twenty is a day of a workspace (lives.py), the others are one reader each (readers.py). A case has two seconds.
Prints the counts; what fails, by its seed, ends the run with 1. With ``--log FILE`` a run goes on after the last part that stands
there; each part is 2,000 cases.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from pathlib import Path

from tests.fuzz.parts import PART, part


def main() -> int:
    """Run the parts that are left; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1, help="where the parts begin: another number, other cases")
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--log", type=Path)
    options = parser.parse_args()
    lines = options.log.read_text(encoding="utf-8").splitlines() if options.log and options.log.exists() else []
    done = {entry["part"]: entry for entry in map(json.loads, lines)}
    first = options.seed * 1_000_000 // PART
    wanted = [number for number in range(first, first + -(-options.cases // PART)) if number not in done]
    began = time.monotonic()
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        for number, readers, lives, faults in pool.imap_unordered(part, wanted):
            done[number] = {"part": number, "readers": readers, "lives": lives, "faults": faults}
            if options.log:
                with options.log.open("a", encoding="utf-8") as log:
                    log.write(json.dumps(done[number], ensure_ascii=False) + "\n")
            for fault in faults:
                print(fault, flush=True)
    total = {key: sum(entry[key] for entry in done.values()) for key in ("readers", "lives")}
    faults = sum(len(entry["faults"]) for entry in done.values())
    seconds = time.monotonic() - began
    print(f"fuzz: {total['readers']:,} readers, {total['lives']:,} lives, {faults} faults, {seconds:.0f} s")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
