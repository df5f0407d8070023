"""
Instants, local days and deadlines: the one reader of the clock, the stored form of times, the parser of foreign times.

Stored times are UTC with milliseconds and `Z`; a day is a calendar day in the workspace's time zone (docs/architecture.md).
A function that needs the time gets a `Clock` or a moment as argument. A `Deadline` limits how long a turn may take: each step
checks it between two files, groups or answers and then ends with what it has so far; nothing is interrupted.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo, available_timezones

from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.errors import BadConfig

Clock: TypeAlias = Callable[[], datetime]  # aware, UTC

#: A clock that moves no more than SMALL was only corrected.
SMALL: Final = timedelta(hours=1)
LARGE: Final = timedelta(days=1)

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC)  # docs/reference/protocol.md, 2: an earlier time is impossible
# The year 10000 in seconds. As milliseconds the same number is in 1978, before _EARLIEST: a smaller number can only be
# seconds, any other only milliseconds, and no plausible instant is misread.
_YEAR_10000: Final = 253_402_300_800
_LEAP_SECOND: Final = 60
# "UTC+8", "GMT-03:30" and "+0800", which people write for a time zone; the cities that may be meant by them.
_OFFSET: Final = re.compile(r"(?:UTC|GMT)?([+-][0-9]{1,2})(?::?([0-9]{2}))?")
_CITIES: Final = (
    *("Asia/Shanghai", "Asia/Tokyo", "Asia/Kolkata", "Asia/Dubai", "Australia/Sydney", "Europe/London", "Europe/Berlin"),
    *("Europe/Athens", "Europe/Moscow", "America/Sao_Paulo", "America/New_York", "America/Chicago", "America/Denver"),
    *("America/Los_Angeles", "Pacific/Honolulu", "Pacific/Auckland"),
)
_HALF_YEARS: Final = (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC))
_MICROSECOND_DIGITS: Final = 6

#: Characters of a wrong time that a sentence quotes.
_MOST_QUOTED: Final = 40
_NUMBER: Final = re.compile(r"[0-9]{9,15}(?:\.[0-9]{1,12})?")
_ISO: Final = re.compile(
    r"([0-9]{4})(-?)([0-9]{2})\2([0-9]{2})"  # 2026-01-31 or 20260131
    r"(?:[Tt ]+([0-9]{2})(?::?([0-9]{2})(?::?([0-9]{2})(?:[.,]([0-9]+))?)?)?"  # T08:00:00.123, from hours on
    r" ?(?:(Z|z|UTC|GMT)|([+-])([0-9]{2})(?::?([0-5][0-9]))?)?)?",  # Z, +08:00, +0800, +08
)


@dataclass(frozen=True, slots=True)
class Deadline:
    """A limit in time: the moment *ends_at* of the clock *now*, in seconds (configuration: recall.timeout_ms)."""

    ends_at: float
    now: Callable[[], float] = time.monotonic

    @property
    def left_s(self) -> float:
        """Seconds until the deadline, never below 0."""
        return max(0.0, self.ends_at - self.now())

    @property
    def is_over(self) -> bool:
        """Whether the deadline has passed."""
        return self.now() >= self.ends_at


#: The deadline of work that nobody waits for.
NEVER: Final = Deadline(float("inf"))


def utc_now() -> datetime:
    """Return the current time, aware, UTC. No other function reads the wall clock."""
    return datetime.now(UTC)


def steady_s() -> float:
    """Return seconds of a clock that nobody can set; time in system sleep counts where the system has such a clock."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


def fixed_clock(t: datetime) -> Clock:
    """Return a clock that always shows *t*."""
    return lambda: t


def clock_from(t: datetime) -> Clock:
    """Return a clock that shows *t* now and goes on with monotonic time (RECALLD_NOW with `run`)."""
    started = time.monotonic()
    return lambda: t + timedelta(seconds=time.monotonic() - started)


def within(seconds: float, now: Callable[[], float] = time.monotonic) -> Deadline:
    """Return the deadline *seconds* from now."""
    return Deadline(now() + seconds, now)


def to_wire(t: datetime) -> str:
    """
    Return *t* as it is stored: UTC, milliseconds (truncated, not rounded), `Z`. ValueError for a naive *t*.

    >>> to_wire(datetime(2026, 1, 31, 16, 0, tzinfo=timezone(timedelta(hours=8))))
    '2026-01-31T08:00:00.000Z'
    """
    if t.utcoffset() is None:
        raise ValueError(f"a time without a zone can't be stored: {t.isoformat()}")
    return t.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def truncate_to_ms(t: datetime) -> datetime:
    """Return *t* truncated to milliseconds, as it is after writing and reading."""
    return t.replace(microsecond=t.microsecond // 1000 * 1000)


def from_wire(text: str) -> datetime:
    """Return the aware UTC instant of *text* (ISO 8601 with `Z` or an offset); ValueError for anything else."""
    try:
        t = datetime.fromisoformat(text)
        if t.utcoffset() is not None:
            return t.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"not a time that can be represented: {text!r}") from error
    raise ValueError(f"a time without a zone: {text!r}")


def read_instant(value: object, zone: tzinfo) -> datetime | None:
    """
    Return the aware UTC instant that a message's createdAt means, or None for an unknown form; never raises.

    Known forms are ISO 8601 strings (`Z`, offsets, a space for the T, any number of decimals, comma fractions, a date alone, a
    leap second as the last moment before it; without an offset the time is in *zone*), and numbers or strings of digits as
    epoch seconds or milliseconds, distinguished by size. A time before 2000 or after 9999 returns None.
    """
    t = _parse_instant(value, zone)
    return t if t is not None and t >= _EARLIEST else None


