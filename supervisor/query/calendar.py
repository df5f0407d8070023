"""
Days as people count them: spans, names in both languages, parts of months and years, the way from day to day, what recurs.

What is outside of the calendar (30 February, the year 10000) raises `ValueError` or `OverflowError`.
"""

import re
from calendar import monthrange
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from ..text.comparing import MONTHS, WEEKDAYS, han_number
from ..text.lazy_re import lazy_re


@dataclass(frozen=True, slots=True)
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


# ── words of an index ────────────────────────────────────────────────────────

_DAY: Final = lazy_re(r"(?:within-)?\d{4}-\d\d(?:-\d\d)?|(?:weekly|monthly)-\d+")
#: A span of at most so many days is about each of them, a longer one about its months.
LONGEST: Final = 9


def day_tokens(days: Days) -> list[str]:
    """
    Return the days of a span as tokens, as a date is written, 2026-11-24; of a longer span its months, 2026-11.

    A message about a day has both.
    """
    days_in = [(days.first + timedelta(days=n)).isoformat() for n in range(days.length)]
    return days_in if days.length <= LONGEST else month_tokens(days_in)


def month_tokens(days: Iterable[str]) -> list[str]:
    """Return the months of some days, both as tokens: 2026-11 of 2026-11-24."""
    return list(dict.fromkeys(day[: len("2026-11")] for day in days))


def is_day(token: str) -> bool:
    """True if the token is a day, a month, or what recurs."""
    return bool(_DAY.fullmatch(token))


# ── numbers and names ────────────────────────────────────────────────────────

#: The English numbers that count days, with their values.
COUNTS: Final = {
    "a": 1, "an": 1, "one": 1, "two": 2, "couple": 2, "three": 3, "four": 4, "five": 5, "few": 5, "several": 5, "six": 6,
    "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30,
}  # fmt: skip
#: The names of weekdays as patterns: 周二 and 星期二 are `HAN_WEEK` with one of `HAN_WEEKDAYS`.
WEEKDAY: Final = r"(?:mon|tues?|wed(?:nes|s)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\b"
HAN_WEEK: Final = "(?:周|星期|礼拜)"
#: The last is the sixth by another name.
HAN_WEEKDAYS: Final = "一二三四五六日天"


def number(text: str) -> int:
    """
    Return the value of a number of up to two digits, or of an English one: 28, 二十八, 廿八, "a couple of"; 几 is five.

    >>> number("28"), number("二十八"), number("十"), number("廿一"), number("a couple of")
    (28, 28, 10, 21, 2)
    """
    if text.isascii():
        word = text.lower().removesuffix(" of")
        return int(word) if word.isdigit() else COUNTS[word.removeprefix("a ")]
    return int(han_number(text.replace("廿", "二十").replace("几", "五")))


def month_number(text: str) -> int:
    """Return the number of a month, 1 to 12, by its English name or its number: "Sept", 9, 九."""
    return MONTHS.index(text[:3].lower()) + 1 if text[:1].isascii() and text[:1].isalpha() else number(text)


def weekday_number(text: str) -> int:
    """Return the number of a weekday, 0 (Monday) to 6: "Tues", 二."""
    return min(HAN_WEEKDAYS.index(text), 6) if text in HAN_WEEKDAYS else WEEKDAYS.index(text[:3].lower())


# ── months and years ──────────────────────────────────────────────────────────


#: Parts of a month, in both languages, by their first and last day; 31 means the last day of the month.
PARTS: Final = {
    word: days
    for words, days in (
        ("", (1, 31)),
        ("初|beginning|start", (1, 7)),
        ("上旬|early", (1, 10)),
        ("中旬|中|mid|middle", (11, 20)),
        ("下旬|late", (21, 31)),
        ("底|末|end", (25, 31)),
    )
    for word in words.split("|")
}


def single_day(year: int, month: int, day: int) -> Days:
    """Return a single day."""
    return Days(date(year, month, day), date(year, month, day))


def month_of(year: int, month: int, part: str = "") -> Days:
    """Return a month, or a *part* of it."""
    first, last = PARTS[part]
    return Days(date(year, month, first), date(year, month, min(last, monthrange(year, month)[1])))


def year_of(year: int) -> Days:
    """Return a whole year."""
    return Days(date(year, 1, 1), date(year, 12, 31))


#: In so many years before and after there is a 29 February.
_LEAP: Final = 8


def each_year(of_year: Callable[[int], Days], day: date) -> list[Days]:
    """Return what is once a year, in order, in the years around *day*; *of_year* returns that of a year."""
    return _those_that_exist(of_year, range(day.year - _LEAP, day.year + _LEAP + 1))


def each_month(wanted: int, day: date) -> list[Days]:
    """Return the day *wanted* of the months around that of *day*, in order: the one before, its own, and the two after."""
    return _those_that_exist(lambda months: numbered_from(day, months, wanted), range(-1, 3))


def _those_that_exist(days_of: Callable[[int], Days], numbers: Iterable[int]) -> list[Days]:
    days = []
    for each in numbers:
        with suppress(ValueError, OverflowError):
            days.append(days_of(each))
    return days


