"""What the simulated years found in the product, each in its smallest form."""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING

import pytest

import supervisor.service.workers
from supervisor.protocol.disk import RealDisk
from supervisor.service.daemon import Supervisor
from supervisor.service.workers import Workers
from tests.conftest import TOML, message, unreachable

if TYPE_CHECKING:
    from pathlib import Path

#: A context so small that a month is told day by day first.
SMALL = TOML + "context_tokens = 512\n"
LONG = "服务器搬到了新机房，十点以前都连不上，已经通知大家改用备用地址。" * 6


class Full(RealDisk):
    """A disk without room, while it is so."""

    is_full = False

    def write(self, handle: int, data: bytes) -> None:
        self.refuse()
        super().write(handle, data)

    def rename_new(self, old: Path, new: Path) -> None:
        self.refuse()
        super().rename_new(old, new)

    def refuse(self) -> None:
        if self.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Steady:
    """A monotonic clock that a test cranks."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        self.now_s += 61
        return self.now_s

    monotonic = __call__


def test_a_full_disk_does_not_end_the_supervisor_while_history_is_damaged(desk):
    disk = Full()
    desk.reopen(disk=disk)
    desk.write([message("m1", "2026-01-30T09:00", "月饼订两盒。")])
    desk.settle()
    supervisor = Supervisor(desk.ws, desk.clock, None, Steady())
    desk.write(b'[{"id": "m1", "te')
    disk.is_full = True
    for _ in range(3):
        supervisor.tick(desk.clock())
    disk.is_full = False
    for _ in range(3):
        supervisor.tick(desk.clock())
    assert [raw["id"] for raw in desk.history()] == ["m1"]


def test_a_dropped_file_goes_only_when_the_journal_has_its_words(desk):
    """History had them and the file was gone, the journal could not be written, and a program with a cap of its own came by."""

    class WithoutJournal(RealDisk):
        is_full = True

        def open_append(self, path: Path, mode: int) -> int:
            if self.is_full and path.name == "seen.jsonl":
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super().open_append(path, mode)

    desk.reopen(disk=(disk := WithoutJournal()))
    (desk.layout.drop_box / "手机.json").write_text(
        json.dumps(message("m1", "2026-01-30T09:00", "月饼订两盒。")), encoding="utf-8"
    )
    desk.round()
    desk.write([])
    disk.is_full = False
    desk.reopen()
    desk.round()
    assert [raw["text"] for raw in desk.history()] == ["月饼订两盒。"]
    assert not list(desk.layout.drop_box.iterdir())


def test_a_journal_that_could_not_be_synced_is_written_anew_before_anything_relies_on_it(desk):
    """After a failed fsync its lines could be read, so that the dropped file went; a power cut then took the lines."""

    class Forgetful(RealDisk):
        is_broken = True

        def sync(self, handle: int) -> None:
            if self.is_broken and "seen.jsonl" in os.readlink(f"/proc/self/fd/{handle}"):
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            super().sync(handle)

    desk.round()
    desk.reopen(disk=(disk := Forgetful()))
    dropped = desk.layout.drop_box / "手机.json"
    dropped.write_text(json.dumps(message("m1", "2026-01-30T09:00", "月饼订两盒。")), encoding="utf-8")
    desk.round()
    unsure = desk.layout.seen.stat().st_ino
    assert "月饼" in desk.layout.seen.read_text(encoding="utf-8")
    desk.round()
    assert (dropped.exists(), desk.filed()) == (True, [])
    disk.is_broken = False
    desk.round()
    assert not dropped.exists()
    assert desk.layout.seen.stat().st_ino != unsure


def test_a_full_disk_does_not_end_the_supervisor_when_a_lease_runs_out(desk, monkeypatch):
    disk = Full()
    desk.reopen(disk=disk)
    monkeypatch.setattr(supervisor.service.workers, "time", Steady())
    desk.write([message("m1", "2026-01-10T09:00", "月饼订两盒。")])
    desk.round("all")
    desk.ws.spool.claim()
    workers = Workers(desk.ws, desk.clock)
    disk.is_full = True
    for _ in range(4):
        workers.watch_leases()
    assert len(desk.ws.spool.claimed()) == 1
    disk.is_full = False
    workers.watch_leases()
    assert (len(desk.ws.spool.claimed()), desk.ws.spool.waiting()) == (0, 1)


def test_a_late_message_does_not_end_the_wait_of_its_month(desk):
    """docs/protocol.md, 3: new material does not reset it. The days of a large month are told first; the month waits on."""
    desk.reopen(SMALL)
    desk.write([message(f"m{n}", f"2025-11-{n:02d}T09:00", f"{n} 号：{LONG}") for n in range(1, 6)])
    told = desk.scribe.script
    desk.scribe.script = lambda task, blocks: (unreachable if task.kind == "monthly-summary" else told)(task, blocks)
    desk.settle()
    assert list(desk.ws.failures()) == ["month-2025-11"]
    until = desk.ws.failures()["month-2025-11"].next_at
    desk.clock.forward(minutes=1)
    desk.say(message("late", "2025-11-09T09:00", "补记：押金三千二。"))
    asked = len(desk.scribe.asked)
    desk.settle()
    assert desk.clock() < until
    assert [task.group for task, _ in desk.scribe.asked[asked:]] == ["day-2025-11-09"]
    assert desk.ws.failures()["month-2025-11"].next_at == until


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_month_of_both_languages_may_be_told_in_either(desk, language):
    """A long log in Chinese on one day had every English summary of an English month refused, for ever."""
    english = "The demo moved to room 305, the minutes are written by Tuesday."
    desk.write(
        [message("log", "2025-11-03T09:00", "第四十一行超时，已经重试过一次，还是不行。" * 200)]
        + [message(f"m{n}", f"2025-11-{n:02d}T09:00", f"{english} ({n})") for n in range(4, 9)]
    )
    texts = {
        "zh": "## 十一月\n\n演示改到三零五房间，纪要周二前写好；服务器超时，重试过。",
        "en": f"## November\n\n{english} The server timed out and was retried.",
    }
    desk.scribe.script = lambda task, blocks: texts[language]
    desk.settle()
    assert desk.ws.failures() == {}
    assert texts[language] in desk.summary("2025-11")


def test_a_month_of_one_language_is_still_not_told_in_the_other(desk):
    desk.write([message(f"m{n}", f"2025-11-{n:02d}T09:00", f"{n} 号：{LONG}") for n in range(1, 4)])
    desk.scribe.script = lambda task, blocks: (
        "## November\n\nThe demo moved to room three, the minutes are written by Tuesday afternoon."
    )
    desk.settle()
    assert desk.ws.failures()["month-2025-11"].reason == "refused"
