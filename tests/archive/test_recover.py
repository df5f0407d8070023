"""Settling after a crash, trimming, and tidying up: by the evidence of the files alone."""

from __future__ import annotations

import os
from datetime import timedelta

import pytest

from supervisor.archive.intake import intake
from supervisor.archive.run import settle_flags, trim_history
from supervisor.protocol.disk import RealDisk
from supervisor.protocol.files import Files
from supervisor.protocol.message import Archived, Message
from supervisor.service.lock import any_worker, reclaim, sweep
from tests.conftest import HONEST, Desk, message, talk, unreachable


def on(day: str, archived: object = False) -> dict[str, object]:
    return message(f"{day}-nginx", f"{day}T09:00", "关于 nginx 的话", archived=archived)


def reflag(desk: Desk, *flags: object) -> None:
    """What a crash, or another program, left in history.json."""
    desk.write([{**raw, "archived": flag} for raw, flag in zip(desk.history(), flags, strict=True)])


# ── settling ─────────────────────────────────────────────────────────────────


def test_pending_without_a_file_is_false_again(desk):
    """A8, H11: a crash between the mark and the file."""
    desk.write([on("2026-01-31", "pending")])
    intake(desk.ws, desk.clock())
    settle_flags(desk.ws, desk.clock())
    assert desk.flags() == [False]


@pytest.mark.parametrize("flag", [False, "pending"])
def test_a_file_without_its_flag_is_enough(desk, flag):
    """A10, H9: a crash between the file and the flag; nothing is written twice."""
    desk.write([on("2026-01-30")])
    desk.settle()
    before = desk.filed()
    reflag(desk, flag)
    desk.reopen()
    desk.settle()
    assert desk.flags() == [True]
    assert desk.filed() == before


@pytest.mark.parametrize("flag", [False, "pending"])
def test_a_file_that_the_journal_does_not_know_is_enough(desk, flag):
    desk.write([on("2026-01-30")])
    desk.settle()
    desk.layout.seen.unlink()
    reflag(desk, flag)
    desk.reopen()
    desk.settle()
    assert (desk.flags(), len(desk.filed())) == ([True], 1)


def test_pending_with_its_group_in_flight_stays_pending_over_a_restart(desk):
    """A9, B9: reset to false while the job survived, and dispatched twice."""
    desk.write([on("2026-01-10")])
    desk.round("all")
    desk.reopen()
    desk.round("all")
    assert desk.flags() == ["pending"]
    assert len(desk.told.of("submitted")) == 1


def test_pending_whose_task_is_gone_is_asked_for_anew(desk):
    """A8: a lost job kept its messages pending for ever."""
    desk.write([on("2026-01-10")])
    desk.round("all")
    for path in desk.ws.spool.queue.iterdir():
        path.unlink()
    desk.settle()
    assert (desk.flags(), desk.summaries()) == ([True], ["2026-01-10"])


def test_a_message_that_another_program_flagged_true_too_early_is_written_all_the_same(desk):
    """H10."""
    desk.write([on("2026-01-10", archived=True)])
    desk.settle()
    assert desk.filed() == [("2026-01-10-nginx", "关于 nginx 的话")]
    assert desk.flags() == [True]


def test_settling_twice_writes_nothing(desk):
    desk.write([on("2026-01-10"), on("2026-01-30"), on("2026-01-31")])
    desk.settle()
    before = desk.layout.history.stat()
    settle_flags(desk.ws, desk.clock())
    assert desk.layout.history.stat() == before


# ── trimming ─────────────────────────────────────────────────────────────────


def test_history_keeps_two_hundred_and_loses_no_words(desk):
    raws = [raw for day in range(26, 31) for raw in talk(f"2026-01-{day}T09:00", 50)]
    desk.write(raws)
    desk.settle()
    assert [raw["id"] for raw in desk.history()] == [raw["id"] for raw in raws[-200:]]
    assert desk.filed() == sorted((raw["id"], raw["text"]) for raw in raws)
    assert [(told["messages"], told["left"]) for told in desk.told.of("trimmed")] == [(50, 200)]


