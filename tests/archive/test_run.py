"""The archive run: every due message, word for word, to the dated file of its day."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from supervisor.archive.intake import intake
from supervisor.archive.run import archive, why_due
from supervisor.protocol.files import Files
from supervisor.protocol.message import Message
from tests.conftest import Desk, message, talk, unreachable


def ready(desk: Desk) -> None:
    intake(desk.ws, desk.clock())


def names(desk: Desk) -> list[str]:
    return [path.rpartition("/")[2] for path in desk.dated()]


# ── due ──────────────────────────────────────────────────────────────────────


def test_a_hundred_messages_wait_and_one_more_brings_a_run(desk):
    desk.write(talk("2026-01-31T08:00", 100))
    assert desk.round().archived == 0
    desk.say(message("last", "2026-01-31T09:59", "第一百零一句", "assistant"))
    assert desk.round().archived == 101


def test_a_run_comes_six_hours_after_the_last_one(desk):
    desk.write(talk("2026-01-31T09:00", 2))
    desk.round("all")
    desk.say(*talk("2026-01-31T09:30", 2))
    desk.clock.forward(hours=6, milliseconds=-1)
    assert desk.round().archived == 0
    desk.clock.forward(milliseconds=1)
    assert desk.round().archived == 2


def test_where_nothing_was_archived_yet_the_six_hours_count_from_the_oldest_message(desk):
    desk.write(talk("2026-01-31T04:00", 2))
    assert desk.round().archived == 2


def test_the_last_run_is_read_from_the_files_so_a_restart_forgets_nothing(desk):
    """A7."""
    desk.write(talk("2026-01-31T09:00", 2))
    desk.round("all")
    desk.say(*talk("2026-01-31T09:30", 2))
    desk.reopen()
    ready(desk)
    assert why_due(desk.ws, desk.clock.forward(hours=6, milliseconds=-1)) is None
    assert why_due(desk.ws, desk.clock.forward(milliseconds=1)) == "interval"


def test_a_file_of_a_run_in_the_future_does_not_stop_the_runs(desk):
    """4H, 11."""
    desk.clock.forward(days=400)
    desk.write(talk("2026-01-31T09:00", 2))
    desk.round("all")
    desk.clock.forward(days=-399)
    desk.say(*talk("2026-02-01T09:00", 2))
    desk.round()
    desk.clock.forward(hours=7)
    desk.round()
    assert len(desk.filed()) == 4


def test_a_file_in_originals_counts_as_the_last_run_too(desk):
    desk.write(talk("2026-01-10T09:00", 2))
    desk.settle()
    assert next(iter(desk.dated())).startswith("memory/originals/")
    desk.say(*talk("2026-01-31T03:00", 2))
    ready(desk)
    assert why_due(desk.ws, desk.clock.forward(minutes=1)) is None


# ── a run ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("zone_name", ["Asia/Shanghai", "America/New_York", "Australia/Lord_Howe"])
def test_a_message_of_half_past_midnight_lies_in_its_local_day(desk, zone_name):
    desk.reopen(f'[archive]\ntimezone = "{zone_name}"\n')
    zone = ZoneInfo(zone_name)
    night = datetime(2026, 1, 30, 0, 30, tzinfo=zone)
    desk.write([message("前", (night - timedelta(hours=1)).isoformat(), "睡了"), message("后", night.isoformat(), "睡不着")])
    desk.settle()
    assert {path.rpartition("/")[2][:10]: [block.id for block in blocks] for path, blocks in desk.dated().items()} == {
        "2026-01-29": ["前"],
        "2026-01-30": ["后"],
    }
    assert f"zone: {zone_name}".encode() in next(iter(desk.tree()[path] for path in desk.dated()))


def test_every_message_of_every_age_stands_word_for_word_in_one_dated_file(desk):
    """Rule 2: an LLM that fails can cost quality, never a memory."""
    desk.scribe.script = unreachable
    raws = [
        raw
        for when in ("2024-02-29", "2025-11-30", "2025-12-01", "2026-01-25", "2026-01-26", "2026-01-31")
        for raw in talk(f"{when}T09:00", 3)
    ]
    desk.write(raws)
    desk.settle()
    assert desk.filed() == sorted((raw["id"], raw["text"]) for raw in raws)
    assert len(desk.dated()) == 6


def test_messages_are_marked_pending_before_their_file_is_made(desk, monkeypatch):
    """003, step 1; B7."""
    raws = talk("2026-01-30T09:00", 2)
    desk.write(raws)
    ready(desk)
    seen = []
    create = Files.create

    def look(self: Files, path: object, data: bytes) -> None:
        seen.append(desk.flags())
        create(self, path, data)  # type: ignore[arg-type]

    monkeypatch.setattr(Files, "create", look)
    archive(desk.ws, desk.clock())
    assert seen == [["pending", "pending"]]


def test_a_question_waits_for_its_answer_and_both_go_into_one_file(desk):
    """A35."""
    desk.write([*talk("2026-01-31T03:00", 2), message("q", "2026-01-31T09:55", "备份在哪？")])
    assert desk.round().archived == 2
    desk.say(message("a", "2026-01-31T09:56", "在 /srv/backup。", "assistant"))
    desk.clock.forward(hours=6)
    assert desk.round().archived == 2
    assert ["q", "a"] in [[block.id for block in blocks] for blocks in desk.dated().values()]


def test_until_settled_takes_the_open_question_too(desk):
    desk.write([message("q", "2026-01-31T09:59", "备份在哪？")])
    assert desk.round("all").archived == 1


def test_a_run_with_nothing_to_write_is_no_run(desk):
    desk.write([message("q", "2026-01-31T09:59", "备份在哪？")])
    ready(desk)
    assert archive(desk.ws, desk.clock()) == 0
    assert (desk.dated(), desk.told.of("archived"), desk.layout.history_backup.exists()) == ({}, [], False)


def test_the_words_of_a_day_in_two_runs_are_two_files_and_neither_is_changed(desk):
    """A4: create-once."""
    desk.write(talk("2026-01-31T03:00", 2))
    desk.settle()
    first = desk.tree()
    desk.say(*talk("2026-01-31T09:00", 2))
    desk.settle()
    assert names(desk) == ["2026-01-31-nginx-srv-backup-2.md", "2026-01-31-nginx-srv-backup.md"]
    for name in first:
        assert name.startswith("history") or desk.tree()[name] == first[name]


def test_a_name_is_never_used_again_though_its_file_is_gone(desk):
    """4H, 6."""
    desk.write([message("1", "2026-01-20T09:00", "重启 nginx")])
    desk.settle()
    (path,) = desk.dated()
    (desk.root / path).unlink()
    desk.reopen()
    desk.say(message("2", "2026-01-20T09:05", "又重启 nginx"))
    desk.settle()
    assert "2026-01-20-nginx.md" not in names(desk)
    assert len(names(desk)) == 1


def test_the_name_of_a_young_file_that_a_person_deleted_is_not_used_again(desk):
    desk.write([message("1", "2026-01-31T09:00", "重启 nginx")])
    desk.settle()
    (path,) = desk.dated()
    (desk.root / path).unlink()
    desk.reopen()
    desk.say(message("2", "2026-01-31T09:05", "又重启 nginx"))
    desk.settle()
    assert names(desk) == ["2026-01-31-nginx-2.md"]


def test_a_name_is_never_used_again_though_journal_and_file_are_gone(desk):
    desk.write([message("1", "2026-01-20T09:00", "重启 nginx")])
    desk.settle()
    (path,) = desk.dated()
    (desk.root / path).unlink()
    desk.layout.seen.unlink()
    desk.reopen()
    desk.write([message("2", "2026-01-20T09:05", "又重启 nginx")])
    desk.settle()
    assert names(desk) == ["2026-01-20-nginx-2.md"]


def test_a_person_who_takes_the_name_meanwhile_keeps_it(desk, monkeypatch):
    desk.write([message("1", "2026-01-31T09:00", "重启 nginx")])
    ready(desk)
    from supervisor.archive import run as module

    plan_days = module.plan_days

    def plan_and_lose(*args: object) -> object:
        plan = plan_days(*args)  # type: ignore[arg-type]
        for file in plan:
            path = desk.layout.dated(file.name)
            if not path.exists():
                path.write_text("我的笔记")
        monkeypatch.setattr(module, "plan_days", plan_days)
        return plan

    monkeypatch.setattr(module, "plan_days", plan_and_lose)
    archive(desk.ws, desk.clock(), everything=True)
    desk.settle()
    assert (desk.layout.memory / "2026-01-31-nginx.md").read_text() == "我的笔记"
    assert names(desk) == ["2026-01-31-nginx-2.md"]
    assert desk.flags() == [True]


def test_a_block_that_a_person_deletes_is_not_written_again(desk):
    """4H, 7."""
    desk.write([message("1", "2026-01-31T09:00", "重启 nginx"), message("2", "2026-01-31T09:01", "密码是花生")])
    desk.settle()
    (name,) = desk.dated()
    path = desk.root / name
    path.write_text(path.read_text().split('<!-- {"id": "2"')[0])
    desk.reopen()
    desk.settle()
    assert desk.filed() == [("1", "重启 nginx")]
    assert desk.flags() == [True, True]


def test_a_person_who_deletes_the_only_block_of_a_file_stops_nothing(desk):
    desk.write([message("a", "2026-01-20T09:00")])
    desk.round("all")
    (path,) = (desk.root / "memory").glob("2026-01-20-*.md")
    path.write_text(path.read_text().split("<!-- ")[0])
    desk.say(message("b", "2026-01-31T09:00", "新的一句"))
    desk.settle()
    assert [m["archived"] for m in desk.history()] == [True, True]


def test_a_file_that_a_person_deletes_is_not_written_again(desk):
    desk.write([message("1", "2026-01-31T09:00", "重启 nginx")])
    desk.settle()
    (name,) = desk.dated()
    (desk.root / name).unlink()
    desk.reopen()
    desk.settle()
    assert (desk.filed(), desk.flags()) == ([], [True])


def test_a_run_that_is_told_to_stop_ends_after_the_file_it_is_at_and_is_gone_on_with(desk):
    desk.write([raw for day in range(20, 26) for raw in talk(f"2026-01-{day}T09:00", 2)])
    ready(desk)
    desk.ws.should_stop = lambda: len(desk.dated()) >= 2
    archive(desk.ws, desk.clock())
    assert len(desk.dated()) == 2
    desk.reopen()
    desk.settle()
    assert len(desk.filed()) == 12
    assert len(desk.dated()) == 6


@pytest.mark.parametrize(
    "late",
    [
        {"id": "x", "role": "user", "text": "没有时间"},
        {"id": "x", "role": "user", "text": "没有时间", "createdAt": "9999-12-31T23:59:59Z"},
    ],
)
def test_a_message_that_arrives_after_the_first_look_waits_for_the_next_round(desk, late):
    desk.write(talk("2026-01-31T09:00", 2))
    ready(desk)
    desk.say({"role": "user", "text": "没有编号"}, late)
    archive(desk.ws, desk.clock(), everything=True)
    assert len(desk.filed()) == 2
    desk.settle()
    assert sorted(text for _, text in desk.filed())[-2:] == ["没有时间", "没有编号"]
    assert all("2026-01-31" in path for path in desk.dated())


def test_history_overflow_is_told_once_and_brings_one_run(desk):
    """A33, B22, H25."""
    desk.reopen(desk.toml + "[history]\nhard_cap = 10\nsoft_cap = 8\n")
    desk.write([message(f"m{n}", "2026-01-31T09:58", f"第 {n} 句", "assistant") for n in range(11)])
    assert desk.round().archived == 11
    assert len(desk.told.of("history_overflow")) == 1
    for _ in range(5):
        desk.round()
    assert len(desk.told.of("history_overflow")) == 1
    assert len(desk.dated()) == 1


def test_overflow_brings_at_most_one_run_in_ten_minutes(desk):
    desk.reopen(desk.toml + "[history]\nhard_cap = 10\nsoft_cap = 8\n")
    desk.write([message(f"a{n}", "2026-01-31T09:58", f"甲 {n}", "assistant") for n in range(11)])
    desk.round()
    desk.say(*(message(f"b{n}", "2026-01-31T10:00", f"乙 {n}", "assistant") for n in range(11)))
    desk.clock.forward(minutes=9, seconds=59)
    assert desk.round().archived == 0
    desk.clock.forward(seconds=1)
    assert desk.round().archived == 11


def test_a_huge_message_is_archived_word_for_word(desk):
    """H17."""
    text = "很长的一段话。" * 150_000
    desk.write([message("1", "2026-01-31T09:00", text)])
    desk.settle()
    assert desk.filed() == [("1", text)]


def test_archived_messages_keep_their_session_channel_and_foreign_fields(desk):
    raw = message(
        "1", "2026-01-31T09:00", "在家里装摄像头", session="家:群", channel="telegram", 名字="小王", nested={"a": [1, None]}
    )
    desk.write([raw])
    desk.settle()
    (blocks,) = desk.dated().values()
    assert blocks[0].fields == {"session": "家:群", "channel": "telegram", "名字": "小王", "nested": {"a": [1, None]}}
    (found,) = (one for one in desk.ws.history.read() if isinstance(one, Message))
    assert dict(found.raw) == {**raw, "archived": True}
