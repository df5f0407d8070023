"""turns/: the context prepared for inbox.json, and a receipt of each turn (docs/reference/protocol.md, 7)."""

import hashlib
import json
import os
from datetime import timedelta
from typing import Any

import pytest

from recalld.supervisor.context.turns import ReceiptStore
from recalld.supervisor.protocol.turn import Candidate, Receipt, parse_receipt, render_receipt, turn_id
from recalld.supervisor.storage.errors import BadFile, NewerFormat, NotFound
from recalld.supervisor.storage.files import Files
from tests.world import FaultyDisk, at, message

PEANUTS = message("花生-1", "2026-01-30T09:00", "我对花生过敏，点外卖要备注。")
NOTED = message("花生-2", "2026-01-30T09:01", "记住了，花生过敏。", "assistant")
TODAY = message("今天-1", "2026-01-31T09:50", "今天先看一下 nginx 的日志。")


def waits(identity: str = "in-1", text: str = "我对什么过敏？", when: str = "2026-01-31T09:59", **more: Any) -> dict[str, Any]:
    return {**message(identity, when, text), **more}


@pytest.fixture
def filled(world):
    world.write([PEANUTS, NOTED])
    world.settle()
    world.write([TODAY])
    world.refresh()
    return world


def turns(world) -> list[str]:
    folder = world.root / "turns"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def read(world, turn: str) -> Receipt:
    path = world.root / "turns" / f"{turn}.json"
    return parse_receipt(path.read_bytes(), path)


def by_hand(stamp: str, words: str) -> str:
    """The name of the file as an assistant works it out."""
    return f"{stamp}-{hashlib.sha256(words.encode()).hexdigest()[:12]}"


# ── what is written ──────────────────────────────────────────────────────────


@pytest.mark.feature("003.24")
def test_prepared_context_holds_the_whole_turn_and_leaves_the_inbox_alone(filled):
    data = filled.ask(waits())
    before = filled.files.disk.stat(filled.paths.inbox)
    ready = read(filled, filled.prepared_contexts().update())
    assert "我对花生过敏" in ready.memory
    assert [one["role"] for one in ready.messages] == ["user", "user"]
    assert ready.memory in ready.messages[-1]["content"]
    assert ready.messages[-1]["content"].endswith("\n\n我对什么过敏？")
    assert [one["content"] for one in ready.history] == [TODAY["text"]]
    assert (filled.paths.inbox.read_bytes(), filled.files.disk.stat(filled.paths.inbox)) == (data, before)


def test_prepared_context_has_a_computable_name_and_the_inbox_digest(filled):
    data = filled.ask(waits("in-0", "早先问的"), waits("消息-7", when="2026-01-31T09:59:30.250"))
    filled.prepared_contexts().update()
    turn = by_hand("20260131T015930250Z", "消息-7")
    assert turns(filled) == [f"{turn}.json"]
    assert read(filled, turn).inbox == hashlib.sha256(data).hexdigest()
    assert filled.why(turn).question == "早先问的\n我对什么过敏？"
    with pytest.raises(NotFound, match="no turn that is kept has the id 没有这一轮"):
        filled.why("没有这一轮")


def test_prepared_context_names_an_input_without_id_by_text_and_mtime(filled):
    filled.ask("我对什么过敏？")
    os.utime(filled.root / "inbox.json", ns=(0, 1_769_824_799_123_456_789))
    filled.prepared_contexts().update()
    assert turns(filled) == [f"{by_hand('20260131T015959123Z', '我对什么过敏？')}.json"]


# ── once, and again ──────────────────────────────────────────────────────────


def test_prepared_context_is_written_once_per_inbox_across_processes(filled):
    data = filled.ask(waits())
    ready = filled.prepared_contexts()
    path = filled.root / "turns" / f"{ready.update()}.json"
    before = filled.files.disk.stat(path)
    filled.clock.forward(minutes=1)
    assert ready.update() is None
    filled.put("inbox.new", data)
    os.replace(filled.root / "inbox.new", filled.root / "inbox.json")
    assert ready.update() is None
    assert filled.reopen().prepared_contexts().update() is None
    assert filled.files.disk.stat(path) == before


def test_prepared_context_is_replaced_when_the_input_is_reworded(filled):
    ready = filled.prepared_contexts()
    filled.ask(waits(text="我对什么"))
    first = ready.update()
    data = filled.ask(waits(text="我对什么食物过敏？"))
    assert ready.update() == first
    found = read(filled, first)
    assert (found.question, found.inbox) == ("我对什么食物过敏？", hashlib.sha256(data).hexdigest())


