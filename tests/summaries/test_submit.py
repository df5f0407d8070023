"""Submitting: due days and closed months become tasks, and covered files move to originals/."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

from recalld.supervisor.protocol.message import digest_of_text
from recalld.supervisor.storage.files import Files
from tests.world import ASK, IN_SHANGHAI, WITHOUT_MODEL, World, message, unreachable

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("nginx", "pnpm", "docker", "postgres")


def on(day: str, slug: str = "nginx", count: int = 1) -> list[dict[str, object]]:
    return [message(f"{day}-{slug}-{n}", f"{day}T09:0{n}", f"关于 {slug} 的第 {n} 句") for n in range(count)]


def groups(world: World) -> list[str]:
    return [group for told in world.events.of("submitted") for group in told["groups"]]  # type: ignore[attr-defined]


def places(world: World) -> list[str]:
    return list(world.dated_files())


# ── the seed: 31 January and 1 February ──────────────────────────────────────


@pytest.mark.parametrize("zone_name", ["Asia/Shanghai", "America/New_York", "Australia/Lord_Howe"])
def test_submit_summarizes_december_by_month_only_from_1_february(world, zone_name):
    """December is summarised by day until the last local second of January, and by month from the next second on."""
    world.reopen(world.toml.replace(IN_SHANGHAI, f'timezone = "{zone_name}"'))
    zone = ZoneInfo(zone_name)
    days = ("2025-11-30", "2025-12-01", "2025-12-31", "2026-01-15", "2026-01-26", "2026-01-30")
    for day in days:
        noon = datetime.fromisoformat(f"{day}T12:00").replace(tzinfo=zone)
        world.add(message(day, noon.isoformat(), f"{day} 说的话"))
    midnight = datetime(2026, 2, 1, tzinfo=zone).astimezone(UTC)

    world.clock.now = midnight - timedelta(seconds=1)
    world.settle()
    assert world.summaries() == ["2025-11", "2025-12-01", "2025-12-31", "2026-01-15"]

    world.clock.now = midnight
    world.settle()
    assert world.summaries() == ["2025-11", "2025-12", "2025-12-01", "2025-12-31", "2026-01-15", "2026-01-26"]
    assert all(day in world.summary("2025-12") for day in ("2025-12-01", "2025-12-31"))
    assert world.flags() == [True] * 6


def test_submit_builds_a_closed_month_from_its_days_and_keeps_them(world):
    """The day that finishes last must not replace the others."""
    world.write([*on("2025-12-03", "nginx"), *on("2025-12-20", "pnpm"), *on("2025-12-31", "docker")])
    world.settle()
    before = {name: data for name, data in world.tree().items() if "summary/2025-12-" in name}
    world.clock.forward(days=1)
    world.settle()
    assert before.items() <= world.tree().items()
    (task, blocks) = world.model.requests[-1]
    assert task.material == ("summary/2025-12-03.md", "summary/2025-12-20.md", "summary/2025-12-31.md")
    assert [block.role for block in blocks] == ["summary"] * 3
    assert [source.name[11:] for source in task.sources] == ["nginx.md", "pnpm.md", "docker.md"]
    assert "pnpm" in world.summary("2025-12")


# ── late ─────────────────────────────────────────────────────────────────────


def test_submit_adds_a_late_message_to_the_summary_of_a_closed_day(world):
    """Previous summary and new file; the earlier text is kept under previous/."""
    world.write(on("2026-01-10", "nginx"))
    world.settle()
    first = world.summary("2026-01-10")
    world.add(*on("2026-01-10", "pnpm"))
    world.settle()
    task, blocks = world.model.requests[-1]
    assert "关于 nginx" in task.previous
    assert [block.text for block in blocks] == ["关于 pnpm 的第 0 句"]
    listed = world.summary("2026-01-10").partition("made from")[2]
    assert "2026-01-10-nginx.md" in listed
    assert "2026-01-10-pnpm.md" in listed
    assert [path.read_text() for path in world.paths.previous.iterdir()] == [first]
    assert world.flags() == [True, True]


def test_submit_adds_a_late_message_to_the_summary_of_a_closed_month(world):
    world.write([*on("2025-11-10", "nginx"), *on("2025-11-20", "pnpm")])
    world.settle()
    world.add(*on("2025-11-15", "docker"))
    world.settle()
    assert world.summaries() == ["2025-11"]
    assert all(
        name in world.summary("2025-11") for name in ("2025-11-10-nginx.md", "2025-11-15-docker.md", "2025-11-20-pnpm.md")
    )
    assert [task.group for task, _ in world.model.requests] == ["month-2025-11", "month-2025-11"]


def test_submit_extends_a_monthly_file_that_another_program_wrote(world):
    world.write(on("2025-12-03", "nginx"))
    world.settle()
    (world.root / "memory" / "summary" / "2025-12.md").write_text("# 十二月\n只有一条迟到的消息\n")
    world.clock.forward(days=1)
    world.settle()
    assert world.summary("2025-12").startswith("# 十二月\n只有一条迟到的消息\n<!-- recalld:")
    assert "2025-12-03-nginx.md" in world.summary("2025-12")


def test_collect_names_only_the_files_that_the_task_read(world):
    """A summary must not name files that it has not read."""
    world.write(on("2026-01-10", "nginx"))
    world.round("all")
    world.add(*on("2026-01-10", "pnpm"))
    world.round("all")
    world.work()
    world.round("all")
    assert "pnpm" not in world.summary("2026-01-10")
    assert [path for path in places(world) if "originals" in path] == ["memory/originals/2026-01/2026-01-10-nginx.md"]
    world.settle()
    assert "2026-01-10-pnpm.md" in world.summary("2026-01-10")


def test_collect_leaves_a_file_that_came_while_its_month_was_in_flight(world):
    """A file that comes to a day already named by its month must not be hidden."""
    world.write(on("2025-12-10", "nginx"))
    world.settle()
    world.clock.forward(days=1)
    world.round("all")
    assert list(world.ws.task_queue.active_groups()) == ["month-2025-12"]
    world.add(*on("2025-12-10", "pnpm"))
    world.round("all")
    world.work()
    world.round("all")
    assert "2025-12-10-pnpm" not in world.summary("2025-12")
    assert "memory/2025-12-10-pnpm.md" in places(world)
    world.settle()
    assert "2025-12-10-pnpm.md" in world.summary("2025-12")


# ── the spool ────────────────────────────────────────────────────────────────


def test_submit_queues_at_most_eight_tasks_with_the_newest_days_first(world):
    world.write([raw for day in range(1, 20) for raw in on(f"2026-01-{day:02d}")])
    world.round("all")
    assert groups(world) == [f"day-2026-01-{day:02d}" for day in range(19, 11, -1)]
    world.round("all")
    assert len(list(world.ws.task_queue.queue.iterdir())) == 8
    world.settle()
    assert len(world.summaries()) == 19


def test_submit_reserves_the_daily_calls_of_a_large_task_in_flight(world):
    world.reopen(WITHOUT_MODEL + ASK + '[llm]\nmodel = "qwen-test"\ncontext_tokens = 512\nmax_calls_per_day = 12\n')
    world.write([message(f"长{n}", f"2026-01-20T09:{n:02}", f"第 {n} 段：" + "备份放在 /srv/backup，" * 4) for n in range(25)])
    world.round("all")
    (large,) = world.plan()["summaries"]
    assert groups(world) == ["day-2026-01-20"]
    world.write([*world.history(), *(one for n in range(10, 19) for one in on(f"2026-01-{n}"))])
    world.round("all")
    assert large["calls"] > 4
    assert 1 <= len(groups(world)) - 1 <= 12 - large["calls"]


def test_submit_marks_messages_pending_before_it_creates_the_task(world, monkeypatch):
    world.model.script = unreachable
    world.write(on("2026-01-10", count=2))
    world.settle()
    world.clock.forward(minutes=10)
    seen = []
    create = Files.create

    def look(self: Files, path: Path, data: bytes) -> None:
        if path.parent.name == "queue":
            seen.append(world.flags())
        create(self, path, data)

    monkeypatch.setattr(Files, "create", look)
    assert world.flags() == [False, False]
    world.round("all")
    assert seen == [["pending", "pending"]]


# ── originals ────────────────────────────────────────────────────────────────


def test_submit_moves_only_old_covered_files_to_originals_unchanged(world):
    world.write([*on("2026-01-10"), *on("2026-01-30")])
    world.round("all")
    before = dict(world.tree())
    world.settle()
    assert places(world) == ["memory/2026-01-30-nginx.md", "memory/originals/2026-01/2026-01-10-nginx.md"]
    assert world.tree()[places(world)[1]] == before["memory/2026-01-10-nginx.md"]
    assert world.events.of("moved") == [{"files": 1}]


def test_submit_leaves_a_recent_covered_file_in_place(world):
    """A person raises recent_days after the day was summarised and before its file had moved."""
    world.write(on("2026-01-10"))
    world.settle()
    (name,) = places(world)
    young = world.paths.memory / "2026-01-10-nginx.md"
    (world.root / name).rename(young)
    world.reopen(world.toml.replace("jitter = 0", "jitter = 0\nrecent_days = 30"))
    world.settle()
    assert places(world) == ["memory/2026-01-10-nginx.md"]
    world.clock.forward(days=20)
    world.settle()
    assert places(world) == [name]


def test_submit_rebuilds_a_deleted_month_but_no_day_of_a_closed_month(world):
    world.write(on("2025-12-10"))
    world.settle()
    world.clock.forward(days=1)
    world.settle()
    for label in ("2025-12-10", "2025-12"):
        (world.root / "memory" / "summary" / f"{label}.md").unlink()
        world.settle()
    assert world.summaries() == ["2025-12"]


def test_submit_rebuilds_the_summary_when_a_person_edits_an_original(world):
    world.write([*on("2026-01-10"), *on("2026-01-10", "pnpm")])
    world.settle()
    (name,) = places(world)
    (world.root / name).write_text((world.root / name).read_text().replace("关于 nginx", "关于 caddy"))
    world.settle()
    assert "caddy" in world.summary("2026-01-10")
    assert "关于 nginx" not in world.summary("2026-01-10")
    assert world.model.requests[-1][0].previous == ""


def test_submit_removes_the_duplicate_that_a_crashed_move_left(world):
    world.write(on("2026-01-10"))
    world.settle()
    (name,) = places(world)
    world.note("2026-01-10-nginx.md", (world.root / name).read_bytes())
    world.settle()
    assert places(world) == [name]


def test_submit_keeps_two_different_files_of_one_name(world):
    world.write(on("2026-01-10"))
    world.settle()
    (name,) = places(world)
    other = world.paths.memory / "2026-01-10-nginx.md"
    other.write_text("我的笔记，碰巧同名")
    world.settle()
    assert other.read_text() == "我的笔记，碰巧同名"
    assert name in world.tree()


# ── a model appears ──────────────────────────────────────────────────────────


def test_submit_rebuilds_extracts_newest_first_when_a_model_appears(world):
    """An extract is never previous text."""
    world.reopen(WITHOUT_MODEL)
    world.model.extract = True
    world.write([*on("2026-01-10"), *on("2025-12-20"), *on("2025-11-20")])
    world.settle()
    assert all("extract: true" in world.summary(label) for label in world.summaries())
    world.reopen(WITHOUT_MODEL + ASK + '[llm]\nmodel = "qwen-test"\n')
    world.model.extract = False
    world.model.requests.clear()
    world.settle()
    assert [task.group for task, _ in world.model.requests] == ["day-2026-01-10", "day-2025-12-20", "month-2025-11"]
    assert {task.previous for task, _ in world.model.requests} == {""}
    assert not any("extract: true" in world.summary(label) for label in world.summaries())


def test_collect_appends_the_model_text_once_to_an_edited_extract(world):
    """An edited extract must not be made again and again."""
    world.reopen(WITHOUT_MODEL)
    world.model.extract = True
    world.write(on("2026-01-10"))
    world.settle()
    path = world.root / "memory" / "summary" / "2026-01-10.md"
    path.write_text(edited := path.read_text().replace("## 2026-01-10", "## 我改过的"))
    world.reopen(WITHOUT_MODEL + ASK + '[llm]\nmodel = "qwen-test"\n')
    world.model.extract = False
    world.settle()
    world.settle()
    assert path.read_text().startswith(edited)
    assert path.read_text().count("recalld: below this line") == 1
    assert len(world.model.requests) == 2


# ── at rest ──────────────────────────────────────────────────────────────────


def test_round_changes_no_file_outside_recalld_when_all_is_settled(world):
    world.write(
        [
            raw
            for n, day in enumerate(("2025-10-05", "2025-11-05", "2025-12-05", "2026-01-05", "2026-01-30"))
            for raw in on(day, NAMES[n % 4], 3)
        ]
    )
    world.settle()
    before = world.tree()
    world.settle()
    world.reopen()
    world.settle()
    assert world.tree() == before


def test_submit_leaves_a_month_that_lists_a_deleted_file(world):
    world.write([*on("2025-11-10", "nginx"), *on("2025-11-20", "pnpm")])
    world.settle()
    (world.root / places(world)[0]).unlink()
    asked = len(world.model.requests)
    world.settle()
    assert len(world.model.requests) == asked


def test_submit_clears_a_failure_whose_group_has_no_files_left(world):
    """A `failed` file must not outlive its group."""
    world.model.script = unreachable
    world.write(on("2026-01-10"))
    world.settle()
    assert list(world.ws.failures()) == ["day-2026-01-10"]
    (world.root / places(world)[0]).unlink()
    world.settle()
    assert world.ws.failures() == {}
    assert world.flags() == [True]


def test_submit_retries_a_failed_day_as_part_of_its_closed_month(world):
    """Its task, result and failure belong to the day; from 1 February the month is its group."""
    world.model.script = unreachable
    world.write(on("2025-12-10"))
    world.settle()
    assert list(world.ws.failures()) == ["day-2025-12-10"]
    world.clock.forward(days=1)
    world.settle()
    assert world.ws.failures()["month-2025-12"].attempts == 1
    assert world.history()[0]["archiveAttempts"] == 1


def test_submit_skips_a_given_up_day_while_other_days_of_its_month_wait(world):
    """A month too large for one call is told day by day: of the day that failed five times nothing is forgotten meanwhile."""
    world.reopen(WITHOUT_MODEL + ASK + '[llm]\nmodel = "qwen-test"\ncontext_tokens = 512\n')
    honest, world.model.script = world.model.script, unreachable
    world.write([*on("2025-11-20", count=9), *on("2025-11-21", count=9)])
    world.settle()
    for day in ("2025-11-20", "2025-11-21"):
        assert world.ws.failures()[f"day-{day}"].attempts == 1
    later = world.clock() + timedelta(hours=12)
    world.ws.task_queue.fail("day-2025-11-20", 5, world.clock(), later, "refused")
    world.ws.task_queue.fail("day-2025-11-21", 4, world.clock(), later, "refused")
    world.model.requests.clear()
    world.settle()
    world.settle()
    assert world.ws.failures()["day-2025-11-20"].attempts == 5
    assert world.model.requests == []
    world.model.script = honest
    world.clock.forward(hours=13)
    world.settle()
    assert [task.group for task, _ in world.model.requests] == ["day-2025-11-21", "month-2025-11"]
    assert world.ws.failures() == {}


def test_submit_skips_a_day_that_its_month_already_includes_raw(world):
    world.reopen(WITHOUT_MODEL + ASK + '[llm]\nmodel = "qwen-test"\ncontext_tokens = 512\n')
    world.model.script = lambda task, blocks: (
        unreachable(task, blocks) if task.group == "day-2025-11-20" else "## nginx\n\n说了 nginx 和 pnpm 的几句。"
    )
    world.write([*on("2025-11-20", count=9), *on("2025-11-21", count=9)])
    for _ in range(8):
        world.settle()
        world.clock.forward(hours=25)
    assert world.ws.failures() == {}
    world.model.requests.clear()
    world.write([*world.history(), *on("2025-11-22", count=3)])
    for _ in range(3):
        world.settle()
        world.clock.forward(hours=25)
    assert [task.group for task, _ in world.model.requests] == ["day-2025-11-22", "month-2025-11"]


def test_collect_writes_a_daily_result_that_comes_after_its_month_closed(world):
    world.write(on("2025-12-10"))
    world.round("all")
    world.clock.forward(days=1)
    world.work()
    world.settle()
    assert world.summaries() == ["2025-12", "2025-12-10"]
    assert world.model.requests[-1][0].material == ("summary/2025-12-10.md",)


def test_submit_includes_a_persons_note_named_like_a_dated_file(world):
    note = world.paths.memory / "2026-01-10-想法.md"
    note.write_text("换成 caddy 试试")
    world.write(on("2026-01-10"))
    world.settle()
    _, blocks = world.model.requests[0]
    assert sorted(block.role for block in blocks) == ["note", "user"]
    assert "2026-01-10-想法.md" in world.summary("2026-01-10")
    assert note.read_text() == "换成 caddy 试试"


@pytest.mark.parametrize("name", ["2026-01-10-my trip.md", "2026-01-10-旅行 · 1 · 2.md", "2026-01-10-evil\n- 2026-01-11-x.md"])
def test_submit_summarizes_an_oddly_named_note_once_and_adds_no_source(world, name):
    """A name with a blank was read back as no source: its day was told again for ever."""
    world.write(on("2026-01-10", "nginx"))
    (world.root / "memory" / name).write_text("绣球花三天浇一次水。\n", encoding="utf-8")
    world.settle()
    for _ in range(3):
        world.clock.forward(hours=1)
        world.settle()
    assert len(world.model.requests) == 1
    (summary,) = world.ws.memory.summaries().values()
    expected = {"2026-01-10-nginx.md", name} if "\n" not in name else {"2026-01-10-nginx.md"}
    assert {source.name for source in summary.sources} == expected


def test_submit_adds_a_revision_to_the_summary_of_its_day(world):
    world.write([message("1", "2026-01-10T09:00", "改到周四")])
    world.settle()
    world.write([{**world.history()[0], "text": "改到周五"}])
    world.settle()
    assert "改到周五" in world.summary("2026-01-10")
    assert world.archived()[1] == (f"1~{digest_of_text('改到周五')[:8]}", "改到周五")
    assert world.events.of("moved") == [{"files": 1}] * 2


def test_submit_keeps_a_file_and_its_edited_original_and_reports_no_move(world):
    world.write(on("2026-01-10", count=2))
    world.settle()
    (original,) = (world.root / name for name in places(world))
    here = world.paths.memory / original.name
    here.write_bytes(original.read_bytes())
    original.write_text(original.read_text().replace("第 1 句", "第一句"))
    moved = len(world.events.of("moved"))
    world.settle()
    world.settle()
    assert len(places(world)) == 2
    assert "第 1 句" in here.read_text()
    assert "第一句" in original.read_text()
    assert len(world.events.of("moved")) == moved
