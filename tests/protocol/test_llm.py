"""Calls to the model, each recorded before it is made."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.protocol.llm import CallLog
from recalld.supervisor.protocol.paths import WorkspacePaths
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.files import Files
from tests.crash.model_disk import ModelDisk
from tests.world import FaultyDisk

NOON = datetime(2026, 1, 31, 4, tzinfo=UTC)
SHANGHAI = ZoneInfo("Asia/Shanghai")


@pytest.fixture
def calls(tmp_path: Path) -> CallLog:
    return CallLog(Files(RealDisk()), WorkspacePaths(tmp_path / "工作区"), SHANGHAI)


def test_call_log_counts_across_processes_and_skips_a_truncated_line(calls, tmp_path):
    calls.begin(NOON, 5)
    path = tmp_path / "工作区" / ".recalld" / "calls.jsonl"
    path.write_bytes(path.read_bytes() + '{"at": "坏'.encode())
    again = CallLog(Files(RealDisk()), WorkspacePaths(tmp_path / "工作区"), SHANGHAI)
    assert again.begin(NOON, 5)
    assert again.today(NOON) == 2
    assert path.stat().st_mode & 0o777 == 0o600


def test_call_log_raises_when_a_call_cannot_be_recorded(tmp_path):
    with pytest.raises(OSError, match="No space"):
        CallLog(Files(FaultyDisk("write").break_down()), WorkspacePaths(tmp_path), SHANGHAI).begin(NOON, 5)


def test_call_log_drops_old_days_when_it_grows_long(calls, tmp_path, monkeypatch):
    monkeypatch.setattr("recalld.supervisor.protocol.llm._MANY", 10)
    for day in range(12):
        calls.begin(NOON + timedelta(days=day), 5)
    assert len((tmp_path / "工作区" / ".recalld" / "calls.jsonl").read_bytes().splitlines()) < 10
    assert calls.today(NOON + timedelta(days=11)) == 1


@given(st.lists(st.integers(0, 60), max_size=30), st.sampled_from(["Asia/Shanghai", "America/New_York", "Pacific/Apia"]))
def test_call_log_never_exceeds_the_daily_limit_in_any_time_zone(hours, zone):
    disk = ModelDisk()
    calls = CallLog(Files(disk), WorkspacePaths(disk.root), ZoneInfo(zone))
    begun = [at for hour in hours if calls.begin(at := NOON + timedelta(hours=hour), 3)]
    days = [at.astimezone(ZoneInfo(zone)).date() for at in begun]
    assert all(days.count(day) <= 3 for day in days)
    assert all(calls.today(at) == days.count(at.astimezone(ZoneInfo(zone)).date()) for at in begun)
