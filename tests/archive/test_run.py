"""The archive run: every due message is written, word for word, to the dated file of its day."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from recalld.supervisor.protocol.message import Message
from recalld.supervisor.storage.control import UNLIMITED, Control
from recalld.supervisor.storage.files import Files
from tests.world import message, talk, unreachable

# ── due ──────────────────────────────────────────────────────────────────────


def test_archive_runs_when_more_than_100_messages_wait(world):
    world.write(talk("2026-01-31T08:00", 100))
    assert world.round().archived == 0
    world.add(message("last", "2026-01-31T09:59", "第一百零一句", "assistant"))
    assert world.round().archived == 101


def test_archive_runs_six_hours_after_the_last_run(world):
    world.write(talk("2026-01-31T09:00", 2))
    world.round("all")
    world.add(*talk("2026-01-31T09:30", 2))
    world.clock.forward(hours=6, milliseconds=-1)
    assert world.round().archived == 0
    world.clock.forward(milliseconds=1)
    assert world.round().archived == 2


def test_archive_runs_first_when_the_oldest_message_is_six_hours_old(world):
    world.write(talk("2026-01-31T04:00", 2))
    assert world.round().archived == 2


def test_archive_reads_the_last_run_from_the_files_after_a_restart(world):
    world.write(talk("2026-01-31T09:00", 2))
    world.round("all")
    world.add(*talk("2026-01-31T09:30", 2))
    world.reopen()
    world.intake()
    assert world.forward(hours=6, milliseconds=-1).why_due() is None
    assert world.forward(milliseconds=1).why_due() == "interval"


def test_archive_runs_despite_a_file_created_in_the_future(world):
    world.clock.forward(days=400)
    world.write(talk("2026-01-31T09:00", 2))
    world.round("all")
    world.clock.forward(days=-399)
    world.add(*talk("2026-02-01T09:00", 2))
    world.round()
    world.clock.forward(hours=7)
    world.round()
    assert len(world.archived()) == 4


def test_archive_counts_a_file_in_originals_as_the_last_run(world):
    world.write(talk("2026-01-10T09:00", 2))
    world.settle()
    assert next(iter(world.dated_files())).startswith("memory/originals/")
    world.add(*talk("2026-01-31T03:00", 2))
    world.intake()
    assert world.forward(minutes=1).why_due() is None


# ── a run ────────────────────────────────────────────────────────────────────


def test_a_day_begun_in_english_roles_goes_on_in_chinese_and_is_read_whole(world):
    world.write(talk("2026-01-24T09:00", 2))
    world.round("all")
    world.reopen('language = "zh"\n')
    world.add(
        message("三", "2026-01-24T09:30", "```\nnginx -t\n```"), message("四", "2026-01-24T09:31", "语法没问题", "assistant")
    )
    (before,) = world.dated_files()
    world.round("all")
    (new,) = world.dated_files().keys() - {before}
    text = world.tree()[new].decode()
    assert "**01:30 用户**\n\n```\nnginx -t\n```\n" in text
    assert "**01:31 助手**\n\n语法没问题\n" in text
    assert len(world.archived()) == 4
    world.until_settled()
    assert world.fsck().is_sound
    assert "nginx" in world.summary("2026-01-24")


@pytest.mark.parametrize("zone_name", ["Asia/Shanghai", "America/New_York", "Australia/Lord_Howe"])
def test_archive_files_a_message_under_its_local_day(world, zone_name):
    world.reopen(f'[archive]\ntimezone = "{zone_name}"\n')
    zone = ZoneInfo(zone_name)
    night = datetime(2026, 1, 30, 0, 30, tzinfo=zone)
    world.write([message("前", (night - timedelta(hours=1)).isoformat(), "睡了"), message("后", night.isoformat(), "睡不着")])
    world.settle()
    assert {path.rpartition("/")[2][:10]: [block.id for block in blocks] for path, blocks in world.dated_files().items()} == {
        "2026-01-29": ["前"],
        "2026-01-30": ["后"],
    }
    assert f"zone: {zone_name}".encode() in next(iter(world.tree()[path] for path in world.dated_files()))


def test_archive_writes_every_message_verbatim_though_the_llm_fails(world):
    """An LLM that fails can cost quality, never a memory."""
    world.model.script = unreachable
    raws = [
        raw
        for when in ("2024-02-29", "2025-11-30", "2025-12-01", "2026-01-25", "2026-01-26", "2026-01-31")
        for raw in talk(f"{when}T09:00", 3)
    ]
    world.write(raws)
    world.settle()
    assert world.archived() == sorted((raw["id"], raw["text"]) for raw in raws)
    assert len(world.dated_files()) == 6


@pytest.mark.feature("003.9")
def test_archive_marks_messages_pending_before_it_creates_the_file(world, monkeypatch):
    raws = talk("2026-01-30T09:00", 2)
    world.write(raws)
    world.intake()
    seen = []
    create = Files.create

    def look(self: Files, path: object, data: bytes) -> None:
        seen.append(world.flags())
        create(self, path, data)  # type: ignore[arg-type]

    monkeypatch.setattr(Files, "create", look)
    world.archive()
    assert seen == [["pending", "pending"]]


def test_archive_writes_a_question_and_its_answer_to_one_file(world):
    world.write([*talk("2026-01-31T03:00", 2), message("q", "2026-01-31T09:55", "备份在哪？")])
    assert world.round().archived == 2
    world.add(message("a", "2026-01-31T09:56", "在 /srv/backup。", "assistant"))
    world.clock.forward(hours=6)
    assert world.round().archived == 2
    assert ["q", "a"] in [[block.id for block in blocks] for blocks in world.dated_files().values()]


def test_archive_includes_an_unanswered_question_when_all_is_requested(world):
    world.write([message("q", "2026-01-31T09:59", "备份在哪？")])
    assert world.round("all").archived == 1


def test_archive_writes_nothing_when_only_an_open_question_waits(world):
    world.write([message("q", "2026-01-31T09:59", "备份在哪？")])
    world.intake()
    assert world.archive() == 0
    assert (world.dated_files(), world.events.of("archived"), world.paths.history_backup.exists()) == ({}, [], False)


def test_archive_creates_a_new_file_for_each_run_of_the_same_day(world):
    """A dated file is created once and not written again."""
    world.write(talk("2026-01-31T03:00", 2))
    world.settle()
    first = world.tree()
    world.add(*talk("2026-01-31T09:00", 2))
    world.settle()
    assert world.names() == ["2026-01-31-nginx-beifen-2.md", "2026-01-31-nginx-beifen.md"]
    for name in first:
        assert name.startswith("history") or world.tree()[name] == first[name]


def test_archive_does_not_reuse_the_name_of_a_deleted_file(world):
    world.write([message("1", "2026-01-20T09:00", "重启 nginx")])
    world.settle()
    (path,) = world.dated_files()
    (world.root / path).unlink()
    world.reopen()
    world.add(message("2", "2026-01-20T09:05", "又重启 nginx"))
    world.settle()
    assert "2026-01-20-nginx.md" not in world.names()
    assert len(world.names()) == 1


def test_archive_does_not_reuse_a_name_after_journal_and_file_are_gone(world):
    world.write([message("1", "2026-01-20T09:00", "重启 nginx")])
    world.settle()
    (path,) = world.dated_files()
    (world.root / path).unlink()
    world.paths.seen.unlink()
    world.reopen()
    world.write([message("2", "2026-01-20T09:05", "又重启 nginx")])
    world.settle()
    assert world.names() == ["2026-01-20-nginx-2.md"]


def test_archive_keeps_a_file_that_a_person_created_under_its_name(world, monkeypatch):
    world.write([message("1", "2026-01-31T09:00", "重启 nginx")])
    world.intake()
    from recalld.supervisor.archive import run as module

    plan_days = module.plan_days

    def plan_and_lose(*args: object) -> object:
        plan = plan_days(*args)  # type: ignore[arg-type]
        for file in plan:
            path = world.paths.dated(file.name)
            if not path.exists():
                path.write_text("我的笔记")
        monkeypatch.setattr(module, "plan_days", plan_days)
        return plan

    monkeypatch.setattr(module, "plan_days", plan_and_lose)
    world.archive(everything=True)
    world.settle()
    assert (world.paths.memory / "2026-01-31-nginx.md").read_text() == "我的笔记"
    assert world.names() == ["2026-01-31-nginx-2.md"]
    assert world.flags() == [True]


def test_archive_does_not_rewrite_a_block_that_a_person_deleted(world):
    world.write([message("1", "2026-01-31T09:00", "重启 nginx"), message("2", "2026-01-31T09:01", "密码是花生")])
    world.settle()
    (name,) = world.dated_files()
    path = world.root / name
    path.write_text(path.read_text().split('<!-- {"id": "2"')[0])
    world.reopen()
    world.settle()
    assert world.archived() == [("1", "重启 nginx")]
    assert world.flags() == [True, True]


def test_archive_continues_after_a_person_deletes_the_only_block(world):
    world.write([message("a", "2026-01-20T09:00")])
    world.round("all")
    (path,) = (world.root / "memory").glob("2026-01-20-*.md")
    path.write_text(path.read_text().split("<!-- ")[0])
    world.add(message("b", "2026-01-31T09:00", "新的一句"))
    world.settle()
    assert [m["archived"] for m in world.history()] == [True, True]


def test_archive_does_not_rewrite_a_file_that_a_person_deleted(world):
    world.write([message("1", "2026-01-31T09:00", "重启 nginx")])
    world.settle()
    (name,) = world.dated_files()
    (world.root / name).unlink()
    world.reopen()
    world.settle()
    assert (world.archived(), world.flags()) == ([], [True])


def test_archive_stops_after_the_current_file_and_resumes_later(world):
    world.write([raw for day in range(20, 26) for raw in talk(f"2026-01-{day}T09:00", 2)])
    world.intake()
    world.control = Control(lambda: len(world.dated_files()) >= 2)
    world.archive()
    assert len(world.dated_files()) == 2
    assert world.events.of("archived") == [{"messages": 4, "files": 2}]
    world.control = UNLIMITED
    world.reopen()
    world.settle()
    assert len(world.archived()) == 12
    assert len(world.dated_files()) == 6


@pytest.mark.parametrize(
    "late",
    [
        {"id": "x", "role": "user", "text": "没有时间"},
        {"id": "x", "role": "user", "text": "没有时间", "createdAt": "9999-12-31T23:59:59Z"},
    ],
)
def test_archive_skips_a_message_that_intake_has_not_seen(world, late):
    world.write(talk("2026-01-31T09:00", 2))
    world.intake()
    world.add({"role": "user", "text": "没有编号"}, late)
    world.archive(everything=True)
    assert len(world.archived()) == 2
    world.settle()
    assert sorted(text for _, text in world.archived())[-2:] == ["没有时间", "没有编号"]
    assert all("2026-01-31" in path for path in world.dated_files())


@pytest.mark.feature("003.5")
def test_archive_reports_an_overflow_once_and_runs_once(world):
    world.reopen(world.toml + "[history]\nhard_cap = 10\nsoft_cap = 8\n")
    world.write([message(f"m{n}", "2026-01-31T09:58", f"第 {n} 句", "assistant") for n in range(11)])
    assert world.round().archived == 11
    assert len(world.events.of("history_overflow")) == 1
    for _ in range(5):
        world.round()
    assert len(world.events.of("history_overflow")) == 1
    assert len(world.dated_files()) == 1


def test_archive_runs_at_most_once_in_ten_minutes_on_overflow(world):
    world.reopen(world.toml + "[history]\nhard_cap = 10\nsoft_cap = 8\n")
    world.write([message(f"a{n}", "2026-01-31T09:58", f"甲 {n}", "assistant") for n in range(11)])
    world.round()
    world.add(*(message(f"b{n}", "2026-01-31T10:00", f"乙 {n}", "assistant") for n in range(11)))
    world.clock.forward(minutes=9, seconds=59)
    assert world.round().archived == 0
    world.clock.forward(seconds=1)
    assert world.round().archived == 11


def test_archive_runs_at_once_when_pending_and_new_messages_exceed_the_cap(world):
    """003: beyond 200 messages of which none may leave, an archive run is due."""
    world.write(talk("2026-01-10T09:00", 150))
    world.round("all")
    world.round()
    assert set(world.flags()) == {"pending"}
    world.forward(minutes=10)
    world.add(*talk("2026-01-31T09:00", 50))
    assert world.round().archived == 0
    world.add(*talk("2026-01-31T09:50", 40))
    assert world.round().archived == 90
    assert world.round().archived == 0
    assert len(world.history()) == 200
    assert world.events.of("history_overflow") == []


def test_archive_reports_a_history_whose_newest_messages_are_too_large(world):
    world.reopen(world.toml + '[history]\nhard_bytes = "1MB"\n')
    world.write([message(f"m{n}", "2026-01-31T09:58", "长" * 20_000, "assistant") for n in range(20)])
    world.round("all")
    for _ in range(3):
        world.round()
    assert set(world.flags()) == {True}
    assert len(world.events.of("history_overflow")) == 1


def test_archive_keeps_session_channel_and_unknown_fields(world):
    raw = message(
        "1", "2026-01-31T09:00", "在家里装摄像头", session="家:群", channel="telegram", 名字="小王", nested={"a": [1, None]}
    )
    world.write([raw])
    world.settle()
    (blocks,) = world.dated_files().values()
    assert blocks[0].fields == {"session": "家:群", "channel": "telegram", "名字": "小王", "nested": {"a": [1, None]}}
    (found,) = (one for one in world.ws.history.read() if isinstance(one, Message))
    assert dict(found.raw) == {**raw, "archived": True}
