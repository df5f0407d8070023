"""
Years of use: ``python -m tests.simulation --years 10 --seed 1``.

Each life is one simulated year (``--life``) on the real product code, each in another zone; equal seeds give equal digests.
Prints a line a life, the seed and day of what does not hold, and exits with 1 then.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.simulation.years import PLACES, Outcome, Violation, live

if TYPE_CHECKING:
    from datetime import date

#: Days of a simulated year.
_YEAR = 365


def _live(job: tuple[str, str, date, int, bool]) -> tuple[Outcome | str, float]:
    began = time.perf_counter()
    seed, zone, first, days, keep = job
    try:
        outcome: Outcome | str = live(seed, zone, first, days, keep=keep)
    except Violation as error:
        outcome = str(error)
    return outcome, time.perf_counter() - began


def main(argv: list[str] | None = None) -> int:
    options = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    options.add_argument("--years", type=float, default=10)
    options.add_argument("--life", type=float, default=1, help="years of one life")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--zone", choices=[zone for zone, _ in PLACES], help="live there only")
    options.add_argument("--log", help="write what happened to this file")
    options.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    found = options.parse_args(argv)
    places = [place for place in PLACES if found.zone in (None, place[0])]
    days, whole = round(found.life * _YEAR), round(found.years * _YEAR)
    lives = [min(days, whole - n) for n in range(0, whole, days)]
    jobs = [(str(found.seed + n), *places[n % len(places)], span, bool(found.log)) for n, span in enumerate(lives)]
    began, failed, lived = time.perf_counter(), 0, 0
    notes: list[str] = []
    with multiprocessing.get_context("fork").Pool(found.jobs) as pool:
        for outcome, seconds in pool.imap(_live, jobs):
            if isinstance(outcome, str):
                failed += 1
                print(f"WRONG {outcome}", flush=True)
                continue
            lived += outcome.days
            print(
                f"seed {outcome.seed} {outcome.zone}: {outcome.days} days, {outcome.messages} messages, {outcome.rounds} rounds,"
                f" {outcome.lives} lives, {outcome.events} events, digest {outcome.digest}, {seconds:.1f} s",
                flush=True,
            )
            notes += outcome.notes
    if found.log:
        Path(found.log).write_text("\n".join(notes) + "\n", encoding="utf-8", errors="backslashreplace")
    print(f"{lived / _YEAR:.1f} years, {failed} violations, {time.perf_counter() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
