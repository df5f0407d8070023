"""What another process made, and may not have lived to sync: it is made durable before anything is deleted or forgotten for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from supervisor.archive.append import append
from supervisor.protocol.disk import RealDisk
from tests.world import message

if TYPE_CHECKING:
    from pathlib import Path

    from tests.world import World

ENTROPY = bytes(range(100))


class Watched(RealDisk):
    """A disk that notes in which order what is synced, and what is taken away or written."""

    def __init__(self) -> None:
        self.done: list[tuple[str, Path]] = []

    def sync_file(self, path: Path) -> None:
        super().sync_file(path)
        self.done.append(("sync", path))

    def sync_folder(self, folder: Path) -> None:
        super().sync_folder(folder)
        self.done.append(("sync", folder))

    def unlink(self, path: Path) -> None:
        super().unlink(path)
        self.done.append(("unlink", path))

    def rename(self, old: Path, new: Path) -> None:
        super().rename(old, new)
        self.done.append(("rename", new))

    def open_append(self, path: Path, mode: int) -> int:
        self.done.append(("append", path))
        return super().open_append(path, mode)

    def settled_before(self, path: Path, then: tuple[str, Path] | None) -> bool:
        """Whether bytes and name of *path* were synced, in this order, before that was done."""
        until = self.done.index(then) if then else len(self.done)
        done = self.done[:until]
        return ("sync", path) in done and ("sync", path.parent) in done[done.index(("sync", path)) :]


@pytest.fixture
def disk() -> Watched:
    return Watched()


def shown_twice(world: World) -> tuple[Path, Path]:
    """A dated file that memory/ and originals/ both show; returns where."""
    world.write([message("a", "2026-01-10T09:00")])
    world.settle()
    (moved,) = world.layout.originals.rglob("*.md")
    here = world.layout.dated(moved.name)
    here.write_bytes(moved.read_bytes())
    return here, moved


def test_the_journal_before_anything_that_goes_by_it(world: World, disk: Watched) -> None:
    world.write([message("a", "2026-01-30T09:00")])
    world.round("all")
    world.add(message("b", "2026-01-31T09:00", "新的一句"))
    world.reopen(disk=disk)
    world.round("all")
    assert disk.settled_before(world.layout.seen, ("rename", world.layout.history))


def test_the_names_of_dated_files_before_the_journal_is_told_of_them(world: World, disk: Watched) -> None:
    world.write([message("a", "2026-01-30T09:00")])
    world.round("all")
    world.layout.seen.unlink()
    world.reopen(disk=disk)
    disk.done.clear()
    world.round("all")
    assert disk.done.index(("sync", world.layout.memory)) < disk.done.index(("append", world.layout.seen))


def test_a_result_before_the_task_that_it_ends_is_taken_away(world: World, disk: Watched) -> None:
    world.write([message("a", "2026-01-10T09:00")])
    world.round("all")
    (task,) = (path.name for path in world.ws.spool.queue.iterdir())
    world.work()
    (world.ws.spool.running / task).write_text("一个死掉的工作进程留下的")
    world.reopen(disk=disk)
    assert disk.settled_before(world.ws.spool.results / task, ("unlink", world.ws.spool.running / task))


def test_the_copy_in_originals_before_the_other_is_taken_away(world: World, disk: Watched) -> None:
    here, moved = shown_twice(world)
    world.reopen(disk=disk)
    world.round("all")
    assert disk.settled_before(moved, ("unlink", here))


def test_a_person_s_copy_before_a_repair_takes_the_original_away(world: World, disk: Watched) -> None:
    here, moved = shown_twice(world)
    world.reopen(disk=disk)
    world.repair()
    assert disk.settled_before(here, ("unlink", moved))


def test_a_note_that_another_program_wrote_before_its_messages_count_as_written(world: World, disk: Watched) -> None:
    note = world.layout.memory / "2026-01-10-过敏.md"
    note.write_text("- 我对花生过敏。\n")
    world.write([{**message("a", "2026-01-10T09:00"), "archived": True}])
    world.reopen(disk=disk)
    world.round()
    assert disk.settled_before(note, None)
    assert disk.done.index(("sync", note)) < disk.done.index(("append", world.layout.seen))


def test_a_copy_in_quarantine_before_the_damaged_file_is_written_over(world: World, disk: Watched) -> None:
    world.write('[{"id": "a", "text": "断在这'.encode())
    world.round("all")
    (copy,) = world.layout.quarantine.iterdir()
    world.reopen(disk=disk)
    world.round("all")
    assert disk.settled_before(copy, None)


def test_the_copy_of_a_summary_before_the_next_takes_its_place(world: World, disk: Watched) -> None:
    world.write([message("a", "2026-01-10T09:00")])
    world.settle()
    first = (world.layout.summaries / "2026-01-10.md").read_bytes()
    world.add(message("b", "2026-01-10T10:00", "再备份一次"))
    world.settle()
    (copy,) = world.layout.previous.iterdir()
    (world.layout.summaries / "2026-01-10.md").write_bytes(first)
    world.reopen(disk=disk)
    world.settle()
    assert disk.settled_before(copy, ("rename", world.layout.summaries / "2026-01-10.md"))


def test_what_waits_in_the_drop_box_before_the_same_message_is_acknowledged_again(world: World, disk: Watched) -> None:
    world.write("断了".encode())
    said = {"id": "a", "role": "user", "text": "我对花生过敏", "createdAt": "2026-01-30T09:00:00Z"}
    append(world.ws, [said], world.clock(), ENTROPY)
    (waiting,) = world.layout.drop_box.iterdir()
    world.reopen(disk=disk)
    disk.done.clear()
    assert append(world.ws, [said], world.clock(), ENTROPY) == ["a"]
    assert disk.settled_before(waiting, None)
    assert list(world.layout.drop_box.iterdir()) == [waiting]


def test_folders_that_are_there_before_something_is_put_into_them_that_has_to_last(world: World, disk: Watched) -> None:
    world.reopen(disk=disk)
    roots = (world.layout.memory, world.layout.state, world.layout.worker, world.layout.drop_box.parent)
    assert all(("sync", folder.parent) in disk.done for folder in (*roots, world.layout.drop_box, world.ws.spool.failed))


def test_it_is_done_once_in_a_process_and_a_file_that_may_only_be_read_is_no_hindrance(world: World, disk: Watched) -> None:
    world.write([message("a", "2026-01-30T09:00")])
    world.round("all")
    world.layout.seen.chmod(0o400)
    world.reopen(disk=disk)
    for _ in range(3):
        assert not world.round().errors
    assert disk.done.count(("sync", world.layout.seen)) == 1


def test_a_history_that_another_program_wrote_before_it_is_the_backup(world: World, disk: Watched) -> None:
    world.reopen(disk=disk)
    world.write([message("a", "2026-01-30T09:00", "没有落盘的一句")])
    world.round("all")
    backup = disk.done.index(("rename", world.layout.history_backup))
    assert ("sync", world.layout.history) in disk.done[:backup]
    disk.done.clear()
    world.ws.history.change(lambda history: history[:-1])
    assert ("sync", world.layout.history) not in disk.done  # this one is ours, and was synced before it had its name


def test_a_file_once_more_when_somebody_has_written_it_anew_in_the_same_inode(world: World, disk: Watched) -> None:
    path = world.root / "结果.json"
    world.reopen(disk=disk)
    for words in ("第一次", "又一次，更长"):
        path.write_text(words)
        disk.done.clear()
        world.ws.files.settle(path)
        assert disk.done == [("sync", path), ("sync", world.root)]
    disk.done.clear()
    world.ws.files.settle(path)
    assert disk.done == []


@pytest.mark.parametrize("freed", ["moved", "removed"])
def test_a_name_once_more_when_it_was_free_in_between(world: World, disk: Watched, freed: str) -> None:
    folder = world.root / "新的"
    world.reopen(disk=disk)
    first, second = folder / "一.json", folder / "二.json"
    world.ws.files.make_folder(folder)
    first.write_text("一")
    world.ws.files.settle(first)
    if freed == "moved":
        world.ws.files.move(first, second)
    else:
        second.hardlink_to(first)
        world.ws.files.remove(first)
    second.rename(first)  # the same inode, bytes and time; its name is new
    disk.done.clear()
    world.ws.files.settle(first)
    assert disk.done == [("sync", first), ("sync", folder)]


def test_the_journal_is_synced_once_by_who_writes_it_and_again_when_another_has_written(world: World, disk: Watched) -> None:
    world.write([message("a", "2026-01-30T09:00")])
    world.reopen(disk=disk)
    world.round("all")
    disk.done.clear()
    world.ws.files.settle(world.layout.seen)
    assert disk.done == []
    with world.layout.seen.open("ab") as file:
        file.write('{"left": ["别的程序"]}\n'.encode())
    world.ws.files.settle(world.layout.seen)
    assert ("sync", world.layout.seen) in disk.done
