"""The file layer under the crash explorer: after any crash a file is the old or the new one, and acknowledged data is there."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from recalld.supervisor.storage.errors import Busy, SupervisorError
from tests.crash import long_term_workloads as long_term
from tests.crash.explorer import Explorer
from tests.crash.file_workloads import CASES, NEW, OLD, Case, Honest
from tests.crash.loss import MODES, outcomes
from tests.crash.model_disk import ModelDisk

pytestmark = pytest.mark.proof


def survive_each_crash(case: Case, *, depth: int = 1) -> None:
    """Kill the work at each operation: what recovery makes of any disk that is left is right."""
    explorer = Explorer(case.recover, case.check, depth=depth, limit=64)
    report = explorer.explore(case.work, case.started().state, type(case).__name__)
    assert not report.failures, str(report)
    assert report.states > 2


def refuse_each_call(trial: Case, error: int) -> None:
    """Let each call of the work fail in turn: it ends with the exit code of *error*, and what was acknowledged is there."""
    whole = trial.started()
    trial.work(whole)
    for number in range(whole.operations):
        disk = trial.started()
        disk.fail(number, error)
        try:
            trial.work(disk)
        except SupervisorError as refused:
            assert refused.exit_code == {errno.ENOSPC: 74, errno.EACCES: 77}[error]  # noqa: PT017 - a lost clean-up raises none
        trial.recover(disk)
        assert trial.check(disk, disk.acks) == [], disk.log


def refuse_beside_who_holds(trial: Case, lock: str) -> None:
    """Another program holds the lock: the work is refused, and no byte is another."""
    disk = trial.started()
    disk.held_by_others.add(lock)
    before = disk.tree()
    with pytest.raises(Busy):
        trial.work(disk)
    assert {path: data for path, data in disk.tree().items() if not path.endswith(".lock")} == before


@pytest.mark.parametrize("case", [*CASES, *long_term.CASES])
def test_files_keep_the_old_or_the_new_content_after_any_crash(case: type[Case]) -> None:
    survive_each_crash(case())


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EACCES])
@pytest.mark.parametrize("case", long_term.CASES)
def test_long_term_file_stays_whole_after_any_io_error(case: type[Case], error: int) -> None:
    refuse_each_call(case(), error)


def test_long_term_file_is_changed_under_its_lock_alone() -> None:
    refuse_beside_who_holds(long_term.Lines(), "memory.md.lock")


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS])
@pytest.mark.parametrize("case", CASES)
def test_files_keep_the_old_or_the_new_content_after_any_io_error(case: type[Case], error: int) -> None:
    trial = case()
    whole = trial.started()
    trial.work(whole)
    for number in range(whole.operations):
        disk = trial.started()
        disk.fail(number, error)
        try:
            trial.work(disk)
        except OSError as raised:
            assert raised.errno == error  # noqa: PT017 - the call that failed is known; most raise, a lost clean-up does not
        assert disk.operations > number
        for mode in MODES:
            assert _after(trial, disk, mode) == [], disk.log


def _after(trial: Case, disk: ModelDisk, mode: Any) -> list[str]:
    """What is wrong after a crash that follows the error."""
    wrong = []
    for outcome in outcomes(disk.end(), mode):
        left = ModelDisk(outcome.state)
        trial.recover(left)
        wrong += [f"{outcome.story}: {line}" for line in trial.check(left, disk.acks)]
    return wrong


def test_files_replace_keeps_the_old_version_if_the_backup_is_a_hard_link() -> None:
    disk = ModelDisk()
    disk.plant("history.json", OLD)
    files = Honest(disk)
    path, keep = disk.root / "history.json", disk.root / "history.json.bak"
    disk.link(path, keep)  # what a crash between the two names of one write leaves
    files.replace(path, NEW, files.read_stable(path), keep)
    assert disk.tree() == {"history.json": NEW, "history.json.bak": OLD}
