"""
Instants, local days and deadlines: the one reader of the clock, the stored form of times, and the times that others write.

Stored times are UTC with milliseconds and `Z`; a day is a calendar day in the workspace's time zone (docs/architecture.md).
A function that needs the time gets a `Clock` or a moment as argument. A `Deadline` limits how long a turn may take: each step
checks it between two files, groups or answers and then ends with what it has so far; nothing is interrupted.

What other programs write (ISO 8601, epochs, days with the year first) is read where it can mean one thing only. "11/10/2026"
may be two days, and nobody else can know which one, so recalld reports it and does not guess (docs/reference/protocol.md, 2.5).
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo

from ..text.lazy_re import lazy_re
from .disk import read_outside
from .errors import BadConfig, quoted
from .texts import Text, msgid

Clock: TypeAlias = Callable[[], datetime]  # aware, UTC

#: A clock that moves no more than SMALL was only corrected.
SMALL: Final = timedelta(hours=1)


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

    def part(self, share: float) -> Deadline:
        """Return the deadline of the first part of the time that is left."""
        return Deadline(self.now() + share * self.left_s, self.now)


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

    >>> to_wire(datetime(2026, 1, 31, 16, 0, tzinfo=ZoneInfo("Asia/Shanghai")))
    '2026-01-31T08:00:00.000Z'
    """
    if t.utcoffset() is None:
        raise ValueError(f"a time without a zone can't be stored: {t.isoformat()}")
    moment = t if t.tzinfo is UTC else t.astimezone(UTC)
    return moment.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


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


def wire_time(value: object) -> datetime | None:
    """Return the instant that a field of JSON holds; None for anything else."""
    try:
        return from_wire(value) if isinstance(value, str) else None
    except ValueError:
        return None


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
        why = Text("{name!r} is no known time zone; use an IANA name such as 'Asia/Shanghai'", name=name[:60])
        raise BadConfig("archive.timezone", why) from None


def machine_zone(environ: Mapping[str, str] = os.environ, etc: Path = Path("/etc")) -> str:
    """
    Return the IANA name of this machine's time zone: TZ, else the link /etc/localtime, else /etc/timezone, else "UTC".

    The link is what the machine's own clock goes by; `timedatectl set-timezone` leaves /etc/timezone as it was.
    """
    names = [environ.get("TZ", "")]
    with suppress(OSError):
        names.append(str((etc / "localtime").readlink()))
    with suppress(OSError):
        names.append(read_outside(etc / "timezone").decode("utf-8", "replace"))
    for name in names:
        # TZ may be ":Asia/Shanghai" or a path; the link is one: ../usr/share/zoneinfo/Asia/Shanghai
        candidate = name.strip().removeprefix(":").rpartition("zoneinfo/")[2]
        with suppress(KeyError, ValueError, OSError):  # also POSIX rules such as CST-8, which are not names
            if candidate:
                return ZoneInfo(candidate).key
    return "UTC"


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC)  # docs/reference/protocol.md, 2: an earlier time is impossible
# The year 10000 in seconds. As milliseconds the same number is in 1978, before _EARLIEST: a smaller number can only be
# seconds, any other only milliseconds, and no plausible instant is misread.
_YEAR_10000: Final = 253_402_300_800
_LEAP_SECOND: Final = 60
_MICROSECOND_DIGITS: Final = 6
_NOON: Final = 12

_NUMBER: Final = lazy_re(r"[0-9]{9,15}(?:\.[0-9]{1,12})?")
_ISO: Final = lazy_re(
    r"(?P<year>[0-9]{4})(?P<sep>-?)(?P<month>[0-9]{2})(?P=sep)(?P<day>[0-9]{2})"  # 2026-01-31 or 20260131
    r"(?:[Tt ]+(?P<hour>[0-9]{2})(?::?(?P<minute>[0-9]{2})(?::?(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]+))?)?)?"
    r" ?(?:(?P<utc>Z|z|UTC|GMT)|(?P<sign>[+-])(?P<off_h>[0-9]{2})(?::?(?P<off_m>[0-5][0-9]))?)?)?"  # Z, +08:00, +0800, +08
)
#: A day of which the year comes first: 2026/1/31 16:00, 2026.01.31, 2026年1月31日 下午4:00, 2026/1/31, 4:00 PM.
_DAY_FIRST: Final = lazy_re(
    r"(?P<year>[0-9]{4})\s*(?P<sep>[/.年-])\s*(?P<month>[0-9]{1,2})\s*(?:(?P=sep)|月)\s*(?P<day>[0-9]{1,2})(?![0-9])\s*[日号號]?"
    r"(?:[T,，\s]*(?P<half>上午|下午)?\s*(?P<hour>[0-9]{1,2})[:：](?P<minute>[0-9]{2})"
    r"(?:[:：](?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]+))?)?\s*(?P<half_after>[AP]\.?M\.?)?"
    r"\s*(?:(?P<utc>Z|UTC|GMT)|(?P<sign>[+-])(?P<off_h>[0-9]{2})(?::?(?P<off_m>[0-5][0-9]))?)?)?",
    re.IGNORECASE,
)
#: A date of mail and of HTTP: Sat, 31 Jan 2026 08:00:00 GMT.
_MAIL: Final = lazy_re(r"[A-Z][a-z]{2}, [0-9]{1,2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} (?:[+-][0-9]{4}|GMT|UTC)")
#: JavaScript's `String(new Date())`: Sat Jan 31 2026 16:00:00 GMT+0800 (China Standard Time).
_SCRIPT: Final = lazy_re(r"([A-Z][a-z]{2} [A-Z][a-z]{2} [0-9]{2} [0-9]{4} [0-9:]{8} GMT[+-][0-9]{4})(?: \([^()]*\))?")


