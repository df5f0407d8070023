"""Where a day's memories belong, seen from today (003, 归档流程 2)."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

from supervisor.protocol.period import Period, day, month

RECENT_DAYS: Final = 5  # calendar days; 003, 时间范围


def home(of: date, today: date, recent_days: int = RECENT_DAYS) -> Period | None:
    """
    Return the period whose summary the day belongs to; None while it is recent and its dated file is its home.

    >>> home(date(2025, 12, 1), date(2026, 1, 31)), home(date(2025, 11, 30), date(2026, 1, 31))
    (Period(label='2025-12-01'), Period(label='2025-11'))
    >>> home(date(2025, 12, 31), date(2026, 2, 1)), home(date(2026, 1, 27), date(2026, 2, 1))
    (Period(label='2025-12'), None)
    """
    if (today - of).days <= recent_days:
        return None
    first_of_last_month = (today.replace(day=1) - timedelta(days=1)).replace(day=1)
    return day(of) if of >= first_of_last_month else month(of)
