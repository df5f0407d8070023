"""Copies of files that can't be read: one of each content, a few of each kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from recalld.supervisor.archive.quarantine import Quarantine
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.files import Files

TORN = '[{"id": "半", "text": "写到一'.encode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "quarantine"


@pytest.fixture
def quarantine(folder: Path) -> Quarantine:
    return Quarantine(Files(RealDisk()), folder, limit=10)


def test_quarantine_keeps_at_most_ten_copies_of_one_kind(quarantine: Quarantine, folder: Path) -> None:
    kept = [quarantine.keep("history.json", f"坏了 {n}".encode()) for n in range(30)]
    assert kept == ["new"] * 10 + ["full"] * 20
    assert quarantine.keep("history.json", "坏了 9".encode()) == "known"
    assert quarantine.keep("message", TORN) == "new"
    assert len(list(folder.iterdir())) == 11