def test_a_dead_model_lets_history_grow_to_the_hard_cap_and_no_further(desk):
    """I10: the words are in dated files, and the group's retry in failed/."""
    desk.scribe.script = unreachable
    raws = [raw for day in range(1, 21) for raw in talk(f"2025-12-{day:02d}T09:00", 20)]
    desk.write(raws)
    desk.settle()
    assert len(desk.history()) == 300
    assert desk.filed() == sorted((raw["id"], raw["text"]) for raw in raws)


def test_messages_that_left_history_before_their_summary_are_summarised_from_their_files(desk):
    desk.scribe.script = unreachable
    desk.write([raw for day in range(1, 21) for raw in talk(f"2025-12-{day:02d}T09:00", 20)])
    desk.settle()
    assert len(desk.history()) == 300
    desk.scribe.script = lambda _task, _blocks: HONEST
    desk.scribe.asked.clear()
    desk.clock.forward(days=2)
    desk.settle()
    read = {block.text for _, blocks in desk.scribe.asked for block in blocks}
    assert {text for _, text in desk.filed()} <= read
    assert set(desk.flags()) == {True}


def test_with_three_hundred_old_messages_and_a_dead_model_what_is_said_now_stays_and_files_do_not_multiply(desk):
    """4H, 10: 280 dated files in a week instead of 18."""
    desk.scribe.script = unreachable
    desk.write([raw for day in range(1, 17) for raw in talk(f"2025-12-{day:02d}T09:00", 20)])
    desk.settle()
    before = len(desk.dated())
    for _ in range(7 * 4):
        desk.say(*talk(desk.clock().isoformat(), 4))
        desk.clock.forward(hours=6)
        desk.round()
        assert len(desk.history()) <= 304
    assert len(desk.dated()) - before <= 30
    assert all(raw["createdAt"] > "2026-02-06" for raw in desk.history()[-4:])


def test_what_is_not_written_is_never_trimmed(desk):
    desk.reopen(desk.toml + "[history]\nsoft_cap = 5\nhard_cap = 6\n")
    desk.write(talk("2026-01-31T09:00", 40))
    intake(desk.ws, desk.clock())
    assert trim_history(desk.ws) == 0
    assert len(desk.history()) == 40


def test_what_a_person_deleted_from_its_file_leaves_at_the_next_trim(desk):
    desk.reopen(desk.toml + "[history]\nsoft_cap = 25\nhard_cap = 30\n")
    desk.write(talk("2026-01-30T09:00", 25))
    desk.settle()
    for name in desk.dated():
        (desk.root / name).unlink()
    desk.say(*talk("2026-01-31T09:00", 3))
    desk.settle()
    assert len(desk.history()) == 25


def test_the_order_of_history_stays_whatever_leaves(desk):
    """B23."""
    desk.reopen(desk.toml + "[history]\nsoft_cap = 30\nhard_cap = 35\n")
    raws = [*talk("2026-01-30T09:00", 20), *talk("2026-01-10T09:00", 20), *talk("2026-01-31T09:00", 20)]
    desk.scribe.script = unreachable
    desk.write(raws)
    desk.settle()
    order = [raw["id"] for raw in raws]
    places = [order.index(raw["id"]) for raw in desk.history()]
    assert places == sorted(places)


# ── tidying up ───────────────────────────────────────────────────────────────


