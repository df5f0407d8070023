"""`backup nightly`: one of each day, the last of them are kept, no disk is filled, and one that fails is told."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from recalld.supervisor.checks.backup import nightly_backup
from recalld.supervisor.checks.check import Look
from recalld.supervisor.checks.machine import SCARCE_BYTES
from recalld.supervisor.checks.table import verdict
from recalld.supervisor.host.last_night import read_last_backup
from recalld.supervisor.storage.errors import BadBackup, BadRequest, StorageError
from tests.world import World, at, message


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder for backups."""
    folder = tmp_path / "备份 盘"
    folder.mkdir()
    return folder


@pytest.fixture
def memory(tmp_path: Path) -> World:
    world = World(tmp_path / "记忆[1]", at("2026-01-28T04:20"))
    world.write([message("m1", "2026-01-27T03:00", "我对花生过敏。")])
    world.settle()
    return world


def night(world: World, place: Path, day: str, keep: int = 2) -> list[str]:
    """The names that are in the folder after the backup of that day."""
    nightly_backup(world.ws, place, keep, at(f"{day}T04:20"), "recalld 1")
    return sorted(path.name for path in place.iterdir())


def test_backup_of_a_night_keeps_the_last_and_nothing_of_others_is_deleted(memory, place):
    others = ["记忆[1]-2026-01-01.tar", "记忆1-nightly-2026-01-01.tar", "记忆[1]-nightly-2026-01-01.tar.txt"]
    for name in others:
        (place / name).touch()
    for day in ("2026-01-28", "2026-01-29", "2026-01-30", "2026-02-02"):
        found = night(memory, place, day)
    assert found == sorted([*others, "记忆[1]-nightly-2026-01-30.tar", "记忆[1]-nightly-2026-02-02.tar"])


def test_backup_of_a_day_is_made_once_and_read_back_again(memory, place):
    night(memory, place, "2026-01-28")
    file = place / "记忆[1]-nightly-2026-01-28.tar"
    before = file.stat()
    night(memory, place, "2026-01-28")
    assert file.stat() == before
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(BadBackup):
        night(memory, place, "2026-01-28")


def test_backup_of_another_memory_of_the_same_name_is_left_alone(memory, place, tmp_path):
    (tmp_path / "other").mkdir()
    other = World(tmp_path / "other" / memory.root.name, at("2026-01-28T04:20"))
    other.write([message("m2", "2026-01-27T03:00", "我对青霉素过敏。")])
    other.settle()
    night(other, place, "2026-01-28")
    with pytest.raises(BadRequest, match="is not known to this workspace"):
        night(memory, place, "2026-01-28")


def test_backup_that_fails_deletes_nothing_and_is_told_until_one_succeeds(memory, place):
    night(memory, place, "2026-01-28", keep=1)
    place.rename(place.with_name("fort"))
    with pytest.raises(BadRequest, match="is not there"):
        night(memory, place, "2026-01-29", keep=1)
    (sentence, *_), is_well = verdict(Look(memory.ws, at("2026-01-29T08:00"), {}))
    assert not is_well
    assert sentence == (
        f"the nightly backup failed on 2026-01-29 04:20: {place} is not there; make the folder first; "
        f"`recalld backup nightly '{place}' --keep 1` tries again."
    )
    assert verdict(Look(memory.ws, at("2026-01-31T05:00"), {}))[1], "no night has repeated it: nothing makes backups any more"
    last = read_last_backup(memory.ws)
    assert last
    assert last.file.endswith("2026-01-28.tar")
    place.with_name("fort").rename(place)
    assert night(memory, place, "2026-01-30", keep=1) == ["记忆[1]-nightly-2026-01-30.tar"]
    assert verdict(Look(memory.ws, at("2026-01-30T08:00"), {}))[1]


def test_backup_is_not_begun_where_it_would_fill_the_disk(memory, place, monkeypatch):
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=SCARCE_BYTES + 100, f_frsize=1))
    with pytest.raises(StorageError, match="would leave less than 256 MiB free"):
        night(memory, place, "2026-01-28")
    assert [*place.iterdir()] == []
