"""
Instants, local days and deadlines: the one reader of the clock, the stored form of times.

Stored times are UTC with milliseconds and `Z`; a day is a calendar day in the workspace's time zone (docs/architecture.md).
A function that needs the time gets a `Clock` or a moment as argument. A `Deadline` limits how long a turn may take: each step
checks it between two files, groups or answers and then ends with what it has so far; nothing is interrupted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo, available_timezones

from ..text.record import record
from .disk import read_outside
from .errors import BadConfig
from .texts import Text

Clock: TypeAlias = Callable[[], datetime]  # aware, UTC

#: A clock that moves no more than SMALL was only corrected.
SMALL: Final = timedelta(hours=1)
LARGE: Final = timedelta(days=1)

#: The zone that an error names where none is like what was given: Beijing's, of which "UTC+8" and "CST" are written most.
_EXAMPLE: Final = "Asia/Shanghai"


@record
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
        known = available_timezones()
    if not known:
        raise BadConfig("archive.timezone", Text("this machine has no time zone data; install the Python package tzdata"))
    from difflib import get_close_matches

    likely = get_close_matches(name, [name for name in known if "/" in name], n=1)
    near = likely[0] if likely and "beijing" not in name.lower() else _EXAMPLE  # no zone has the name of Beijing
    raise BadConfig(
        "archive.timezone",
        Text("{name!r} is no known time zone; use an IANA name such as {near}", name=name[:60], near=repr(near)),
    )


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
