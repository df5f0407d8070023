"""An index that is made in parts: each update goes on where time was up for the last one, and the parts make the whole."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recalld.supervisor.recall.search
from recalld.supervisor.index.manifest import Changes
from recalld.supervisor.storage.control import UNLIMITED, Control
from tests.world import World, at

WORDS = ("花生", "电钢琴", "部署", "backup", "猫", "普洱", "nginx", "疫苗", "电钢", "钢琴")


@pytest.fixture
def noted(world):
    """A memory of six notes, one a day."""
    for n in range(1, 7):
        world.note(f"2026-01-0{n}.md", f"第 {n} 天：电钢琴 qx{n}。\n")
    return world


def part(world, control=UNLIMITED):
    """Update the index without any time: it makes the least that it ever does."""
    return world.ws.index.update(0.0, control, 0.0)


def whole(world):
    """Every passage of the index, with its place: not a search, of which the gate may say no."""
    view = world.ws.index._view
    found = view.engine.candidates(dict.fromkeys(WORDS, 1.0), {}, (), None, 500)
    passages = [view.passage_of(one) for one in found]
    return sorted((one.path, one.start, one.text) for one in passages)


def test_update_without_time_makes_the_newest_and_the_next_goes_on(noted):
    found = []
    for left in range(5, -1, -1):
        part(noted.reopen())
        assert noted.ws.index.left == left
        found.append(sorted(noted.found_paths("电钢琴")))
    assert found == [[f"memory/2026-01-0{day}.md" for day in range(first, 7)] for first in range(6, 0, -1)]
    assert part(noted) == Changes()


def test_search_says_how_far_the_index_is_and_reports_no_fault(noted):
    part(noted)
    found = noted.search("电钢琴")
    assert [hit.unit.path for hit in found.hits] == ["memory/2026-01-06.md"]
    assert "lacks 5 days and files so far" in str(found.unsearched)
    assert noted.events.of("recall_failed") == noted.events.of("index_made") == []
    noted.refresh()
    assert noted.search("电钢琴").unsearched == ""
    assert len(noted.events.of("index_made")) == 1


def test_search_finds_as_written_what_the_index_lacks_yet(noted):
    noted.note("2026-01-01.md", "尤克里里借给了邻居。\n")
    part(noted)
    assert noted.ws.index.left > 3
    found = noted.search("尤克里里借给谁了？")
    assert ([hit.unit.path for hit in found.hits], found.how) == (["memory/2026-01-01.md"], "literal")


def test_refresh_whole_makes_every_part_until_told_to_stop(noted, monkeypatch):
    monkeypatch.setattr(recalld.supervisor.recall.search, "_PART_S", 0.0)
    asked = iter(range(100))
    noted.ws.searcher.refresh_whole(control=Control(lambda: next(asked) >= 3))
    assert 0 < noted.ws.index.left < 6
    assert noted.ws.searcher.refresh_whole().new
    assert noted.ws.index.left == 0
    assert len(noted.found_paths("电钢琴")) == 6


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 10**6))
def test_index_in_parts_equals_a_rebuilt_one_after_any_changes(tmp_path_factory, seed):
    pick = random.Random(seed)
    world = World(tmp_path_factory.mktemp("world"), at("2026-01-31T10:00"))
    names = ("2026-01-28-a.md", "2026-01-28-b.md", "note.md", "trips/japan.md", "2026-01-27.md", "memory.md")
    for _ in range(12):
        path = world.note(pick.choice(names), "x")
        match pick.randrange(5):
            case 0:
                path.unlink()
            case 1:
                path.replace(path.with_name(f"moved-{path.name}"))
            case _:
                lines = (f"- {' '.join(pick.choices(WORDS[:8], k=3))}\n" for _ in range(pick.randrange(1, 6)))
                path.write_text("\n".join(lines), encoding="utf-8")
        match pick.randrange(4):
            case 0:
                world.reopen()
            case 1:
                world.ws.index.hold_changes()
            case 2:
                world.search("花生 部署")
        part(world)
    for _ in range(100):
        part(world)
    assert world.ws.index.left == 0
    followed = whole(world)
    world.reopen().refresh(rebuild=True)
    assert whole(world) == followed
