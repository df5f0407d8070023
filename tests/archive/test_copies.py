"""Copies of our files, as synchronisers, systems, editors and people make them: never memory a second time, never touched."""

from __future__ import annotations

import os

import pytest

from tests.world import World, message, message_on

QUESTION = "花生过敏"
#: What a copy of X.md is called; those that recalld reads at all by their name.
SPELLINGS = (
    *("X (1).md", "X 2.md", "X - Copy (2).md", "X copy.md", "Copy of X.md", "X的副本.md", "副本 X.md", "X-DESKTOP-7K3.md"),
    *("X.bak.md", "X~HEAD.md", "X_BACKUP_123.md", "backup/X.md", "旧/X.md"),
)
#: What is never read, whatever is in it.
UNREAD = (*("X (conflicted copy 2026-01-30).md", "X.sync-conflict-20260130-101112-ABCDEF.md", ".X.md.swp", "X.md.bak"),)


def remembered(world: World, day: str = "2026-01-29") -> str:
    """Archive two messages of that day about nginx and peanuts; returns the path of their dated file."""
    world.add(message_on(day, "nginx"), message(f"{day}-b", f"{day}T09:05", "我对花生过敏，点外卖要备注。", session="家"))
    world.round("all")
    (path,) = (path for path in world.dated_files() if day in path)
    return path


def copied(world: World, path: str, spelling: str) -> str:
    """Copy the file to this spelling of its name; returns the copy's path."""
    folder, _, name = path.rpartition("/")
    to = f"{folder}/{spelling.replace('X', name.removesuffix('.md'))}"
    world.put(to, world.read(path) or b"")
    return to


def found(world: World, question: str = QUESTION) -> list[str]:
    world.refresh()
    return [*dict.fromkeys(world.found_paths(question))]


def sources(world: World, label: str) -> list[str]:
    return [line.split(" · ")[0] for line in world.summary(label).splitlines() if line.startswith("- 20") and " · " in line]


# ── a dated file ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize("spelling", [*SPELLINGS, *UNREAD])
def test_copy_is_neither_found_nor_summarised_nor_touched(world, spelling):
    path = remembered(world)
    copy = copied(world, path, spelling)
    data = world.read(copy)
    world.round()
    assert found(world) == [path]
    world.forward(days=10).settle()
    name = path.rpartition("/")[2]
    assert sources(world, "2026-01-29") == [f"- {name}"]
    assert [len(blocks) for _, blocks in world.model.requests] == [2]
    assert found(world)[1:] == [f"memory/originals/2026-01/{name}"]
    assert world.read(copy) == data
    assert world.fsck().is_sound


@pytest.mark.parametrize("spelling", ["X (1).md", "Copy of X.md", "backup/X.md"])
def test_copy_is_searched_once_the_file_itself_is_gone(world, spelling):
    path = remembered(world)
    copy = copied(world, path, spelling)
    assert found(world) == [path]
    (world.root / path).unlink()
    world.round()
    assert {one.partition("#")[0] for one in found(world)} == {copy}
    copied(world, copy, path.rpartition("/")[2]) if "/" not in spelling else world.put(path, world.read(copy) or b"")
    assert found(world) == [path]


# ── what is no file, and what has the name already ───────────────────────────


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
