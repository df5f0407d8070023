"""Spans of days as people name them: arithmetic for the date rules of both languages (dates_en, dates_zh)."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.record import record

if TYPE_CHECKING:
    from collections.abc import Iterable


@record
class Days:
    """The days from *first* to *last*, both included."""

    first: date
    last: date

    def __contains__(self, day: date) -> bool:
        return self.first <= day <= self.last

    @property
    def length(self) -> int:
        """The number of days."""
        return (self.last - self.first).days + 1

    def away(self, day: date) -> int:
        """Return how many days *day* is after the span, negative before it, 0 within it."""
        return max(0, (day - self.last).days) or min(0, (day - self.first).days)

    @property
    def label(self) -> str:
        """The span as a person reads it: "2026-01-28", "2026-01-05..2026-01-11"."""
        return f"{self.first}" if self.first == self.last else f"{self.first}..{self.last}"


_DAY: Final = lazy_re(r"(?:within-)?\d{4}-\d\d(?:-\d\d)?|(?:weekly|monthly)-\d+(?:-\d)?")
#: A span of at most so many days is about each of them, a longer one about its months.
LONGEST: Final = 9


def day_tokens(days: Days) -> list[str]:
    """
    Return the days of a span as tokens, as a date is written, 2026-11-24; of a longer span its months, 2026-11.

    A message about a day has both.
    """
    there = [(days.first + timedelta(days=n)).isoformat() for n in range(days.length)]
    return there if days.length <= LONGEST else month_tokens(there)


def month_tokens(days: Iterable[str]) -> list[str]:
    """Return the months of some days, both as tokens: 2026-11 of 2026-11-24."""
    return list(dict.fromkeys(day[: len("2026-11")] for day in days))


def is_day(token: str) -> bool:
    """Return whether a token is a day, a month, or what recurs."""
    return bool(_DAY.fullmatch(token))


#: Parts of a month by their first and last day; 31 means the last day of the month.
PARTS: Final = {
    "early": (1, 10), "mid": (11, 20), "late": (21, 31), "begin": (1, 7), "end": (25, 31), "whole": (1, 31),
    "second week": (8, 14), "third week": (15, 21), "fourth week": (22, 28),
}  # fmt: skip
#: Seasons by their first month, on the northern hemisphere.
SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}
#: Holidays of the solar calendar by first and last day. Those of the lunar one (春节, 中秋) are only found as words.
HOLIDAYS: Final = {
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


#: The English weekdays by their first three letters, Monday first.
WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
#: The digits of Chinese numbers, with their values.
HAN_DIGITS: Final = {
    char: n for n, chars in enumerate(("〇零", "一", "二两", "三", "四", "五", "六", "七", "八", "九")) for char in chars
}


def number(text: str) -> int:
    """
    Return the value of a number of up to two digits: 28, 二十八 or 廿八.

    >>> number("28"), number("二十八"), number("十"), number("廿一")
    (28, 28, 10, 21)
    """
    if text.isascii():
        return int(text)
    text = text.replace("廿", "二十")
    tens, ten, ones = text.rpartition("十")
    return (HAN_DIGITS.get(tens, 1) * 10 if ten else 0) + HAN_DIGITS.get(ones, 0)


def single_day(year: int, month: int, day: int) -> Days | None:
    """Return a single day; None if the calendar has no such day."""
    try:
        found = date(year, month, day)
    except ValueError:
        return None
    return Days(found, found)


def latest_day(month: int, day: int, today: date) -> Days | None:
    """Return the last such day that is not after *today*."""
    # subtle: 29 February may be up to eight years ago
    found = (single_day(year, month, day) for year in range(today.year, today.year - 9, -1))
    return next((days for days in found if days and days.first <= today), None)


def month_of(year: int, month: int, part: str = "whole") -> Days | None:
    """Return a month, or a *part* of it; None outside of the calendar."""
    if not (1 <= month <= 12 and 1 <= year <= 9998):
        return None
    length = (date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)).day
    first, last = PARTS[part]
    return Days(date(year, month, first), date(year, month, min(last, length)))


def latest_month(month: int, today: date, part: str = "whole") -> Days | None:
    """Return the last such month that has begun."""
    return month_of(today.year - (month > today.month), month, part)


def day_of_month_back(today: date, months: int, day: int) -> Days | None:
    """Return that day of the month *months* before today's; None if it has no such day."""
    month = months_back(today, months)
    return month and single_day(month.first.year, month.first.month, day)


