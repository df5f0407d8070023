"""A workspace that arrives in pieces, as a synchroniser or a restore brings it, under a supervisor that is at work already."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.world import ANSWERS, QUESTIONS, World, at, message, talk


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A workspace with a month of memory: a day in two files, days under summaries, and less in history.json than was said."""
    world = World(tmp_path_factory.mktemp("别处"), at("2026-01-29T20:00"))
    world.write(talk("2026-01-10T09:00", 4) + talk("2026-01-12T09:00", 4))
    world.settle()
    for hour in (9, 10):
        world.add(*talk(f"2026-01-29T{hour:02}:00", 6))
        world.settle()
    world.clock.now = at("2026-01-30T20:00")
    world.write(world.history()[-15:])
    world.settle()
    return world


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
