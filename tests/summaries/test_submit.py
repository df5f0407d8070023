"""Submitting: due days and closed months become tasks, and covered files move to originals/."""

import pytest

from recalld.supervisor.storage.errors import BadRequest
from tests.world import World, message, unreachable


def on(day: str, slug: str = "nginx", count: int = 1) -> list[dict[str, object]]:
    return [message(f"{day}-{slug}-{n}", f"{day}T09:0{n}", f"关于 {slug} 的第 {n} 句") for n in range(count)]


def places(world: World) -> list[str]:
    return list(world.dated_files())


# ── the seed: 31 January and 1 February ──────────────────────────────────────


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


# ── at rest ──────────────────────────────────────────────────────────────────


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


# ── a summary that a person asks to have rebuilt ────────────────────────────────


@pytest.fixture
def filled(world):
    world.write([message("一", "2026-01-20T09:00", "备份脚本改到凌晨四点")])
    world.settle()
    return world


def test_submit_again_makes_one_summary_of_all_when_called_twice(filled):
    filled.model.requests.clear()
    for _ in range(2):
        filled.redo("2026-01-20")
    filled.settle()
    ((task, blocks),) = filled.model.requests
    assert (task.redo, task.previous, [block.text for block in blocks]) == (True, "", ["备份脚本改到凌晨四点"])


def test_submit_again_refuses_an_invalid_period_and_one_without_files(filled):
    with pytest.raises(BadRequest, match="昨天"):
        filled.redo("昨天")
    with pytest.raises(BadRequest, match="memory has no dated file of 2025-06, so there is nothing"):
        filled.redo("2025-06")