def latest_numbered(today: date, day: int) -> Days | None:
    """Return that day of this month, or of the one before if it is still to come; None if that month has no such day."""
    found = single_day(today.year, today.month, day)
    return found if found and found.first <= today else day_of_month_back(today, 1, day)


def next_numbered(said: date, day: int) -> Days | None:
    """Return that day of this month, or of the next that has it if it is over."""
    months = (day_of_month_back(said, -ahead, day) for ahead in range(3))
    return next((found for found in months if found and found.first >= said), None)


def months_back(today: date, count: int) -> Days | None:
    """Return the calendar month *count* months before today's."""
    index = today.year * 12 + today.month - 1 - count
    return month_of(index // 12, index % 12 + 1)


def year_of(year: int) -> Days | None:
    """Return a whole year; None outside of the calendar."""
    return Days(date(year, 1, 1), date(year, 12, 31)) if 1 <= year <= 9998 else None


def part_of_year(year: int, part: str) -> Days | None:
    """Return the beginning, the end, or a half of a year."""
    first, last = (month_of(year, month) for month in _YEAR_PARTS[part])
    return Days(first.first, last.last) if first and last else None


def holiday_of(year: int, feast: str) -> Days | None:
    """Return the days of the holiday in that year."""
    first, last = (single_day(year, *day) for day in HOLIDAYS[feast])
    return Days(first.first, last.last) if first and last else None


def latest_holiday(feast: str, today: date) -> Days | None:
    """Return the last such holiday that has begun."""
    found = holiday_of(today.year, feast)
    return found if found and found.first <= today else holiday_of(today.year - 1, feast)


def season_of(year: int, season: str) -> Days | None:
    """Return the three months of a season; winter begins in December of *year*."""
    first = month_of(year, SEASONS[season])
    last = month_of(year + (season == "winter"), (SEASONS[season] + 1) % 12 + 1)
    return Days(first.first, last.last) if first and last else None


def latest_season(season: str, today: date) -> Days | None:
    """Return the last such season that has begun."""
    found = season_of(today.year, season)
    return found if found and found.first <= today else season_of(today.year - 1, season)


def days_back(today: date, count: int, around: int = 0) -> Days | None:
    """Return the day *count* days ago, with *around* days on both sides; None outside of the calendar."""
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
    """Return that weekday (0 = Monday) of the week *weeks* ago; with None the last one that is not after *today*."""
    back = (today.weekday() - weekday) % 7 if weeks is None else today.weekday() - weekday + 7 * weeks
    return days_back(today, back)


def weekend_back(today: date, weeks: int | None = None) -> Days | None:
    """Return Saturday and Sunday of the week *weeks* ago; with None the last weekend that has begun."""
    saturday = weekday_back(today, 5, weeks)
    return Days(saturday.first, saturday.first + timedelta(days=1)) if saturday else None


def ago(today: date, count: int, unit: str) -> Days | None:
    """
    Return the span that "*count* *unit*s ago" means: a day, seven days around it for weeks, a month, or a year.

    >>> ago(date(2026, 1, 31), 2, "week").label, ago(date(2026, 1, 31), 3, "month").label
    ('2026-01-14..2026-01-20', '2025-10-01..2025-10-31')
    """
    if unit == "day":
        return days_back(today, count)
    if unit == "week":
        return days_back(today, 7 * count, around=3)
    return months_back(today, count) if unit == "month" else year_of(today.year - count)


def past_span(today: date, count: int, unit: str) -> Days | None:
    """
    Return the *count* *unit*s up to today.

    >>> past_span(date(2026, 1, 31), 2, "week").label
    '2026-01-17..2026-01-31'
    """
    first = days_back(today, count * {"day": 1, "week": 7, "month": 30, "year": 365}[unit])
    return Days(first.first, today) if first else None
