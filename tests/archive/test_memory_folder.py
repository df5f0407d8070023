"""memory/: which files are in it, which of them belong to a person, and moves that never replace a file."""

from __future__ import annotations

import os

import pytest

from tests.world import World, message


def filed(world: World, day: str = "2026-01-10", text: str = "重启 nginx") -> str:
    world.add(message(f"{day}-{text}", f"{day}T09:00", text))
    world.round("all")
    return world.ws.memory.dated()[-1].name


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
