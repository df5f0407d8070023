"""history.json: shared with any program, changed under the lock, never overwritten while it can't be read."""

from __future__ import annotations

import errno
import json
from datetime import UTC
from typing import TYPE_CHECKING

import pytest

from recalld.supervisor.protocol.message import Message, read_message
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.errors import BadFile, Busy
from recalld.supervisor.storage.files import Files
from tests.world import FaultyDisk, message, talk

if TYPE_CHECKING:
    from pathlib import Path

    from recalld.supervisor.protocol.message import History


def without_first(history: History) -> History:
    return history[1:]


def test_history_reads_a_missing_file_as_empty(world):
    assert world.ws.history.read() == ()
    assert not world.paths.history.exists()


def test_history_reads_what_another_program_wrote(world):
    world.write(talk("2026-01-31T09:00", 2))
    first = world.ws.history.read()[0]
    assert isinstance(first, Message)
    assert first.text.startswith("明天把 nginx")


def test_history_returns_the_same_object_while_nothing_changes(world):
    world.write(talk("2026-01-31T09:00", 2))
    assert world.ws.history.read() is world.ws.history.read()


@pytest.mark.feature("003.32")
def test_history_writes_a_change_and_keeps_the_previous_version(world):
    world.write(talk("2026-01-31T09:00", 3))
    before = world.paths.history.read_bytes()
    after = world.ws.history.change(without_first)
    assert [one["id"] for one in world.history()] == [one.id for one in after if isinstance(one, Message)]
    assert world.paths.history_backup.read_bytes() == before


def test_history_reads_again_only_what_it_has_not_read_or_written(world):
    world.write(talk("2026-01-31T09:00", 4))
    history = world.ws.history
    before = history.read()
    odd = read_message({"role": "user", "text": "数组", "tags": ("a", "b")}, UTC)
    history.change(lambda found: (*found[1:], odd))
    after = history.read()
    assert all(new is old for new, old in zip(after, before[1:], strict=False))
    assert after[-1].raw == json.loads(world.paths.history.read_text(encoding="utf-8"))[-1] == {**odd.raw, "tags": ["a", "b"]}


def test_history_writes_nothing_when_nothing_changes(world):
    world.write(b' [ {"role":"user","text":"\xe5\xa5\xbd","id":"1"} ] ')
    before = world.paths.history.stat()
    world.ws.history.change(lambda history: (*history,))
    assert world.paths.history.stat() == before
    assert not world.paths.history_backup.exists()


def test_history_keeps_unknown_fields_key_order_and_message_order(world):
    raws = [
        {"x": {"深": [1.0, None, "é"]}, "text": "好", "role": "agent", "id": "1"},
        "一句话",
        {"role": "user"},
        {**message("2", "2026-01-31T09:00"), "名": 1},
    ]
    world.write(raws)
    world.ws.history.change(lambda history: (*history, history[0]))
    assert json.dumps(world.history(), ensure_ascii=False) == json.dumps([*raws, raws[0]], ensure_ascii=False)


def test_history_notices_a_program_that_restores_the_old_content(world):
    before = talk("2026-01-31T09:00", 3)
    world.write(before)
    world.ws.history.change(lambda history: history[1:])
    world.write(before)
    assert len(world.ws.history.read()) == 3


def test_history_applies_a_change_again_when_another_program_writes(world):
    """The change is applied again, to what the file holds now."""
    world.write(talk("2026-01-31T09:00", 2))
    late = message("late", "2026-01-31T09:30", "我又想起一件事")
    calls = []

    def change(history: History) -> History:
        calls.append(len(history))
        if len(calls) == 1:
            world.add(late)
        return history[1:]

    world.ws.history.change(change)
    assert calls == [2, 3]
    assert world.history()[-1] == late


def test_history_raises_conflict_when_another_program_keeps_writing(world):
    from recalld.supervisor.storage.errors import Conflict

    world.write(talk("2026-01-31T09:00", 2))

    def change(history: History) -> History:
        world.add(message(f"m{len(history)}", "2026-01-31T09:30"))
        return history[1:]

    with pytest.raises(Conflict):
        world.ws.history.change(change)
    assert len(world.history()) == 7


def test_history_holds_its_lock_until_the_callback_returns(world):
    world.write(talk("2026-01-31T09:00", 2))
    other = Files(RealDisk())

    def then(history: History) -> None:
        assert len(history) == 1
        with pytest.raises(Busy), other.lock(world.paths.history_lock, wait_s=0):
            pass

    world.ws.history.change(without_first, then)


# ── damaged ──────────────────────────────────────────────────────────────────

BAD = {
    "empty": b"",
    "cut off": b'[{"id": "1", "role": "user", "te',
    "an object": b'{"messages": []}',
    "zeros": b"\0" * 100,
    "too deep": b"[" * 100_000,
    "not UTF-8": '["好"]'.encode("gb18030"),
    "a comma too many": b"[1,]",
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_history_refuses_damaged_data_and_does_not_overwrite_it(world, data):
    world.write(data)
    with pytest.raises(BadFile, match=r"it was not overwritten"):
        world.ws.history.read()
    with pytest.raises(BadFile):
        world.ws.history.change(lambda history: (*history, *history))
    assert world.paths.history.read_bytes() == data


def test_history_reads_again_after_damage_is_repaired(world):
    world.write(talk("2026-01-31T09:00", 2))
    world.ws.history.read()
    world.write(b"[")
    with pytest.raises(BadFile):
        world.ws.history.read()
    world.write(talk("2026-01-31T09:00", 3))
    assert len(world.ws.history.read()) == 3


def test_history_refuses_a_missing_file_when_a_backup_exists(world):
    world.write(talk("2026-01-31T09:00", 2))
    world.ws.history.change(without_first)
    world.paths.history.unlink()
    with pytest.raises(BadFile, match="it is gone"):
        world.ws.history.read()


def test_history_reads_what_a_second_process_wrote(world, tmp_path: Path):
    world.write(talk("2026-01-31T09:00", 2))
    assert len(world.ws.history.read()) == 2
    other = world.another()
    other.ws.history.change(without_first)
    assert len(world.ws.history.read()) == 1


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
