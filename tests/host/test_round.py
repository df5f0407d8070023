"""One round: every step once, none stopped by another, and finally nothing left to do."""

import errno
import itertools
import os
from pathlib import Path

import pytest

from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.errors import BadConfig
from tests.world import FaultyDisk, message, message_on, talk

# ── counts and rest ──────────────────────────────────────────────────────────


def test_round_writes_no_byte_when_everything_is_settled(world):
    world.write([message_on("2026-01-10"), message_on("2026-01-30"), "一句话"])
    world.settle()
    before = {name: (world.root / name).stat() for name in world.tree(internal=True)}
    for _ in range(3):
        world.round("all")
    assert {name: (world.root / name).stat() for name in world.tree(internal=True)} == before


# ── one fault does not stop the others ───────────────────────────────────────


def test_round_names_the_real_file_once_in_a_disk_error(world):
    disk = FaultyDisk()
    world.reopen(disk=disk)
    world.write([message_on("2026-01-10")])
    disk.refuses = lambda _call, path: path.name.endswith(".tmp")
    for _ in range(4):
        world.round("all")
    (told,) = world.events.of("degraded")
    assert "history.json could not be" in told["why"]
    assert ".tmp" not in told["why"]


def test_supervisor_refuses_a_folder_that_now_links_outside(world, tmp_path_factory):
    """A folder can become a link after the check at the start."""
    supervisor = world.supervisor()
    supervisor.tick(world.clock())
    outside = tmp_path_factory.mktemp("别处")
    memory = world.paths.memory
    memory.rename(memory.with_name("memory-was"))
    memory.symlink_to(outside)
    world.write([message(f"m{n}", "2026-01-31T03:00", f"第 {n} 句") for n in range(200)])
    with pytest.raises(BadConfig, match="outside the workspace"):
        supervisor.tick(world.clock())
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("goes_on", [False, True], ids=["alone", "beside new messages"])
def test_supervisor_tries_a_full_disk_again_and_says_so_once(world, goes_on):
    disk = FaultyDisk()
    world.reopen(disk=disk)
    world.write([message("m", "2026-01-31T03:00", "第一句")])
    supervisor, tries = world.supervisor(), []

    def refuses(_call: str, path: Path) -> bool:
        if path.parent.name == "memory":
            tries.append(world.clock.seconds)
            return True
        return False

    disk.refuses = refuses
    for n in range(40):
        if goes_on and n % 3 == 0:
            world.add(message(f"m{n}", "2026-01-31T03:00", f"第 {n} 句"))
        if supervisor.poll():
            supervisor.work()
        world.forward(seconds=5)
    waits = [later - earlier for earlier, later in itertools.pairwise(dict.fromkeys(tries))]
    assert waits == [15 if goes_on else 30] * len(waits)
    assert (len(world.events.of("degraded")), world.events.of("recovered")) == (1, [])
    disk.heal()
    supervisor.tick(world.clock.forward(seconds=30))
    assert (len(world.archived()), len(world.events.of("recovered"))) == (len(world.history()), 1)


def test_round_continues_when_the_journal_cannot_be_compacted(world):
    disk = FaultyDisk()
    world.reopen(disk=disk)
    world.write([message_on("2026-01-30")])
    world.settle()
    for _ in range(1_100):
        world.ws.journal.record_history([])
        world.ws.journal.record_history(world.ws.history.read())
    disk.refuses = lambda _call, path: "seen.jsonl" in path.name
    assert world.ws.journal.is_bloated()
    world.round("all")
    disk.heal()
    world.round("all")
    assert not world.ws.journal.is_bloated()
    assert world.flags() == [True]


