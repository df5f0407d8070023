"""
The days of what was summarised: those that its texts name, and those that they mean by a relative word. Pure.

A day is a month and a day of the month, 0 where one is not named.
"""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Final

from recalld.supervisor.text.lazy_re import lazy_re

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date

    from recalld.supervisor.text.figures import Figure

#: How far from the day of a message a weekday, "the 20th" or "next week" may be that it names.
_NEAR: Final = timedelta(days=14)
_DAYS: Final = tuple(
    (lazy_re(words), range(first, last + 1))
    for words, first, last in (
        (r"今[天晚早]|(?i:\btoday\b|\btonight\b|this (?:morning|afternoon|evening))", 0, 0),
        (r"明[天早晚]|(?i:\btomorrow\b)", 1, 1),
        (r"后天|(?i:day after tomorrow)", 2, 3),
        (r"昨[天晚]|(?i:\byesterday\b|last night)", -1, -1),
        (r"前[天晚]|(?i:day before yesterday)", -2, -2),
    )
)
_WEEKS: Final = tuple(
    (lazy_re(words), range(first, last + 1))
    for words, first, last in (
        (r"[这本]周|周末|(?i:(?:this|the) (?:week|weekend))", -6, 8),
        (r"下(?:个)?(?:周|星期|礼拜)|(?i:next week|coming week)", 1, 14),
        (r"上(?:个)?(?:周|星期|礼拜)|(?i:last week)", -14, -1),
    )
)
_WEEKEND: Final = lazy_re(r"周末|(?i:\bweekend)")
#: How long before its message a day of no named month may be: "the 20th", said on the 24th.
_PAST: Final = timedelta(days=7)
#: Words for a month, this one or its neighbours: an answer may name the month, but no day of it.
_MONTHS: Final = tuple(
    (lazy_re(words), away) for words, away in ((r"下个?月|(?i:next month)", 1), (r"上个?月|(?i:last month)", -1))
)
_MONTH_END: Final = lazy_re(r"月底|(?i:end of (?:the|this) month)")
_SLASHED: Final = lazy_re(r"(?<![\d/])(\d{1,2})/(\d{1,2})(?![\d/])")
_YEAR_MONTHS: Final = 12
_RANGE: Final = lazy_re(r"(?<!\d)(\d{1,2})(?:st|nd|rd|th)? ?(?:to|and|or|[-–—&~]) ?$", re.IGNORECASE)
_MOST_HOURS: Final = 24 * 800  # of what may lead to another day
_AHEAD: Final = lazy_re(r"后|later|from now")
_BEFORE: Final = lazy_re(r"前|ago")
_AROUND: Final = 8  # characters around a number that say when


