"""A history.json that can't be read: kept, told, left to its owner, and put together again from what is known."""

from __future__ import annotations

import json
from typing import Any

import pytest

from supervisor.protocol.message import words_digest
from tests.world import message, talk

DAMAGED = {
    "empty": b"",
    "cut off": b'[{"id": "1", "role": "us',
    "an object": b'{"history": []}',
    "zeros": b"\0" * 4_096,
    "too deep": b"[" * 100_000,
    "a number": b"7",
}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_history_is_told_once_is_left_alone_and_stops_no_other_step(world, data):
    """A32, H30: nothing is written over a file that a person may still be editing."""
    world.write(talk("2026-01-10T09:00", 2))
    world.round("all")
    world.write(data)
    for _ in range(3):
        world.round("all")
        world.work()
    assert world.layout.history.read_bytes() == data
    assert len(world.events.of("history_invalid")) == 1
    assert world.summaries() == ["2026-01-10"]


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_history_is_restored_from_backup_and_journal_and_its_bytes_are_kept(world, data):
    world.write(talk("2026-01-30T09:00", 4))
    world.settle()
    world.add(*talk("2026-01-31T09:00", 2))
    world.round()
    expected = world.ids()
    world.write(data)
    assert world.restore() == 6
    assert world.ids() == expected
    assert [path.read_bytes() for path in world.layout.quarantine.iterdir()] == [data]
    assert world.events.of("history_restored")[0]["messages"] == 6
    world.settle()
    assert len(world.archived()) == 6
    assert set(world.flags()) == {True}


def test_a_history_that_is_gone_is_restored(world):
    world.write(talk("2026-01-30T09:00", 4))
    world.settle()
    expected = world.ids()
    world.layout.history.unlink()
    assert world.restore() == 4
    assert world.ids() == expected


def test_what_can_be_read_is_not_restored(world):
    world.write(talk("2026-01-30T09:00", 4))
    world.settle()
    before = world.tree()
    assert world.restore() == 0
    assert world.tree() == before


def test_without_a_backup_the_words_that_were_met_come_back_from_the_journal(world):
    world.write(talk("2026-01-31T09:00", 2))
    world.round()
    world.write(b"[")
    world.layout.history_backup.unlink(missing_ok=True)
    world.restore()
    assert world.ids() == [raw["id"] for raw in talk("2026-01-31T09:00", 2)]


def test_a_backup_that_is_damaged_as_well_is_no_reason_to_fail(world):
    world.write(talk("2026-01-31T09:00", 2))
    world.round()
    world.write(b"[")
    world.layout.history_backup.write_bytes(b"{")
    world.restore()
    assert len(world.ids()) == 2


def test_a_first_history_that_is_damaged_and_of_which_nothing_is_known_is_left_as_it_is(world):
    data = '[{"role": "user", "text": "二十年的对话，最后少了一个括号"}'.encode()
    world.write(data)
    world.restore()
    assert world.layout.history.read_bytes() == data


def test_a_damaged_history_of_which_no_copy_can_be_kept_is_left_as_it_is(world):
    world.write(talk("2026-01-30T09:00", 2))
    world.settle()
    for n in range(12):
        data = f"[坏了 {n}".encode()
        world.write(data)
        world.restore()
        kept = [path.read_bytes() for path in world.layout.quarantine.iterdir()]
        assert data in kept or world.layout.history.read_bytes() == data


def test_a_revision_that_was_met_and_not_written_is_restored_with_its_newest_words(world):
    world.write([message("1", "2026-01-30T09:00", "改到周四")])
    world.settle()
    world.write([{**world.history()[0], "text": "改到周五"}])
    world.round()
    world.write(b"[")
    world.restore()
    world.settle()
    assert ("1~" + words_digest("改到周五")[:8], "改到周五") in world.archived()


def test_a_message_without_an_id_in_the_backup_is_not_doubled_by_the_journal_s_copy(world):
    world.write(talk("2026-01-30T09:00", 2))
    world.settle()
    said = message("x", "2026-01-31T09:59", "备份在哪？")
    del said["id"]
    world.add(said)
    world.round()  # it gets its id: the version before, without it, is the backup
    world.write(b"[")
    world.restore()
    world.settle()
    assert [text for _, text in world.archived()].count("备份在哪？") == 1
    assert len(world.history()) == 3


