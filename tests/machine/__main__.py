"""
Any order of anything: ``python -m tests.machine --examples 1000 --steps 50 --seed 1``; exits with 1 when a run is wrong.

It runs in parts of a hundred examples, each with a seed of its own. With ``--log FILE`` each part is written down as it ends, and a
run goes on after the parts that stand there. What fails is told with its seed; ``--only SEED --shrink`` makes it short.
"""

import multiprocessing
import sys
import traceback
from typing import Final, NamedTuple

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.gate import without_comparison
from tests.machine.machine import AnyOrder
from tests.process.rounds import Rounds, options_of

#: Examples of a part.
PART: Final = 100


class Part(NamedTuple):
    """So many *examples* with a seed of their own."""

    seed: int
    examples: int
    steps: int
    shrink: bool

    @property
    def key(self) -> str:
        """The name of the part in the log: other steps are another part."""
        return f"seed {self.seed}, {self.examples} runs of {self.steps} steps"


def _run(part: Part) -> tuple[Part, str]:
    """Run a part; returns it and what is wrong, with the steps that show it."""
    seeded = type("Seeded", (AnyOrder,), {})
    held = settings(
        max_examples=part.examples,
        stateful_step_count=part.steps,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, *([Phase.shrink] if part.shrink else [])],
    )
    try:
        seed(part.seed)(run_state_machine_as_test)(seeded, settings=held)
    except BaseException:
        return part, traceback.format_exc(limit=-3)
    return part, ""


def main(argv: list[str] | None = None) -> int:
    """Run the parts that are left; returns the exit code."""
    options = options_of("tests.machine", __doc__)
    options.add_argument("--examples", type=int, default=1000)
    options.add_argument("--steps", type=int, default=50)
    options.add_argument("--only", type=int, help="the part of this seed alone")
    options.add_argument("--shrink", action="store_true", help="look for the shortest steps, up to five minutes a failure")
    options.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    found = options.parse_args(argv)
    rounds = Rounds(found.log)
    first, examples = found.seed * 1_000_000, found.examples  # the parts of a shorter run are the first of a longer one
    sizes = {first + n: min(PART, examples - n * PART) for n in range(-(-examples // PART))}
    wanted = {found.only: PART} if found.only else sizes
    parts = [Part(number, count, found.steps, found.shrink) for number, count in wanted.items()]
    with multiprocessing.get_context("fork").Pool(found.jobs, maxtasksperchild=1) as pool:
        for part, wrong in pool.imap_unordered(_run, [part for part in parts if part.key not in rounds.done]):
            rounds.add(part.key, [wrong] if wrong else [], runs=part.examples)
            rounds.progress(f"{rounds.total('runs'):,} runs")
    print(f"{rounds.total('runs'):,} runs of {found.steps} steps, {rounds.wrong} violations, {rounds.seconds:.0f} s")
    return 1 if rounds.wrong else 0


if __name__ == "__main__":
    with without_comparison():
        sys.exit(main())
