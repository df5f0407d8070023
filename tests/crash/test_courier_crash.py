"""A courier in a worker's place, killed anywhere, with a pool that has forgotten everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.crash.explorer import Explorer
from tests.crash.program import Program
from tests.crash.working import TwoWorkers
from tests.crash.workloads import WORKLOADS
from tests.pool.couriers import carried, courier_of
from tests.pool.memory_pool import PoolInMemory

if TYPE_CHECKING:
    from tests.crash.workload import Workload

pytestmark = pytest.mark.proof

#: Two workers that are alive together take two locks, of which the watch of the model knows one (`locks.py`).
KINDS = [kind for kind in WORKLOADS if kind is not TwoWorkers]


class Carried(Program):
    """A life of recalld whose tasks a courier brings to a pool, which begins empty."""

    def work(self) -> int:
        pool = PoolInMemory()
        courier = courier_of(self, pool)
        try:
            return carried(courier, pool, self.model, self.clock)
        finally:
            courier.close()


@pytest.mark.parametrize("kind", KINDS)
def test_courier_loses_nothing_when_killed_anywhere_and_in_recovery(kind: type[Workload]) -> None:
    workload = kind(program=Carried)
    start = workload.start()
    explorer = Explorer(workload.recover, workload.judge, workload.glance, seed=workload.seed, most=40)
    report = explorer.explore(workload.work, start, workload.name)
    explorer.depth, explorer.points, explorer.most = 1, 2, 12
    report.join(explorer.explore(workload.work, start))
    assert not report.failures, str(report)
    assert report.states >= 20
