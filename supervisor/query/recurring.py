"""
The days of what happens every week or month: 每周三晚上吉他课, "swimming on Tuesdays and Fridays", 每月5号交房租.

They have no date. Each is a word of the message, and of a question for what is to be done on such a day.
"""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Final

from recalld.supervisor.query.calendar import day_tokens, number
from recalld.supervisor.text.lazy_re import lazy_re

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recalld.supervisor.query.calendar import Days

_HAN_DAYS: Final = "一二三四五六日天"
_HAN_WEEK: Final = "(?:周|星期|礼拜)"
#: More weekdays, without 周, are a number where one of these follows: 每周三一节课, 每周五六点.
_HAN_NEXT: Final = rf"[{_HAN_DAYS}]+(?![0-9{_HAN_DAYS}零两十百千万半个点次节堂号月天小趟场共起直般些时分到至])"
#: Every such day: 每周三, 每周二、四, 隔周五, 每周一到周五, 每个周末.
CHINESE: Final = (
    rf"(?:每|隔|逢)个?{_HAN_WEEK}(?:末|[{_HAN_DAYS}](?:(?:到|至|[-~—]){_HAN_WEEK}?[{_HAN_DAYS}]"
    rf"|(?:[、，,和跟与及]?(?:每?{_HAN_WEEK}[{_HAN_DAYS}](?![{_HAN_DAYS}])|{_HAN_NEXT}))*))"
)
_DAY: Final = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_EACH: Final = rf"(?:{_DAY}s?|mon|tues?|weds?|thur?s?|fri|sat|sun|week-?ends?)\b"
_AND: Final = r"(?:\s*(?:,|&|/|\band\b|\bor\b))+\s*"
#: Every such day: "every other Friday", "Tuesdays and Thursdays", "on weekends"; most Fridays are not all.
ENGLISH: Final = (
    rf"\b(?:(?:every|each|most)\s+(?:other\s+|second\s+|single\s+)?{_EACH}(?:{_AND}(?:every\s+|each\s+)?{_EACH})*"
    rf"|(?:{_DAY}|week-?end)s\b(?:{_AND}(?:{_DAY}|week-?end)s?\b)*)"
)
_EVERY: Final = (lazy_re(CHINESE), lazy_re(ENGLISH, re.IGNORECASE))
#: A day of every month: 每月5号, 每个月的二十号, "the 1st of every month", "every month on the 20th".
MONTHLY_CHINESE: Final = r"每个?月的?\s?(?P<n>[0-9]{1,2}|[一二三四五六七八九十]{1,3})\s?[号日]"
_MONTHLY_ENGLISH: Final = (
    r"\b(?:(?P<n>[0-3]?[0-9])(?:st|nd|rd|th)\s+of\s+(?:every|each|the)\s+month\b"
    r"|(?:every\s+month|each\s+month|monthly),?\s+(?:on|by)\s+the\s+(?P<then>[0-3]?[0-9])(?:st|nd|rd|th)\b)"
)
_MONTHLY: Final = (lazy_re(MONTHLY_CHINESE), lazy_re(_MONTHLY_ENGLISH, re.IGNORECASE))
#: Signs that a sentence is about every day that it names: 周五下午我一般不开会, "I'm usually free on Friday".
USUAL: Final = lazy_re(
    r"喜欢|习惯|一般|通常|总[是在]|从不|从来|平时|\b(?:prefer|usually|always|never|generally|normally|typically)\b",
    re.IGNORECASE,
)
_NAMED: Final = lazy_re(rf"(?<![上下这本个]){_HAN_WEEK}[{_HAN_DAYS}]|(?<!last )(?<!next )(?<!this )\b{_DAY}\b", re.IGNORECASE)
_SENTENCE: Final = lazy_re(r"(?:[^。！？!?\n；;.]|\.(?!\s))+")
_TO: Final = lazy_re("[到至~—-]")
_WHICH: Final = lazy_re(rf"(?P<latin>mon|tue|wed|thu|fri|sat|sun)|(?P<end>末|week-?end)|(?P<han>[{_HAN_DAYS}])", re.IGNORECASE)
#: A longer span is a week, not a weekend: what marks its days as tokens of a message.
FEW: Final = 2
WITHIN: Final = "within-"
_LATIN_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def recurring(text: str) -> list[str]:
    """
    Return the days of *text* on which something happens every week or month, as tokens; Monday is weekly-1.

    >>> recurring("每周二、四游泳"), recurring("piano every Wed and Saturdays"), recurring("周五我一般不开会")
    (['weekly-2', 'weekly-4'], ['weekly-3', 'weekly-6'], ['weekly-5'])
    >>> recurring("房租每月5号转"), recurring("rent is due on the 1st of every month")
    (['monthly-5'], ['monthly-1'])
    """
    found = [match[0] for pattern in _EVERY for match in pattern.finditer(text)]
    if USUAL.search(text):
        usual = filter(USUAL.search, _SENTENCE.findall(text))
        found += [match[0] for sentence in usual for match in _NAMED.finditer(sentence)]
    weekly = [f"weekly-{day}" for part in found for day in _weekdays(part)]
    months = [match["n"] or match["then"] for pattern in _MONTHLY for match in pattern.finditer(text)]
    return list(dict.fromkeys([*weekly, *(f"monthly-{number(day)}" for day in months)]))


def occasions(days: Days) -> dict[str, tuple[str, ...]]:
    """
    Return what else a message about a day may have, for each day of a span: a longer span with it, and what recurs on it.

    A span of a week has nearly all that recurs: of that it has nothing.

    >>> from datetime import date
    >>> from recalld.supervisor.query.calendar import Days
    >>> occasions(Days(date(2026, 11, 28), date(2026, 11, 28)))
    {'2026-11-28': ('within-2026-11-28', 'weekly-6', 'monthly-28')}
    """
    found: dict[str, tuple[str, ...]] = {token: (f"{WITHIN}{token}",) for token in day_tokens(days)}
    if days.length <= FEW:
        for token, spans in found.items():
            day = date.fromisoformat(token)
            found[token] = (*spans, f"weekly-{day.isoweekday()}", f"monthly-{day.day}")
    return found


def _weekdays(part: str) -> Iterator[int]:
    """Yield the weekdays that a part of a text names, 1 to 7; those between two with 到 as well."""
    named = [day for match in _WHICH.finditer(part) for day in _number(match)]
    match named:
        case first, last if first < last and _TO.search(part):
            yield from range(first, last + 1)
        case _:
            yield from named


def _number(match: re.Match[str]) -> tuple[int, ...]:
    if match["end"]:
        return 6, 7
    if match["han"]:
        return (min(_HAN_DAYS.index(match["han"]), 6) + 1,)
    return (_LATIN_DAYS.index(match["latin"].lower()) + 1,)
