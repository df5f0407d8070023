"""The crash explorer itself: it finds what it should, and reports it so that a person can read it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.crash.explorer import Explorer
from tests.crash.faults import write
from tests.crash.model_disk import ModelDisk

pytestmark = pytest.mark.proof


def _put(disk: ModelDisk, name: str, data: bytes) -> None:
    write(disk, disk.create(disk.root / name, 0o600), data)


def _acknowledged(disk: ModelDisk) -> None:
    _put(disk, "日记", b"x")
    disk.ack("日记")
    disk.sync_folder(disk.root)


def _nothing(_: ModelDisk) -> None:
    return


def _acked_stand(disk: ModelDisk, acks: Sequence[object]) -> list[str]:
    return [f"{name} is lost" for name in acks if name not in disk.tree()]


def test_explorer_finds_and_reports_an_ack_before_the_folder_fsync() -> None:
    report = Explorer(_nothing, _acked_stand).explore(_acknowledged)
    assert report.shortest
    assert str(report.shortest).splitlines() == [
        "    0 create 日记",
        "    1 write 日记 (1 bytes)",
        "    2 sync 日记",
        "--- power lost (ordered); lost: create 日记",
        "--- recovered",
        "  WRONG: 日记 is lost",
    ]


def _recover_by_halves(disk: ModelDisk) -> None:
    """Take the journal away before what it stands for is durable."""
    if "journal" in disk.tree():
        disk.unlink(disk.root / "journal")
        disk.sync_folder(disk.root)
        _put(disk, "日记", b"x")
        disk.sync_folder(disk.root)


def _journaled(disk: ModelDisk) -> None:
    _put(disk, "journal", b"")
    disk.sync_folder(disk.root)
    disk.ack("日记")


def _journal_or_file(disk: ModelDisk, acks: Sequence[object]) -> list[str]:
    return [] if not acks or {"journal", "日记"} & disk.tree().keys() else ["日记 is lost"]


def test_explorer_finds_a_crash_inside_recovery_only_with_depth_one() -> None:
    assert not Explorer(_recover_by_halves, _journal_or_file).explore(_journaled).failures
    report = Explorer(_recover_by_halves, _journal_or_file, depth=1).explore(_journaled)
    assert report.shortest
    assert sum(step.startswith("---") for step in report.shortest.steps) == 3
