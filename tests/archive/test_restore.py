"""A history.json that can't be read: kept, told, left to its owner, and put together again from what is known."""

from __future__ import annotations

import json
from typing import Any

import pytest

from supervisor.archive.restore import restore_history
from supervisor.protocol.message import words_digest
from supervisor.service.daemon import Supervisor
from tests.conftest import Desk, message, talk

DAMAGED = {
    "empty": b"",
    "cut off": b'[{"id": "1", "role": "us',
    "an object": b'{"history": []}',
    "zeros": b"\0" * 4_096,
    "too deep": b"[" * 100_000,
    "a number": b"7",
}


def ids(desk: Desk) -> list[str]:
    return [raw["id"] for raw in desk.history()]


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_history_is_told_once_is_left_alone_and_stops_no_other_step(desk, data):
    """A32, H30: nothing is written over a file that a person may still be editing."""
    desk.write(talk("2026-01-10T09:00", 2))
    desk.round("all")
    desk.write(data)
    for _ in range(3):
        desk.round("all")
        desk.work()
    assert desk.layout.history.read_bytes() == data
    assert len(desk.told.of("history_invalid")) == 1
    assert desk.summaries() == ["2026-01-10"]


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_history_is_restored_from_backup_and_journal_and_its_bytes_are_kept(desk, data):
    desk.write(talk("2026-01-30T09:00", 4))
    desk.settle()
    desk.say(*talk("2026-01-31T09:00", 2))
    desk.round()
    expected = ids(desk)
    desk.write(data)
    assert restore_history(desk.ws, desk.clock()) == 6
    assert ids(desk) == expected
    assert [path.read_bytes() for path in desk.layout.quarantine.iterdir()] == [data]
    assert desk.told.of("history_restored")[0]["messages"] == 6
    desk.settle()
    assert len(desk.filed()) == 6
    assert set(desk.flags()) == {True}


def test_a_history_that_is_gone_is_restored(desk):
    desk.write(talk("2026-01-30T09:00", 4))
    desk.settle()
    expected = ids(desk)
    desk.layout.history.unlink()
    assert restore_history(desk.ws, desk.clock()) == 4
    assert ids(desk) == expected


def test_what_can_be_read_is_not_restored(desk):
    desk.write(talk("2026-01-30T09:00", 4))
    desk.settle()
    before = desk.tree()
    assert restore_history(desk.ws, desk.clock()) == 0
    assert desk.tree() == before


def test_without_a_backup_the_words_that_were_met_come_back_from_the_journal(desk):
    desk.write(talk("2026-01-31T09:00", 2))
    desk.round()
    desk.write(b"[")
    desk.layout.history_backup.unlink(missing_ok=True)
    restore_history(desk.ws, desk.clock())
    assert ids(desk) == [raw["id"] for raw in talk("2026-01-31T09:00", 2)]


def test_a_backup_that_is_damaged_as_well_is_no_reason_to_fail(desk):
    desk.write(talk("2026-01-31T09:00", 2))
    desk.round()
    desk.write(b"[")
    desk.layout.history_backup.write_bytes(b"{")
    restore_history(desk.ws, desk.clock())
    assert len(ids(desk)) == 2


def test_a_first_history_that_is_damaged_and_of_which_nothing_is_known_is_left_as_it_is(desk):
    data = '[{"role": "user", "text": "二十年的对话，最后少了一个括号"}'.encode()
    desk.write(data)
    restore_history(desk.ws, desk.clock())
    assert desk.layout.history.read_bytes() == data


def test_a_damaged_history_of_which_no_copy_can_be_kept_is_left_as_it_is(desk):
    desk.write(talk("2026-01-30T09:00", 2))
    desk.settle()
    for n in range(12):
        data = f"[坏了 {n}".encode()
        desk.write(data)
        restore_history(desk.ws, desk.clock())
        kept = [path.read_bytes() for path in desk.layout.quarantine.iterdir()]
        assert data in kept or desk.layout.history.read_bytes() == data


def test_a_revision_that_was_met_and_not_written_is_restored_with_its_newest_words(desk):
    desk.write([message("1", "2026-01-30T09:00", "改到周四")])
    desk.settle()
    desk.write([{**desk.history()[0], "text": "改到周五"}])
    desk.round()
    desk.write(b"[")
    restore_history(desk.ws, desk.clock())
    desk.settle()
    assert ("1~" + words_digest("改到周五")[:8], "改到周五") in desk.filed()


def test_a_message_without_an_id_in_the_backup_is_not_doubled_by_the_journal_s_copy(desk):
    desk.write(talk("2026-01-30T09:00", 2))
    desk.settle()
    said = message("x", "2026-01-31T09:59", "备份在哪？")
    del said["id"]
    desk.say(said)
    desk.round()  # it gets its id: the version before, without it, is the backup
    desk.write(b"[")
    restore_history(desk.ws, desk.clock())
    desk.settle()
    assert [text for _, text in desk.filed()].count("备份在哪？") == 1
    assert len(desk.history()) == 3


# ── the supervisor waits until it is quiet ───────────────────────────────────


def test_the_supervisor_restores_only_after_a_minute_of_quiet(desk):
    monotonic = [1_000.0]
    desk.write(talk("2026-01-30T09:00", 2))
    desk.settle()
    expected = desk.history()
    supervisor = Supervisor(desk.ws, desk.clock, None, lambda: monotonic[0])
    for data in (b"[", b"[1,", b"[1,2"):  # a person is typing
        desk.write(data)
        for _ in range(2):
            supervisor.tick(desk.clock())
            monotonic[0] += 29.0
            assert desk.layout.history.read_bytes() == data
    monotonic[0] += 31.0
    supervisor.tick(desk.clock())
    supervisor.tick(desk.clock())
    assert desk.history() == expected


def test_a_file_that_is_gone_is_restored_at_once(desk):
    desk.write(talk("2026-01-30T09:00", 2))
    desk.settle()
    desk.layout.history.unlink()
    Supervisor(desk.ws, desk.clock, None).tick(desk.clock())
    assert len(desk.history()) == 2


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
def test_whatever_can_be_read_is_archived_without_loss_and_comes_to_rest(desk, data):
    desk.write(data)
    raws = [raw for raw in json.loads(data.decode("utf-8-sig"), parse_int=str) if isinstance(raw, dict)]
    said = {raw["text"] for raw in raws if "text" in raw and isinstance(raw.get("id", ""), str)}
    desk.settle()
    desk.clock.forward(days=40)
    desk.settle()
    assert {text for _, text in desk.filed()} == said
    assert all(raw["archived"] is True for raw in desk.history() if isinstance(raw, dict) and "createdAt" in raw)
    assert not desk.told.of("error")
    assert not desk.told.of("history_invalid")
    before = desk.tree()
    desk.settle()
    assert desk.tree() == before


def test_a_history_of_twenty_megabytes_is_archived_and_trimmed_to_ten(desk):
    raws = talk("2026-01-30T01:00", 60)
    for raw in raws:
        raw["text"] += "很长的一段话。" * 16_000
    desk.write(json.dumps(raws, ensure_ascii=False).encode())
    assert desk.layout.history.stat().st_size > 20_000_000
    desk.settle()
    assert desk.layout.history.stat().st_size <= 10_000_100
    assert len(desk.filed()) == 60