# ── the way from a day ───────────────────────────────────────────────────────


def days_from(day: date, ahead: int, around: int = 0) -> Days:
    """Return the day *ahead* days after *day*, with *around* days on both sides."""
    return Days(day + timedelta(days=ahead - around), day + timedelta(days=ahead + around))


def week_from(day: date, weeks: int, first: int = 0, last: int = 6) -> Days:
    """Return the days *first* to *last* (0 = Monday) of the week *weeks* after that of *day*."""
    begin, end = (day + timedelta(days=7 * weeks - day.weekday() + weekday) for weekday in (first, last))
    return Days(begin, end)


def month_from(day: date, months: int, part: str = "") -> Days:
    """Return the month, or a part of it, *months* after that of *day*."""
    index = day.year * 12 + day.month - 1 + months
    return month_of(index // 12, index % 12 + 1, part)


def numbered_from(day: date, months: int, wanted: int) -> Days:
    """Return the day *wanted* of the month *months* after that of *day*."""
    first = month_from(day, months).first
    return single_day(first.year, first.month, wanted)


_LENGTHS: Final = {"day": 1, "week": 7, "fortnight": 14}


def units_from(day: date, ahead: int, unit: str) -> Days:
    """
    Return what is *ahead* units away: a day, seven days around it for weeks ago, a month, or a year.

    >>> units_from(date(2026, 1, 31), -2, "week").label, units_from(date(2026, 1, 31), -3, "month").label
    ('2026-01-14..2026-01-20', '2025-10-01..2025-10-31')
    """
    if unit in _LENGTHS:
        return days_from(day, _LENGTHS[unit] * ahead, around=3 if unit == "week" and ahead < 0 else 0)
    return month_from(day, ahead) if unit == "month" else year_of(day.year + ahead)


# ── every week, every month ──────────────────────────────────────────────────
#
# What recurs has no date: 每周三晚上吉他课, "swimming on Tuesdays", "the 1st of every month". Its days are words of a message,
# which a question for what is to be done on such a day finds.

#: Every such day, in Chinese and in English: 每周三, 每周二、四, "every Monday and Friday", "Tuesdays".
WEEKLY: Final = (
    rf"(?:每|隔|逢)个?{HAN_WEEK}[{HAN_WEEKDAYS}末](?![次个天小百])(?:[、，,和]?{HAN_WEEK}?[{HAN_WEEKDAYS}])*",
    (
        rf"\b(?:(?:every|each)\s+(?:other\s+)?{WEEKDAY}(?:(?:\s*[,&]|\s+and)\s*{WEEKDAY})*"
        r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days\b)"
    ),
)
#: A day of every month: 每月5号, "the 1st of every month".
MONTHLY: Final = (
    r"每个?月的?\s?(?P<n>[0-9]{1,2}|[一二三四五六七八九十]{1,3})\s?[号日]",
    r"\b(?P<n>[0-3]?[0-9])(?:st|nd|rd|th)\s+of\s+(?:every|each|the)\s+month\b",
)
_WEEKLY, _MONTHLY = ((lazy_re(zh), lazy_re(en, re.IGNORECASE)) for zh, en in (WEEKLY, MONTHLY))
_NAMED: Final = lazy_re(rf"mon|tue|wed|thu|fri|sat|sun|[{HAN_WEEKDAYS}]", re.IGNORECASE)

#: A longer span is a week, not a weekend: what marks its days as tokens of a message.
FEW: Final = 2
WITHIN: Final = "within-"


def recurring(text: str) -> list[str]:
    """
    Return the days of *text* on which something happens every week or month, as tokens; Monday is weekly-1.

    >>> recurring("每周二、四游泳"), recurring("piano every Wed and Saturday")
    (['weekly-2', 'weekly-4'], ['weekly-3', 'weekly-6'])
    >>> recurring("房租每月5号转"), recurring("book club is the first Thursday of the month")
    (['monthly-5'], [])
    """
    weekly = [day for pattern in _WEEKLY for match in pattern.finditer(text) for day in _NAMED.findall(match[0])]
    monthly = [match["n"] for pattern in _MONTHLY for match in pattern.finditer(text)]
    tokens = [*(f"weekly-{weekday_number(day) + 1}" for day in weekly), *(f"monthly-{number(day)}" for day in monthly)]
    return list(dict.fromkeys(tokens))


def occasions(days: Days) -> dict[str, tuple[str, ...]]:
    """
    Return what else a message about a day may have, for each day of a span: a longer span with it, and what recurs on it.

    A span of a week has nearly all that recurs: of that it has nothing.

    >>> occasions(Days(date(2026, 11, 28), date(2026, 11, 28)))
    {'2026-11-28': ('within-2026-11-28', 'weekly-6', 'monthly-28')}
    """
    tokens: dict[str, tuple[str, ...]] = {token: (f"{WITHIN}{token}",) for token in day_tokens(days)}
    for token, spans in tokens.items() if days.length <= FEW else ():
        day = date.fromisoformat(token)
        tokens[token] = (*spans, f"weekly-{day.isoweekday()}", f"monthly-{day.day}")
    return tokens
