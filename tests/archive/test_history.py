"""history.json: shared with any program, changed under the lock, never written over while it can't be read."""

from __future__ import annotations

import errno
import json
from typing import TYPE_CHECKING

import pytest

from supervisor.protocol.disk import RealDisk
from supervisor.protocol.errors import BadFile, Busy
from supervisor.protocol.files import Files
from supervisor.protocol.message import Message
from tests.world import FaultyDisk, message, talk

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.protocol.message import History


def without_first(history: History) -> History:
    return history[1:]


def test_no_file_is_no_messages_yet(world):
    assert world.ws.history.read() == ()
    assert not world.layout.history.exists()


def test_what_another_program_wrote_is_read(world):
    world.write(talk("2026-01-31T09:00", 2))
    first = world.ws.history.read()[0]
    assert isinstance(first, Message)
    assert first.text.startswith("明天把 nginx")


def test_while_nothing_changes_the_same_object_is_returned(world):
    world.write(talk("2026-01-31T09:00", 2))
    assert world.ws.history.read() is world.ws.history.read()


def test_a_change_is_written_whole_and_the_version_before_is_kept(world):
    world.write(talk("2026-01-31T09:00", 3))
    before = world.layout.history.read_bytes()
    after = world.ws.history.change(without_first)
    assert [one["id"] for one in world.history()] == [one.id for one in after if isinstance(one, Message)]
    assert world.layout.history_backup.read_bytes() == before


def test_what_changes_nothing_writes_nothing(world):
    world.write(b' [ {"role":"user","text":"\xe5\xa5\xbd","id":"1"} ] ')
    before = world.layout.history.stat()
    world.ws.history.change(lambda history: (*history,))
    assert world.layout.history.stat() == before
    assert not world.layout.history_backup.exists()


def test_foreign_fields_and_the_order_of_keys_and_messages_stay(world):
    raws = [
        {"x": {"深": [1.0, None, "é"]}, "text": "好", "role": "agent", "id": "1"},
        "一句话",
        {"role": "user"},
        {**message("2", "2026-01-31T09:00"), "名": 1},
    ]
    world.write(raws)
    world.ws.history.change(lambda history: (*history, history[0]))
    assert json.dumps(world.history(), ensure_ascii=False) == json.dumps([*raws, raws[0]], ensure_ascii=False)


def test_a_program_that_puts_back_exactly_what_stood_before_is_seen(world):
    before = talk("2026-01-31T09:00", 3)
    world.write(before)
    world.ws.history.change(lambda history: history[1:])
    world.write(before)
    assert len(world.ws.history.read()) == 3


def test_messages_that_another_program_adds_meanwhile_are_not_lost(world):
    """A29, B6, H12: the change is made again, on what is there now."""
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


def test_a_program_that_never_stops_writing_is_told_of_and_not_written_over(world):
    from supervisor.protocol.errors import Changed

    world.write(talk("2026-01-31T09:00", 2))

    def change(history: History) -> History:
        world.add(message(f"m{len(history)}", "2026-01-31T09:30"))
        return history[1:]

    with pytest.raises(Changed):
        world.ws.history.change(change)
    assert len(world.history()) == 7


def test_the_lock_is_held_until_what_follows_is_done(world):
    world.write(talk("2026-01-31T09:00", 2))
    other = Files(RealDisk())

    def then(history: History) -> None:
        assert len(history) == 1
        with pytest.raises(Busy), other.lock(world.layout.history_lock, wait_s=0):
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
def test_what_cannot_be_read_is_never_an_empty_array_and_never_written_over(world, data):
    """A32, B13, H30."""
    world.write(data)
    with pytest.raises(BadFile, match=r"nothing was written over it"):
        world.ws.history.read()
    with pytest.raises(BadFile):
        world.ws.history.change(lambda history: (*history, *history))
    assert world.layout.history.read_bytes() == data


def test_what_was_mended_is_read_again(world):
    world.write(talk("2026-01-31T09:00", 2))
    world.ws.history.read()
    world.write(b"[")
    with pytest.raises(BadFile):
        world.ws.history.read()
    world.write(talk("2026-01-31T09:00", 3))
    assert len(world.ws.history.read()) == 3


def test_a_file_that_is_gone_though_its_backup_is_there_is_no_empty_history(world):
    world.write(talk("2026-01-31T09:00", 2))
    world.ws.history.change(without_first)
    world.layout.history.unlink()
    with pytest.raises(BadFile, match="it is gone"):
        world.ws.history.read()


def test_a_second_process_sees_what_the_first_wrote(world, tmp_path: Path):
    world.write(talk("2026-01-31T09:00", 2))
    assert len(world.ws.history.read()) == 2
    other = world.another()
    other.ws.history.change(without_first)
    assert len(world.ws.history.read()) == 1


def test_a_backup_that_is_no_file_has_nothing_written_and_one_that_can_not_be_renamed_costs_only_itself(world):
    world.write([message("a", "2026-01-30T09:00", "我对花生过敏。")])
    before = world.layout.history.read_bytes()
    world.layout.history_backup.mkdir()
    with pytest.raises(OSError, match="no regular file"):
        world.ws.history.change(lambda history: history[:0])
    assert world.layout.history.read_bytes() == before
    world.layout.history_backup.rmdir()

    world.reopen(disk=FaultyDisk("rename", number=errno.EIO, refuses=lambda _, path: path.name.endswith(".bak")))
    world.ws.history.change(lambda history: history[:0])
    assert world.history() == []
    assert not list(world.root.glob(".*.tmp"))
