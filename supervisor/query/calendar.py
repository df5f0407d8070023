"""Stretches of days, as people name them: what the rules of dates in both languages count with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final


@dataclass(frozen=True, slots=True)
class Days:
    """From *first* to *last*, both included."""

    first: date
    last: date

    def __contains__(self, day: date) -> bool:
        return self.first <= day <= self.last

    @property
    def length(self) -> int:
        """How many days it has."""
        return (self.last - self.first).days + 1

    def away(self, day: date) -> int:
        """Return how many days *day* lies after the stretch, negative before it, 0 in it."""
        return max(0, (day - self.last).days) or min(0, (day - self.first).days)

    @property
    def label(self) -> str:
        """The stretch as a person reads it: "2026-01-28", "2026-01-05..2026-01-11"."""
        return f"{self.first}" if self.first == self.last else f"{self.first}..{self.last}"


#: Parts of a month by their first and last day; 31 stands for the last there is.
PARTS: Final = {"early": (1, 10), "mid": (11, 20), "late": (21, 31), "begin": (1, 7), "end": (25, 31), "whole": (1, 31)}
#: Seasons by their first month, as the northern half of the earth has them.
SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}
#: Feasts of the sun's calendar by first and last day. Those of the moon's (春节, 中秋) are found by their names alone.
FEASTS: Final = {
    "new year": ((1, 1), (1, 3)),
    "valentine": ((2, 14), (2, 14)),
    "labour day": ((5, 1), (5, 5)),
    "children": ((6, 1), (6, 1)),
    "national day": ((10, 1), (10, 7)),
    "halloween": ((10, 31), (10, 31)),
    "christmas eve": ((12, 24), (12, 24)),
    "christmas": ((12, 24), (12, 26)),
    "new year's eve": ((12, 31), (12, 31)),
}
#: Parts of a year by first and last month.
_YEAR_PARTS: Final = {"begin": (1, 2), "end": (11, 12), "first half": (1, 6), "second half": (7, 12)}


def one(year: int, month: int, day: int) -> Days | None:
    """Return that one day; None where the calendar has none."""
    try:
        found = date(year, month, day)
    except ValueError:
        return None
    return Days(found, found)


def latest(month: int, day: int, today: date) -> Days | None:
    """Return the day of that name which is the last one not after *today*."""
    # subtle: 29 February may lie up to eight years back
    found = (one(year, month, day) for year in range(today.year, today.year - 9, -1))
    return next((days for days in found if days and days.first <= today), None)


def month_of(year: int, month: int, part: str = "whole") -> Days | None:
    """Return that month, or the *part* of it."""
    if not (1 <= month <= 12 and 1 <= year <= 9998):
        return None
    length = (date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)).day
    first, last = PARTS[part]
    return Days(date(year, month, first), date(year, month, min(last, length)))


def latest_month(month: int, today: date, part: str = "whole") -> Days | None:
    """Return the month of that name which is the last one that has begun."""
    return month_of(today.year - (month > today.month), month, part)


def day_of_month_back(today: date, months: int, day: int) -> Days | None:
    """Return that day of the month so many months before *today*'s; None where it has no such day."""
    month = months_back(today, months)
    return month and one(month.first.year, month.first.month, day)


def months_back(today: date, count: int) -> Days | None:
    """Return the calendar month *count* months before today's."""
    index = today.year * 12 + today.month - 1 - count
    return month_of(index // 12, index % 12 + 1)


def year_of(year: int) -> Days | None:
    """Return the whole year."""
    return Days(date(year, 1, 1), date(year, 12, 31)) if 1 <= year <= 9998 else None


def part_of_year(year: int, part: str) -> Days | None:
    """Return its beginning, its end, or one of its halves."""
    first, last = (month_of(year, month) for month in _YEAR_PARTS[part])
    return Days(first.first, last.last) if first and last else None


def feast_of(year: int, feast: str) -> Days | None:
    """Return the days of the feast in that year."""
    first, last = (one(year, *day) for day in FEASTS[feast])
    return Days(first.first, last.last) if first and last else None


def latest_feast(feast: str, today: date) -> Days | None:
    """Return the last one that has begun."""
    found = feast_of(today.year, feast)
    return found if found and found.first <= today else feast_of(today.year - 1, feast)


def season_of(year: int, season: str) -> Days | None:
    """Return three months; winter begins in December of *year*."""
    first = month_of(year, SEASONS[season])
    last = month_of(year + (season == "winter"), (SEASONS[season] + 1) % 12 + 1)
    return Days(first.first, last.last) if first and last else None


def latest_season(season: str, today: date) -> Days | None:
    """Return the season of that name which is the last one that has begun."""
    found = season_of(today.year, season)
    return found if found and found.first <= today else season_of(today.year - 1, season)


def days_back(today: date, count: int, around: int = 0) -> Days | None:
    """Return the day *count* days ago, with *around* days on both sides; None where the calendar ends."""
    try:
        there = today - timedelta(days=count)
        return Days(there - timedelta(days=around), there + timedelta(days=around))
    except OverflowError:
        return None


def week_back(today: date, count: int) -> Days | None:
    """Return the week, from Monday to Sunday, *count* weeks before today's."""
    monday = days_back(today, today.weekday() + 7 * count)
    return Days(monday.first, monday.first + timedelta(days=6)) if monday else None


def weekday_back(today: date, weekday: int, weeks: int | None = None) -> Days | None:
    """Return that weekday (0 = Monday) of the week *weeks* ago; without one the last that is not after *today*."""
    back = (today.weekday() - weekday) % 7 if weeks is None else today.weekday() - weekday + 7 * weeks
    return days_back(today, back)


def weekend_back(today: date, weeks: int | None = None) -> Days | None:
    """Return Saturday and Sunday of the week *weeks* ago; without one the last that has begun."""
    saturday = weekday_back(today, 5, weeks)
    return Days(saturday.first, saturday.first + timedelta(days=1)) if saturday else None


def ago(today: date, count: int, unit: str) -> Days | None:
    """
    Return about what "*count* *unit*s ago" means: the day, the days around a week's distance, the month, the year.

    >>> ago(date(2026, 1, 31), 2, "week").label, ago(date(2026, 1, 31), 3, "month").label
    ('2026-01-14..2026-01-20', '2025-10-01..2025-10-31')
    """
    if unit == "day":
        return days_back(today, count)
    if unit == "week":
        return days_back(today, 7 * count, around=3)
    return months_back(today, count) if unit == "month" else year_of(today.year - count)


def past(today: date, count: int, unit: str) -> Days | None:
    """
    Return the *count* *unit*s up to today.

    >>> past(date(2026, 1, 31), 2, "week").label
    '2026-01-17..2026-01-31'
    """
    first = days_back(today, count * {"day": 1, "week": 7, "month": 30, "year": 365}[unit])
    return Days(first.first, today) if first else None
