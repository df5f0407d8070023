"""
Sweep the calls of the real command: ``python -m tests.syscalls``. Kills inside recoveries are the crash explorer's.

Prints each violation and one line at the end; exits with 1 when there was any. With --log the run can be cut off and goes on.
Without strace, or where it is refused, it says so and exits with 0.
"""

import argparse
import multiprocessing
import random
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from tests.process import forked
from tests.process.rounds import Rounds, folder_in_memory, options_of
from tests.syscalls.stages import prepare
from tests.syscalls.sweep import FAULTS, Case, Sweep, Verdict
from tests.syscalls.tracer import refused

STAGES = ("init", "append", "archive", "worker", "harvest")
_SWEEP: list[Sweep] = []


def _run(case: Case) -> Verdict:
    return _SWEEP[0].run(case)


def _chosen(options: argparse.Namespace, sweep: Sweep, rounds: Rounds) -> Iterator[Case]:
    """The cases that are not done yet: all in their order, or as many as are asked for by chance."""
    found = list(sweep.cases(options.workload, options.faults))
    if options.limit:
        random.Random(options.seed).shuffle(found)
    for case in found[: options.limit]:
        if case.key not in rounds.done:
            yield case


def _work(options: argparse.Namespace, cases: Iterator[Case], rounds: Rounds) -> None:
    """Run the cases, so many at a time, until there are none."""
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("fork")) as pool:
        for verdict in pool.map(_run, cases):
            rounds.add(verdict.key, verdict.wrong)
            rounds.progress(f"{len(rounds.done)} trials")


def main() -> int:
    options = options_of("tests.syscalls", __doc__)
    options.add_argument("--workload", nargs="+", choices=STAGES, default=STAGES)
    options.add_argument("--faults", nargs="+", choices=FAULTS, default=FAULTS)
    options.add_argument("--reads", action="store_true", help="let calls that only read fail too")
    options.add_argument("--limit", type=int, help="so many cases by chance, not all")
    options.add_argument("--jobs", type=int, default=multiprocessing.cpu_count() + 1, help="each waits for its children")
    options.add_argument("--control", action="store_true", help="write in place: the sweep has to find that, or fails")
    found = options.parse_args()
    if why := refused():
        print(f"SKIPPED, nothing was swept: {why}")
        return 0
    forked.warm()
    rounds = Rounds(found.log)
    with folder_in_memory("syscalls-") as folder:
        (base := folder / "base").mkdir()
        _SWEEP.append(Sweep(prepare(base), folder, reads=found.reads, control=found.control))
        _work(found, _chosen(found, _SWEEP[0], rounds), rounds)
    kinds = Counter(" ".join(key.split()[:2]) for key in rounds.done)
    print(", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())))
    print(f"{len(rounds.done)} trials, {rounds.end}")
    return (rounds.wrong == 0) if found.control else (rounds.wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
