"""Submitting: due days and closed months become tasks, and covered files move to originals/."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tests.world import ASK, IN_SHANGHAI, WITHOUT_MODEL, World, message, unreachable

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


# ── the spool ────────────────────────────────────────────────────────────────


# ── originals ────────────────────────────────────────────────────────────────


def test_submit_moves_only_old_covered_files_to_originals_unchanged(world):
    world.write([*on("2026-01-10"), *on("2026-01-30")])
    world.round("all")
    before = dict(world.tree())
    world.settle()
    assert places(world) == ["memory/2026-01-30-nginx.md", "memory/originals/2026-01/2026-01-10-nginx.md"]
    assert world.tree()[places(world)[1]] == before["memory/2026-01-10-nginx.md"]
    assert world.events.of("moved") == [{"files": 1}]


def test_submit_removes_the_duplicate_that_a_crashed_move_left(world):
    world.write(on("2026-01-10"))
    world.settle()
    (name,) = places(world)
    world.note("2026-01-10-nginx.md", (world.root / name).read_bytes())
    world.settle()
    assert places(world) == [name]


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


def test_submit_includes_a_persons_note_named_like_a_dated_file(world):
    note = world.paths.memory / "2026-01-10-想法.md"
    note.write_text("换成 caddy 试试")
    world.write(on("2026-01-10"))
    world.settle()
    _, blocks = world.model.requests[0]
    assert sorted(block.role for block in blocks) == ["note", "user"]
    assert "2026-01-10-想法.md" in world.summary("2026-01-10")
    assert note.read_text() == "换成 caddy 试试"


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