def why_no_instant(value: object, zone: tzinfo) -> str:
    """Return why `read_instant` returns None, as in "'noon' is no time; write it like …"."""
    if (t := _parse_instant(value, zone)) and t < _EARLIEST:
        return Text("time.before_2000", value=_quoted(value))
    return Text("time.no_time", value=_quoted(value))


def why_not_said_at(value: object, zone: tzinfo, latest: datetime) -> str:
    """Return why a message can't have been said at *value*, which may be at *latest*; "" if it can."""
    t = read_instant(value, zone)
    if t is None:
        return why_no_instant(value, zone)
    return Text("time.too_far", value=_quoted(value)) if t > latest else ""


def _quoted(value: object) -> str:
    """Return the value as a sentence quotes it, its beginning where it is long: it may be the text of a message."""
    text = repr(value)
    return text if len(text) <= _MOST_QUOTED else f"{text[:_MOST_QUOTED]}…"


def _parse_instant(value: object, zone: tzinfo) -> datetime | None:
    try:
        if isinstance(value, str):
            text = value.strip()
            t = _from_number(float(text)) if _NUMBER.fullmatch(text) else _from_iso(text, zone)
        elif isinstance(value, int | float):  # True too: it is one second after 1970, hence None
            t = _from_number(value)
        else:
            return None
    except (ValueError, OverflowError):  # day 31 of February, hour 25, offset +24:00, year 9999 west of Greenwich
        return None
    return t


def local(t: datetime, zone: tzinfo) -> datetime:
    """Return *t* (aware) in *zone*; *t* itself at the ends of the calendar, where no such time exists."""
    try:
        return t.astimezone(zone)
    except (OverflowError, ValueError):
        return t


def local_day(t: datetime, zone: tzinfo) -> date:
    """Return the calendar day of *t* (aware) in *zone*; at the ends of the calendar the nearest day."""
    return local(t, zone).date()


def find_zone(name: str) -> ZoneInfo:
    """Return the time zone of that IANA name; BadConfig("archive.timezone", …) for an unknown name."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # an unknown name; an absolute path or NUL; a folder such as "Asia"
        known = available_timezones()
    if not known:
        raise BadConfig("archive.timezone", Text("time.no_zone_data"))
    *most, last = map(repr, _near_zones(name, known))
    near = Text("allowed.one_of", most=most, last=last) if most else last
    raise BadConfig("archive.timezone", Text("time.no_zone", name=name[:60], near=near))


def _near_zones(name: str, known: Collection[str]) -> list[str]:
    """Return the names that were probably meant: those with that offset or abbreviation, else the one most like it."""
    offset = _OFFSET.fullmatch(name.strip().upper())
    wanted = timedelta(hours=int(offset[1]), minutes=int(f"{offset[1][0]}{offset[2] or 0}")) if offset else None

    def is_meant(zone: str) -> bool:
        moments = [t.astimezone(ZoneInfo(zone)) for t in _HALF_YEARS]
        return any(t.utcoffset() == wanted or t.tzname() == name.upper() for t in moments)

    # not "Etc/GMT-8", which is UTC+8
    places = sorted(one for one in known if "/" in one and not one.startswith("Etc/"))
    for zones in (_CITIES, places):
        if found := list(filter(is_meant, zones)):
            return found[:2]
    if "beijing" in name.lower():  # the database has no such name, and the one most like it is Asia/Brunei
        return ["Asia/Shanghai"]
    from difflib import get_close_matches

    return get_close_matches(name, places, n=1) or ["Asia/Shanghai"]


def machine_zone(environ: Mapping[str, str] = os.environ, etc: Path = Path("/etc")) -> str:
    """
    Return the IANA name of this machine's time zone: TZ, else the link /etc/localtime, else /etc/timezone, else "UTC".

    The link is what the machine's own clock goes by; `timedatectl set-timezone` leaves /etc/timezone as it was.
    """
    for name in (environ.get("TZ", ""), _target(etc / "localtime"), _text(etc / "timezone")):
        # TZ may be ":Asia/Shanghai" or a path; the link is one: ../usr/share/zoneinfo/Asia/Shanghai
        candidate = name.strip().removeprefix(":").rpartition("zoneinfo/")[2]
        if candidate and _is_zone(candidate):
            return candidate
    return "UTC"


def _from_number(number: float) -> datetime | None:
    """Epoch seconds or milliseconds; the comparison refuses NaN, infinities and integers too large for a float."""
    if not 0 <= number < _YEAR_10000 * 1000:
        return None
    return _EPOCH + (timedelta(seconds=number) if number < _YEAR_10000 else timedelta(milliseconds=number))


def _from_iso(text: str, zone: tzinfo) -> datetime | None:
    found = _ISO.fullmatch(text)
    if found is None:
        return None
    year, _, month, day, hour, minute, second, fraction, utc, sign, off_hours, off_minutes = found.groups()
    seconds = int(second or 0)
    micro = int((fraction or "")[:_MICROSECOND_DIGITS].ljust(_MICROSECOND_DIGITS, "0"))
    if seconds == _LEAP_SECOND:  # the last microsecond before it, which keeps the order
        seconds, micro = 59, 999_999
    if utc:
        zone = UTC
    elif sign:
        offset = timedelta(hours=int(off_hours), minutes=int(off_minutes or 0))
        zone = timezone(-offset if sign == "-" else offset)
    local = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), seconds, micro, tzinfo=zone)
    return local.astimezone(UTC)


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # also POSIX rules such as CST-8, which are not names
        return False
    return True


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""
