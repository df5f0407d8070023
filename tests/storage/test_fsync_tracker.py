"""What another process made and may not have synced is made durable before anything is deleted or forgotten for it."""

from pathlib import Path
from typing import ClassVar

import pytest

from tests.world import Diarist, FaultyDisk, World, at, message


class Watched(FaultyDisk):
    """A disk that notes in which order what is synced, and what is taken away or written."""

    NOTED: ClassVar = {
        "sync_file": "sync",
        "sync_folder": "sync",
        "unlink": "unlink",
        "rename": "rename",
        "open_append": "append",
    }

    @property
    def done(self) -> list[tuple[str, Path]]:
        return [(self.NOTED[call], path) for call, path in self.made if path and call in self.NOTED]

    def settled_before(self, path: Path, then: tuple[str, Path] | None) -> bool:
        """Whether bytes and name of *path* were synced, in this order, before that was done."""
        until = self.done.index(then) if then else len(self.done)
        done = self.done[:until]
        return ("sync", path) in done and ("sync", path.parent) in done[done.index(("sync", path)) :]


@pytest.fixture
def disk() -> Watched:
    return Watched()


def test_round_fsyncs_the_journal_before_it_rewrites_history(world: World, disk: Watched) -> None:
    world.write([message("a", "2026-01-30T09:00")])
    world.round("all")
    world.add(message("b", "2026-01-31T09:00", "新的一句"))
    world.reopen(disk=disk)
    world.round("all")
    assert disk.settled_before(world.paths.seen, ("rename", world.paths.history))


def test_intake_fsyncs_the_memory_folder_before_it_rebuilds_the_journal(world: World, disk: Watched) -> None:
    world.write([message("a", "2026-01-30T09:00")])
    world.round("all")
    world.paths.seen.unlink()
    world.reopen(disk=disk)
    disk.made.clear()
    world.round("all")
    assert disk.done.index(("sync", world.paths.memory)) < disk.done.index(("append", world.paths.seen))


def test_queue_requeue_fsyncs_a_result_before_it_removes_the_task(world: World, disk: Watched) -> None:
    world.write([message("a", "2026-01-10T09:00")])
    world.round("all")
    (task,) = (path.name for path in world.ws.task_queue.queue.iterdir())
    world.work()
    (world.ws.task_queue.running / task).write_text("一个死掉的工作进程留下的")
    world.reopen(disk=disk)
    assert disk.settled_before(world.ws.task_queue.results / task, ("unlink", world.ws.task_queue.running / task))


@pytest.mark.parametrize("by", ["round", "repair"])
def test_duplicate_is_removed_once_the_one_that_stays_is_fsynced(world: World, disk: Watched, by: str) -> None:
    """A round keeps the original; `fsck --repair` what may be a person's copy."""
    world.write([message("a", "2026-01-10T09:00")])
    world.settle()
    (moved,) = world.paths.originals.rglob("*.md")
    here = world.paths.dated(moved.name)
    here.write_bytes(moved.read_bytes())
    world.reopen(disk=disk)
    if by == "round":
        world.round("all")
        assert disk.settled_before(moved, ("unlink", here))
    else:
        world.repair()
        assert disk.settled_before(here, ("unlink", moved))


def test_quarantine_fsyncs_a_copy_that_another_process_made(world: World, disk: Watched) -> None:
    world.write('[{"id": "a", "text": "断在这'.encode())
    world.round("all")
    (copy,) = world.paths.quarantine.iterdir()
    world.reopen(disk=disk)
    world.round("all")
    assert disk.settled_before(copy, None)


def test_memory_store_fsyncs_the_previous_copy_before_a_new_summary(world: World, disk: Watched) -> None:
    world.write([message("a", "2026-01-10T09:00")])
    world.settle()
    first = (world.paths.summaries / "2026-01-10.md").read_bytes()
    world.add(message("b", "2026-01-10T10:00", "再备份一次"))
    world.settle()
    (copy,) = world.paths.previous.iterdir()
    (world.paths.summaries / "2026-01-10.md").write_bytes(first)
    world.reopen(disk=disk)
    world.settle()
    assert disk.settled_before(copy, ("rename", world.paths.summaries / "2026-01-10.md"))


def test_ensure_durable_syncs_a_file_again_after_a_rewrite_in_place(world: World, disk: Watched) -> None:
    path = world.root / "结果.json"
    world.reopen(disk=disk)
    for words in ("第一次", "又一次，更长"):
        path.write_text(words)
        disk.made.clear()
        world.ws.files.ensure_durable(path)
        assert disk.done == [("sync", path), ("sync", world.root)]
    disk.made.clear()
    world.ws.files.ensure_durable(path)
    assert disk.done == []


def test_ensure_durable_skips_our_own_journal_until_another_writes_it(world: World, disk: Watched) -> None:
    world.write([message("a", "2026-01-30T09:00")])
    world.reopen(disk=disk)
    world.round("all")
    disk.made.clear()
    world.ws.files.ensure_durable(world.paths.seen)
    assert disk.done == []
    with world.paths.seen.open("ab") as file:
        file.write('{"left": ["别的程序"]}\n'.encode())
    world.ws.files.ensure_durable(world.paths.seen)
    assert ("sync", world.paths.seen) in disk.done


def test_diary_tells_of_the_acts_of_another_process_once_they_are_durable(tmp_path, disk):
    world = Diarist(tmp_path, at("2026-01-31T10:00"))
    for count in (1, 2):
        world.reopen().ws.diary.keep([{"kind": "forgotten", "messages": count}], world.clock())
    told = world.read("CHANGES.md")
    world.put("CHANGES.md", told[:-20])
    world.reopen(disk=disk).ws.diary.keep((), world.clock())
    assert world.read("CHANGES.md") == told
    assert disk.settled_before(world.paths.acts, ("rename", world.paths.diary))