def test_prepared_context_skips_an_input_that_is_already_answered(filled):
    filled.add(
        message("in-1", "2026-01-31T09:59", "我对什么过敏？"), message("a", "2026-01-31T09:59:30", "花生。", "assistant")
    )
    filled.ask(waits())
    assert filled.prepared_contexts().update() is None
    assert turns(filled) == []


# ── what goes wrong ──────────────────────────────────────────────────────────


def test_prepared_context_reports_a_full_disk_once_and_is_written_later(filled):
    disk = FaultyDisk("create")
    ready = filled.reopen(disk=disk).prepared_contexts()
    filled.ask(waits())
    disk.refuses = lambda _call, path: filled.root / "turns" in path.parents
    for _ in range(3):
        assert ready.update() is None
    assert len(filled.events.of("degraded")) == 1
    disk.heal()
    assert ready.update()
    assert len(filled.events.of("recovered")) == 1


def test_prepared_context_omits_only_the_history_when_it_is_unreadable(filled):
    filled.write(b"[{")
    filled.ask(waits())
    ready = read(filled, filled.prepared_contexts().update())
    assert "我对花生过敏" in ready.memory
    assert ready.history == ()


# ── receipts, the newest kept ────────────────────────────────────────────────

NOW = at("2026-01-31T10:00")


def receipt(minute: int = 0, question: str = "花生呢？", **more: object) -> Receipt:
    when = NOW + timedelta(minutes=minute)
    fields: dict[str, object] = {
        "id": turn_id(when, question),
        "at": when,
        "question": question,
        "terms": ("花生",),
        "candidates": (
            Candidate(path="memory.md", start=3, end=3, score=2.5, because=("words: 花生",), shown=True),
            Candidate(path="memory/a.md", start=4, end=6, score=1.0, why="tokens"),
        ),
        "memory": "## Memory\n[memory.md#L3] 我对花生过敏。\n",
        "history": ({"id": "m1", "role": "user", "content": "你好", "whole": True},),
        "messages": ({"role": "user", "content": question},),
        "tokens": {"memory": 40, "history": 6},
        "budgets": {"memory": 2048, "history": 4096},
        "config": {"recall": {"max_hits": 5}},
        **more,
    }
    return Receipt(**fields)  # type: ignore[arg-type]


@pytest.fixture
def store(world) -> ReceiptStore:
    return ReceiptStore(world.files, world.paths)


def test_receipt_store_byte_limit_drops_the_oldest_but_never_the_newest(world):
    size = len(render_receipt(receipt()))
    store = ReceiptStore(world.files, world.paths, kept_bytes=2 * size + 9)
    for minute in range(4):
        store.write(receipt(minute))
    assert store.turns() == [receipt(n).id for n in (2, 3)]
    huge = receipt(9, question="花生" * size)
    store.write(huge)
    assert store.turns() == [huge.id]


def test_receipt_that_another_process_writes_meanwhile_is_no_conflict(world, store, monkeypatch):
    other, prepare = ReceiptStore(Files(world.files.disk), world.paths), world.files._prepare

    def later(*args):
        other.write(receipt())
        return prepare(*args)

    monkeypatch.setattr(world.files, "_prepare", later)
    store.write(receipt())
    assert store.read() == receipt()


CANDIDATE = {"path": "a.md", "start": 1, "end": 2, "score": 1.0}


@pytest.mark.parametrize(
    "odd",
    [
        *(
            {"at": 5},
            {"tokens": 5},
            {"budgets": {"total": "多"}},
            {"config": []},
            {"terms": [1]},
            {"ms": "x"},
            {"history": [5]},
        ),
        *({"messages": [{"role": 1}]}, {"candidates": [{**CANDIDATE, "score": "很好"}]}),
        {"candidates": [{**CANDIDATE, "parts": {"words": "一"}}]},
    ],
)
def test_receipt_store_raises_bad_file_for_an_invalid_receipt(store, world, odd):
    store.write(receipt())
    path = world.root / "turns" / f"{receipt().id}.json"
    for data in (json.dumps({**json.loads(render_receipt(receipt())), **odd}).encode(), b"[]", b"\xff"):
        path.write_bytes(data)
        with pytest.raises(BadFile):
            store.read()


def test_parse_receipt_refuses_a_newer_version_and_ignores_unknown_keys():
    found = json.loads(render_receipt(receipt()))
    assert parse_receipt(json.dumps({**found, "新": 1}).encode(), "a.json") == receipt()
    with pytest.raises(NewerFormat):
        parse_receipt(json.dumps({**found, "version": 2}).encode(), "a.json")
