"""Which files are read for a session: as many after thirty days of talk as after six, and no message is missed for it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import groupby
from pathlib import Path

import pytest

from recalld import Memory
from recalld.supervisor.protocol.dated_file import block_of, render_dated
from recalld.supervisor.protocol.message import Message, read_message
from tests.conversation.talk import Scripted
from tests.world import ZONE, FaultyDisk, World, at, message

SESSION, OTHER = "家里", "公司"
#: Days end before the present of a test, 31 January 2026.
LAST_DAY = at("2026-01-30T09:00")
A_DAY = 60


def file_days(world: World, count: int) -> None:
    """Put *count* messages of two sessions in turn into dated files, `A_DAY` a day, and the last 50 into history.json too."""
    first = LAST_DAY - timedelta(days=count // A_DAY - 1)
    raws = [
        message(
            f"m{n}",
            (first + timedelta(days=n // A_DAY, minutes=n % A_DAY)).isoformat(),
            f"第 {n} 件事：备份放在 /srv/{n}。",
            ("user", "assistant")[n // 2 % 2],
            session=(SESSION, OTHER)[n % 2],
        )
        for n in range(count)
    ]
    for day, of_day in groupby(raws, key=lambda raw: read(raw).created_at.astimezone(ZONE).date()):  # type: ignore[union-attr]
        blocks = [block_of(read(raw)) for raw in of_day]
        world.put(f"memory/{day}-backup.md", render_dated(day, ZONE.key, ZONE, world.clock(), blocks))
    world.write([{**raw, "archived": True} for raw in raws[-50:]])


def read(raw: object) -> Message:
    found = read_message(raw, ZONE)
    assert isinstance(found, Message)
    return found


def add(memory: Memory) -> None:
    memory.conversation(session=SESSION).add({"role": "user", "content": "备份在哪里？"})


def ask(memory: Memory) -> None:
    memory.context("备份在哪里？", session=SESSION)


def line(_prompt: str) -> str:
    return "备份放在 /srv，每晚一次。"


ACTS: dict[str, Callable[[Memory], object]] = {
    "add": add,
    "context": ask,
    "history": lambda memory: memory.get_history_with_summary(SESSION),
    "overflow": lambda memory: memory.summarize_overflow(SESSION, llm=Scripted(line)),
    "summarize": lambda memory: memory.summarize(SESSION, llm=Scripted(line)),
    "running summary": lambda memory: memory.conversation(Scripted(line), session=SESSION).summarize(),
}


def reads(world: World, act: Callable[[Memory], object]) -> list[str]:
    """The files that a new process reads for it, in the order of their names."""
    disk = FaultyDisk()
    world.reopen(f"{world.toml}[recall]\ntimeout_ms = 60000\n")  # a busy machine reads the same
    process = World.process(world.root, world.clock, world.events, world.ws.config, disk)
    act(Memory(process.ws, clock=world.clock))
    return sorted(path.relative_to(world.root).as_posix() for call, path in disk.made if call == "read" and path)


@pytest.fixture(scope="module")
def long_talks(tmp_path_factory: pytest.TempPathFactory) -> list[World]:
    """Workspaces with six and with thirty days of talk, indexed: else the second time would go on with what the first left."""
    worlds = []
    for days in (6, 30):
        worlds.append(world := World(tmp_path_factory.mktemp(f"talk-{days}-"), at("2026-01-31T10:00")))
        file_days(world, days * A_DAY)
        world.refresh()
    return worlds


@pytest.mark.parametrize("name", ACTS)
def test_session_reads_as_many_files_after_thirty_days_as_after_six(tmp_path: Path, long_talks: list[World], name: str) -> None:
    counts = []
    for n, talk in enumerate(long_talks):
        world = talk.copied(tmp_path / str(n))
        ACTS[name](Memory(world.ws, clock=world.clock))  # the first time all is read, and summed up where it is asked for
        world.add(*(message(f"new{n}", f"2026-01-31T09:0{n}", f"新的第 {n} 件事", session=SESSION) for n in range(6)))
        counts.append(len(reads(world, ACTS[name])))
    assert counts[0] == counts[1] < 25


def test_session_reads_the_files_that_hold_it_and_no_others(world: World) -> None:
    days = [f"2026-01-{day:02}" for day in range(1, 21)]
    world.write([message(f"m{day}", f"{day}T09:00", f"{day} 的备份", session=OTHER) for day in days])
    world.add(message("mine", "2026-01-03T10:00", "客厅的灯坏了", session=SESSION))
    world.round("all")
    world.write([])
    read_now = reads(world, ACTS["history"])
    assert [name[:17] for name in read_now if name.startswith("memory/")] == ["memory/2026-01-03"]