def read_instant(value: object, zone: tzinfo) -> datetime | None:
    """
    Return the aware UTC instant that a message's createdAt means, None where it means none or may mean two; never raises.

    Known forms are ISO 8601 strings (`Z`, offsets, a space for the T, any number of decimals, comma fractions, a date alone, a
    leap second as the last moment before it; without an offset the time is in *zone*), days with the year first
    (`2026年11月10日 9:00`, `2026/11/10 09:00`), dates of mail (`Tue, 10 Nov 2026 09:00:00 +0800`) and of JavaScript, and
    numbers or digits as epoch seconds or milliseconds, distinguished by size. A time before 2000 or after 9999 returns None.
    """
    instant = _instant(value, zone)
    return instant if instant and instant >= _EARLIEST else None


def why_no_instant(value: object, zone: tzinfo) -> str:
    """Return why `read_instant` returns None, as in "'noon' is no time; write it like …"."""
    return Text(
        msgid("{value} is before 2000, and no message is that old")
        if _instant(value, zone)
        else msgid("{value} is no time; write it like 2026-01-28T09:02:00+08:00"),
        value=quoted(value),
    )


def why_not_said_at(value: object, zone: tzinfo, latest: datetime) -> str:
    """Return why *value* can't be the time of a message, "" where it can; no message is later than *latest*."""
    t = read_instant(value, zone)
    if t is None:
        return why_no_instant(value, zone)
    if t <= latest:
        return ""
    until = latest.astimezone(zone).isoformat(timespec="minutes")
    return Text(
        "{value} is too far ahead: no time after {latest} is believed (archive.future_limit)", value=quoted(value), latest=until
    )


def _instant(value: object, zone: tzinfo) -> datetime | None:
    with suppress(ValueError, OverflowError):  # day 31 of February, hour 25, offset +24:00, year 9999 west of Greenwich
        if isinstance(value, int | float):  # True too: it is one second after 1970, before all messages
            return _from_number(value)
        text = value.strip() if isinstance(value, str) else ""
        if _NUMBER.fullmatch(text):
            return _from_number(float(text))
        if match := _ISO.fullmatch(text) or _DAY_FIRST.fullmatch(text):
            return _from_parts(match.groupdict(), zone)
        if _MAIL.fullmatch(text):
            from email.utils import parsedate_to_datetime  # here: it takes as long as all the rest, and few times are such

            time = parsedate_to_datetime(text)  # "-0000" is UTC too, and comes without a zone
            return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
        if match := _SCRIPT.fullmatch(text):
            return datetime.strptime(match[1], "%a %b %d %Y %H:%M:%S GMT%z").astimezone(UTC)
    return None


def _from_number(number: float) -> datetime | None:
    """Epoch seconds or milliseconds; the comparison refuses NaN, infinities and integers too large for a float."""
    if not 0 <= number < _YEAR_10000 * 1000:
        return None
    return _EPOCH + (timedelta(seconds=number) if number < _YEAR_10000 else timedelta(milliseconds=number))


def _from_parts(parts: dict[str, str | None], zone: tzinfo) -> datetime:
    """Return the instant; a leap second is the last microsecond before it, which keeps the order."""
    year, month, day, minute, second, off_h, off_m = (
        int(parts[name] or 0) for name in ("year", "month", "day", "minute", "second", "off_h", "off_m")
    )
    micro = int((parts["fraction"] or "")[:_MICROSECOND_DIGITS].ljust(_MICROSECOND_DIGITS, "0"))
    if second == _LEAP_SECOND:
        second, micro = 59, 999_999
    hour = _hour(int(parts["hour"] or 0), parts.get("half"), parts.get("half_after"))
    if parts["utc"] or parts["sign"]:
        offset = timedelta(hours=off_h, minutes=off_m)
        zone = timezone(-offset if parts["sign"] == "-" else offset)
    return datetime(year, month, day, hour, minute, second, micro, tzinfo=zone).astimezone(UTC)


def _hour(hour: int, before: str | None, after: str | None) -> int:
    """Return the hour of 24; ValueError for one that does not go with the half of the day."""
    half = (before or after or "").lower()
    is_after_noon = half.startswith(("下午", "p"))
    if not half or (hour >= _NOON and is_after_noon):
        return hour
    if half.startswith("a") and hour == _NOON:
        return 0
    if (before and after) or hour >= _NOON or (hour == 0 and is_after_noon):  # 上午12:30 may be noon
        raise ValueError(hour)
    return hour + _NOON * is_after_noon