@dataclass(frozen=True)
class Days:
    """The days in what was *said*: of each text its day, its words and its figures."""

    said: tuple[tuple[date | None, str, tuple[Figure, ...]], ...]

    def has(self, value: object) -> bool:
        """Return whether they are of this day, or of this month where *value* names no day of it."""
        month, day = value if isinstance(value, tuple) else (0, 0)
        if not day:
            return any(of == month for of, _ in self.all)
        return any(d == day and (of in (month, 0) or not month) for of, d in self.all)

    @cached_property
    def named(self) -> frozenset[tuple[int, int]]:
        """Every day that the texts name, or mean by a word for one day."""
        found = set[tuple[int, int]]()
        for day, text, those in self.said:
            named = [one for one in those if one.kind == "day" and isinstance(one.value, tuple)]
            found |= {one.value for one in named if isinstance(one.value, tuple)} | set(_first_of_ranges(text, named))
            slashed = [tuple(map(int, match.groups())) for match in _SLASHED.finditer(text)]
            found |= {(month, of) for one in slashed for month, of in (one, one[::-1]) if 0 < month <= _YEAR_MONTHS and of > 0}
            if day:
                near = {day + timedelta(days=n) for pattern, away in _DAYS if pattern.search(text) for n in away}
                near |= set(_counted(day, text, those)) | set(_month_end(day, text)) | {day}
                near |= {one for figure in named for one in _near(day, figure) if one >= day - _PAST}
                found |= {(one.month, one.day) for one in near}
        return frozenset(found)

    @cached_property
    def all(self) -> frozenset[tuple[int, int]]:
        """Every day that the texts name, or mean by any relative word."""
        found = set(self.named)
        for day, text, those in self.said:
            if day:
                near = {day + timedelta(days=n) for pattern, away in _WEEKS if pattern.search(text) for n in away}
                later = (day + timedelta(hours=one.base) for one in those if one.measures == "hour" and one.base < _MOST_HOURS)
                found |= {(one.month, 0) for one in later}  # in two months, for six weeks
                found |= {((day.month - 1 + away) % 12 + 1, 0) for pattern, away in _MONTHS if pattern.search(text)}
                near |= {one for figure in those for one in _near(day, figure)}
                found |= {(one.month, one.day) for one in near}
        return frozenset(found)

    @cached_property
    def pointed(self) -> frozenset[float]:
        """The days of a month as numbers with a point: 1.22."""
        return frozenset(month + day / 100 for month, day in self.all if month and day)

    @cached_property
    def weekdays(self) -> frozenset[int]:
        """The weekdays that the texts name, and those of the days that they name."""
        named = {one.value for _, _, those in self.said for one in those if one.kind == "weekday"}
        named |= {5, 6} if any(_WEEKEND.search(text) for _, text, _ in self.said) else set()
        return frozenset(named | {one for day in self.named for one in self._weekdays_of(*day)})  # type: ignore[arg-type]

    def _weekdays_of(self, month: int, day: int) -> set[int]:
        """Return which weekdays a day of a month may be: of the years of the texts, and of the next."""
        years = {said.year + n for said, _, _ in self.said if said for n in (0, said.month > month > 0)}
        return {calendar.weekday(year, month, day) for year in years if month and day and _is_day(year, month, day)}

    def contradict(self, day: Figure, weekday: Figure) -> bool:
        """Return whether the day is no such weekday."""
        known = self._weekdays_of(*day.value) if isinstance(day.value, tuple) else set()
        return bool(known) and weekday.value not in known


def _counted(day: date, text: str, those: tuple[Figure, ...]) -> Iterator[date]:
    """Yield the days that are named by how long before or after *day* they are: 三天后, "two weeks ago"."""
    for one in those:
        if one.measures == "hour":
            around = text[one.end : one.end + _AROUND]
            for sign, words in ((1, _AHEAD), (-1, _BEFORE)):
                if words.search(around) or (
                    sign > 0 and text[max(0, one.start - 4) : one.start].lower().strip().endswith(("in", "过"))
                ):
                    yield day + sign * timedelta(hours=min(one.base, _MOST_HOURS))


def _near(day: date, figure: Figure) -> Iterator[date]:
    """Yield the days near *day* that a weekday may mean, or a day of the month."""
    if figure.kind == "weekday":
        around = (day + timedelta(days=n) for n in range(-_NEAR.days, _NEAR.days + 1))
        yield from (one for one in around if one.weekday() == figure.value)
    elif figure.kind == "day" and isinstance(figure.value, tuple) and not figure.value[0]:
        months = {(day + timedelta(days=n)).replace(day=1) for n in (-31, 0, 31)}
        yield from (one.replace(day=figure.value[1]) for one in months if _is_day(one.year, one.month, figure.value[1]))


def _first_of_ranges(text: str, named: Sequence[Figure]) -> Iterator[tuple[int, int]]:
    """Yield the first day of each range that ends with a day of a month: 5 of "5 to 7 May"."""
    for one in named:
        month = one.value[0] if isinstance(one.value, tuple) else 0
        if month and (match := _RANGE.search(text[max(0, one.start - _AROUND) : one.start])):
            yield month, int(match[1])


def _month_end(day: date, text: str) -> Iterator[date]:
    """Yield the last day of the month of *day* where the text names it."""
    if _MONTH_END.search(text):
        yield day.replace(day=calendar.monthrange(day.year, day.month)[1])


def _is_day(year: int, month: int, day: int) -> bool:
    return day <= calendar.monthrange(year, month)[1]
