"""The diary is whole after a crash: what was kept from CHANGES.md is told from the list of acts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.checker.diary import diary
from tests.world import Diarist, World, at


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = Diarist(tmp_path / "w", at("2026-01-31T10:00"), 'language = "zh"\n')
    for count in (1, 2, 3):
        keep(world, count)
    return world


def keep(world: World, *counts: int) -> None:
    """Let a new process note that so many messages were forgotten."""
    world.reopen().ws.diary.keep([{"kind": "forgotten", "messages": count} for count in counts], world.clock())


def told(world: World) -> list[str]:
    return re.findall(r"彻底忘掉了 (\d) 条", (world.read("CHANGES.md") or b"").decode())


def test_diary_completes_what_a_crash_kept_from_it(world: World) -> None:
    data = world.read("CHANGES.md") or b""
    world.put("CHANGES.md", b"".join(data.splitlines(keepends=True)[:-2]))
    keep(world)
    assert world.read("CHANGES.md") == data
    keep(world, 4, 5)
    assert told(world) == ["1", "2", "3", "4", "5"]
    assert diary(world.tree(internal=True), calm=True) == []


def test_diary_leaves_what_a_person_writes_at_its_end(world: World) -> None:
    world.put("CHANGES.md", (world.read("CHANGES.md") or b"") + "- 我的话".encode())
    keep(world, 4)
    assert "\n- 我的话\n- 2026" in (world.read("CHANGES.md") or b"").decode()
