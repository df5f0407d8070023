"""Any order of anything: ``python -m tests.machine --examples 1000 --steps 50 --seed 1``; exits with 1 when a run is wrong."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
import traceback

from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.machine.machine import AnyOrder


def _part(job: tuple[int, int, int]) -> str:
    """Run a share of the examples; returns what is wrong, with the shortest steps that show it."""
    number, examples, steps = job

    class Seeded(AnyOrder):
        pass

    held = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    try:
        seed(number)(run_state_machine_as_test)(Seeded, settings=held)
    except BaseException:
        return f"seed {number}:\n{traceback.format_exc(limit=-3)}"
    return ""


def main(argv: list[str] | None = None) -> int:
    options = argparse.ArgumentParser(prog="python -m tests.machine", description=__doc__)
    options.add_argument("--examples", type=int, default=1000)
    options.add_argument("--steps", type=int, default=50)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    found = options.parse_args(argv)
    share = -(-found.examples // found.jobs)
    jobs = [(found.seed * 1000 + n, min(share, found.examples - n * share), found.steps) for n in range(found.jobs)]
    began = time.perf_counter()
    with multiprocessing.get_context("fork").Pool(found.jobs) as pool:
        wrong = [one for one in pool.imap(_part, [job for job in jobs if job[1] > 0]) if one]
    print("\n".join(wrong))
    print(
        f"{found.examples} runs of {found.steps} steps, {len(wrong)} wrong, {time.perf_counter() - began:.0f} s, seed {found.seed}"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
