"""What synchronisers bring: a workspace in pieces, and copies of our files, which are never memory a second time and never touched."""

import os
import shutil
from pathlib import Path

import pytest

from tests.world import ANSWERS, QUESTIONS, World, at, message, message_on, talk


def bring(world: World, elsewhere: World, piece: str) -> None:
    """Move the files of one piece into place, each by a rename."""
    for path in sorted(elsewhere.root.rglob("*")):
        name = path.relative_to(elsewhere.root).as_posix()
        if path.is_file() and name.startswith(piece):
            to = world.root / name
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, to.with_name(f".{to.name}.sync"))
            to.with_name(f".{to.name}.sync").rename(to)


def test_repair_files_the_rest_of_a_second_file_that_overlaps(tmp_path: Path) -> None:
    """The files arrive together, of two supervisors of one talk, and no round comes before the repair."""
    said = talk("2026-01-29T09:00", 9)
    world = World(tmp_path / "这里", at("2026-01-30T20:00"))
    for n, part in enumerate((said[:6], said[3:])):
        other = World(tmp_path / f"别处 {n}", at(f"2026-01-30T1{n}:00"))
        other.write(part)
        other.settle()
        (path,) = other.dated_files()
        world.put(f"memory/2026-01-29-{n}.md", other.read(path) or b"")
    assert len(world.fsck().damage) == 3
    assert world.repair().set_aside == ("2026-01-29-1.md",)
    world.settle()
    assert world.archived_texts() == sorted(raw["text"] for raw in said)
    assert world.fsck().is_sound


def test_repair_keeps_the_first_files_of_a_day_that_was_filed_as_one(tmp_path: Path) -> None:
    """The second file, of the whole day, has the name of the first, in another folder."""
    elsewhere = World(tmp_path / "别处", at("2026-01-29T20:00"))
    elsewhere.model.script = lambda *_: "\n".join(f"- {one}" for one in (*QUESTIONS, *ANSWERS))
    said = talk("2026-01-12T09:00", 11)
    for end in (10, 11):
        elsewhere.write(said[:end])
        elsewhere.settle()
    first = {name: data for name, data in elsewhere.tree().items() if name.startswith("memory/")}
    assert [len(name.split("/")) for name in first] == [4, 4, 3]

    world = World(tmp_path / "这里", at("2026-01-30T20:00"))
    bring(world, elsewhere, "history.json")
    world.round("all")
    assert {name.rpartition("/")[2] for name in world.tree() if name.startswith("memory/")} < {
        name.rpartition("/")[2] for name in first
    }
    bring(world, elsewhere, "memory/")
    world.repair()
    world.settle()
    assert {name: data for name, data in world.tree().items() if name.startswith("memory/")} == first
    assert world.fsck().is_sound
    assert {world.ws.journal.file_of((identity, digest)) for identity, digest in world.ws.journal.written} == {
        name.rpartition("/")[2] for name in first if "originals" in name
    }


def test_intake_adopts_what_a_note_holds_that_arrives_later(world):
    world.clock.now = at("2026-01-30T21:30")
    world.write([message("1", "2026-01-30T21:00", "我对花生过敏。", archived=True)])
    assert world.round("due").archived == 0
    world.note("2026-01-30-allergy.md", "- 21:00 user: 我对花生过敏。\n")
    world.settle()
    assert (world.archived(), world.flags()) == ([], [True])


# ── copies, as synchronisers, systems, editors and people make them ──────────────

#: What a copy of X.md is called; those that recalld reads at all by their name.
SPELLINGS = (
    *("X (1).md", "X 2.md", "X - Copy (2).md", "X copy.md", "Copy of X.md", "X的副本.md", "副本 X.md", "X-DESKTOP-7K3.md"),
    *("X.bak.md", "X~HEAD.md", "X_BACKUP_123.md", "backup/X.md", "旧/X.md", "2026-01-29 副本.md", "家里的事.md"),
)
#: What is never read, whatever is in it.
UNREAD = (*("X (conflicted copy 2026-01-30).md", "X.sync-conflict-20260130-101112-ABCDEF.md", ".X.md.swp", "X.md.bak"),)


def remembered(world: World) -> str:
    """Archive two messages of a day about nginx and peanuts; returns the path of their dated file."""
    world.add(message_on("2026-01-29", "nginx"), message("b", "2026-01-29T09:05", "我对花生过敏，点外卖要备注。", session="家"))
    world.round("all")
    (path,) = world.dated_files()
    return path


def copied(world: World, path: str, spelling: str) -> str:
    """Copy the file to this spelling of its name; returns the copy's path."""
    folder, _, name = path.rpartition("/")
    to = f"{folder}/{spelling.replace('X', name.removesuffix('.md'))}"
    world.put(to, world.read(path) or b"")
    return to


def found(world: World) -> list[str]:
    world.refresh()
    return [*dict.fromkeys(world.found_paths("花生过敏"))]


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


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: os.symlink("/etc/hostname", path)])
def test_memory_store_skips_folders_pipes_and_symlinks(world, make):
    """Links that lead out of the tree are not followed."""
    make(world.paths.memory / "2026-01-10-x.md")
    make(world.paths.summaries / "2026-01-10.md")
    assert (world.ws.memory.dated(), world.ws.memory.summaries()) == ((), {})


def test_memory_store_move_never_replaces_an_existing_original(world):
    name = remembered(world).rpartition("/")[2]
    other = world.paths.original(name)
    other.parent.mkdir(parents=True)
    other.write_text("别人先放的")
    world.ws.memory.move_to_originals(name)
    assert other.read_text() == "别人先放的"
    assert world.paths.dated(name).exists()
