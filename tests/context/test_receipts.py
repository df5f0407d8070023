"""turns/: a receipt of each turn, the newest kept (docs/reference/protocol.md, 7)."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from recalld.supervisor.context.turns import ReceiptStore
from recalld.supervisor.protocol.turn import Candidate, Receipt, parse_receipt, render_receipt, turn_id
from recalld.supervisor.storage.errors import BadFile, NewerFormat
from recalld.supervisor.storage.files import Files
from tests.world import at

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


def test_receipt_store_drops_the_oldest_beyond_the_count_limit(world):
    store = ReceiptStore(world.files, world.paths, kept=3)
    for minute in range(5):
        store.write(receipt(minute))
    assert store.turns() == [receipt(n).id for n in (2, 3, 4)]


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


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"version": 1, "id": "x"}', b"\xff", b'{"version": 1, "at": 5}'])
def test_receipt_store_raises_bad_file_for_an_invalid_receipt(store, world, data):
    store.write(receipt())
    (world.root / "turns" / f"{receipt().id}.json").write_bytes(data)
    with pytest.raises(BadFile):
        store.read()


@pytest.mark.parametrize(
    "odd",
    [
        *({"tokens": 5}, {"budgets": {"total": "多"}}, {"config": []}, {"memory": 5}, {"terms": [1]}, {"ms": "x"}),
        *({"history": [5]}, {"messages": [{"role": 1}]}),
        {"candidates": [{"path": "a.md", "start": 1, "end": 2, "score": "很好"}]},
        {"candidates": [{"path": "a.md", "start": 1, "end": 2, "score": 1.0, "parts": {"words": "一"}}]},
    ],
)
def test_parse_receipt_raises_bad_file_for_a_value_of_a_wrong_type(odd):
    found = json.loads(render_receipt(receipt()))
    with pytest.raises(BadFile):
        parse_receipt(json.dumps({**found, **odd}).encode(), "a.json")


def test_parse_receipt_refuses_a_newer_version_and_ignores_unknown_keys():
    found = json.loads(render_receipt(receipt()))
    assert parse_receipt(json.dumps({**found, "新": 1}).encode(), "a.json") == receipt()
    with pytest.raises(NewerFormat):
        parse_receipt(json.dumps({**found, "version": 2}).encode(), "a.json")
