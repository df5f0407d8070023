"""Faults that the simulated years found in the product, each in its smallest form."""

import contextlib
import errno
import os

import recalld.supervisor.host.workers
from recalld.supervisor.host.workers import Workers
from recalld.supervisor.storage.disk import RealDisk
from tests.world import FaultyDisk, message


def test_journal_is_rewritten_after_a_failed_fsync_before_it_is_trusted(world):
    """After a failed fsync its lines could be read, so that the dropped file went; a power cut then took the lines."""

    class Forgetful(RealDisk):
        is_broken = True

        def sync(self, handle: int) -> None:
            if self.is_broken and "seen.jsonl" in os.readlink(f"/proc/self/fd/{handle}"):
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            super().sync(handle)

    world.round()
    world.reopen(disk=(disk := Forgetful()))
    world.drop("手机.json", message("m1", "2026-01-30T09:00", "月饼订两盒。"))
    world.round()
    unsure = world.paths.seen.stat().st_ino
    assert "月饼" in world.paths.seen.read_text(encoding="utf-8")
    world.round()
    assert (world.dropped(), world.archived()) == (["手机.json"], [])
    disk.is_broken = False
    world.round()
    assert world.dropped() == []
    assert world.paths.seen.stat().st_ino != unsure


def test_workers_survive_a_full_disk_when_a_lease_expires(world, monkeypatch):
    disk = FaultyDisk("write", "rename_new")
    world.reopen(disk=disk)
    monkeypatch.setattr(recalld.supervisor.host.workers, "time", world.clock)
    world.write([message("m1", "2026-01-10T09:00", "月饼订两盒。")])
    world.round("all")
    world.ws.task_queue.claim()
    workers = Workers(world.ws, world.clock)
    disk.break_down()
    for _ in range(4):
        with contextlib.suppress(OSError):  # which the service reports with its next round
            workers.watch_leases()
        world.clock.seconds += 61
    assert len(world.ws.task_queue.claimed()) == 1
    disk.heal()
    workers.watch_leases()
    assert (len(world.ws.task_queue.claimed()), world.ws.task_queue.queued_count()) == (0, 1)
