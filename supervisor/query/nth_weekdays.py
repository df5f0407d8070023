"""
Weekdays by their number in a month: of every month (每月第一个周四, "the last Friday of the month"), or of one that is named.

Of every month they are no date: each is a word of the message, as what happens every week is (`recurring`). Of a named month
("the first Thursday in December", 下个月第二个周六) they are a day.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from recalld.supervisor.query.calendar import HAN_DIGITS, WEEKDAYS, Days, month_of, months_back, number
from recalld.supervisor.text.lazy_re import lazy_re

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

_NTH: Final = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "last": 0}
_ORDINAL: Final = f"(?:{'|'.join(_NTH)})"
_DAY: Final = r"(?P<weekday>mon|tue|wed|thu|fri|sat|sun)[a-z]*\b"
_MONTH: Final = "(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_HAN_DAYS: Final = "一二三四五六日天"
_HAN_WEEK: Final = "(?:周|星期|礼拜)"
_HAN_NTH: Final = "(?:第[一二三四1-4](?:[个]?[、和跟及]第?[一二三四1-4])*|最后一?|头一|首)"
_HAN_DAY: Final = rf"个?{_HAN_WEEK}(?:的?{_HAN_WEEK})?(?P<weekday>[{_HAN_DAYS}])"
#: Of every month: "the first and third Tuesday of the month", 每月最后一个周五; "every second Friday" is one of two.
EVERY_ENGLISH: Final = (
    rf"\b(?P<nth>{_ORDINAL}(?:(?:\s*,|\s+and|\s*&)\s+(?:the\s+)?{_ORDINAL})*)\s+{_DAY}\s+(?:(?:of|in)\s+)?(?:the|every|each|a)\s+month\b"
    rf"|\b(?:every|each)\s+(?P<every>first|last)\s+{_DAY.replace('weekday', 'other')}"
)
EVERY_CHINESE: Final = rf"每个?月的?(?P<nth>{_HAN_NTH}){_HAN_DAY}"
#: Of one month: "the first Thursday in December", "last Friday of next month", 下个月第二个周六.
ONE_ENGLISH: Final = rf"\b(?P<nth>{_ORDINAL})\s+{_DAY}\s+(?:of|in)\s+(?:(?P<near>this|next|last)\s+month|{_MONTH})\b"
ONE_CHINESE: Final = (
    rf"(?P<month>(?:[上下这]个?|本)月|(?:1[0-2]|[1-9]|十[一二]?|[一二三四五六七八九])月份?)的?(?P<nth>{_HAN_NTH}){_HAN_DAY}"
)
_EVERY: Final = tuple(map(lazy_re, (EVERY_CHINESE, f"(?i:{EVERY_ENGLISH})")))
_ANY: Final = (*_EVERY, *map(lazy_re, (ONE_CHINESE, f"(?i:{ONE_ENGLISH})")))
_NUMBER: Final = lazy_re(f"(?i:{_ORDINAL})|[一二三四1-4头首]|最后")
_BACK: Final = {"this": 0, "这": 0, "本": 0, "last": 1, "上": 1, "next": -1, "下": -1}


def nth_weekdays(text: str) -> list[str]:
    """
    Return the weekdays of every month that *text* names, as tokens: the first Thursday is monthly-1-4, the last monthly-0-4.

    >>> nth_weekdays("book club is the first Thursday of the month"), nth_weekdays("每月第二、四个周六大扫除")
    (['monthly-1-4'], ['monthly-2-6', 'monthly-4-6'])
    """
    found = [match for pattern in _EVERY for match in pattern.finditer(text)]
    return [f"monthly-{nth}-{_weekday(match)}" for match in found for nth in _numbers(match)]


def without_nth_weekdays(text: str) -> str:
    """Return the text with blanks in place of such weekdays, which are no weekdays of every week."""
    for pattern in _ANY:
        text = pattern.sub(lambda match: " " * len(match[0]), text)
    return text


def as_nth(day: date) -> tuple[str, ...]:
    """
    Return the tokens that a day has by its weekday's number in its month.

    >>> as_nth(date(2026, 11, 26))
    ('monthly-4-4', 'monthly-0-4')
    """
    numbers = [(day.day - 1) // 7 + 1, *([0] if (day + timedelta(days=7)).month != day.month else [])]
    return tuple(f"monthly-{nth}-{day.isoweekday()}" for nth in numbers)


def nth_of_month(match: re.Match[str], today: date) -> Days | None:
    """Return the day of the named month that is nearest to *today*, by a match of `ONE_ENGLISH` or `ONE_CHINESE`."""
    near = match.groupdict().get("near") or (match["month"][0] if match["month"][0] in _BACK else "")
    if near:
        return _day(match, months_back(today, _BACK[near.lower()]))
    month = _MONTHS.index(match["month"].lower()) + 1 if match["month"].isascii() else number(match["month"].split("月")[0])
    years = [_day(match, month_of(today.year + more, month)) for more in (-1, 0, 1)]
    return min((days for days in years if days), key=lambda days: abs(days.first - today), default=None)


def latest_nth_of_month(match: re.Match[str], today: date) -> Days | None:
    """Return the last such day that is not after *today*; None if it is of a month to come."""
    found = nth_of_month(match, today)
    if found and found.first > today and match.groupdict().get("near") is None and match["month"][0] not in _BACK:
        return nth_of_month(match, date(found.first.year - 1, found.first.month, 1))
    return found if found and found.first <= today else None


def _day(match: re.Match[str], month: Days | None) -> Days | None:
    if month is None:
        return None
    nth, weekday = next(_numbers(match)), _weekday(match) - 1
    if nth:
        there = month.first + timedelta(days=(weekday - month.first.weekday()) % 7 + 7 * (nth - 1))
    else:
        there = month.last - timedelta(days=(month.last.weekday() - weekday) % 7)
    return Days(there, there)


def _numbers(match: re.Match[str]) -> Iterator[int]:
    groups = match.groupdict()
    for found in _NUMBER.findall(groups["nth"] or groups["every"]):
        yield _NTH.get(found.lower(), 0 if found == "最后" else HAN_DIGITS.get(found) or (int(found) if found.isdigit() else 1))
        if found == "最后":
            return


def _weekday(match: re.Match[str]) -> int:
    found = match["weekday"] or match["other"]
    return min(_HAN_DAYS.index(found), 6) + 1 if found in _HAN_DAYS else WEEKDAYS.index(found[:3].lower()) + 1