# ── the supervisor waits until it is quiet ───────────────────────────────────


def test_the_supervisor_restores_only_after_a_minute_of_quiet(world):
    world.write(talk("2026-01-30T09:00", 2))
    world.settle()
    expected = world.history()
    supervisor = world.supervisor()
    for data in (b"[", b"[1,", b"[1,2"):  # a person is typing
        world.write(data)
        for _ in range(2):
            supervisor.tick(world.clock())
            world.clock.seconds += 29.0
            assert world.layout.history.read_bytes() == data
    world.clock.seconds += 31.0
    supervisor.tick(world.clock())
    supervisor.tick(world.clock())
    assert world.history() == expected


def test_a_file_that_is_gone_is_restored_at_once(world):
    world.write(talk("2026-01-30T09:00", 2))
    world.settle()
    world.layout.history.unlink()
    world.supervisor().tick(world.clock())
    assert len(world.history()) == 2


# ── strange, yet readable ────────────────────────────────────────────────────


def strange() -> dict[str, bytes]:
    def array(*raws: Any) -> bytes:
        return json.dumps(raws).encode()

    one = message("1", "2026-01-30T09:00")
    line = json.dumps(one)[:-1]
    return {
        "a mark": b"\xef\xbb\xbf" + array(one),
        "not a number": f'[{line}, "score": NaN, "x": -Infinity, "y": 1e999}}]'.encode(),
        "lone surrogates": array({**one, "text": "半个\ud83d字", "名": "\udc00"}),
        "keys that stand twice": f'[{line}, "archived": false, "archived": true, "x": 1, "x": 2}}]'.encode(),
        "a long number": f'[{line}, "n": {"7" * 5_000}}}]'.encode(),
        "wrong types": array(one, None, 7, [], "x", {"role": 7}, {"id": {}, "role": "user", "text": "好"}),
        "no ids": array({"role": "user", "text": "好"}, {"role": "user", "text": "好"}),
        "equal ids": array(one, {**one, "text": "别的话"}, one),
        "year 9999": array({**one, "createdAt": "9999-12-31T23:59:59.999Z"}),
        "year 1": array({**one, "createdAt": "0001-01-01T00:00:00Z"}),
        "times of all kinds": array(
            *({**one, "id": str(n), "createdAt": value} for n, value in enumerate([0, -1, 1e300, "昨天", [], {}, None, True]))
        ),
        "control characters": array({**one, "text": "\0\x1b[31m\r\n\u2028\x85\ufeff", "id": "\0/../\n"}),
        "odd roles": array({**one, "role": "<script>"}, {**one, "id": "2", "role": "\ud800"}),
        "nested": array({**one, "x": json.loads("[" * 150 + "]" * 150)}),
    }


@pytest.mark.parametrize("data", strange().values(), ids=strange())
def test_whatever_can_be_read_is_archived_without_loss_and_comes_to_rest(world, data):
    world.write(data)
    raws = [raw for raw in json.loads(data.decode("utf-8-sig"), parse_int=str) if isinstance(raw, dict)]
    said = {raw["text"] for raw in raws if "text" in raw and isinstance(raw.get("id", ""), str)}
    world.settle()
    world.clock.forward(days=40)
    world.settle()
    assert {text for _, text in world.archived()} == said
    assert all(raw["archived"] is True for raw in world.history() if isinstance(raw, dict) and "createdAt" in raw)
    assert not world.events.of("error")
    assert not world.events.of("history_invalid")
    before = world.tree()
    world.settle()
    assert world.tree() == before


def test_a_history_of_twenty_megabytes_is_archived_and_trimmed_to_ten(world):
    raws = talk("2026-01-30T01:00", 60)
    for raw in raws:
        raw["text"] += "很长的一段话。" * 16_000
    world.write(json.dumps(raws, ensure_ascii=False).encode())
    assert world.layout.history.stat().st_size > 20_000_000
    world.settle()
    assert world.layout.history.stat().st_size <= 10_000_100
    assert len(world.archived()) == 60
