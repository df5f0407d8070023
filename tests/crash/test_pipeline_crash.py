"""The pipeline under the crash explorer: a share of `python -m tests.crash`, and proof that it finds mutants."""

import contextlib
import errno

import pytest

from recalld.supervisor.storage.errors import SupervisorError
from tests.crash.explorer import Explorer
from tests.crash.model_disk import ModelDisk
from tests.crash.mutants import MUTANTS, Mutant, prove, shown_by
from tests.crash.program import NotCalm, Program
from tests.crash.working import TwoWorkers
from tests.crash.workload import Workload
from tests.crash.workloads import WORKLOADS
from tests.pool.memory_pool import PoolInMemory, carried, courier_of

pytestmark = pytest.mark.proof


class Carried(Program):
    """A life of recalld whose tasks a courier brings to a pool, which has forgotten everything."""

    def work(self) -> int:
        pool = PoolInMemory()
        courier = courier_of(self, pool)
        try:
            return carried(courier, pool, self.model, self.clock)
        finally:
            courier.close()


#: States judged of each workload without, and further ones with a crash inside the recovery too; the command goes further.
PLAIN, INSIDE = 40, 12
#: Calls that are made to fail, of a workload and kind of error.
TRIALS = 3


@pytest.mark.parametrize("kind", WORKLOADS)
@pytest.mark.parametrize("program", [Program, Carried])
def test_pipeline_loses_nothing_when_killed_anywhere_and_in_recovery(kind: type[Workload], program: type[Program]) -> None:
    if (kind, program) == (TwoWorkers, Carried):
        pytest.skip(
            "two workers that are alive together take two locks, of which the watch of the model knows one (`locks.py`)"
        )
    workload = kind(program=program)
    start = workload.start()
    explorer = Explorer(workload.recover, workload.judge, workload.glance, seed=workload.seed, most=PLAIN)
    report = explorer.explore(workload.work, start, workload.name)
    explorer.depth, explorer.points, explorer.most = 1, 2, INSIDE
    report.join(explorer.explore(workload.work, start))
    assert not report.failures, str(report)
    assert report.states >= 20


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EACCES])
@pytest.mark.parametrize("kind", WORKLOADS)
def test_pipeline_loses_nothing_after_an_io_error_of_any_call(kind: type[Workload], error: int) -> None:
    workload = kind()
    start = workload.start()
    whole = ModelDisk(start)
    workload.work(whole)
    promised = list(workload.promised)
    for number in range(error % 3, whole.operations, max(1, whole.operations // TRIALS)):
        workload.promised = list(promised)
        disk = ModelDisk(start)
        disk.fail(number, error)
        with contextlib.suppress(SupervisorError, OSError, NotCalm):
            workload.work(disk)
        disk.meanwhile = lambda _: None
        workload.recover(disk)
        assert workload.judge(disk, disk.acks) == [], f"{errno.errorcode[error]} at {number}: {disk.log[number]}"


# a third of them, some of which a crash inside a recovery alone finds: `script/prove` asks for every one (`python -m tests.crash --mutants`).
@pytest.mark.parametrize("mutant", MUTANTS[1::3], ids=lambda mutant: mutant.name)
def test_explorer_finds_a_mutant_of_the_pipeline(mutant: Mutant) -> None:
    report = prove(mutant)
    assert shown_by(mutant, report), f"{report} does not show {mutant.by!r}"