def test_temporary_files_of_a_crash_are_swept_and_foreign_ones_are_not(desk):
    desk.write([on("2026-01-10")])
    desk.settle()
    ours = [
        desk.root / ".history.json.99-0.tmp",
        desk.layout.memory / ".2026-01-31-x.md.99-1.tmp",
        desk.layout.summaries / ".2026-01-10.md.99-2.tmp",
        desk.layout.originals / "2026-01" / ".2026-01-10-x.md.99-3.tmp",
        desk.layout.state / ".seen.jsonl.99-4.tmp",
        desk.ws.spool.queue / ".day-2026-01-10-0000000000-0.json.99-5.tmp",
        desk.ws.spool.failed / ".day-2026-01-10.json.99-6.tmp",
    ]
    theirs = [desk.root / ".bashrc", desk.layout.memory / ".obsidian.tmp", desk.layout.memory / "笔记.md~"]
    for path in ours + theirs:
        path.write_text("半")
    assert sweep(desk.ws) == len(ours)
    assert not any(path.exists() for path in ours)
    assert all(path.exists() for path in theirs)


def test_where_commands_and_workers_write_only_what_no_living_one_can_be_writing_is_swept(desk):
    shared = (desk.layout.drop_box, desk.layout.turns, desk.layout.pieces, desk.ws.spool.results)
    for folder in shared:
        folder.mkdir(parents=True, exist_ok=True)
        ages = {"没写完": timedelta(hours=2), "钟拨回来了": timedelta(days=-400), "正在写": timedelta(minutes=1)}
        for name, age in ((f".{name}.json.98-0.tmp", age) for name, age in ages.items()):
            (folder / name).write_text("半")
            when = (desk.clock() - age).timestamp()
            os.utime(folder / name, (when, when))
    desk.round()
    left = [path.name for folder in shared for path in folder.iterdir()]
    assert left == [".正在写.json.98-0.tmp"] * 4


def test_tasks_of_dead_workers_are_put_back_and_told(desk):
    desk.write([on("2026-01-10")])
    desk.round("all")
    desk.ws.spool.claim()
    assert not any_worker(desk.ws)
    assert reclaim(desk.ws) == 1
    assert desk.ws.spool.in_flight() == {"day-2026-01-10": "queue"}
    assert desk.told.of("task_put_back") == [{"tasks": 1}]
    assert reclaim(desk.ws) == 0


def test_what_a_dead_worker_began_to_write_goes_with_its_tasks_and_a_living_one_s_stays(desk):
    begun = [folder / ".day-2026-01-10.md.9-0.tmp" for folder in (desk.ws.spool.results, desk.layout.pieces)]
    for path in begun:
        path.parent.mkdir(exist_ok=True)
        path.write_text("半")
    with Files(RealDisk()).lock(desk.layout.worker_lock(3)):
        reclaim(desk.ws)
    assert all(path.exists() for path in begun)
    reclaim(desk.ws)
    assert not any(path.exists() for path in begun)


def test_tasks_of_a_living_worker_are_left_to_it(desk):
    desk.write([on("2026-01-10")])
    desk.round("all")
    desk.ws.spool.claim()
    with Files(RealDisk()).lock(desk.layout.worker_lock(3)):
        assert any_worker(desk.ws)
        assert reclaim(desk.ws) == 0
    assert desk.ws.spool.in_flight() == {"day-2026-01-10": "running"}


def test_a_mode_that_a_person_gave_history_stays(desk):
    desk.write([on("2026-01-30")])
    os.chmod(desk.layout.history, 0o640)
    desk.settle()
    assert desk.layout.history.stat().st_mode & 0o777 == 0o640
    assert [one.archived for one in desk.ws.history.read() if isinstance(one, Message)] == [Archived.YES]


def test_no_flag_moves_while_the_journal_can_not_be_told_what_is_written(desk):
    desk.write([on("2026-01-10")])
    desk.round("all")
    before = desk.flags()
    desk.layout.seen.unlink()

    class Full(RealDisk):
        def open_append(self, path, mode):
            raise OSError(28, "No space left on device", str(path))

    desk.reopen(disk=Full())
    assert "settle" in desk.round("all").errors
    assert desk.flags() == before == ["pending"]
