"""
Instants and days: the one reader of the clock, the wire form, and the tolerant reading of other programs' times.

Stored times are UTC with milliseconds and `Z`; a day is a calendar day in the workspace's zone (architecture.md, rule
9). Who needs the time is handed a `Clock`. What Python's own parser refuses or lets through to a later crash:
durability.md 2.6 (leap seconds, years 1 and 9999, milliseconds taken for seconds).

How long a turn may wait: a moment of the monotonic clock, after which every step ends with what it has so far.

Steps look at it between two files, two groups, two answers; nothing is interrupted, so each piece between two looks is small.
Source: design of recall; config recall.timeout_ms.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo, available_timezones

from supervisor.protocol.errors import BadConfig

Clock: TypeAlias = Callable[[], datetime]  # aware, UTC

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC)  # protocol.md 2: before 2000 is impossible
# The year 10000 in seconds. As milliseconds the same number is 1978, before _EARLIEST: so below it a number can only
# mean seconds, from it on only milliseconds, and no plausible instant is read wrongly.
_YEAR_10000: Final = 253_402_300_800
_LEAP_SECOND: Final = 60
_MICROSECOND_DIGITS: Final = 6

_NUMBER: Final = re.compile(r"[0-9]{9,15}(?:\.[0-9]{1,12})?")
_ISO: Final = re.compile(
    r"([0-9]{4})(-?)([0-9]{2})\2([0-9]{2})"  # 2026-01-31 or 20260131
    r"(?:[Tt ]+([0-9]{2})(?::?([0-9]{2})(?::?([0-9]{2})(?:[.,]([0-9]+))?)?)?"  # T08:00:00.123, from hours on
    r" ?(?:(Z|z|UTC|GMT)|([+-])([0-9]{2})(?::?([0-5][0-9]))?)?)?",  # Z, +08:00, +0800, +08
)


def utc_now() -> datetime:
    """The present moment, aware, UTC. The only place that reads the wall clock."""
    return datetime.now(UTC)


def steady_s() -> float:
    """Seconds since some moment, by a clock that nobody sets; where the system has one, sleep counts as well."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


def frozen(t: datetime) -> Clock:
    """A clock that stands at *t*."""
    return lambda: t


def starting_at(t: datetime) -> Clock:
    """A clock that shows *t* now and runs on from there by monotonic time (RECALLD_NOW with `run`)."""
    started = time.monotonic()
    return lambda: t + timedelta(seconds=time.monotonic() - started)


def to_wire(t: datetime) -> str:
    """
    *t* as it is stored: UTC, milliseconds (cut, not rounded), `Z`. A naive *t* is a ValueError.

    >>> to_wire(datetime(2026, 1, 31, 16, 0, tzinfo=timezone(timedelta(hours=8))))
    '2026-01-31T08:00:00.000Z'
    """
    if t.utcoffset() is None:
        raise ValueError(f"a time without a zone can't be stored: {t.isoformat()}")
    return t.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def to_the_millisecond(t: datetime) -> datetime:
    """The instant as it is read again from a file."""
    return t.replace(microsecond=t.microsecond // 1000 * 1000)


def from_wire(text: str) -> datetime:
    """The aware UTC instant that *text* (ISO 8601 with `Z` or an offset) names; anything else is a ValueError."""
    try:
        t = datetime.fromisoformat(text)
        if t.utcoffset() is not None:
            return t.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"not an instant that can be held: {text!r}") from error
    raise ValueError(f"a time without a zone: {text!r}")


def read_instant(value: object, zone: tzinfo) -> datetime | None:
    """
    The aware UTC instant that a message's createdAt means, or None where it can't be known; never raises.

    Read are ISO 8601 strings (`Z`, offsets, a space for the T, any number of decimals, comma fractions, date alone,
    a leap second as the last moment before it; without an offset: in *zone*), and numbers or strings of digits as epoch
    seconds or milliseconds, told apart by size. None: anything else, and what lies before 2000 or after 9999.
    """
    try:
        if isinstance(value, str):
            text = value.strip()
            t = _from_number(float(text)) if _NUMBER.fullmatch(text) else _from_iso(text, zone)
        elif isinstance(value, int | float):  # True as well: one second after 1970, hence None
            t = _from_number(value)
        else:
            return None
    except (ValueError, OverflowError):  # day 31 of February, hour 25, offset +24:00, year 9999 west of Greenwich
        return None
    return t if t is not None and t >= _EARLIEST else None


def _from_number(number: float) -> datetime | None:
    """Epoch seconds or milliseconds; the comparison turns away NaN, infinities and integers that no float holds."""
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
    if seconds == _LEAP_SECOND:  # the last microsecond before it, so that order is kept
        seconds, micro = 59, 999_999
    if utc:
        zone = UTC
    elif sign:
        offset = timedelta(hours=int(off_hours), minutes=int(off_minutes or 0))
        zone = timezone(-offset if sign == "-" else offset)
    local = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), seconds, micro, tzinfo=zone)
    return local.astimezone(UTC)


def local(t: datetime, zone: tzinfo) -> datetime:
    """*t* (aware) as it is said in *zone*; at the ends of the calendar, where there is no such time, *t* itself."""
    try:
        return t.astimezone(zone)
    except (OverflowError, ValueError):
        return t


def local_day(t: datetime, zone: tzinfo) -> date:
    """The calendar day of *t* (aware) in *zone*; at the ends of the calendar the nearest day there is."""
    return local(t, zone).date()


def find_zone(name: str) -> ZoneInfo:
    """The time zone of that IANA name; BadConfig("archive.timezone", …) where there is none."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown; an absolute path, NUL; a folder such as "Asia"
        known = available_timezones()
    if not known:
        raise BadConfig("archive.timezone", "this machine has no time zone data; install the Python package tzdata")
    from difflib import get_close_matches

    near = next(iter(get_close_matches(name, known, n=1)), "Asia/Shanghai")
    raise BadConfig("archive.timezone", f"{name[:60]!r} is no known time zone; use an IANA name such as {near!r}")


def machine_zone(environ: Mapping[str, str] = os.environ, etc: Path = Path("/etc")) -> str:
    """The IANA name of this machine's zone: TZ, else /etc/timezone, else the link /etc/localtime, else "UTC"."""
    for name in (environ.get("TZ", ""), _text(etc / "timezone"), _target(etc / "localtime")):
        # TZ may be ":Asia/Shanghai" or a path; the link is one: ../usr/share/zoneinfo/Asia/Shanghai
        candidate = name.strip().removeprefix(":").rpartition("zoneinfo/")[2]
        if candidate and _is_zone(candidate):
            return candidate
    return "UTC"


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # also POSIX rules such as CST-8, which are no names
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


@dataclass(frozen=True, slots=True)
class Deadline:
    """The moment *ends_at* of the clock *now*, in seconds."""

    ends_at: float
    now: Callable[[], float] = time.monotonic

    @property
    def left_s(self) -> float:
        """Seconds that are left, never below 0."""
        return max(0.0, self.ends_at - self.now())

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return self.now() >= self.ends_at


#: For work that nobody waits for.
NEVER: Final = Deadline(float("inf"))


def within(seconds: float, now: Callable[[], float] = time.monotonic) -> Deadline:
    """Return the moment *seconds* from now."""
    return Deadline(now() + seconds, now)
