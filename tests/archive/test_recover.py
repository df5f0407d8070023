"""Settling after a crash, trimming, and tidying up: by the evidence of the files alone."""

from __future__ import annotations

import os
from datetime import timedelta

import pytest

from supervisor.protocol.disk import RealDisk
from supervisor.protocol.files import Files
from supervisor.protocol.message import Archived, Message
from tests.world import GOOD_SUMMARY, FaultyDisk, World, message_on, talk, unreachable


def reflag(world: World, *flags: object) -> None:
    """What a crash, or another program, left in history.json."""
    world.write([{**raw, "archived": flag} for raw, flag in zip(world.history(), flags, strict=True)])


# ── settling ─────────────────────────────────────────────────────────────────


def test_pending_without_a_file_is_false_again(world):
    """A8, H11: a crash between the mark and the file."""
    world.write([message_on("2026-01-31", archived="pending")])
    world.intake()
    world.reconcile()
    assert world.flags() == [False]


@pytest.mark.parametrize("flag", [False, "pending"])
def test_a_file_without_its_flag_is_enough(world, flag):
    """A10, H9: a crash between the file and the flag; nothing is written twice."""
    world.write([message_on("2026-01-30")])
    world.settle()
    before = world.archived()
    reflag(world, flag)
    world.reopen()
    world.settle()
    assert world.flags() == [True]
    assert world.archived() == before


@pytest.mark.parametrize("flag", [False, "pending"])
def test_a_file_that_the_journal_does_not_know_is_enough(world, flag):
    world.write([message_on("2026-01-30")])
    world.settle()
    world.layout.seen.unlink()
    reflag(world, flag)
    world.reopen()
    world.settle()
    assert (world.flags(), len(world.archived())) == ([True], 1)


def test_pending_with_its_group_in_flight_stays_pending_over_a_restart(world):
    """A9, B9: reset to false while the job survived, and dispatched twice."""
    world.write([message_on("2026-01-10")])
    world.round("all")
    world.reopen()
    world.round("all")
    assert world.flags() == ["pending"]
    assert len(world.events.of("submitted")) == 1


def test_pending_whose_task_is_gone_is_asked_for_anew(world):
    """A8: a lost job kept its messages pending for ever."""
    world.write([message_on("2026-01-10")])
    world.round("all")
    for path in world.ws.spool.queue.iterdir():
        path.unlink()
    world.settle()
    assert (world.flags(), world.summaries()) == ([True], ["2026-01-10"])


def test_a_message_that_another_program_flagged_true_too_early_is_written_all_the_same(world):
    """H10."""
    world.write([message_on("2026-01-10", archived=True)])
    world.settle()
    assert world.archived() == [("2026-01-10-nginx", "关于 nginx 的话")]
    assert world.flags() == [True]


def test_settling_twice_writes_nothing(world):
    world.write([message_on("2026-01-10"), message_on("2026-01-30"), message_on("2026-01-31")])
    world.settle()
    before = world.layout.history.stat()
    world.reconcile()
    assert world.layout.history.stat() == before


# ── trimming ─────────────────────────────────────────────────────────────────


def test_history_keeps_two_hundred_and_loses_no_words(world):
    raws = [raw for day in range(26, 31) for raw in talk(f"2026-01-{day}T09:00", 50)]
    world.write(raws)
    world.settle()
    assert [raw["id"] for raw in world.history()] == [raw["id"] for raw in raws[-200:]]
    assert world.archived() == sorted((raw["id"], raw["text"]) for raw in raws)
    assert [(told["messages"], told["left"]) for told in world.events.of("trimmed")] == [(50, 200)]


def test_a_dead_model_lets_history_grow_to_the_hard_cap_and_no_further(world):
    """I10: the words are in dated files, and the group's retry in failed/."""
    world.model.script = unreachable
    raws = [raw for day in range(1, 21) for raw in talk(f"2025-12-{day:02d}T09:00", 20)]
    world.write(raws)
    world.settle()
    assert len(world.history()) == 300
    assert world.archived() == sorted((raw["id"], raw["text"]) for raw in raws)


def test_messages_that_left_history_before_their_summary_are_summarised_from_their_files(world):
    world.model.script = unreachable
    world.write([raw for day in range(1, 21) for raw in talk(f"2025-12-{day:02d}T09:00", 20)])
    world.settle()
    assert len(world.history()) == 300
    world.model.script = lambda _task, _blocks: GOOD_SUMMARY
    world.model.requests.clear()
    world.clock.forward(days=2)
    world.settle()
    read = {block.text for _, blocks in world.model.requests for block in blocks}
    assert {text for _, text in world.archived()} <= read
    assert set(world.flags()) == {True}


def test_with_three_hundred_old_messages_and_a_dead_model_what_is_said_now_stays_and_files_do_not_multiply(world):
    """4H, 10: 280 dated files in a week instead of 18."""
    world.model.script = unreachable
    world.write([raw for day in range(1, 17) for raw in talk(f"2025-12-{day:02d}T09:00", 20)])
    world.settle()
    before = len(world.dated_files())
    for _ in range(7 * 4):
        world.add(*talk(world.clock().isoformat(), 4))
        world.clock.forward(hours=6)
        world.round()
        assert len(world.history()) <= 304
    assert len(world.dated_files()) - before <= 30
    assert all(raw["createdAt"] > "2026-02-06" for raw in world.history()[-4:])


