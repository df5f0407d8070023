"""
Explore the whole of recalld: ``python -m tests.crash --states 60000``, or see the mutants found: ``--mutants``.

The work is done in parts. Part 0 goes through every workload as it stands: killed at every operation, first plainly, then with
crashes inside its recoveries, wider and three deep. Each further part has a seed of its own, under which other people say other
things in another zone, until so many different disks were judged. What happens in any order, with the power going out on the way,
is `tests.machine`. Prints a line a part, and what fails, shortest case first; exits with 1 then. With ``--log FILE`` each part is
written down as it ends, and a run goes on after the last one in the file.
"""

import gc
import multiprocessing
import sys
from collections.abc import Iterator
from typing import NamedTuple

from tests.crash.explorer import Explorer, Report
from tests.crash.mutants import table
from tests.crash.workload import Workload
from tests.crash.workloads import WORKLOADS
from tests.gate import without_comparison
from tests.process.rounds import Rounds, options_of


class Pass(NamedTuple):
    """One way to go through a workload, until that share of its states is judged."""

    depth: int
    points: int
    limit: int
    inner: int
    share: float


#: Each goes further than the one before; what was judged is not judged again.
PASSES = (
    Pass(0, 0, 64, 0, 0.4),
    Pass(1, -1, 24, 4, 0.6),
    Pass(1, -1, 64, 16, 0.7),
    Pass(2, -1, 64, 6, 0.95),
    Pass(3, -1, 64, 8, 1.0),
)
#: Crashes inside one recovery from which on a state counts as a deep one.
DEEP = 2
#: States of one workload in one part.
SHARE = 600


def explore(workload: Workload, states: int) -> Report:
    """Judge about *states* different disks of the workload, as far as it has so many."""
    total = Report(workload.name)
    start = workload.start()
    explorer = Explorer(workload.recover, workload.judge, workload.glance, seed=workload.seed)
    for one in PASSES:
        explorer.depth, explorer.points, explorer.limit, explorer.inner, share = one
        explorer.most = round(states * share) - total.states
        if explorer.most > 0:
            found = explorer.explore(workload.work, start)
            found.deep = found.states if one.depth >= DEEP else 0
            total.join(found)
    return total


def _one(job: tuple[int, type[Workload]]) -> Report:
    """Do one workload of the part with this seed."""
    seed, kind = job
    report = explore(kind(seed=seed), SHARE)
    gc.collect()  # what was judged is not needed any more, and the next job has its own
    return report


def parts(first: int, states: int, jobs: int) -> Iterator[tuple[int, list[str], Report]]:
    """Explore part after part, from the seed *first* on, until so many states were judged: seed, what fails, the report."""
    with multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=20) as pool:
        judged, seed = 0, first
        while judged < states:
            total = Report("all")
            for report in pool.imap_unordered(_one, [(seed, kind) for kind in reversed(WORKLOADS)], chunksize=1):
                total.join(report)
            judged += total.states
            yield seed, [str(total.shortest)] if total.shortest else [], total
            seed += 1


def main(argv: list[str] | None = None) -> int:
    options = options_of("tests.crash", __doc__)
    options.add_argument("--states", type=int, default=20_000, help="different disks to judge, in whole parts")
    options.set_defaults(seed=0)
    options.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    options.add_argument("--mutants", action="store_true", help="show which mutant is found where, and after how many states")
    found = options.parse_args(argv)
    if found.mutants:
        return table(found.jobs)
    rounds = Rounds(found.log)
    first = max((int(part["seed"]) for part in rounds.done.values()), default=found.seed - 1) + 1
    for seed, wrong, report in parts(first, found.states - rounds.total("states"), found.jobs):
        rounds.add(f"part {seed}", wrong, seed=seed, states=report.states, deep=report.deep, failures=report.failures)
        print(f"part {seed}: {report.states} states, {report.failures} failures", flush=True)
    deep = f"{rounds.total('deep')} of them after crashes two and three deep in a recovery"
    counts = f"{rounds.total('states')} states, {deep}, {rounds.total('failures')} failures"
    print(f"{counts} in {len(rounds.done)} parts, {rounds.end}")
    return 1 if rounds.wrong else 0


if __name__ == "__main__":
    with without_comparison():
        sys.exit(main())
