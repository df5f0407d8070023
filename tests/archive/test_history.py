"""history.json: shared with any program, changed under the lock, never overwritten while it can't be read."""

from __future__ import annotations

import errno

import pytest

from recalld.supervisor.protocol.message import History, Message
from recalld.supervisor.storage.errors import Conflict
from tests.world import FaultyDisk, message, talk


def without_first(history: History) -> History:
    return history[1:]


@pytest.mark.feature("003.27", "003.32")
def test_history_writes_a_change_and_keeps_the_previous_version(world):
    world.write(talk("2026-01-31T09:00", 3))
    before = world.paths.history.read_bytes()
    after = world.ws.history.change(without_first)
    assert [one["id"] for one in world.history()] == [one.id for one in after if isinstance(one, Message)]
    assert world.paths.history_backup.read_bytes() == before


def test_history_raises_conflict_when_another_program_keeps_writing(world):
    world.write(talk("2026-01-31T09:00", 2))

    def change(history: History) -> History:
        world.add(message(f"m{len(history)}", "2026-01-31T09:30"))
        return history[1:]

    with pytest.raises(Conflict):
        world.ws.history.change(change)


# ── damaged ──────────────────────────────────────────────────────────────────


def test_history_refuses_a_backup_folder_but_allows_a_failed_rename(world):
    world.write([message("a", "2026-01-30T09:00", "我对花生过敏。")])
    before = world.paths.history.read_bytes()
    world.paths.history_backup.mkdir()
    with pytest.raises(OSError, match="not a regular file"):
        world.ws.history.change(lambda history: history[:0])
    assert world.paths.history.read_bytes() == before
    world.paths.history_backup.rmdir()

    world.reopen(disk=FaultyDisk("rename", number=errno.EIO, refuses=lambda _, path: path.name.endswith(".bak")))
    world.ws.history.change(lambda history: history[:0])
    assert world.history() == []
    assert not list(world.root.glob(".*.tmp"))