@pytest.mark.parametrize("depth", [150, 199, 200, 499, 500, 990])
def test_round_archives_or_reports_a_message_of_any_nesting_depth(world, depth):
    deep = b"[" * depth + b"]" * depth
    first, second = (f'{{"id": "{n}", "role": "user", "text": "第 {n} 句", "createdAt": "2026-01-30T01:00:00Z"' for n in (1, 2))
    world.write(f'[{first}, "x": '.encode() + deep + f"}},\n{second}}}]".encode())
    before = world.paths.history.read_bytes()
    world.settle()
    assert bool(world.events.of("history_invalid")) == (depth >= 500)
    if depth >= 500:
        assert world.paths.history.read_bytes() == before
    else:
        odd = ["1"] if depth >= 200 else []
        assert [text for _, text in world.archived()] == ["第 1 句", "第 2 句"][len(odd) :]
        assert deep in world.paths.history.read_bytes().replace(b" ", b"")
        assert [told["why"] for told in world.events.of("message_odd")] == ["its nesting is too deep" for _ in odd]
    assert world.events.of("error") == world.events.of("degraded") == []


# ── until settled ────────────────────────────────────────────────────────────


@pytest.mark.parametrize("make", ["folder", "link"])
def test_until_settled_ends_when_a_result_cannot_be_collected(world, make):
    path = world.root / "memory" / "summary" / "2026-01-10.md"
    path.mkdir() if make == "folder" else path.symlink_to(world.root / "x")
    world.write([message_on("2026-01-10")])
    world.until_settled()
    assert world.flags() in ([False], ["pending"])


# ── a clock that is moved ────────────────────────────────────────────────────


def test_supervisor_archives_messages_at_once_after_a_clock_jump(world):
    world.write(talk("2026-01-30T02:00", 2))
    supervisor = world.supervisor()
    supervisor.tick(world.clock())
    world.clock.jump(days=40)
    world.add(*talk("2026-01-31T02:00", 2, prefix="新"))
    supervisor.tick(world.clock())
    assert len(world.archived()) == 4


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_supervisor_reports_no_history_damage_for_another_bad_file(world, kind):
    world.write([message("a", "2026-01-10T09:00", "我对花生过敏。")])
    world.round("all")
    (task,) = (path.name for path in world.ws.task_queue.queue.iterdir())
    odd = world.ws.task_queue.results / task
    odd.symlink_to(world.paths.history) if kind == "link" else odd.mkdir()
    supervisor = world.supervisor()
    supervisor.tick(world.clock())
    assert world.events.of("history_invalid") == []
    assert task in str(world.events.of("degraded"))
    assert not world.paths.quarantine.exists()


# ── a disk that is full for one file ─────────────────────────────────────────


class NoRoomInJournal(RealDisk):
    """A disk that has no room for what the journal notes of a message that is filed, while it *is_full*."""

    is_full = True

    def write(self, handle: int, data: bytes) -> None:
        if self.is_full and b'"written"' in data:
            super().write(handle, data[:7])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().write(handle, data)


def test_archive_writes_a_message_once_while_the_journal_is_not_writable(world):
    world.write([message("a", "2026-01-30T09:00", "明天把 nginx 的配置备份一下。")])
    disk = NoRoomInJournal()
    world.reopen(disk=disk)

    for _ in range(3):
        done = world.round("all")
        assert "archive" in done.errors
    assert world.archived() == [("a", "明天把 nginx 的配置备份一下。")]

    disk.is_full = False
    world.settle()
    assert world.archived() == [("a", "明天把 nginx 的配置备份一下。")]
    assert world.flags() == [True]


def test_round_ends_the_fault_of_a_command_once_the_disk_takes_a_file(world):
    disk = FaultyDisk().break_down()
    world.reopen(disk=disk)
    supervisor = world.supervisor()
    supervisor.tick(world.clock())
    world.save_receipt(world.inject("护照在哪？"))
    told = []
    for _ in range(4):
        world.forward(seconds=20)
        if supervisor.poll():
            supervisor.work()
        told.append([event for event, _ in world.events.all if event in {"degraded", "recovered"}])
        if len(told) == 3:
            disk.heal()
    assert told == [["degraded"], ["degraded"], ["degraded"], ["degraded", "recovered"]]