def test_what_is_not_written_is_never_trimmed(world):
    world.reopen(world.toml + "[history]\nsoft_cap = 5\nhard_cap = 6\n")
    world.write(talk("2026-01-31T09:00", 40))
    world.intake()
    assert world.trim() == 0
    assert len(world.history()) == 40


def test_what_a_person_deleted_from_its_file_leaves_at_the_next_trim(world):
    world.reopen(world.toml + "[history]\nsoft_cap = 25\nhard_cap = 30\n")
    world.write(talk("2026-01-30T09:00", 25))
    world.settle()
    for name in world.dated_files():
        (world.root / name).unlink()
    world.add(*talk("2026-01-31T09:00", 3))
    world.settle()
    assert len(world.history()) == 25


def test_the_order_of_history_stays_whatever_leaves(world):
    """B23."""
    world.reopen(world.toml + "[history]\nsoft_cap = 30\nhard_cap = 35\n")
    raws = [*talk("2026-01-30T09:00", 20), *talk("2026-01-10T09:00", 20), *talk("2026-01-31T09:00", 20)]
    world.model.script = unreachable
    world.write(raws)
    world.settle()
    order = [raw["id"] for raw in raws]
    places = [order.index(raw["id"]) for raw in world.history()]
    assert places == sorted(places)


# ── tidying up ───────────────────────────────────────────────────────────────


def test_temporary_files_of_a_crash_are_swept_and_foreign_ones_are_not(world):
    world.write([message_on("2026-01-10")])
    world.settle()
    ours = [
        world.root / ".history.json.99-0.tmp",
        world.layout.memory / ".2026-01-31-x.md.99-1.tmp",
        world.layout.summaries / ".2026-01-10.md.99-2.tmp",
        world.layout.originals / "2026-01" / ".2026-01-10-x.md.99-3.tmp",
        world.layout.state / ".seen.jsonl.99-4.tmp",
        world.ws.spool.queue / ".day-2026-01-10-0000000000-0.json.99-5.tmp",
        world.ws.spool.failed / ".day-2026-01-10.json.99-6.tmp",
    ]
    theirs = [world.root / ".bashrc", world.layout.memory / ".obsidian.tmp", world.layout.memory / "笔记.md~"]
    for path in ours + theirs:
        path.write_text("半")
    assert world.sweep() == len(ours)
    assert not any(path.exists() for path in ours)
    assert all(path.exists() for path in theirs)


def test_where_commands_and_workers_write_only_what_no_living_one_can_be_writing_is_swept(world):
    shared = (world.layout.drop_box, world.layout.turns, world.layout.pieces, world.ws.spool.results)
    for folder in shared:
        folder.mkdir(parents=True, exist_ok=True)
        ages = {"没写完": timedelta(hours=2), "钟拨回来了": timedelta(days=-400), "正在写": timedelta(minutes=1)}
        for name, age in ((f".{name}.json.98-0.tmp", age) for name, age in ages.items()):
            (folder / name).write_text("半")
            when = (world.clock() - age).timestamp()
            os.utime(folder / name, (when, when))
    world.round()
    left = [path.name for folder in shared for path in folder.iterdir()]
    assert left == [".正在写.json.98-0.tmp"] * 4


def test_tasks_of_dead_workers_are_put_back_and_told(world):
    world.write([message_on("2026-01-10")])
    world.round("all")
    world.ws.spool.claim()
    assert not world.any_worker()
    assert world.reclaim() == 1
    assert world.ws.spool.in_flight() == {"day-2026-01-10": "queue"}
    assert world.events.of("task_put_back") == [{"tasks": 1}]
    assert world.reclaim() == 0


def test_what_a_dead_worker_began_to_write_goes_with_its_tasks_and_a_living_one_s_stays(world):
    begun = [folder / ".day-2026-01-10.md.9-0.tmp" for folder in (world.ws.spool.results, world.layout.pieces)]
    for path in begun:
        path.parent.mkdir(exist_ok=True)
        path.write_text("半")
    with Files(RealDisk()).lock(world.layout.worker_lock(3)):
        world.reclaim()
    assert all(path.exists() for path in begun)
    world.reclaim()
    assert not any(path.exists() for path in begun)


def test_tasks_of_a_living_worker_are_left_to_it(world):
    world.write([message_on("2026-01-10")])
    world.round("all")
    world.ws.spool.claim()
    with Files(RealDisk()).lock(world.layout.worker_lock(3)):
        assert world.any_worker()
        assert world.reclaim() == 0
    assert world.ws.spool.in_flight() == {"day-2026-01-10": "running"}


def test_a_mode_that_a_person_gave_history_stays(world):
    world.write([message_on("2026-01-30")])
    os.chmod(world.layout.history, 0o640)
    world.settle()
    assert world.layout.history.stat().st_mode & 0o777 == 0o640
    assert [one.archived for one in world.ws.history.read() if isinstance(one, Message)] == [Archived.YES]


def test_no_flag_moves_while_the_journal_can_not_be_told_what_is_written(world):
    world.write([message_on("2026-01-10")])
    world.round("all")
    before = world.flags()
    world.layout.seen.unlink()

    world.reopen(disk=FaultyDisk("open_append").break_down())
    assert "settle" in world.round("all").errors
    assert world.flags() == before == ["pending"]
