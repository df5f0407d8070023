"""The calls to the model, each written down before it is made."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.protocol.disk import RealDisk
from supervisor.protocol.files import Files
from supervisor.protocol.llm import CallLog
from supervisor.protocol.paths import Layout
from tests.crash.model_disk import ModelDisk
from tests.world import FaultyDisk

if TYPE_CHECKING:
    from pathlib import Path

NOON = datetime(2026, 1, 31, 4, tzinfo=UTC)
SHANGHAI = ZoneInfo("Asia/Shanghai")


@pytest.fixture
def calls(tmp_path: Path) -> CallLog:
    return CallLog(Files(RealDisk()), Layout(tmp_path / "工作区"), SHANGHAI)


def test_a_day_has_at_most_so_many_and_the_next_begins_at_local_midnight(calls):
    midnight = datetime(2026, 2, 1, tzinfo=SHANGHAI)
    assert [calls.begin(midnight - timedelta(minutes=1), 2) for _ in range(3)] == [True, True, False]
    assert calls.begin(midnight, 2)
    assert (calls.today(midnight - timedelta(hours=1)), calls.today(midnight)) == (2, 1)


def test_a_call_without_a_bound_is_counted_as_well(calls):
    assert all(calls.begin(NOON, None) for _ in range(3))
    assert not calls.begin(NOON, 3)


def test_another_process_goes_on_counting_and_a_line_that_a_crash_broke_says_nothing(calls, tmp_path):
    calls.begin(NOON, 5)
    path = tmp_path / "工作区" / ".recalld" / "calls.jsonl"
    path.write_bytes(path.read_bytes() + '{"at": "坏'.encode())
    again = CallLog(Files(RealDisk()), Layout(tmp_path / "工作区"), SHANGHAI)
    assert again.begin(NOON, 5)
    assert again.today(NOON) == 2
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_call_that_can_not_be_written_down_is_not_made(tmp_path):
    with pytest.raises(OSError, match="No space"):
        CallLog(Files(FaultyDisk("write").break_down()), Layout(tmp_path), SHANGHAI).begin(NOON, 5)


def test_old_days_are_dropped_when_there_are_many(calls, tmp_path, monkeypatch):
    monkeypatch.setattr("supervisor.protocol.llm._MANY", 10)
    for day in range(12):
        calls.begin(NOON + timedelta(days=day), 5)
    assert len((tmp_path / "工作区" / ".recalld" / "calls.jsonl").read_bytes().splitlines()) < 10
    assert calls.today(NOON + timedelta(days=11)) == 1


@given(st.lists(st.integers(0, 60), max_size=30), st.sampled_from(["Asia/Shanghai", "America/New_York", "Pacific/Apia"]))
def test_no_local_day_ever_has_more_than_its_cap_whatever_the_hours(hours, zone):
    disk = ModelDisk()
    calls = CallLog(Files(disk), Layout(disk.root), ZoneInfo(zone))
    begun = [at for hour in hours if calls.begin(at := NOON + timedelta(hours=hour), 3)]
    days = [at.astimezone(ZoneInfo(zone)).date() for at in begun]
    assert all(days.count(day) <= 3 for day in days)
    assert all(calls.today(at) == days.count(at.astimezone(ZoneInfo(zone)).date()) for at in begun)
