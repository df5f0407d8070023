"""A context ready in turns/ for what waits in inbox.json, under a name that an assistant can work out (docs/protocol.md, 7)."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.context.build import context, gather
from supervisor.context.prepared import Ready
from supervisor.context.replay import why
from supervisor.protocol.disk import RealDisk
from supervisor.protocol.turn import parse_receipt
from supervisor.recall.search import recall, refresh
from tests.conftest import TOML, at, message

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.protocol.turn import Receipt

PEANUTS = message("花生-1", "2026-01-30T09:00", "我对花生过敏，点外卖要备注。")
NOTED = message("花生-2", "2026-01-30T09:01", "记住了，花生过敏。", "assistant")
TODAY = message("今天-1", "2026-01-31T09:50", "今天先看一下 nginx 的日志。")


def waits(identity: str = "in-1", text: str = "我对什么过敏？", when: str = "2026-01-31T09:59", **more: Any) -> dict[str, Any]:
    return {**message(identity, when, text), **more}


@pytest.fixture
def told(desk):
    desk.write([PEANUTS, NOTED])
    desk.settle()
    desk.write([TODAY])
    refresh(desk.ws)
    return desk


def ask(desk, *inputs: object) -> bytes:
    data = json.dumps(list(inputs), ensure_ascii=False).encode()
    (desk.root / "inbox.json").write_bytes(data)
    return data


def turns(desk) -> list[str]:
    folder = desk.root / "turns"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def read(desk, turn: str) -> Receipt:
    path = desk.root / "turns" / f"{turn}.json"
    return parse_receipt(path.read_bytes(), path)


def by_hand(stamp: str, words: str) -> str:
    """The name of the file as an assistant works it out."""
    return f"{stamp}-{hashlib.sha256(words.encode()).hexdigest()[:12]}"


# ── what is written ──────────────────────────────────────────────────────────


def test_the_whole_turn_stands_ready_and_the_inbox_is_left_alone(told):
    data = ask(told, waits())
    before = told.files.disk.stat(told.layout.inbox)
    turn = Ready(told.ws, told.clock).look()
    ready = read(told, turn)
    assert turns(told) == [f"{turn}.json"]
    assert "我对花生过敏" in ready.memory
    assert [one["role"] for one in ready.messages] == ["system", "user", "user"]
    assert ready.messages[0]["content"] == ready.memory
    assert ready.messages[-1]["content"] == "我对什么过敏？"
    assert [one["content"] for one in ready.history] == [TODAY["text"]]
    assert (told.layout.inbox.read_bytes(), told.files.disk.stat(told.layout.inbox)) == (data, before)


def test_it_says_what_the_command_would_say(told):
    ask(told, waits())
    ready = read(told, Ready(told.ws, told.clock).look())
    asked = gather(told.ws, None)
    by_command = context(told.ws, asked, told.clock(), recall(told.ws, asked.question, told.clock(), asked.before))
    assert (ready.messages, ready.memory, ready.terms) == (by_command.messages, by_command.memory, by_command.receipt.terms)


def test_an_assistant_can_work_out_the_name_and_know_that_it_is_for_its_inbox(told):
    data = ask(told, waits("in-0", "早先问的"), waits("消息-7", when="2026-01-31T09:59:30.250"))
    Ready(told.ws, told.clock).look()
    turn = by_hand("20260131T015930250Z", "消息-7")
    assert turns(told) == [f"{turn}.json"]
    assert read(told, turn).inbox == hashlib.sha256(data).hexdigest()
    assert why(told.ws, turn).question == "早先问的\n我对什么过敏？"


def test_an_input_without_id_and_time_is_named_by_its_words_and_the_write_of_the_inbox(told):
    ask(told, "我对什么过敏？")
    os.utime(told.root / "inbox.json", ns=(0, 1_769_824_799_123_456_789))
    Ready(told.ws, told.clock).look()
    assert turns(told) == [f"{by_hand('20260131T015959123Z', '我对什么过敏？')}.json"]


def test_an_input_from_the_future_is_named_by_the_write_of_the_inbox(told):
    ask(told, waits("in-9", when="2099-01-01T00:00"))
    os.utime(told.root / "inbox.json", ns=(0, 1_769_824_799_000_000_000))
    Ready(told.ws, told.clock).look()
    assert turns(told) == [f"{by_hand('20260131T015959000Z', 'in-9')}.json"]


def test_nobody_else_may_read_it(told):
    ask(told, waits())
    turn = Ready(told.ws, told.clock).look()
    assert (told.root / "turns" / f"{turn}.json").stat().st_mode & 0o777 == 0o600


# ── once, and again ──────────────────────────────────────────────────────────


def test_the_same_inbox_is_written_once_even_by_another_process(told):
    data = ask(told, waits())
    ready = Ready(told.ws, told.clock)
    turn = ready.look()
    path = told.root / "turns" / f"{turn}.json"
    before = told.files.disk.stat(path)
    told.clock.forward(minutes=1)
    assert ready.look() is None
    (told.root / "inbox.new").write_bytes(data)
    os.replace(told.root / "inbox.new", told.root / "inbox.json")
    assert ready.look() is None
    assert Ready(told.reopen(), told.clock).look() is None
    assert told.files.disk.stat(path) == before


def test_another_input_is_another_turn(told):
    ready = Ready(told.ws, told.clock)
    ask(told, waits())
    first = ready.look()
    ask(told, waits(), waits("in-2", "那房间号呢？", "2026-01-31T10:00"))
    second = ready.look()
    assert sorted([f"{first}.json", f"{second}.json"]) == turns(told)
    assert read(told, second).question == "我对什么过敏？\n那房间号呢？"


def test_an_input_that_was_reworded_replaces_its_context(told):
    ready = Ready(told.ws, told.clock)
    ask(told, waits(text="我对什么"))
    first = ready.look()
    data = ask(told, waits(text="我对什么食物过敏？"))
    assert ready.look() == first
    assert turns(told) == [f"{first}.json"]
    found = read(told, first)
    assert (found.question, found.inbox) == ("我对什么食物过敏？", hashlib.sha256(data).hexdigest())


@pytest.mark.parametrize("inbox", [[], [{"role": "assistant", "text": "我先说"}], ["  "]])
def test_where_nothing_waits_nothing_is_written(told, inbox):
    ask(told, *inbox)
    assert Ready(told.ws, told.clock).look() is None
    (told.root / "inbox.json").unlink()
    assert Ready(told.ws, told.clock).look() is None
    assert turns(told) == []
    assert told.told.of("inbox_invalid") == []


def test_what_was_answered_already_is_not_made_ready(told):
    told.say(message("in-1", "2026-01-31T09:59", "我对什么过敏？"), message("a", "2026-01-31T09:59:30", "花生。", "assistant"))
    ask(told, waits())
    assert Ready(told.ws, told.clock).look() is None
    assert turns(told) == []


def test_where_recalld_answers_itself_no_context_is_made(told):
    told.reopen(TOML + '[turns]\nreply = "worker"\n')
    ask(told, waits())
    assert Ready(told.ws, told.clock).look() is None
    assert turns(told) == []


def test_only_the_newest_turns_are_kept(told):
    ready = Ready(told.ws, told.clock)
    ready._store._kept = 3
    made = []
    for n in range(5):
        ask(told, waits(f"in-{n}", when=f"2026-01-31T09:5{n}"))
        made.append(f"{ready.look()}.json")
    assert turns(told) == made[-3:]


# ── what goes wrong ──────────────────────────────────────────────────────────


@pytest.fixture
def seconds(monkeypatch):
    """The monotonic clock, cranked."""
    now = [100.0]
    monkeypatch.setattr("supervisor.context.prepared.time.monotonic", lambda: now[0])
    return now


def test_a_broken_inbox_is_told_once_and_is_whole_again_later(told, seconds):
    ready = Ready(told.ws, told.clock)
    (told.root / "inbox.json").write_bytes('[{"id": "1", "text": "写到一'.encode())
    for _ in range(3):
        assert ready.look() is None
        seconds[0] += 1
    assert len(told.told.of("inbox_invalid")) == 1
    assert turns(told) == []
    ask(told, waits())
    assert ready.look()
    (told.root / "inbox.json").write_bytes(b"\xff\xfe{{")
    ready.look()
    seconds[0] += 1
    ready.look()
    assert len(told.told.of("inbox_invalid")) == 2


def test_an_inbox_in_the_middle_of_a_write_is_no_event(told, seconds):
    ready = Ready(told.ws, told.clock)
    (told.root / "inbox.json").write_bytes(b"")
    ready.look()
    seconds[0] += 0.5
    ready.look()
    ask(told, waits())
    seconds[0] += 0.6
    assert ready.look()
    assert told.told.of("inbox_invalid") == []


def test_no_words_of_a_broken_inbox_reach_the_log(told, seconds):
    ready = Ready(told.ws, told.clock)
    (told.root / "inbox.json").write_bytes('{"text": "密码是 hunter2"'.encode())
    ready.look()
    seconds[0] += 1
    ready.look()
    assert "hunter2" not in json.dumps(told.told.all, ensure_ascii=False)


class Full(RealDisk):
    """A disk without room below one folder."""

    folder: Path | None = None

    def create(self, path: Path, mode: int) -> int:
        if self.folder in path.parents:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return super().create(path, mode)


def test_a_full_disk_is_told_once_and_the_context_comes_when_there_is_room(told):
    disk = Full()
    ready = Ready(told.reopen(disk=disk), told.clock)
    ask(told, waits())
    disk.folder = told.root / "turns"
    for _ in range(3):
        assert ready.look() is None
    assert len(told.told.of("degraded")) == 1
    disk.folder = None
    assert ready.look()
    assert len(told.told.of("recovered")) == 1


def test_a_history_that_can_not_be_read_costs_the_history_block_alone(told):
    told.write(b"[{")
    ask(told, waits())
    ready = read(told, Ready(told.ws, told.clock).look())
    assert "我对花生过敏" in ready.memory
    assert ready.history == ()


def test_without_any_index_the_turn_is_made_ready_without_memory(desk):
    ask(desk, waits())
    turn = Ready(desk.ws, desk.clock).look()
    assert read(desk, turn).messages == ({"role": "user", "content": "我对什么过敏？"},)
    assert read(desk, turn).at == at("2026-01-31T10:00") == datetime(2026, 1, 31, 2, tzinfo=UTC)
