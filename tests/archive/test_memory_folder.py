"""memory/: which files are in it, which belong to a person, and moves."""

from __future__ import annotations

import os

import pytest

from tests.world import World, message


def name_of_a_file(world: World, day: str = "2026-01-10", text: str = "重启 nginx") -> str:
    world.add(message(f"{day}-{text}", f"{day}T09:00", text))
    world.round("all")
    return world.ws.memory.dated()[-1].name


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: os.symlink("/etc/hostname", path)])
def test_memory_store_skips_folders_pipes_and_symlinks(world, make):
    """Links that lead out of the tree are not followed."""
    make(world.paths.memory / "2026-01-10-x.md")
    make(world.paths.summaries / "2026-01-10.md")
    assert (world.ws.memory.dated(), world.ws.memory.summaries()) == ((), {})


def test_memory_store_move_never_replaces_an_existing_original(world):
    name = name_of_a_file(world)
    other = world.paths.original(name)
    other.parent.mkdir(parents=True)
    other.write_text("别人先放的")
    world.ws.memory.move_to_originals(name)
    assert other.read_text() == "别人先放的"
    assert world.paths.dated(name).exists()
