"""The periods that are summarised, local days and months: their names, and which period a day belongs to (protocol.md, 3.4)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Final, Literal

from ..storage.clock import local

RECENT_DAYS: Final = 5  # calendar days; docs/reference/protocol.md, 3.4
#: Of archive runs that begin early since the history is over its caps, at most one in this time.
OVERFLOW_INTERVAL: Final = timedelta(minutes=10)
_TIME: Final = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]"
#: What `care.quiet_hours` may hold: "22:00-07:00", or nothing.
QUIET_HOURS: Final = rf"|{_TIME}-{_TIME}"


@dataclass(frozen=True, slots=True, order=True)
class Period:
    """A day or a month; *label* is "2026-01-15" or "2025-12", so that labels sort by time."""

    label: str

    @property
    def kind(self) -> Literal["day", "month"]:
        """Whether the period is a day or a month."""
        return "day" if len(self.label) == len("2026-01-15") else "month"

    @property
    def group(self) -> str:
        """The name of its group of tasks and failures: "day-2026-01-15", "month-2025-12"."""
        return f"{self.kind}-{self.label}"

    @property
    def last_day(self) -> str:
        """A label that sorts after every day of the period and before the next period; used to do the newest period first."""
        return self.label if self.kind == "day" else f"{self.label}-99"

    def holds(self, day: date) -> bool:
        """Return whether *day* is in the period."""
        return day.isoformat().startswith(self.label)


def day(of: date) -> Period:
    """Return the period of one day."""
    return Period(of.isoformat())


def month(of: date) -> Period:
    """Return the period of the month of a day."""
    return Period(of.isoformat()[:7])


def read_period(label: str) -> Period | None:
    """Return the period of *label*; None when it is not a day or a month of the calendar."""
    try:
        date.fromisoformat(label if len(label) != len("2026-01") else f"{label}-01")
    except ValueError:
        return None
    return Period(label) if re.fullmatch(r"\d{4}-\d{2}(-\d{2})?", label) else None


def period_of_group(group: str) -> Period | None:
    """Return the period of a group's name; None for any other name."""
    period = read_period(group.partition("-")[2])
    return period if period and period.group == group else None


def summary_period(of: date, today: date, recent_days: int = RECENT_DAYS) -> Period | None:
    """
    Return the period whose summary covers the day; None while the day is recent and has no summary.

    >>> summary_period(date(2025, 12, 1), date(2026, 1, 31)), summary_period(date(2025, 11, 30), date(2026, 1, 31))
    (Period(label='2025-12-01'), Period(label='2025-11'))
    >>> summary_period(date(2025, 12, 31), date(2026, 2, 1)), summary_period(date(2026, 1, 27), date(2026, 2, 1))
    (Period(label='2025-12'), None)
    """
    if (today - of).days <= recent_days:
        return None
    first_of_last_month = (today.replace(day=1) - timedelta(days=1)).replace(day=1)
    return day(of) if of >= first_of_last_month else month(of)


def quiet_until(hours: str, now: datetime, zone: tzinfo) -> datetime | None:
    """
    Return when the quiet *hours* end that *now* is in, in UTC; None where it is in none. "22:00-07:00" goes over midnight.

    >>> from zoneinfo import ZoneInfo
    >>> quiet_until("22:00-07:00", datetime(2026, 1, 28, 15, tzinfo=ZoneInfo("UTC")), ZoneInfo("Asia/Shanghai")).isoformat()
    '2026-01-28T23:00:00+00:00'
    """
    if not hours:
        return None
    begin, end = (time.fromisoformat(text) for text in hours.split("-"))
    here = local(now, zone)
    at = here.time()
    is_quiet = begin <= at < end if begin <= end else at >= begin or at < end
    if not is_quiet:
        return None
    day = here.date() + timedelta(days=at >= end)
    return datetime.combine(day, end, zone).astimezone(now.tzinfo)
