"""
The weekdays on which something happens every week: 每周三晚上吉他课, "swimming on Tuesdays and Fridays".

They have no date. Each is a word of the message, and of a question for what is to be done on such a day.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Final

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
#: Signs that a sentence is about every day that it names: 周五下午我一般不开会, "I'm usually free on Friday".
USUAL: Final = lazy_re(
    r"喜欢|习惯|一般|通常|总[是在]|从不|从来|平时|\b(?:prefer|usually|always|never|generally|normally|typically)\b",
    re.IGNORECASE,
)
_NAMED: Final = lazy_re(rf"(?<![上下这本个]){_HAN_WEEK}[{_HAN_DAYS}]|(?<!last )(?<!next )(?<!this )\b{_DAY}\b", re.IGNORECASE)
_SENTENCE: Final = lazy_re(r"(?:[^。！？!?\n；;.]|\.(?!\s))+")
_TO: Final = lazy_re("[到至~—-]")
_WHICH: Final = lazy_re(rf"(?P<latin>mon|tue|wed|thu|fri|sat|sun)|(?P<end>末|week-?end)|(?P<han>[{_HAN_DAYS}])", re.IGNORECASE)
_FEW: Final = 2
_LATIN_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def weekly(text: str) -> list[str]:
    """
    Return the weekdays of *text* on which something happens every week, as tokens; Monday is weekly-1.

    >>> weekly("每周二、四游泳"), weekly("piano every Wed and Saturdays"), weekly("周五我一般不开会"), weekly("bins on Friday")
    (['weekly-2', 'weekly-4'], ['weekly-3', 'weekly-6'], ['weekly-5'], [])
    """
    found = [match[0] for pattern in _EVERY for match in pattern.finditer(text)]
    if USUAL.search(text):
        usual = filter(USUAL.search, _SENTENCE.findall(text))
        found += [match[0] for sentence in usual for match in _NAMED.finditer(sentence)]
    return list(dict.fromkeys(f"weekly-{day}" for part in found for day in _weekdays(part)))


def weekly_on(days: Days) -> list[str]:
    """
    Return the weekdays of a day or of a weekend, as `weekly` has them; none of a longer span, which has all of them.

    >>> from datetime import date
    >>> from recalld.supervisor.query.calendar import Days
    >>> weekly_on(Days(date(2026, 11, 28), date(2026, 11, 29)))
    ['weekly-6', 'weekly-7']
    """
    few = days.length if days.length <= _FEW else 0
    return [f"weekly-{(days.first + timedelta(days=n)).isoweekday()}" for n in range(few)]


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
