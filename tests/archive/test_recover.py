"""Recovery after a crash, trimming and sweeping, from the evidence of the files alone."""

from __future__ import annotations

import os

import pytest

from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.files import Files
from recalld.worker.desk import Pieces
from tests.world import FaultyDisk, message_on


def test_sweep_deletes_our_temporary_files_and_keeps_foreign_ones(world):
    world.write([message_on("2026-01-10")])
    world.settle()
    ours = [
        world.root / ".history.json.99-0.tmp",
        world.paths.memory / ".2026-01-31-x.md.99-1.tmp",
        world.paths.summaries / ".2026-01-10.md.99-2.tmp",
        world.paths.originals / "2026-01" / ".2026-01-10-x.md.99-3.tmp",
        world.ws.task_queue.queue / ".day-2026-01-10-0000000000-0.json.99-5.tmp",
        world.ws.task_queue.failed / ".day-2026-01-10.json.99-6.tmp",
    ]
    theirs = [world.root / ".bashrc", world.paths.memory / ".obsidian.tmp", world.paths.memory / "笔记.md~"]
    for path in ours + theirs:
        path.write_text("半")
    assert world.sweep() == len(ours)
    assert not any(path.exists() for path in ours)
    assert all(path.exists() for path in theirs)


# ── tidying up ───────────────────────────────────────────────────────────────


@pytest.mark.feature("003.26")
def test_reclaim_requeues_tasks_of_dead_workers_alone_and_reports_it(world):
    world.write([message_on("2026-01-10")])
    world.round("all")
    world.ws.task_queue.claim()
    with Files(RealDisk()).lock(world.paths.worker_lock(3)):
        assert world.any_worker()
        assert world.reclaim() == 0
    assert world.ws.task_queue.active_groups() == {"day-2026-01-10": "running"}
    assert not world.any_worker()
    assert world.reclaim() == 1
    assert world.ws.task_queue.active_groups() == {"day-2026-01-10": "queue"}
    assert world.events.of("task_put_back") == [{"tasks": 1}]
    assert world.reclaim() == 0


def test_reclaim_deletes_temporary_files_of_dead_workers_only(world):
    begun = [folder / ".day-2026-01-10.md.9-0.tmp" for folder in (world.ws.task_queue.results, world.paths.pieces)]
    for path in begun:
        path.parent.mkdir(exist_ok=True)
        path.write_text("半")
    with Files(RealDisk()).lock(world.paths.worker_lock(3)):
        world.reclaim()
    assert all(path.exists() for path in begun)
    world.reclaim()
    assert not any(path.exists() for path in begun)


def test_reconcile_moves_no_flag_while_the_journal_is_not_writable(world):
    world.write([message_on("2026-01-10")])
    world.round("all")
    before = world.flags()
    world.paths.seen.unlink()

    world.reopen(disk=FaultyDisk("open_append").break_down())
    assert "settle" in world.round("all").errors
    assert world.flags() == before == ["pending"]


@pytest.mark.parametrize("where", ["outside", "in the workspace"])
def test_sweep_follows_no_link_in_place_of_the_pieces(world, tmp_path_factory, where):
    folder = tmp_path_factory.mktemp("theirs") if where == "outside" else world.paths.memory
    theirs = [folder / f".{name}.md.77-0.tmp" for name in ("day-2026-01-10.abc", "note")]
    for path in theirs:
        path.write_text("某人的")
        os.utime(path, (0, 0))
    world.paths.pieces.symlink_to(folder)
    world.reclaim()
    world.round()
    world.round()
    pieces = Pieces(world.files, world.paths, "day-2026-01-10")
    pieces.keep("问", "答")
    assert pieces.find("问") is None
    pieces.clear()
    assert [path.read_text() for path in theirs] == ["某人的"] * 2
    assert len(list(folder.glob("*.md"))) == 0
    (told,) = world.events.of("degraded")
    assert ".recalld/pieces can't be read: it is a link or a file" in told["why"]
    world.paths.pieces.unlink()
    world.round()
    assert world.events.of("recovered")
    pieces.keep("问", "答")
    assert pieces.find("问") == "答"
