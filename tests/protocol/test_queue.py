"""The tasks of a workspace: queue, running, results, each step one rename, and what waits after a failure."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from supervisor.protocol.clock import to_wire
from supervisor.protocol.disk import RealDisk
from supervisor.protocol.files import Files
from supervisor.protocol.paths import Layout
from supervisor.protocol.queue import Spool
from supervisor.protocol.summary_file import Source
from supervisor.protocol.task import Result, Task, task_id

if TYPE_CHECKING:
    from pathlib import Path

NOON = datetime(2026, 1, 31, 4, tzinfo=UTC)


def task(group: str = "day-2026-01-15", attempt: int = 0) -> Task:
    label = group.partition("-")[2]
    sources = (Source(f"{label[:7]}-15-nginx.md", "9f8a3c0012345678", 12),)
    return Task(
        id=task_id(group, sources, attempt),
        kind="daily-summary" if group.startswith("day") else "monthly-summary",
        group=group,
        period=label,
        zone="Asia/Shanghai",
        sources=sources,
        material=(sources[0].name,),
        attempt=attempt,
    )


def result(of: Task, text: str = "## 部署") -> Result:
    return Result(id=of.id, status="done", text=text, group=of.group, sources=of.sources, attempt=of.attempt)


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    found = Spool(Files(RealDisk()), Layout(tmp_path))
    found.prepare()
    return found


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_task_goes_through_queue_running_and_results(spool):
    one = task()
    assert spool.submit(one)
    assert (spool.in_flight(), spool.waiting()) == ({one.group: "queue"}, 1)
    assert spool.claim() == one
    assert (spool.in_flight(), spool.waiting()) == ({one.group: "running"}, 0)
    spool.finish(result(one))
    assert spool.in_flight() == {one.group: "results"}
    (path,) = spool.finished()
    assert spool.read_result(path) == result(one)
    spool.discard(path)
    assert spool.in_flight() == {}
    assert [names(folder) for folder in (spool.queue, spool.running, spool.results)] == [[], [], []]


def test_what_a_person_asked_for_may_stay_when_the_rest_is_taken_back(spool):
    spool.submit(task("day-2026-01-15"))
    spool.submit(replace(task("day-2026-01-16"), redo=True))
    assert spool.withdraw(asked_too=False) == 1
    assert list(spool.in_flight()) == ["day-2026-01-16"]
    assert spool.withdraw() == 1


def test_submitting_twice_is_harmless_wherever_the_task_has_come(spool):
    one = task()
    assert spool.submit(one)
    assert not spool.submit(one)
    spool.claim()
    assert not spool.submit(one)
    spool.finish(result(one))
    assert not spool.submit(one)
    assert spool.waiting() == 0


def test_the_newest_period_is_claimed_first_and_a_month_before_its_days(spool):
    groups = ["month-2025-12", "day-2026-01-15", "day-2025-12-31", "day-2026-01-02", "month-2025-11"]
    for group in groups:
        spool.submit(task(group))
    claimed = [found.group for found in iter(spool.claim, None)]
    assert claimed == ["day-2026-01-15", "day-2026-01-02", "month-2025-12", "day-2025-12-31", "month-2025-11"]


def test_a_task_is_claimed_by_one_worker(spool, tmp_path):
    spool.submit(task())
    other = Spool(Files(RealDisk()), Layout(tmp_path))
    assert [spool.claim() is None, other.claim() is None] == [False, True]


def test_a_task_that_is_put_back_can_be_claimed_again(spool):
    spool.submit(task())
    spool.claim()
    spool.put_back(f"{task().id}.json")
    assert spool.in_flight() == {"day-2026-01-15": "queue"}
    assert spool.claim() == task()


def test_a_task_that_is_put_back_after_its_result_is_over(spool):
    spool.submit(task())
    spool.claim()
    (spool.results / f"{task().id}.json").write_bytes(b"{}")
    spool.put_back(f"{task().id}.json")
    assert names(spool.running) == names(spool.queue) == []


def test_a_task_that_is_queued_again_meanwhile_is_not_doubled_when_it_is_put_back(spool):
    spool.submit(task())
    spool.claim()
    (spool.queue / f"{task().id}.json").write_bytes((spool.running / f"{task().id}.json").read_bytes())
    spool.put_back(f"{task().id}.json")
    assert (names(spool.running), names(spool.queue)) == ([], [f"{task().id}.json"])


def test_putting_back_what_is_gone_is_harmless(spool):
    spool.put_back(f"{task().id}.json")
    assert spool.in_flight() == {}


def test_a_worker_that_is_late_finds_its_result_there_and_changes_nothing(spool):
    spool.submit(task())
    spool.claim()
    spool.finish(result(task()))
    spool.finish(result(task(), "## 后到的"))
    assert spool.read_result(spool.finished()[0]).text == "## 部署"


def test_discarding_takes_what_a_crash_left_of_the_task(spool):
    spool.submit(task())
    spool.claim()
    data = (spool.running / f"{task().id}.json").read_bytes()
    spool.finish(result(task()))
    for folder in (spool.queue, spool.running):
        (folder / f"{task().id}.json").write_bytes(data)
    spool.discard(spool.finished()[0])
    assert spool.in_flight() == {}


def test_a_file_that_is_no_task_is_handed_back_as_it_is(spool):
    (spool.queue / f"{task().id}.json").write_text("[半个任务")
    spool.submit(task("day-2026-01-14"))
    claimed = spool.claim()
    assert claimed
    assert claimed.group == "day-2026-01-14"
    (path,) = spool.finished()
    assert path.read_text() == "[半个任务"
    with pytest.raises(ValueError, match="JSON"):
        spool.read_result(path)


def test_a_result_whose_name_is_not_its_own_is_refused(spool):
    other = spool.results / f"{task('day-2026-01-14').id}.json"
    spool.finish(result(task()))
    spool.finished()[0].rename(other)
    with pytest.raises(ValueError, match="its name is not its id"):
        spool.read_result(other)


def test_a_result_that_says_it_is_of_another_group_is_refused(spool):
    spool.finish(replace(result(task()), group="month-2020-01"))
    with pytest.raises(ValueError, match="its name is not its id"):
        spool.read_result(spool.finished()[0])


@pytest.mark.parametrize(
    "name",
    [
        ".day-2026-01-15-ea62e2400d-0.json.9-1.tmp",
        "README.md",
        "day-2026-01-15.json",
        "day-2026-01-15-ea62e2400d-0.json~",
        "x.json",
    ],
)
def test_files_with_other_names_are_not_looked_at(spool, name):
    for folder in (spool.queue, spool.running, spool.results):
        (folder / name).write_text("别人的")
    assert (spool.in_flight(), spool.finished(), spool.claim(), spool.claimed()) == ({}, [], None, {})


def test_a_beat_moves_the_time_of_the_running_task(spool):
    import os

    spool.submit(task())
    spool.claim()
    path = spool.running / f"{task().id}.json"
    os.utime(path, (1, 1))
    spool.beat(task())
    assert spool.claimed()[path.name] > 10**18


def test_a_beat_of_a_task_that_was_put_back_is_harmless(spool):
    spool.submit(task())
    spool.beat(task())
    assert spool.in_flight() == {"day-2026-01-15": "queue"}


# ── failures ─────────────────────────────────────────────────────────────────


def test_a_failure_is_kept_in_a_file_and_forgotten_with_success(spool):
    spool.fail("day-2026-01-15", 1, NOON, NOON.replace(minute=10), "timeout")
    spool.fail("day-2026-01-15", 2, NOON, NOON.replace(minute=30), "empty")
    assert spool.failures() == {"day-2026-01-15": (2, NOON, NOON.replace(minute=30), "empty")}
    assert (spool.failed / "day-2026-01-15.json").read_text() == (
        '{"attempts": 2, "failedAt": "2026-01-31T04:00:00.000Z", "nextAt": "2026-01-31T04:30:00.000Z", "reason": "empty"}\n'
    )
    spool.clear("day-2026-01-15")
    assert (spool.failures(), names(spool.failed)) == ({}, [])
    spool.clear("day-2026-01-15")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{",
        b"null",
        b"7",
        b'{"attempts": 1}',
        b'{"attempts": "x", "failedAt": 1, "nextAt": 2, "reason": 3}',
        b"[" * 100000,
        b"\xff",
        *(
            b'{"attempts": %s, "failedAt": "2026-01-31T04:00:00.000Z", "nextAt": "2026-01-31T04:00:00.000Z", "reason": ""}'
            % odd
            for odd in (b"-1", b"0", b"1e308", b"2000000", b'"1"', b"null")
        ),
        b'{"attempts": [], "failedAt": "2026-01-31T04:00:00.000Z", "nextAt": "2026-01-31T04:00:00.000Z", "reason": ""}',
    ],
)
def test_a_failure_that_cannot_be_read_counts_as_none(spool, data):
    (spool.failed / "day-2026-01-15.json").write_bytes(data)
    (spool.failed / "笔记.json").write_text("{}")
    spool.fail("day-2026-01-14", 1, NOON, NOON, "lost")
    assert list(spool.failures()) == ["day-2026-01-14"]


def test_the_times_of_a_failure_are_to_the_millisecond_as_in_the_messages(spool):
    data = b'{"attempts": 1, "failedAt": "2026-01-31T04:00:00.123456Z", "nextAt": "2026-01-31T04:10:00.999999Z", "reason": "input"}'
    (spool.failed / "day-2026-01-15.json").write_bytes(data)
    (found,) = spool.failures().values()
    assert [to_wire(time) for time in found[1:3]] == ["2026-01-31T04:00:00.123Z", "2026-01-31T04:10:00.999Z"]
    assert [time.microsecond % 1000 for time in found[1:3]] == [0, 0]
