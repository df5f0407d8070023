"""Single files under the crash explorer: after any crash a file is the old or the new one, and acknowledged data is there."""

import errno
from collections.abc import Sequence

import pytest

from recalld.supervisor.storage.errors import Busy, SupervisorError
from tests.crash.explorer import Explorer
from tests.crash.file_workloads import CASES, LONG_TERM, Case, Lines
from tests.crash.loss import MODES, Mode, outcomes
from tests.crash.model_disk import ModelDisk

pytestmark = pytest.mark.proof


def survive_each_crash(case: Case, *, depth: int = 1) -> None:
    """Kill the work at each operation: what recovery makes of any disk that is left is right."""
    explorer = Explorer(case.recover, case.check, depth=depth, limit=64)
    report = explorer.explore(case.work, case.started().state, type(case).__name__)
    assert not report.failures, str(report)
    assert report.states > 2


#: The exit code of a command that meets the error.
EXIT = {errno.ENOSPC: 74, errno.EACCES: 77}


def refuse_each_call(kind: type[Case], error: int, modes: Sequence[Mode] = ("kill",)) -> None:
    """Let each call of the work fail in turn: it says so, and what was acknowledged is there after any crash that follows."""
    whole = kind().started()
    kind().work(whole)
    assert whole.operations
    for number in range(whole.operations):
        trial = kind()
        disk = trial.started()
        disk.fail(number, error)
        try:
            trial.work(disk)
        except SupervisorError as refused:  # most raise, a lost clean-up does not
            assert refused.exit_code == EXIT[error]  # noqa: PT017
        except OSError as raised:
            assert raised.errno == error  # noqa: PT017
        assert disk.operations > number
        for outcome in (found for mode in modes for found in outcomes(disk.end(), mode)):
            left = ModelDisk(outcome.state)
            trial.recover(left)
            assert trial.check(left, [*disk.acks, *left.acks]) == [], (outcome.story, disk.log)


def refuse_beside_who_holds(trial: Case, lock: str) -> None:
    """Another program holds the lock: the work is refused, and no byte is another."""
    disk = trial.started()
    disk.held_by_others.add(lock)
    before = disk.tree()
    with pytest.raises(Busy):
        trial.work(disk)
    assert {path: data for path, data in disk.tree().items() if not path.endswith(".lock")} == before


@pytest.mark.parametrize("case", [*CASES, *LONG_TERM])
def test_files_keep_the_old_or_the_new_content_after_any_crash(case: type[Case]) -> None:
    survive_each_crash(case())


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EACCES])
@pytest.mark.parametrize("case", LONG_TERM)
def test_long_term_file_stays_whole_after_any_io_error(case: type[Case], error: int) -> None:
    refuse_each_call(case, error)


def test_long_term_file_is_changed_under_its_lock_alone() -> None:
    refuse_beside_who_holds(Lines(), "memory.md.lock")


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS])
@pytest.mark.parametrize("case", CASES)
def test_files_keep_the_old_or_the_new_content_after_any_io_error(case: type[Case], error: int) -> None:
    refuse_each_call(case, error, MODES)
