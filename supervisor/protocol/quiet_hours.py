"""`care.quiet_hours`: the hours of a day in which nothing begins that is not urgent."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Final

from ..storage.clock import local

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

_TIME: Final = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]"
#: What the key may hold: "22:00-07:00", or nothing.
QUIET_HOURS: Final = rf"|{_TIME}-{_TIME}"


def quiet_until(hours: str, now: datetime, zone: ZoneInfo) -> datetime | None:
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
