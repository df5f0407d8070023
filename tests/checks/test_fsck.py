"""fsck accounts for every message: in a dated file, in history, in the journal, set aside, removed by a person, or lost."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.world import World, message, talk

if TYPE_CHECKING:
    from recalld.supervisor.checks.fsck import Ledger


def account(world: World) -> Ledger:
    before = world.tree(internal=True)
    found = world.fsck()
    assert world.tree(internal=True) == before, "it changes nothing"
    assert found.seen == found.in_files + found.in_history + found.in_journal + found.set_aside + found.removed + len(
        found.lost
    )
    return found


def test_fsck_counts_each_message_where_it_is_stored(world):
    world.write([*talk("2026-01-10T09:00", 3), *talk("2026-01-30T09:00", 2), "一句话", 7])
    world.settle()
    world.add(*talk("2026-01-31T09:55", 2))
    world.intake()
    found = account(world)
    assert (found.seen, found.in_files, found.in_history, found.set_aside) == (9, 5, 2, 2)
    assert (found.dated_files, found.summaries, found.covered_files) == (2, 1, 1)
    assert found.is_sound


def test_fsck_does_not_count_a_message_in_the_journal_as_lost(world):
    world.write(talk("2026-01-31T09:00", 2))
    world.intake()
    world.write([])
    assert (account(world).in_journal, account(world).is_sound) == (2, True)


def test_fsck_counts_trimmed_messages_in_their_files(world):
    world.write(talk("2026-01-30T09:00", 2))
    world.settle()
    world.write([])
    world.settle()
    found = account(world)
    assert (found.in_files, found.in_history, found.is_sound) == (2, 0, True)


def test_fsck_counts_a_block_that_a_person_deleted_as_removed(world):
    world.write(talk("2026-01-30T09:00", 2))
    world.settle()
    world.write([])
    path = world.root / next(iter(world.dated_files()))
    head, _, last = path.read_text().split("<!-- ")
    path.write_text(f"{head}<!-- {last}")
    found = account(world)
    assert (found.removed, found.edited_files, found.is_sound) == (1, 1, True)


def cut_to(world: World, count: int, end: str) -> None:
    """Cut the first dated file off after so many messages."""
    path = world.root / next(iter(world.dated_files()))
    kept = "<!-- ".join(path.read_text().split("<!-- ")[: count + 1])
    path.write_text(kept.rstrip("\n") + end)


@pytest.mark.parametrize("machine_state", ["kept", "deleted"])
@pytest.mark.parametrize("count", [1, 3])
def test_fsck_reports_a_file_that_ends_after_a_message(world, count, machine_state):
    world.write(talk("2026-01-30T09:00", 4))
    world.settle()
    world.write([])
    cut_to(world, count, "\n")
    if machine_state == "deleted":
        shutil.rmtree(world.paths.state)
        world.reopen().round()
    (told,) = account(world).damage
    assert f"ends after {count} of its 4 messages" in told
    path = world.root / next(iter(world.dated_files()))
    path.write_text(path.read_text().replace("count: 4", f"count: {count}"))
    assert account(world).is_sound


@pytest.mark.parametrize("machine_state", ["kept", "deleted"])
def test_fsck_calls_no_file_that_has_its_head_alone_cut_off(world, machine_state):
    world.write(talk("2026-01-30T09:00", 4))
    world.settle()
    cut_to(world, 0, "\n")
    if machine_state == "deleted":
        shutil.rmtree(world.paths.state)
        world.reopen().round()
    assert account(world).is_sound


@pytest.mark.parametrize("taken", [0, 1, 2])
def test_fsck_calls_no_message_taken_from_the_middle_cut_off(world, taken):
    world.write(talk("2026-01-30T09:00", 4))
    world.settle()
    world.write([])
    path = world.root / next(iter(world.dated_files()))
    parts = path.read_text().split("<!-- ")
    path.write_text("<!-- ".join(part for n, part in enumerate(parts) if n != taken + 1))
    assert (account(world).removed, account(world).is_sound) == (1, True)


def test_fsck_calls_no_file_with_a_broken_last_message_cut_off(world):
    world.write(talk("2026-01-30T09:00", 2))
    world.settle()
    path = world.root / next(iter(world.dated_files()))
    before, mark, last = path.read_text().rpartition('"createdAt"')
    path.write_text(before + mark.replace("createdAt", "at") + last)
    assert account(world).is_sound


def test_fsck_names_the_lost_messages_of_a_deleted_file(world):
    world.write(talk("2026-01-30T09:00", 2))
    world.settle()
    world.write([])
    (world.root / next(iter(world.dated_files()))).unlink()
    found = account(world)
    assert len(found.lost) == 2
    assert all("was in 2026-01-30-" in one for one in found.lost)
    assert not found.is_sound


def test_fsck_reports_a_file_in_memory_and_originals_as_damage(world):
    world.write(talk("2026-01-10T09:00", 1))
    world.settle()
    path = world.root / next(iter(world.dated_files()))
    (world.paths.memory / path.name).write_bytes(path.read_bytes())
    assert account(world).damage == [f"{path.name} is in memory/ and in originals/"]


def test_fsck_reports_an_archived_flag_without_a_file_as_damage(world):
    world.write([message("1", "2026-01-30T09:00", archived=True)])
    assert account(world).damage == ["message 1 is flagged true, but no dated file was ever made of it"]
    world.settle()
    assert account(world).is_sound
