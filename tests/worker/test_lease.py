"""The lease of a running task: renewed by touching its file, lost to whoever touches it later."""

import errno
import threading

import pytest

from recalld.supervisor.protocol.paths import WorkspacePaths
from recalld.supervisor.protocol.queue import Lease, TaskQueue
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.files import Files
from tests.patience import PATIENCE_S
from tests.protocol.test_queue import names, task
from tests.world import GOOD_SUMMARY, WITH_MODEL, FaultyDisk, message_on


@pytest.fixture
def task_queue(tmp_path):
    found = TaskQueue(Files(RealDisk()), WorkspacePaths(tmp_path))
    found.prepare()
    assert found.submit(task())
    return found


def hold(task_queue):
    claimed = task_queue.claim()
    assert claimed
    return Lease(Files(RealDisk()), task_queue, claimed)


def test_lease_of_a_requeued_task_is_lost_permanently(task_queue):
    lease = hold(task_queue)
    task_queue.requeue(f"{lease.task.id}.json")

    assert not lease.heartbeat()
    assert lease.lost
    second = hold(task_queue)
    assert not lease.held()
    assert second.held()


@pytest.mark.feature("003.29")
def test_lease_is_lost_to_another_claim_and_does_not_requeue_its_task(task_queue):
    first = hold(task_queue)
    task_queue.requeue(f"{first.task.id}.json")
    second = hold(task_queue)

    assert not first.heartbeat()
    assert second.heartbeat()
    first.requeue()
    assert names(task_queue.running) == [f"{first.task.id}.json"]


def test_worker_that_is_late_delivers_no_result(world):
    queue = world.ws.task_queue
    world.write([message_on("2026-01-10")])
    world.round("all")

    def late(task, _blocks):
        queue.requeue(f"{task.id}.json")
        world.model.script = lambda *_: GOOD_SUMMARY
        assert world.worker().run_once().text == GOOD_SUMMARY
        queue.discard(queue.results / f"{task.id}.json")  # the supervisor has taken it in
        return "## 迟到的\n\n不该出现。"

    world.model.script = late
    world.worker().run_once()
    assert (queue.finished(), queue.active_groups()) == ([], {})


@pytest.mark.parametrize("call", ["touch", "stat"])
def test_worker_goes_on_when_the_disk_refuses_a_heartbeat(world, call):
    disk = FaultyDisk(call, number=errno.EIO)
    world.write([message_on("2026-01-10")])
    world.reopen(f'{WITH_MODEL}[worker]\nlease = "1s"\n', disk)
    world.round("all")
    refused, reports = threading.Event(), []

    def refuse(_call, path):
        if threading.current_thread() is threading.main_thread() and path and path.parent.name == "running":
            refused.set()
            disk.heal()
            return True
        return False

    def write(_task, _blocks):
        disk.refuses = refuse
        assert refused.wait(PATIENCE_S)
        return GOOD_SUMMARY

    world.model.script = write
    world.worker().run(0, reports.append)

    told = [report for report in reports if "error" in report]
    assert len(told) == 1
    assert "Input/output error" in told[0]["error"]
    assert len(world.ws.task_queue.finished()) == 1
