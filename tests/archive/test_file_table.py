"""The table of what was read from memory: a new process reads only what has changed, and believes no entry of another version."""

from __future__ import annotations

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
