"""memory/: which files are in it, which belong to a person, moves, and the table of what was read, so that a process reads what has changed."""

from __future__ import annotations

import os

import pytest

from tests.world import FaultyDisk, World, message

DAYS = ("2026-01-10", "2026-01-11", "2026-01-12")


@pytest.fixture
def filed(world: World) -> World:
    """A workspace whose messages are in dated files, one of them summed up, and in the table."""
    world.write([message(f"m{day}", f"{day}T09:00", f"重启 nginx，{day}", session=day) for day in DAYS])
    world.settle()
    return world


def process(world: World) -> tuple[World, FaultyDisk]:
    disk = FaultyDisk()
    return World.process(world.root, world.clock, world.events, world.ws.config, disk), disk


def memory_reads(disk: FaultyDisk) -> list[str]:
    return [path.name for call, path in disk.made if call == "read" and path and path.suffix == ".md"]


def all_that_is_read(world: World) -> object:
    memory = world.ws.memory
    return memory.dated(), memory.summaries(), memory.copies()


def test_process_reads_the_table_in_place_of_memory(filed: World) -> None:
    later, disk = process(filed)
    assert all_that_is_read(later) == all_that_is_read(filed)
    assert (memory_reads(disk), disk.count("read", "files.json")) == ([], 1)
    assert [sorted(file.sessions) for file in later.ws.memory.dated()] == [[day] for day in DAYS]
    assert len(later.ws.memory.summaries()) > 0


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "[]",
        '{"format":1}',
        '{"format":1,"folders":{"memory":{"2026-01-10-x.md":[[1],[]]}}}',
        '{"format":2,"folders":{}}',
        "\0",
    ],
)
def test_table_that_says_nothing_costs_a_reading_and_no_more(filed: World, damage: str) -> None:
    filed.put(".recalld/files.json", damage)
    later, disk = process(filed)
    assert all_that_is_read(later) == all_that_is_read(filed)
    assert len(memory_reads(disk)) == len(DAYS) + len(later.ws.memory.summaries())
    later.ws.memory.keep_table()
    again, disk = process(filed)
    assert all_that_is_read(again) == all_that_is_read(filed)
    assert memory_reads(disk) == []


# ── the files ────────────────────────────────────────────────────────────────


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
