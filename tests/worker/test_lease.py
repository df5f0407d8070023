"""The hold on a running task: shown by touching its file, lost to whoever touches it later."""

from __future__ import annotations

import pytest

from supervisor.protocol.disk import RealDisk
from supervisor.protocol.files import Files
from supervisor.protocol.paths import Layout
from supervisor.protocol.queue import Spool
from supervisor.protocol.summary_file import Source
from supervisor.protocol.task import Task, task_id
from worker.loop import Lease

SOURCES = (Source("2026-01-15-部署.md", "9f8a3c0012345678", 3),)


@pytest.fixture
def spool(tmp_path):
    found = Spool(Files(RealDisk()), Layout(tmp_path))
    found.prepare()
    group = "day-2026-01-15"
    task = Task(
        id=task_id(group, SOURCES, 0),
        kind="daily-summary",
        group=group,
        period="2026-01-15",
        zone="Asia/Shanghai",
        sources=SOURCES,
        material=(SOURCES[0].name,),
    )
    assert found.submit(task)
    return found


def hold(spool):
    task = spool.claim()
    assert task
    return Lease(Files(RealDisk()), spool, task)


def names(folder):
    return [path.name for path in folder.iterdir()]


def test_a_claimed_task_is_held_beat_after_beat(spool):
    lease = hold(spool)

    assert [lease.beat(), lease.beat(), lease.held(), lease.lost] == [True, True, True, False]


def test_a_beat_is_seen_by_the_supervisor(spool):
    lease = hold(spool)
    before = spool.claimed()
    lease.beat()

    assert spool.claimed() != before


def test_a_task_that_was_put_back_is_lost_for_ever(spool):
    lease = hold(spool)
    spool.put_back(f"{lease.task.id}.json")

    assert not lease.beat()
    assert lease.lost
    second = hold(spool)
    assert not lease.held()
    assert second.held()


def test_a_task_that_another_claimed_meanwhile_is_lost_and_stays_the_others(spool):
    first = hold(spool)
    spool.put_back(f"{first.task.id}.json")
    second = hold(spool)

    assert not first.beat()
    assert second.beat()
    first.give_back()
    assert names(spool.running) == [f"{first.task.id}.json"]


def test_what_is_given_back_is_in_the_queue_and_no_longer_held(spool):
    lease = hold(spool)
    lease.give_back()

    assert names(spool.queue) == [f"{lease.task.id}.json"]
    assert not lease.held()
