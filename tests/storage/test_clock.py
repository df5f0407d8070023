"""Instants and days: the stored form of times, the zones, and what others write, which is refused where it may mean two things."""

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.storage.clock import (
    find_zone,
    local_day,
    machine_zone,
    read_instant,
    to_wire,
)
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


def test_to_wire_refuses_a_naive_datetime() -> None:
    with pytest.raises(ValueError, match="without a zone"):
        to_wire(datetime(2026, 1, 31, 8))  # noqa: DTZ001


def test_local_day_stays_at_the_last_calendar_day_east_of_utc() -> None:
    assert local_day(utc(9999, 12, 31, 23), SHANGHAI) == date(9999, 12, 31)


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


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
NEARLY_TIMES = st.from_regex(
    r"[0-9]{4}-?[0-9]{2}-?[0-9]{2}([Tt ][0-9]{2}(:?[0-9]{2}(:?[0-9]{2}([.,][0-9]{1,12})?)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?",
    fullmatch=True,
)
MINUTES = st.datetimes(datetime(2000, 1, 2), datetime(9999, 12, 30)).map(lambda t: t.replace(second=0, microsecond=0))  # noqa: DTZ001
#: How people and programs write a minute, the year first.
WRITTEN = (
    "{0:%Y年%m月%d日 %H:%M}",
    "{0:%Y} 年 {0.month} 月 {0.day} 日　{0.hour}：{0:%M}",
    "{0:%Y/%m/%d %H:%M}",
    "{0:%Y}/{0.month}/{0.day} {0.hour}:{0:%M}:00.000",
    "{0:%Y/%m/%d, %I:%M:%S %p}",
    "{0:%Y.%m.%d %H:%M}",
    "{0:%Y}-{0.month}-{0.day} {0.hour}:{0:%M}",
)
READ = {
    " 2026-01-31 08:00:00 UTC\n": EIGHT,
    "20260131T160000+0800": EIGHT,
    "2026-01-31T02:30:00-05:30": EIGHT,
    "2026-01-31T16:00:00": EIGHT,  # naive: Shanghai's
    "2026-01-31": utc(2026, 1, 30, 16),
    "2026-01-31T08:00:00.123456789Z": utc(2026, 1, 31, 8, 0, 0, 123456),
    "2016-12-31T23:59:60.7Z": utc(2016, 12, 31, 23, 59, 59, 999999),
    "1769846400.250": utc(2026, 1, 31, 8, 0, 0, 250000),
    "2026/1/31 下午4:00:00": EIGHT,
    "2026/1/31 12:05 AM": utc(2026, 1, 30, 16, 5),
    "2026/1/31, 4:00:00\u202fPM": EIGHT,
    "Sat, 31 Jan 2026 09:00:00 +0100": EIGHT,
    "Sat Jan 31 2026 16:00:00 GMT+0800 (China Standard Time)": EIGHT,
    1769846400.25: utc(2026, 1, 31, 8, 0, 0, 250000),
    946684800: utc(2000, 1, 1),
}
UNREADABLE = [
    None, True, False, "", "昨天下午三点", "2026-02-30T08:00:00Z", "2026-01-31T25:00:00Z", "2026-01-31T08:00:61Z",
    "2026-01-31T08:00:00+24:00", "2026-01-31T08:00:00+05:75", "2026-01-3108:00", "2026-0131", "２０２６-01-31",
    "10月11日", "11/10/26", "11/10/2026", "13/10/2026", "January 31st, 2026", "2026年1月31日 下午4点", "2026/11", "2026/11/10 9", "2026/11/10 24:00", "2026/02/30", "31/31/2026", "2026/11/10 09:00 CST",
    "2026年11月10日 9", "2026年11月10日 晚上12点", "2026年11月10日 晚上2点", "2026年11月10日 上午12:30", "2026年11月10日 上午13:00",
    "2026/11/10 0:30 PM", "2026/11/10 9:00 AM AM", "2026/11/10 或 9:00", "2026年11月10日 星期三",
    "1999/12/31 23:59", "1999年12月31日", "2026/11-10", "2026/11/100", "12026/11/10",
    "1999-12-31T23:59:59.999Z", "2000-01-01T07:59:59", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00",
    float("nan"), float("inf"), -float("inf"), "nan", "1e999", 0, -1, 946684799, 946684799999, 10**15, 10**5000, "9" * 5000,
    [], {}, ["2026-01-31"], {"$date": "2026-01-31"}, b"2026-01-31",
]  # fmt: skip


@pytest.mark.parametrize(("value", "instant"), READ.items())
def test_read_instant_accepts_common_time_formats(value: object, instant: datetime) -> None:
    assert read_instant(value, SHANGHAI) == instant


@pytest.mark.parametrize("value", UNREADABLE, ids=lambda v: repr(v)[:30] if not isinstance(v, int) else type(v).__name__)
def test_read_instant_returns_none_for_impossible_times(value: object) -> None:
    assert read_instant(value, SHANGHAI) is None


@given(JSON_VALUES | NEARLY_TIMES, ZONES)
def test_read_instant_never_raises_and_returns_utc_or_none(value: object, zone: ZoneInfo) -> None:
    t = read_instant(value, zone)
    assert t is None or (t.tzinfo is UTC and t >= utc(2000, 1, 1))


@given(MINUTES, st.sampled_from(WRITTEN))
def test_read_instant_reads_a_minute_of_which_the_year_comes_first(t: datetime, form: str) -> None:
    assert read_instant(form.format(t), SHANGHAI) == t.replace(tzinfo=SHANGHAI).astimezone(UTC)


@given(st.integers(946684800, 253402300799), ZONES)
def test_read_instant_distinguishes_seconds_from_milliseconds(seconds: int, zone: ZoneInfo) -> None:
    t = read_instant(seconds, zone)
    assert t == read_instant(seconds * 1000, zone) == read_instant(str(seconds), zone) == read_instant(f"{seconds}000", zone)
