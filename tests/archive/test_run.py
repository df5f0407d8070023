"""The archive run: every due message is written, word for word, to the dated file of its day; and what a crash left is tidied up."""

import os

import pytest

from recalld.supervisor.storage.control import UNLIMITED, Control
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.files import Files
from recalld.worker.desk import Pieces
from tests.world import FaultyDisk, message, message_on, talk

# ── due ──────────────────────────────────────────────────────────────────────


def test_archive_reads_the_last_run_from_the_files_after_a_restart(world):
    world.write(talk("2026-01-31T09:00", 2))
    world.round("all")
    world.add(*talk("2026-01-31T09:30", 2))
    world.reopen()
    world.intake()
    assert world.forward(hours=6, milliseconds=-1).why_due() is None
    assert world.forward(milliseconds=1).why_due() == "interval"


# ── a run ────────────────────────────────────────────────────────────────────


@pytest.mark.feature("003.9")
def test_archive_marks_messages_pending_before_it_creates_the_file(world, monkeypatch):
    raws = talk("2026-01-30T09:00", 2)
    world.write(raws)
    world.intake()
    seen = []
    create = Files.create

    def look(self: Files, path: object, data: bytes) -> None:
        seen.append(world.flags())
        create(self, path, data)  # type: ignore[arg-type]

    monkeypatch.setattr(Files, "create", look)
    world.archive()
    assert seen == [["pending", "pending"]]


def test_archive_keeps_a_file_that_a_person_created_under_its_name(world, monkeypatch):
    world.write([message("1", "2026-01-31T09:00", "重启 nginx")])
    world.intake()
    from recalld.supervisor.archive import run as module

    plan_days = module.plan_days

    def plan_and_lose(*args: object) -> object:
        plan = plan_days(*args)  # type: ignore[arg-type]
        for file in plan:
            path = world.paths.dated(file.name)
            if not path.exists():
                path.write_text("我的笔记")
        monkeypatch.setattr(module, "plan_days", plan_days)
        return plan

    monkeypatch.setattr(module, "plan_days", plan_and_lose)
    world.archive(everything=True)
    world.settle()
    assert (world.paths.memory / "2026-01-31-nginx.md").read_text() == "我的笔记"
    assert world.names() == ["2026-01-31-nginx-2.md"]
    assert world.flags() == [True]


def test_archive_stops_after_the_current_file_and_resumes_later(world):
    world.write([raw for day in range(20, 26) for raw in talk(f"2026-01-{day}T09:00", 2)])
    world.intake()
    world.control = Control(lambda: len(world.dated_files()) >= 2)
    world.archive()
    assert len(world.dated_files()) == 2
    assert world.events.of("archived") == [{"messages": 4, "files": 2}]
    world.control = UNLIMITED
    world.reopen()
    world.settle()
    assert len(world.archived()) == 12
    assert len(world.dated_files()) == 6


@pytest.mark.feature("003.5")
def test_archive_reports_an_overflow_once_and_runs_once(world):
    world.reopen(world.toml + "[history]\nhard_cap = 10\nsoft_cap = 8\n")
    world.write([message(f"m{n}", "2026-01-31T09:58", f"第 {n} 句", "assistant") for n in range(11)])
    assert world.round().archived == 11
    assert len(world.events.of("history_overflow")) == 1
    for _ in range(5):
        world.round()
    assert len(world.events.of("history_overflow")) == 1
    assert len(world.dated_files()) == 1


# ── after a crash, from the evidence of the files alone ──────────────────────────


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
