"""
Explore the whole pipeline: ``python -m tests.crash --states 20000``.

Every workload is killed at every operation, first plainly, then with crashes inside its recoveries, wider and two deep, until
so many different disks were judged. Prints a line a workload and what fails, shortest case first; exits with 1 then.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

from tests.crash.explorer import Explorer, Report
from tests.crash.model_disk import ModelDisk
from tests.crash.workloads import WORKLOADS

if TYPE_CHECKING:
    from tests.crash.workload import Workload


class Pass(NamedTuple):
    """One way to go through a workload."""

    depth: int
    points: int
    limit: int
    inner: int


#: Each goes further than the one before; what was judged is not judged again.
PASSES = (Pass(0, 0, 64, 0), Pass(1, -1, 24, 4), Pass(1, -1, 64, 16), Pass(2, 4, 64, 6), Pass(2, 12, 64, 8))


def explore(kind: type[Workload], states: int, seed: int) -> Report:
    """Judge about *states* different disks of the workload, as far as it has so many."""
    workload = kind()
    start = workload.start()
    explorer = Explorer(workload.recover, workload.judge, workload.glance, seed=seed)
    total = Report(kind.__name__)
    for one in PASSES:
        explorer.depth, explorer.points, explorer.limit, explorer.inner = one
        explorer.most = states - total.states
        if explorer.most > 0:
            total.join(explorer.explore(workload.work, start))
    return total


def _part(job: tuple[type[Workload], int, int]) -> tuple[Report, float]:
    began = time.perf_counter()
    return explore(*job), time.perf_counter() - began


def _operations(kind: type[Workload]) -> int:
    workload = kind()
    disk = ModelDisk(workload.start())
    workload.work(disk)
    return disk.operations


def main(argv: list[str] | None = None) -> int:
    options = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    options.add_argument("--states", type=int, default=20_000, help="different disks to judge, over all workloads")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    options.add_argument("--only", nargs="*", help="names of workloads")
    found = options.parse_args(argv)
    kinds = [kind for kind in WORKLOADS if not found.only or kind.__name__ in found.only]
    sizes = [_operations(kind) for kind in kinds]  # a workload with more to do has more disks to show
    wanted = found.states * 1.1  # the smallest run out before their share
    jobs = [(kind, int(wanted * size / sum(sizes)), found.seed) for kind, size in zip(kinds, sizes, strict=True)]
    began = time.perf_counter()
    total = Report("all")
    with multiprocessing.get_context("fork").Pool(found.jobs) as pool:
        for report, seconds in pool.imap_unordered(_part, sorted(jobs, key=lambda job: -job[1]), chunksize=1):
            print(f"{report}\n  {seconds:.0f} s, {report.states / seconds:.0f} states a second", flush=True)
            total.join(report)
    print(f"{total}\n  {time.perf_counter() - began:.0f} s, seed {found.seed}")
    return 1 if total.failures else 0


if __name__ == "__main__":
    sys.exit(main())
