"""fsck accounts for every message: in a dated file, in history, in the journal, set aside, removed by a person, or lost."""

from __future__ import annotations

import os

from recalld.supervisor.checks.fsck import Ledger
from tests.world import World, message, talk


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


def test_fsck_reports_an_archived_flag_without_a_file_as_damage(world):
    world.write([message("1", "2026-01-30T09:00", archived=True)])
    assert account(world).damage == ["message 1 is flagged true, but no dated file was ever made of it"]
    world.settle()
    assert account(world).is_sound


def test_fsck_names_a_dated_file_in_another_encoding(world):
    world.write(talk("2026-01-30T09:00", 2))
    world.settle()
    path = world.root / next(iter(world.dated_files()))
    path.write_bytes(path.read_text().encode("gbk"))
    (why,) = account(world).damage
    assert "it is GBK, not UTF-8" in why
    assert world.repair().set_aside == (path.name,)


def test_fsck_calls_lost_what_a_disk_has_spoiled_without_a_new_time(world):
    world.write(talk("2026-01-30T09:00", 2))
    world.settle()
    world.fill([])
    path = world.root / next(iter(world.dated_files()))
    stat = path.stat()
    path.write_bytes(bytes(stat.st_size))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    found = account(world)
    assert (len(found.damage), len(found.lost), found.removed) == (1, 2, 0)
