"""memory/: which files are in it, which of them belong to a person, and moves that never replace a file."""

from __future__ import annotations

import os
from datetime import date

import pytest

from recalld.supervisor.protocol.period import Period
from recalld.supervisor.protocol.summary_file import Summary
from recalld.supervisor.storage.errors import Conflict
from tests.world import World, message

DAY = Period("2026-01-10")


def filed(world: World, day: str = "2026-01-10", text: str = "重启 nginx") -> str:
    world.add(message(f"{day}-{text}", f"{day}T09:00", text))
    world.round("all")
    return world.ws.memory.dated()[-1].name


def summary(text: str = "## 部署") -> Summary:
    return Summary(
        period="2026-01-10", zone="Asia/Shanghai", created="2026-01-31T02:00:00.000Z", text=text, sources=(), provider="scribe"
    )


def test_memory_store_lists_a_dated_file_with_its_metadata(world):
    name = filed(world)
    (found,) = world.ws.memory.dated()
    assert (found.name, found.day, found.count, found.ours, found.original) == (name, date(2026, 1, 10), 1, True, False)
    assert found.created == world.clock()
    assert world.ws.memory.path_of(name) == world.paths.dated(name)
    assert [block.text for block in world.ws.memory.blocks(name)] == ["重启 nginx"]


def test_memory_store_finds_a_dated_file_after_the_move_to_originals(world):
    name = filed(world)
    before = world.ws.memory.dated()[0].source
    world.ws.memory.move_to_originals(name)
    (found,) = world.ws.memory.dated()
    assert (found.original, found.source) == (True, before)
    assert world.ws.memory.path_of(name) == world.paths.original(name)
    assert len(world.ws.memory.blocks(name)) == 1
    world.ws.memory.move_to_originals(name)
    assert len(world.ws.memory.dated()) == 1


def test_memory_store_lists_a_file_only_while_it_is_a_regular_file(world):
    name = filed(world)
    other = filed(world, "2026-01-11", "月饼订两盒")
    assert [file.name for file in world.ws.memory.dated()] == [name, other]
    path = world.paths.dated(name)
    path.rename(path.with_suffix(".txt"))
    path.symlink_to(path.with_suffix(".txt"))
    assert [file.name for file in world.ws.memory.dated()] == [other]
    path.unlink()
    path.with_suffix(".txt").rename(path)
    assert [file.name for file in world.ws.memory.dated()] == [name, other]


@pytest.mark.parametrize(
    "name",
    [
        "我的笔记.md",
        "README.md",
        ".2026-01-10-x.md.swp",
        "2026-01-10-x.md~",
        "2026-02-30-x.md",
        "2026-01-10-x.txt",
        "4913",
        ".git",
    ],
)
def test_memory_store_ignores_names_that_are_not_dated_files(world, name):
    (world.paths.memory / name).write_text("别的")
    assert world.ws.memory.dated() == ()


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: os.symlink("/etc/hostname", path)])
def test_memory_store_skips_folders_pipes_and_symlinks(world, make):
    """Links that lead out of the tree are not followed."""
    make(world.paths.memory / "2026-01-10-x.md")
    make(world.paths.summaries / "2026-01-10.md")
    assert (world.ws.memory.dated(), world.ws.memory.summaries()) == ((), {})


def test_memory_store_move_never_replaces_an_existing_original(world):
    name = filed(world)
    other = world.paths.original(name)
    other.parent.mkdir(parents=True)
    other.write_text("别人先放的")
    world.ws.memory.move_to_originals(name)
    assert other.read_text() == "别人先放的"
    assert world.paths.dated(name).exists()


def test_memory_store_keeps_the_replaced_summary_in_previous(world):
    world.ws.memory.write_summary(DAY, summary(), None)
    look, found = world.ws.memory.read_summary(DAY)
    assert found == summary()
    assert look
    world.ws.memory.write_summary(DAY, summary("## 新"), look)
    assert [path.read_bytes() for path in world.paths.previous.iterdir()] == [look.data]
    assert world.ws.memory.summaries()[DAY].text == "## 新"


def test_memory_store_refuses_to_replace_a_summary_changed_meanwhile(world):
    world.ws.memory.write_summary(DAY, summary(), None)
    look, _ = world.ws.memory.read_summary(DAY)
    path = world.paths.summary(DAY)
    path.write_text("我改的")
    with pytest.raises(Conflict):
        world.ws.memory.write_summary(DAY, summary("## 新"), look)
    with pytest.raises(Conflict):
        world.ws.memory.write_summary(DAY, summary("## 新"), None)
    assert path.read_text() == "我改的"
