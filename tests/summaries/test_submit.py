"""The roll-up: ripe days and closed months become tasks, and what a summary covers moves to originals/."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

from supervisor.protocol.files import Files
from supervisor.protocol.message import words_digest
from supervisor.service.status import plan
from tests.conftest import SHANGHAI, WITHOUT_MODEL, Desk, message, unreachable

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("nginx", "pnpm", "docker", "postgres")


def on(day: str, slug: str = "nginx", count: int = 1) -> list[dict[str, object]]:
    return [message(f"{day}-{slug}-{n}", f"{day}T09:0{n}", f"关于 {slug} 的第 {n} 句") for n in range(count)]


def groups(desk: Desk) -> list[str]:
    return [group for told in desk.told.of("submitted") for group in told["groups"]]  # type: ignore[attr-defined]


def places(desk: Desk) -> list[str]:
    return list(desk.dated())


# ── the seed: 31 January and 1 February ──────────────────────────────────────


@pytest.mark.parametrize("zone_name", ["Asia/Shanghai", "America/New_York", "Australia/Lord_Howe"])
def test_31_january_and_1_february_as_in_the_seed(desk, zone_name):
    """December is summarised by day until the last local second of January, and by month from the next second on."""
    desk.reopen(desk.toml.replace(SHANGHAI, f'timezone = "{zone_name}"'))
    zone = ZoneInfo(zone_name)
    days = ("2025-11-30", "2025-12-01", "2025-12-31", "2026-01-15", "2026-01-26", "2026-01-30")
    for day in days:
        noon = datetime.fromisoformat(f"{day}T12:00").replace(tzinfo=zone)
        desk.say(message(day, noon.isoformat(), f"{day} 说的话"))
    midnight = datetime(2026, 2, 1, tzinfo=zone).astimezone(UTC)

    desk.clock.now = midnight - timedelta(seconds=1)
    desk.settle()
    assert desk.summaries() == ["2025-11", "2025-12-01", "2025-12-31", "2026-01-15"]

    desk.clock.now = midnight
    desk.settle()
    assert desk.summaries() == ["2025-11", "2025-12", "2025-12-01", "2025-12-31", "2026-01-15", "2026-01-26"]
    assert all(day in desk.summary("2025-12") for day in ("2025-12-01", "2025-12-31"))
    assert desk.flags() == [True] * 6


def test_a_day_ripens_on_its_sixth_day_though_its_messages_were_long_true(desk):
    """A1: every message went verbatim and sank out of reach on day six."""
    desk.write(on("2026-01-31", count=2))
    desk.settle()
    desk.clock.forward(days=5)
    desk.settle()
    assert desk.summaries() == []
    desk.clock.forward(days=1)
    desk.settle()
    assert desk.summaries() == ["2026-01-31"]
    assert places(desk) == ["memory/originals/2026-01/2026-01-31-nginx.md"]


def test_a_month_is_made_of_its_days_when_it_closes_and_the_days_stay(desk):
    """A2, B3: the last finished day won."""
    desk.write([*on("2025-12-03", "nginx"), *on("2025-12-20", "pnpm"), *on("2025-12-31", "docker")])
    desk.settle()
    before = {name: data for name, data in desk.tree().items() if "summary/2025-12-" in name}
    desk.clock.forward(days=1)
    desk.settle()
    assert before.items() <= desk.tree().items()
    (task, blocks) = desk.scribe.asked[-1]
    assert task.material == ("summary/2025-12-03.md", "summary/2025-12-20.md", "summary/2025-12-31.md")
    assert [block.role for block in blocks] == ["summary"] * 3
    assert [source.name[11:] for source in task.sources] == ["nginx.md", "pnpm.md", "docker.md"]
    assert "pnpm" in desk.summary("2025-12")


def test_a_month_without_a_model_is_read_from_the_words_themselves(desk):
    desk.reopen(WITHOUT_MODEL)
    desk.scribe.extract = True
    desk.write([*on("2025-12-03", "nginx"), *on("2025-12-20", "pnpm")])
    desk.settle()
    desk.clock.forward(days=1)
    desk.settle()
    assert desk.scribe.asked[-1][0].material == ("2025-12-03-nginx.md", "2025-12-20-pnpm.md")


# ── late ─────────────────────────────────────────────────────────────────────


def test_a_late_message_joins_a_closed_day(desk):
    """A5: previous summary and new file; the earlier text is kept under previous/."""
    desk.write(on("2026-01-10", "nginx"))
    desk.settle()
    first = desk.summary("2026-01-10")
    desk.say(*on("2026-01-10", "pnpm"))
    desk.settle()
    task, blocks = desk.scribe.asked[-1]
    assert "关于 nginx" in task.previous
    assert [block.text for block in blocks] == ["关于 pnpm 的第 0 句"]
    listed = desk.summary("2026-01-10").partition("made from")[2]
    assert "2026-01-10-nginx.md" in listed
    assert "2026-01-10-pnpm.md" in listed
    assert [path.read_text() for path in desk.layout.previous.iterdir()] == [first]
    assert desk.flags() == [True, True]


def test_a_late_message_joins_a_closed_month(desk):
    desk.write([*on("2025-11-10", "nginx"), *on("2025-11-20", "pnpm")])
    desk.settle()
    desk.say(*on("2025-11-15", "docker"))
    desk.settle()
    assert desk.summaries() == ["2025-11"]
    assert all(
        name in desk.summary("2025-11") for name in ("2025-11-10-nginx.md", "2025-11-15-docker.md", "2025-11-20-pnpm.md")
    )
    assert [task.group for task, _ in desk.scribe.asked] == ["month-2025-11", "month-2025-11"]


def test_a_late_message_of_a_month_that_has_just_closed_hides_none_of_its_days(desk):
    """A3: a monthly file of one late message made all days of its month disappear."""
    desk.write([*on("2025-12-03", "nginx"), *on("2025-12-20", "pnpm")])
    desk.settle()
    desk.clock.forward(days=1)
    desk.say(*on("2025-12-30", "docker"))
    desk.settle()
    listed = desk.summary("2025-12").partition("made from")[2]
    assert all(f"{name}.md" in listed for name in ("2025-12-03-nginx", "2025-12-20-pnpm", "2025-12-30-docker"))


def test_a_monthly_file_of_one_late_message_that_another_program_made_hides_nothing(desk):
    desk.write(on("2025-12-03", "nginx"))
    desk.settle()
    (desk.root / "memory" / "summary" / "2025-12.md").write_text("# 十二月\n只有一条迟到的消息\n")
    desk.clock.forward(days=1)
    desk.settle()
    assert desk.summary("2025-12").startswith("# 十二月\n只有一条迟到的消息\n<!-- recalld:")
    assert "2025-12-03-nginx.md" in desk.summary("2025-12")


def test_a_late_file_that_lands_while_the_task_is_in_flight_is_not_named_by_its_result(desk):
    """4H, 3: the summary named what it had not read."""
    desk.write(on("2026-01-10", "nginx"))
    desk.round("all")
    desk.say(*on("2026-01-10", "pnpm"))
    desk.round("all")
    desk.work()
    desk.round("all")
    assert "pnpm" not in desk.summary("2026-01-10")
    assert [path for path in places(desk) if "originals" in path] == ["memory/originals/2026-01/2026-01-10-nginx.md"]
    desk.settle()
    assert "2026-01-10-pnpm.md" in desk.summary("2026-01-10")


def test_a_day_that_gains_a_file_while_its_month_is_in_flight_hides_nothing(desk):
    """4H, 5: the month named the day, the day gained a file, and the file was hidden."""
    desk.write(on("2025-12-10", "nginx"))
    desk.settle()
    desk.clock.forward(days=1)
    desk.round("all")
    assert list(desk.ws.spool.in_flight()) == ["month-2025-12"]
    desk.say(*on("2025-12-10", "pnpm"))
    desk.round("all")
    desk.work()
    desk.round("all")
    assert "2025-12-10-pnpm" not in desk.summary("2025-12")
    assert "memory/2025-12-10-pnpm.md" in places(desk)
    desk.settle()
    assert "2025-12-10-pnpm.md" in desk.summary("2025-12")


# ── the spool ────────────────────────────────────────────────────────────────


def test_at_most_eight_tasks_wait_and_the_newest_days_come_first(desk):
    desk.write([raw for day in range(1, 20) for raw in on(f"2026-01-{day:02d}")])
    desk.round("all")
    assert groups(desk) == [f"day-2026-01-{day:02d}" for day in range(19, 11, -1)]
    desk.round("all")
    assert len(list(desk.ws.spool.queue.iterdir())) == 8
    desk.settle()
    assert len(desk.summaries()) == 19


def test_what_a_large_day_in_flight_will_cost_is_left_for_it_of_the_day_s_calls(desk):
    desk.reopen(WITHOUT_MODEL + '[llm]\nmodel = "qwen-test"\ncontext_tokens = 512\nmax_calls_per_day = 12\n')
    desk.write([message(f"长{n}", f"2026-01-20T09:{n:02}", f"第 {n} 段：" + "备份放在 /srv/backup，" * 4) for n in range(25)])
    desk.round("all")
    (large,) = plan(desk.ws, desk.clock())["summaries"]
    assert groups(desk) == ["day-2026-01-20"]
    desk.write([*desk.history(), *(one for n in range(10, 19) for one in on(f"2026-01-{n}"))])
    desk.round("all")
    assert large["calls"] > 4
    assert 1 <= len(groups(desk)) - 1 <= 12 - large["calls"]


def test_a_group_in_flight_is_not_asked_for_again(desk):
    desk.write(on("2026-01-10"))
    for _ in range(3):
        desk.round("all")
    assert groups(desk) == ["day-2026-01-10"]


def test_the_messages_of_a_group_are_pending_while_it_is_in_flight(desk):
    desk.write(on("2026-01-10", count=2))
    desk.round("all")
    assert desk.flags() == ["pending", "pending"]
    desk.work()
    desk.round("all")
    assert desk.flags() == [True, True]


def test_messages_are_pending_before_their_task_exists(desk, monkeypatch):
    desk.scribe.script = unreachable
    desk.write(on("2026-01-10", count=2))
    desk.settle()
    desk.clock.forward(minutes=10)
    seen = []
    create = Files.create

    def look(self: Files, path: Path, data: bytes) -> None:
        if path.parent.name == "queue":
            seen.append(desk.flags())
        create(self, path, data)

    monkeypatch.setattr(Files, "create", look)
    assert desk.flags() == [False, False]
    desk.round("all")
    assert seen == [["pending", "pending"]]


def test_a_task_carries_material_and_no_prompt(desk):
    desk.write(on("2026-01-10"))
    desk.round("all")
    desk.work()
    task, blocks = desk.scribe.asked[0]
    assert (task.kind, task.period, task.zone, task.attempt) == ("daily-summary", "2026-01-10", "Asia/Shanghai", 0)
    assert [block.text for block in blocks] == ["关于 nginx 的第 0 句"]


# ── originals ────────────────────────────────────────────────────────────────


def test_a_covered_file_moves_unchanged_and_only_when_it_is_old(desk):
    desk.write([*on("2026-01-10"), *on("2026-01-30")])
    desk.round("all")
    before = dict(desk.tree())
    desk.settle()
    assert places(desk) == ["memory/2026-01-30-nginx.md", "memory/originals/2026-01/2026-01-10-nginx.md"]
    assert desk.tree()[places(desk)[1]] == before["memory/2026-01-10-nginx.md"]
    assert desk.told.of("moved") == [{"files": 1}]


def test_a_covered_file_that_is_recent_stays_where_it_is(desk):
    """A person raises recent_days after the day was summarised and before its file had moved."""
    desk.write(on("2026-01-10"))
    desk.settle()
    (name,) = places(desk)
    young = desk.layout.memory / "2026-01-10-nginx.md"
    (desk.root / name).rename(young)
    desk.reopen(desk.toml.replace("jitter = 0", "jitter = 0\nrecent_days = 30"))
    desk.settle()
    assert places(desk) == ["memory/2026-01-10-nginx.md"]
    desk.clock.forward(days=20)
    desk.settle()
    assert places(desk) == [name]


def test_nothing_moves_back_when_a_person_deletes_a_summary_and_it_is_made_anew(desk):
    desk.write(on("2026-01-10"))
    desk.settle()
    (desk.root / "memory" / "summary" / "2026-01-10.md").unlink()
    before = places(desk)
    desk.settle()
    assert (places(desk), desk.summaries()) == (before, ["2026-01-10"])


def test_the_day_of_a_closed_month_is_not_made_anew_but_its_month_is(desk):
    desk.write(on("2025-12-10"))
    desk.settle()
    desk.clock.forward(days=1)
    desk.settle()
    for label in ("2025-12-10", "2025-12"):
        (desk.root / "memory" / "summary" / f"{label}.md").unlink()
        desk.settle()
    assert desk.summaries() == ["2025-12"]


def test_a_file_that_a_person_edits_in_originals_is_summarised_anew(desk):
    desk.write([*on("2026-01-10"), *on("2026-01-10", "pnpm")])
    desk.settle()
    (name,) = places(desk)
    (desk.root / name).write_text((desk.root / name).read_text().replace("关于 nginx", "关于 caddy"))
    desk.settle()
    assert "caddy" in desk.summary("2026-01-10")
    assert "关于 nginx" not in desk.summary("2026-01-10")
    assert desk.scribe.asked[-1][0].previous == ""


def test_a_name_that_both_places_show_after_a_crash_is_tidied_up(desk):
    desk.write(on("2026-01-10"))
    desk.settle()
    (name,) = places(desk)
    (desk.layout.memory / "2026-01-10-nginx.md").write_bytes((desk.root / name).read_bytes())
    desk.settle()
    assert places(desk) == [name]


def test_two_different_files_of_one_name_both_stay(desk):
    desk.write(on("2026-01-10"))
    desk.settle()
    (name,) = places(desk)
    other = desk.layout.memory / "2026-01-10-nginx.md"
    other.write_text("我的笔记，碰巧同名")
    desk.settle()
    assert other.read_text() == "我的笔记，碰巧同名"
    assert name in desk.tree()


# ── a model appears ──────────────────────────────────────────────────────────


def test_extracts_are_made_anew_newest_first_when_a_model_appears(desk):
    """Rule 11; 4H, 4: an extract is never previous text."""
    desk.reopen(WITHOUT_MODEL)
    desk.scribe.extract = True
    desk.write([*on("2026-01-10"), *on("2025-12-20"), *on("2025-11-20")])
    desk.settle()
    assert all("extract: true" in desk.summary(label) for label in desk.summaries())
    desk.reopen(WITHOUT_MODEL + '[llm]\nmodel = "qwen-test"\n')
    desk.scribe.extract = False
    desk.scribe.asked.clear()
    desk.settle()
    assert [task.group for task, _ in desk.scribe.asked] == ["day-2026-01-10", "day-2025-12-20", "month-2025-11"]
    assert {task.previous for task, _ in desk.scribe.asked} == {""}
    assert not any("extract: true" in desk.summary(label) for label in desk.summaries())


def test_an_extract_that_a_person_edited_gets_the_model_s_text_below_once(desk):
    """4H, 9: an edited extract was redone for ever."""
    desk.reopen(WITHOUT_MODEL)
    desk.scribe.extract = True
    desk.write(on("2026-01-10"))
    desk.settle()
    path = desk.root / "memory" / "summary" / "2026-01-10.md"
    path.write_text(edited := path.read_text().replace("## 2026-01-10", "## 我改过的"))
    desk.reopen(WITHOUT_MODEL + '[llm]\nmodel = "qwen-test"\n')
    desk.scribe.extract = False
    desk.settle()
    desk.settle()
    assert path.read_text().startswith(edited)
    assert path.read_text().count("recalld: below this line") == 1
    assert len(desk.scribe.asked) == 2


# ── at rest ──────────────────────────────────────────────────────────────────


def test_a_second_run_changes_no_byte_outside_the_machine_s_own_folder(desk):
    desk.write(
        [
            raw
            for n, day in enumerate(("2025-10-05", "2025-11-05", "2025-12-05", "2026-01-05", "2026-01-30"))
            for raw in on(day, NAMES[n % 4], 3)
        ]
    )
    desk.settle()
    before = desk.tree()
    desk.settle()
    desk.reopen()
    desk.settle()
    assert desk.tree() == before


def test_a_month_that_lists_a_deleted_file_is_at_rest(desk):
    """4H, 9."""
    desk.write([*on("2025-11-10", "nginx"), *on("2025-11-20", "pnpm")])
    desk.settle()
    (desk.root / places(desk)[0]).unlink()
    asked = len(desk.scribe.asked)
    desk.settle()
    assert len(desk.scribe.asked) == asked


def test_a_failure_is_forgotten_when_its_group_has_nothing_left(desk):
    """4H, 9: a `failed` file outlived its group."""
    desk.scribe.script = unreachable
    desk.write(on("2026-01-10"))
    desk.settle()
    assert list(desk.ws.failures()) == ["day-2026-01-10"]
    (desk.root / places(desk)[0]).unlink()
    desk.settle()
    assert desk.ws.failures() == {}
    assert desk.flags() == [True]


def test_a_day_that_fails_into_the_next_month_goes_on_as_part_of_its_month(desk):
    """A40: its task, result and failure belong to the day; from 1 February the month is its group."""
    desk.scribe.script = unreachable
    desk.write(on("2025-12-10"))
    desk.settle()
    assert list(desk.ws.failures()) == ["day-2025-12-10"]
    desk.clock.forward(days=1)
    desk.settle()
    assert desk.ws.failures()["month-2025-12"].attempts == 1
    assert desk.history()[0]["archiveAttempts"] == 1


def test_a_day_that_is_given_up_is_not_asked_for_again_while_other_days_of_its_month_wait(desk):
    """A month too large for one call is told day by day: of the day that failed five times nothing is forgotten meanwhile."""
    desk.reopen(WITHOUT_MODEL + '[llm]\nmodel = "qwen-test"\ncontext_tokens = 512\n')
    honest, desk.scribe.script = desk.scribe.script, unreachable
    desk.write([*on("2025-11-20", count=9), *on("2025-11-21", count=9)])
    desk.settle()
    for day in ("2025-11-20", "2025-11-21"):
        assert desk.ws.failures()[f"day-{day}"].attempts == 1
    later = desk.clock() + timedelta(hours=12)
    desk.ws.spool.fail("day-2025-11-20", 5, desk.clock(), later, "refused")
    desk.ws.spool.fail("day-2025-11-21", 4, desk.clock(), later, "refused")
    desk.scribe.asked.clear()
    desk.settle()
    desk.settle()
    assert desk.ws.failures()["day-2025-11-20"].attempts == 5
    assert desk.scribe.asked == []
    desk.scribe.script = honest
    desk.clock.forward(hours=13)
    desk.settle()
    assert [task.group for task, _ in desk.scribe.asked] == ["day-2025-11-21", "month-2025-11"]
    assert desk.ws.failures() == {}


def test_a_day_that_its_month_has_told_raw_is_not_begun_anew_for_a_late_message_of_another_day(desk):
    desk.reopen(WITHOUT_MODEL + '[llm]\nmodel = "qwen-test"\ncontext_tokens = 512\n')
    honest = desk.scribe.script
    desk.scribe.script = lambda task, blocks: (
        unreachable(task, blocks) if task.group == "day-2025-11-20" else honest(task, blocks)
    )
    desk.write([*on("2025-11-20", count=9), *on("2025-11-21", count=9)])
    for _ in range(8):
        desk.settle()
        desk.clock.forward(hours=25)
    assert desk.ws.failures() == {}
    desk.scribe.asked.clear()
    desk.write([*desk.history(), *on("2025-11-22", count=3)])
    for _ in range(3):
        desk.settle()
        desk.clock.forward(hours=25)
    assert [task.group for task, _ in desk.scribe.asked] == ["day-2025-11-22", "month-2025-11"]


def test_a_day_in_flight_over_the_turn_of_the_month_is_written_to_its_own_path(desk):
    """A40."""
    desk.write(on("2025-12-10"))
    desk.round("all")
    desk.clock.forward(days=1)
    desk.work()
    desk.settle()
    assert desk.summaries() == ["2025-12", "2025-12-10"]
    assert desk.scribe.asked[-1][0].material == ("summary/2025-12-10.md",)


def test_a_person_s_note_named_like_a_dated_file_is_a_source_of_its_day(desk):
    note = desk.layout.memory / "2026-01-10-想法.md"
    note.write_text("换成 caddy 试试")
    desk.write(on("2026-01-10"))
    desk.settle()
    _, blocks = desk.scribe.asked[0]
    assert sorted(block.role for block in blocks) == ["note", "user"]
    assert "2026-01-10-想法.md" in desk.summary("2026-01-10")
    assert note.read_text() == "换成 caddy 试试"


@pytest.mark.parametrize("name", ["2026-01-10-my trip.md", "2026-01-10-旅行 · 1 · 2.md", "2026-01-10-evil\n- 2026-01-11-x.md"])
def test_a_note_of_any_name_is_told_once_and_names_no_other(desk, name):
    """A name with a blank was read back as no source: its day was told again for ever."""
    desk.write(on("2026-01-10", "nginx"))
    (desk.root / "memory" / name).write_text("绣球花三天浇一次水。\n", encoding="utf-8")
    desk.settle()
    for _ in range(3):
        desk.clock.forward(hours=1)
        desk.settle()
    assert len(desk.scribe.asked) == 1
    (summary,) = desk.ws.memory.summaries().values()
    expected = {"2026-01-10-nginx.md", name} if "\n" not in name else {"2026-01-10-nginx.md"}
    assert {source.name for source in summary.sources} == expected


def test_a_note_that_its_person_edits_is_read_anew(desk):
    note = desk.layout.memory / "2026-01-10-idea.md"
    note.write_text("换成 caddy 试试")
    desk.settle()
    note.write_text("还是用 nginx")
    desk.settle()
    assert "还是用 nginx" in desk.summary("2026-01-10")
    desk.settle()
    assert len(desk.scribe.asked) == 2


def test_words_written_late_as_a_revision_reach_the_summary(desk):
    desk.write([message("1", "2026-01-10T09:00", "改到周四")])
    desk.settle()
    desk.write([{**desk.history()[0], "text": "改到周五"}])
    desk.settle()
    assert "改到周五" in desk.summary("2026-01-10")
    assert desk.filed()[1] == (f"1~{words_digest('改到周五')[:8]}", "改到周五")
    assert desk.told.of("moved") == [{"files": 1}] * 2


def test_where_a_person_wrote_into_one_of_two_such_files_both_stay_and_nothing_is_told_to_move(desk):
    desk.write(on("2026-01-10", count=2))
    desk.settle()
    (original,) = (desk.root / name for name in places(desk))
    here = desk.layout.memory / original.name
    here.write_bytes(original.read_bytes())
    original.write_text(original.read_text().replace("第 1 句", "第一句"))
    moved = len(desk.told.of("moved"))
    desk.settle()
    desk.settle()
    assert len(places(desk)) == 2
    assert "第 1 句" in here.read_text()
    assert "第一句" in original.read_text()
    assert len(desk.told.of("moved")) == moved
