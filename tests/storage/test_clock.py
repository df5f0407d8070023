"""Instants and days: the stored form of times, and the zones."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.storage.clock import clock_from, find_zone, fixed_clock, from_wire, local_day, machine_zone, to_wire
from recalld.supervisor.storage.errors import BadConfig

SHANGHAI = ZoneInfo("Asia/Shanghai")
ZONES = st.sampled_from(
    [UTC, SHANGHAI]
    + [ZoneInfo(n) for n in ("Pacific/Apia", "Australia/Lord_Howe", "America/New_York", "Pacific/Kiritimati")]
    + [timezone(timedelta(hours=23, minutes=59)), timezone(-timedelta(hours=23, minutes=59))]
)


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type, misc]


EIGHT = utc(2026, 1, 31, 8)


@pytest.mark.parametrize("text", ["", "刚才", "2026-01-31T08:00:00", "0001-01-01T00:00:00+14:00", "2026-02-30T08:00:00Z"])
def test_from_wire_raises_value_error_for_invalid_times(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        from_wire(text)


def test_to_wire_refuses_a_naive_datetime() -> None:
    with pytest.raises(ValueError, match="without a zone"):
        to_wire(datetime(2026, 1, 31, 8))  # noqa: DTZ001


def test_local_day_never_returns_the_day_that_samoa_skipped() -> None:
    apia = ZoneInfo("Pacific/Apia")
    days = [local_day(utc(2011, 12, 29) + timedelta(hours=h), apia) for h in range(72)]
    assert date(2011, 12, 30) not in days
    assert {date(2011, 12, 29), date(2011, 12, 31)} <= set(days)


def test_local_day_stays_at_the_last_calendar_day_east_of_utc() -> None:
    assert local_day(utc(9999, 12, 31, 23), SHANGHAI) == date(9999, 12, 31)


def test_fixed_clock_is_constant_and_clock_from_advances() -> None:
    assert fixed_clock(EIGHT)() == fixed_clock(EIGHT)() == EIGHT
    clock = clock_from(EIGHT)
    first = clock()
    assert timedelta() <= first - EIGHT < timedelta(minutes=1)
    assert any(clock() > first for _ in range(1_000_000))


KNOWN = available_timezones()


@given(
    st.text().filter(lambda name: name not in KNOWN)
    | st.sampled_from(["Asia", "..", "/etc/localtime", "zone.tab", "a\0b", "Asia/Shanghai/", "x" * 5000, "\ud800"])
)
def test_find_zone_refuses_unknown_names_in_one_sentence(name: str) -> None:
    with pytest.raises(BadConfig) as refused:
        find_zone(name)
    assert refused.value.key == "archive.timezone"
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("UTC+8", "Asia/Shanghai"),
        ("Asia/Beijing", "Asia/Shanghai"),
        ("America/NewYork", "America/New_York"),
    ],
)
def test_find_zone_suggests_the_name_that_is_most_like_it(written: str, meant: str) -> None:
    with pytest.raises(BadConfig, match=f"such as '{meant}'"):
        find_zone(written)


def test_machine_zone_tries_tz_then_localtime_then_timezone_file_then_utc(tmp_path) -> None:
    assert machine_zone({}, tmp_path) == "UTC"
    (tmp_path / "timezone").write_text("Etc/UTC\n")
    assert machine_zone({}, tmp_path) == "Etc/UTC"
    (tmp_path / "localtime").symlink_to("../usr/share/zoneinfo/Asia/Shanghai")
    assert machine_zone({}, tmp_path) == "Asia/Shanghai"
    assert machine_zone({"TZ": ":America/New_York"}, tmp_path) == "America/New_York"
    assert machine_zone({"TZ": "/usr/share/zoneinfo/Asia/Tokyo"}, tmp_path) == "Asia/Tokyo"


@pytest.mark.parametrize("tz", ["CST-8", "", "上海", "../../etc/passwd"])
def test_machine_zone_ignores_a_tz_that_is_not_an_iana_name(tz: str, tmp_path) -> None:
    (tmp_path / "timezone").write_text("Asia/Shanghai\n")
    assert machine_zone({"TZ": tz}, tmp_path) == "Asia/Shanghai"
