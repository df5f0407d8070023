"""The pipeline under the adversary: a share of `python -m tests.crash`, and proof that it finds what it should."""

from __future__ import annotations

import contextlib
import errno
from typing import TYPE_CHECKING

import pytest

from supervisor.protocol.errors import SupervisorError
from tests.crash.explorer import Explorer
from tests.crash.model_disk import ModelDisk
from tests.crash.mutants import MUTANTS, Mutant
from tests.crash.workloads import WORKLOADS

if TYPE_CHECKING:
    from tests.crash.workload import Workload

#: States judged with a crash inside the recovery too; the command goes further.
SHARE = 150
#: Calls that are made to fail, of a workload and kind of error.
TRIALS = 30


@pytest.mark.parametrize("kind", WORKLOADS)
def test_killed_anywhere_and_again_while_recovering_nothing_is_lost_doubled_or_left_over(kind: type[Workload]) -> None:
    workload = kind()
    start = workload.start()
    explorer = Explorer(workload.recover, workload.judge, workload.glance)
    report = explorer.explore(workload.work, start, kind.__name__)
    explorer.depth, explorer.points, explorer.most = 1, 2, SHARE
    report.join(explorer.explore(workload.work, start))
    assert not report.failures, str(report)
    assert report.states >= 20


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EACCES])
@pytest.mark.parametrize("kind", WORKLOADS)
def test_an_error_of_any_call_costs_nothing_once_the_disk_is_well_again(kind: type[Workload], error: int) -> None:
    workload = kind()
    start = workload.start()
    whole = ModelDisk(start)
    workload.work(whole)
    promised = list(workload.promised)
    for number in range(error % 3, whole.operations, max(1, whole.operations // TRIALS)):
        workload.promised = list(promised)
        disk = ModelDisk(start)
        disk.fail(number, error)
        with contextlib.suppress(SupervisorError, OSError):
            workload.work(disk)
        workload.recover(disk)
        assert workload.judge(disk, disk.acks) == [], f"{errno.errorcode[error]} at {number}: {disk.log[number]}"


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_pipeline_with_one_step_wrong_is_found(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    workload = mutant.workload()
    start = workload.start()
    for owner, name, other in mutant.changes:
        monkeypatch.setattr(owner, name, other)
    explorer = Explorer(workload.recover, workload.judge, workload.glance, stop=True)
    report = explorer.explore(workload.work, start, mutant.name)
    assert report.failures, f"{report} does not show it"
