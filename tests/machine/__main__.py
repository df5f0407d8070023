"""
Any order of anything: ``python -m tests.machine --examples 1000 --steps 50 --seed 1``; exits with 1 when a run is wrong.

It runs in parts of a hundred examples, each with a seed of its own. With ``--log FILE`` each part is written down as it ends, and a
run goes on after the parts that stand there. What fails is told with its seed; ``--only SEED --shrink`` makes it short.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.gate import without_comparison
from tests.machine.machine import AnyOrder
from tests.process.rounds import Rounds

#: Examples of a part.
PART: Final = 100


def _part(job: tuple[int, int, int, bool]) -> tuple[int, str]:
    """Run a part; returns its seed and what is wrong, with the steps that show it."""
    number, examples, steps, shrink = job
    seeded = type("Seeded", (AnyOrder,), {})
    held = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, *([Phase.shrink] if shrink else [])],
    )
    try:
        seed(number)(run_state_machine_as_test)(seeded, settings=held)
    except BaseException:
        return number, traceback.format_exc(limit=-3)
    return number, ""


def parts(first: int, examples: int) -> dict[int, int]:
    """Return how many examples each part has, by its seed; the first are those of a shorter run."""
    return {first * 1_000_000 + n: min(PART, examples - n * PART) for n in range(-(-examples // PART))}


def run(jobs: Sequence[tuple[int, int, int, bool]], processes: int, rounds: Rounds) -> None:
    """Run the parts and write each down as it ends."""
    keys = {number: (examples, key(number, examples, steps)) for number, examples, steps, _ in jobs}
    with multiprocessing.get_context("fork").Pool(processes, maxtasksperchild=1) as pool:
        for number, wrong in pool.imap_unordered(_part, jobs):
            examples, name = keys[number]
            rounds.add(name, [wrong] if wrong else [], runs=examples)
            rounds.progress(f"{rounds.total('runs'):,} runs")


def key(number: int, examples: int, steps: int) -> str:
    """Return the name of a part in the log: other steps are another part."""
    return f"seed {number}, {examples} runs of {steps} steps"


def main(argv: list[str] | None = None) -> int:
    """Run the parts that are left; returns the exit code."""
    options = argparse.ArgumentParser(
        prog="python -m tests.machine", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--examples", type=int, default=1000)
    options.add_argument("--steps", type=int, default=50)
    options.add_argument("--seed", type=int, default=1, help="where the parts begin: another number, other runs")
    options.add_argument("--only", type=int, help="the part of this seed alone")
    options.add_argument("--shrink", action="store_true", help="look for the shortest steps, up to five minutes a failure")
    options.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    options.add_argument("--log", type=Path, help="a line a part; what stands there is not done again")
    found = options.parse_args(argv)
    rounds = Rounds(found.log)
    wanted = {found.only: PART} if found.only else parts(found.seed, found.examples)
    jobs = [
        (number, count, found.steps, found.shrink)
        for number, count in wanted.items()
        if key(number, count, found.steps) not in rounds.done
    ]
    run(jobs, found.jobs, rounds)
    print(f"{rounds.total('runs'):,} runs of {found.steps} steps, {rounds.wrong} violations, {rounds.seconds:.0f} s")
    return 1 if rounds.wrong else 0


if __name__ == "__main__":
    with without_comparison():
        sys.exit(main())
