"""The tasks of a workspace: queue, running, results, each step one rename, and the waits after a failure."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recalld.supervisor.protocol.message import Failure
from recalld.supervisor.protocol.paths import WorkspacePaths
from recalld.supervisor.protocol.queue import TaskQueue
from recalld.supervisor.protocol.task import AskedTask, Result, Task, asked_id, task_id
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.files import Files
from tests.protocol.test_task import RESULT, TASK

NOON = datetime(2026, 1, 31, 4, tzinfo=UTC)


def task(group: str = "day-2026-01-15") -> Task:
    kind = "daily-summary" if group.startswith("day") else "monthly-summary"
    return replace(TASK, id=task_id(group, TASK.sources, 0), kind=kind, group=group, period=group.partition("-")[2], attempt=0)


def result(of: Task, text: str = "## 部署") -> Result:
    return replace(RESULT, id=of.id, text=text, group=of.group, sources=of.sources, attempt=of.attempt)


@pytest.fixture
def task_queue(tmp_path: Path) -> TaskQueue:
    found = TaskQueue(Files(RealDisk()), WorkspacePaths(tmp_path))
    found.prepare()
    return found


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_cancel_queued_can_keep_tasks_that_a_user_requested(task_queue):
    task_queue.submit(task("day-2026-01-15"))
    task_queue.submit(replace(task("day-2026-01-16"), redo=True))
    assert task_queue.cancel_queued(asked_too=False) == 1
    assert list(task_queue.active_groups()) == ["day-2026-01-16"]
    assert task_queue.cancel_queued() == 1


def test_submit_ignores_a_task_that_is_queued_running_or_finished(task_queue):
    one = task()
    assert task_queue.submit(one)
    assert not task_queue.submit(one)
    task_queue.claim()
    assert not task_queue.submit(one)
    task_queue.finish(result(one))
    assert not task_queue.submit(one)
    assert task_queue.queued_count() == 0


def test_claim_takes_the_newest_period_first_and_a_month_before_its_days(task_queue):
    groups = ["month-2025-12", "day-2026-01-15", "day-2025-12-31", "day-2026-01-02", "month-2025-11"]
    for group in groups:
        task_queue.submit(task(group))
    claimed = [found.group for found in iter(task_queue.claim, None)]
    assert claimed == ["day-2026-01-15", "day-2026-01-02", "month-2025-12", "day-2025-12-31", "month-2025-11"]


def test_finish_keeps_the_first_result_of_a_task(task_queue):
    task_queue.submit(task())
    task_queue.claim()
    task_queue.finish(result(task()))
    task_queue.finish(result(task(), "## 后到的"))
    assert task_queue.read_result(task_queue.finished()[0]).text == "## 部署"


def test_claim_moves_an_invalid_task_file_to_results(task_queue):
    (task_queue.queue / f"{task().id}.json").write_text("[半个任务")
    task_queue.submit(task("day-2026-01-14"))
    claimed = task_queue.claim()
    assert claimed
    assert claimed.group == "day-2026-01-14"
    (path,) = task_queue.finished()
    assert path.read_text() == "[半个任务"
    with pytest.raises(ValueError, match="JSON"):
        task_queue.read_result(path)


def test_read_result_refuses_a_name_or_a_group_that_differs_from_the_id(task_queue):
    other = task_queue.results / f"{task('day-2026-01-14').id}.json"
    task_queue.finish(result(task()))
    task_queue.finished()[0].rename(other)
    task_queue.finish(replace(result(task()), group="month-2020-01"))
    for path in task_queue.finished():
        with pytest.raises(ValueError, match="its name is not its id"):
            task_queue.read_result(path)


# ── what somebody waits for ──────────────────────────────────────────────────

DIGEST = "d2a84f4b8b650937"


def asked(server: str = "") -> AskedTask:
    group = f"session-{DIGEST}"
    identity = asked_id(group, "session-summary", "总结", 0)
    return AskedTask(id=identity, kind="session-summary", group=group, prompt="总结", server=server)


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[None]:
    """Somebody holds the lock of the session."""
    path = WorkspacePaths(tmp_path).session_lock(DIGEST)
    path.parent.mkdir(parents=True)
    with RealDisk().lock_for_life(path, 0):
        yield


@pytest.mark.usefixtures("waiting")
def test_claim_leaves_a_task_that_is_meant_for_another_model(task_queue):
    task_queue.submit(asked(server="9c1e"))
    assert task_queue.claim("77aa") is None
    assert task_queue.claim("9c1e") == asked(server="9c1e")


def test_claim_deletes_what_nobody_waits_for_any_more(task_queue):
    task_queue.submit(asked())
    assert task_queue.claim() is None
    assert task_queue.place_of(asked()) == ""


@pytest.mark.usefixtures("waiting")
def test_withdraw_leaves_no_task_that_a_worker_claims_meanwhile(task_queue, tmp_path):
    class ClaimingDisk(RealDisk):
        """A disk on which a worker claims what there is after each file that is deleted."""

        def unlink(self, path: Path) -> None:
            try:
                super().unlink(path)
            finally:
                task_queue.claim()

    task_queue.submit(asked())
    TaskQueue(Files(ClaimingDisk()), WorkspacePaths(tmp_path)).withdraw(asked().id)
    assert task_queue.place_of(asked()) == ""


# ── failures ─────────────────────────────────────────────────────────────────


TIMES = b'"failedAt": "2026-01-31T04:00:00.000Z", "nextAt": "2026-01-31T04:00:00.000Z", "reason": ""'


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"[]", b"{", b"null", b"7", b'{"attempts": 1}', b"[" * 100000, b"\xff"),
        b'{"attempts": "x", "failedAt": 1, "nextAt": 2, "reason": 3}',
        *(b'{"attempts": %s, %s}' % (odd, TIMES) for odd in (b"-1", b"0", b"1e308", b"2000000", b'"1"', b"null", b"[]")),
    ],
)
def test_failures_skips_an_unreadable_file(task_queue, data):
    (task_queue.failed / "day-2026-01-15.json").write_bytes(data)
    (task_queue.failed / "笔记.json").write_text("{}")
    task_queue.fail("day-2026-01-14", Failure(1, NOON, NOON, "lost"))
    assert list(task_queue.failures()) == ["day-2026-01-14"]
