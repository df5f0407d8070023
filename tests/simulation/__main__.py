"""
Years of use: ``python -m tests.simulation --years 10 --seed 1``.

Each life is one simulated year (``--life``) on the real product code, each in another zone; equal seeds give equal digests.
With ``--forget`` a person takes words back some times a month, and from then on they are in no file and no answer.
Prints a line a life, the seed and day of what does not hold and what happened before it, and exits with 1 then. With ``--log FILE``
each life is written down as it ends, and a run goes on after those that stand there.
"""

import multiprocessing
import sys
import traceback
from datetime import date
from typing import TypeAlias

from tests.gate import without_comparison
from tests.process.rounds import Rounds, options_of
from tests.simulation.years import PLACES, Outcome, Violation, live

#: Days of a simulated year.
_YEAR = 365
#: Seed, zone and first day, days, whether a person forgets.
Job: TypeAlias = "tuple[str, str, date, int, bool]"


def _live(job: Job) -> tuple[str, Outcome | str]:
    try:
        return _key(job), live(*job[:-1], forgets=job[-1])
    except Violation as error:
        return _key(job), str(error)
    except BaseException:  # PowerLoss where nobody expects it would end this process of the pool, which would wait for ever
        return _key(job), traceback.format_exc(limit=-4)


def _key(job: Job) -> str:
    seed, zone, _, days, forgets = job
    return f"seed {seed} {zone}: {days} days{' with forgetting' if forgets else ''}"


def main(argv: list[str] | None = None) -> int:
    """Live the lives that are left; returns the exit code."""
    options = options_of("tests.simulation", __doc__)
    options.add_argument("--years", type=float, default=10)
    options.add_argument("--life", type=float, default=1, help="years of one life")
    options.add_argument("--forget", action="store_true", help="a person forgets something some times a month")
    options.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    found = options.parse_args(argv)
    days, whole = round(found.life * _YEAR), round(found.years * _YEAR)
    lives = [min(days, whole - n) for n in range(0, whole, days)]
    jobs = [(str(found.seed + n), *PLACES[n % len(PLACES)], span, found.forget) for n, span in enumerate(lives)]
    rounds = Rounds(found.log)
    with multiprocessing.get_context("fork").Pool(found.jobs) as pool:
        for key, outcome in pool.imap(_live, [job for job in jobs if _key(job) not in rounds.done]):
            if isinstance(outcome, str):
                rounds.add(key, [outcome])
                continue
            rounds.add(key, [], days=outcome.days, messages=outcome.messages, digest=outcome.digest)
            counts = f"{outcome.messages} messages, {outcome.rounds} rounds, {outcome.lives} lives, {outcome.events} events"
            print(f"{key}, {counts}, digest {outcome.digest}", flush=True)
    print(f"{rounds.total('days') / _YEAR:.1f} years, {rounds.wrong} violations, {rounds.seconds:.0f} s")
    return 1 if rounds.wrong else 0


if __name__ == "__main__":
    with without_comparison():
        sys.exit(main())
