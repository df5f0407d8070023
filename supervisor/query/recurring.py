"""
The days of what happens every week or month: 每周三晚上吉他课, "swimming on Tuesdays", 每月5号, "the 1st of every month".

They have no date. Each is a word of the message, and of a question for what is to be done on such a day.
"""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Final

from ..text.lazy_re import lazy_re
from ..text.tokenizer import HAN
from .calendar import HAN_WEEK, HAN_WEEKDAYS, MONTH, WEEKDAY, day_tokens, number, weekday_number
from .intent import AHEAD, OVER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .calendar import Days

# ── every week, every month ──────────────────────────────────────────────────

#: What follows a number of times or of things: 每周一次, 每周三公里, 每周五百块.
_COUNTED: Final = r"(?![零两十百千万半次个节堂趟场回遍顿页单篇封本杯瓶包片斤里块元条件套]|小时|分钟|天(?!气)|公里|毫升)"
_HAN_DAY: Final = rf"(?:[一二三四五六]{_COUNTED}|[日天])"
#: More weekdays, without 周, are a number where one of these follows: 每周三一节课, 每周五六点.
_HAN_NEXT: Final = rf"[{HAN_WEEKDAYS}]+(?![0-9{HAN_WEEKDAYS}零两十百千万半个点次节堂号月天小趟场共起直般些时分到至])"
_DAY: Final = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_EACH: Final = rf"(?:{_DAY}s\b|{WEEKDAY}|week-?ends?\b|weekdays?\b)"
_AND: Final = r"(?:\s*(?:,|&|/|-|\u2013|\band\b|\bor\b|\bto\b|\bthrough\b|\buntil\b))+\s*"
#: Every such day: 每周三, 每周二、四, 每两周的周五, 每周一到周五, 工作日; "every other Friday", "Tuesdays and Thursdays". Each
#: of these pairs has a pattern in Chinese and one in English.
WEEKLY: Final = (
    (
        rf"(?:(?:每|隔|逢)个?|(?:每|隔)[两二]个?{HAN_WEEK}的?){HAN_WEEK}(?:末|[{HAN_WEEKDAYS}](?:到|至|[-~—]){HAN_WEEK}?[{HAN_WEEKDAYS}]"
        rf"|{_HAN_DAY}(?:[、，,和跟与及]?(?:每?{HAN_WEEK}[{HAN_WEEKDAYS}](?![{HAN_WEEKDAYS}])|{_HAN_NEXT}))*)|(?:每个?|逢)?工作日"
    ),
    (
        rf"\b(?:(?:every|each|most)\s+(?:other\s+|second\s+|single\s+)?{_EACH}(?:{_AND}(?:every\s+|each\s+)?{_EACH})*"
        rf"|(?<!two )(?<!three )(?<!few )(?<!some )(?<!of )(?:{_DAY}|week-?end|weekday)s\b(?:{_AND}(?:{_DAY}|week-?end)s?\b)*)"
    ),
)
_HAN_NUMBER: Final = "(?:[0-9]{1,2}|[一二三四五六七八九十]{1,3})"
_ORDINAL: Final = r"[0-3]?[0-9](?:st|nd|rd|th)"
_ORDINALS: Final = rf"{_ORDINAL}(?:(?:,|\s+and|\s*&)\s+(?:the\s+)?{_ORDINAL})*"
#: A day of every month, or several: 每月5号, 每月15日和30日, "the 1st and 15th of every month".
MONTHLY: Final = (
    rf"每个?月的?\s?{_HAN_NUMBER}\s?[号日](?:[、，,和与及]\s?{_HAN_NUMBER}\s?[号日])*",
    (
        rf"\b(?:{_ORDINALS}\s+of\s+(?:every|each|the)\s+month\b"
        rf"|(?:every\s+month|each\s+month|monthly),?\s+(?:on|by)\s+the\s+{_ORDINALS}\b)"
    ),
)
#: A weekday by its number in a month names no day: 第二个周六, "the last Friday of the month".
NTH: Final = (
    f"(?:第[一二三四1-4](?:个?[、和跟及]第?[一二三四1-4])*|最后一?|头一|首)个?{HAN_WEEK}(?:的?{HAN_WEEK})?[{HAN_WEEKDAYS}]",
    (
        rf"\b(?:first|1st|second|2nd|third|3rd|fourth|4th|last)\s+{WEEKDAY}(?=\s+(?:of\s+|in\s+)?"
        rf"(?:(?:the|every|each|a|this|next|last)\s+month\b|{MONTH}))|\b(?:every|each)\s+(?:first|last)\s+{WEEKDAY}"
    ),
)
_WEEKLY, _MONTHLY, _NTH = ((lazy_re(zh), lazy_re(en, re.IGNORECASE)) for zh, en in (WEEKLY, MONTHLY, NTH))
_WHICH: Final = lazy_re(
    rf"(?P<weekday>mon|tue|wed|thu|fri|sat|sun|[{HAN_WEEKDAYS}])|(?P<end>末|week-?end)|(?P<working>weekday|工作日)",
    re.IGNORECASE,
)
_TO: Final = lazy_re(r"[到至~—–-]|\b(?:to|through|until)\b", re.IGNORECASE)
_NUMBER: Final = lazy_re(rf"{_HAN_NUMBER}(?=\s?[号日])|[0-3]?[0-9](?=st|nd|rd|th)", re.IGNORECASE)

# ── a weekday that may be every such day ─────────────────────────────────────

#: Signs that a clause is about every day that it names: 周五下午我一般不开会, "I'm usually free on Friday".
USUAL: Final = lazy_re(
    r"一般|通常|平时|习惯|总[是在]|从不|从来|\b(?:usually|generally|normally|typically"
    r"|(?:i|we)(?:'m|'re)? (?:always|never)(?! said| told))\b",
    re.IGNORECASE,
)
#: What was moved to a weekday may stay there: 钢琴课改到周六了.
_MOVED: Final = lazy_re(r"[改挪换调][到成在]|\b(?:moved|changed|switched|shifted)\s+(?:\w+\s+){0,4}to\b", re.IGNORECASE)
#: A number after a weekday that is its date, and no time of day: "Friday 12", not "Friday 1pm".
_OF_MONTH: Final = r"\d\d?(?!\d)(?!\s?[ap]\.?m\b)(?![:.]\d)"
_NAMED: Final = lazy_re(
    rf"(?<![上下这本个每隔逢号0-9一二两三四五六七八九十])(?<![0-9一二三四五六七八九十]日)(?<![号日][，,(（]){HAN_WEEK}[{HAN_WEEKDAYS}](?![{HAN_WEEKDAYS}到至])"
    r"|(?<!last )(?<!next )(?<!this )(?<!every )(?<!\d(?:st|nd|rd|th) )(?<!\d(?:st|nd|rd|th) \()"
    rf"\b(?:{_DAY}\b(?!\s+(?:the\s+)?{_OF_MONTH})|(?:mon|tues?|weds?|thur?s?|fri|sat|sun)\b(?=\s+(?:morning|afternoon|evening|night)s?\b))",
    re.IGNORECASE,
)
#: Where a clause ends; many who write Chinese set a blank in place of a comma: 我妈感冒了 机票改28号.
CLAUSE_END: Final = lazy_re(rf"[。！？!?\n；;]|\.\s|(?<=[{HAN}]) (?=[{HAN}])")
_PART_END: Final = lazy_re(rf"{CLAUSE_END.pattern}|[，,]")
#: A longer span is a week, not a weekend: what marks its days as tokens of a message.
FEW: Final = 2
WITHIN: Final = "within-"


def recurring(text: str) -> list[str]:
    """
    Return the days of *text* on which something happens every week or month, as tokens; Monday is weekly-1.

    >>> recurring("每周二、四游泳"), recurring("piano every Wed and Saturdays"), recurring("周五我一般不开会")
    (['weekly-2', 'weekly-4'], ['weekly-3', 'weekly-6'], ['weekly-5'])
    >>> recurring("房租每月5号转"), recurring("book club is the first Thursday of the month")
    (['monthly-5'], [])
    """
    for pattern in _NTH:
        text = pattern.sub(lambda match: " " * len(match[0]), text)
    parts = [match[0] for pattern in _WEEKLY for match in pattern.finditer(text)]
    parts += [match[0] for part in _PART_END.split(text) if _is_of_every(part) for match in _NAMED.finditer(part)]
    weekly = [f"weekly-{day}" for part in parts for day in _weekdays(part)]
    numbers = [day for pattern in _MONTHLY for match in pattern.finditer(text) for day in _NUMBER.findall(match[0])]
    return list(dict.fromkeys([*weekly, *(f"monthly-{number(day)}" for day in numbers)]))


def occasions(days: Days) -> dict[str, tuple[str, ...]]:
    """
    Return what else a message about a day may have, for each day of a span: a longer span with it, and what recurs on it.

    A span of a week has nearly all that recurs: of that it has nothing.

    >>> from recalld.supervisor.query.calendar import Days
    >>> occasions(Days(date(2026, 11, 28), date(2026, 11, 28)))
    {'2026-11-28': ('within-2026-11-28', 'weekly-6', 'monthly-28')}
    """
    tokens: dict[str, tuple[str, ...]] = {token: (f"{WITHIN}{token}",) for token in day_tokens(days)}
    for token, spans in tokens.items() if days.length <= FEW else ():
        day = date.fromisoformat(token)
        tokens[token] = (*spans, f"weekly-{day.isoweekday()}", f"monthly-{day.day}")
    return tokens


def _is_of_every(clause: str) -> bool:
    """
    True if a bare weekday in the clause may be every such day: it was moved there, or the clause tells of no one day.

    >>> [_is_of_every(text) for text in ("钢琴课改到周六下午了", "bins on Friday", "周五要交报告", "we went there on Friday")]
    [True, True, False, False]
    """
    return bool(USUAL.search(clause) or _MOVED.search(clause)) or not (OVER.search(clause) or AHEAD.search(clause))


def _weekdays(part: str) -> Iterator[int]:
    """Yield the weekdays that a part of a text names, 1 to 7; those between two with 到 as well."""
    named = [day for match in _WHICH.finditer(part) for day in _each_weekday(match)]
    match named:
        case first, last if first < last and _TO.search(part):
            yield from range(first, last + 1)
        case _:
            yield from named


def _each_weekday(match: re.Match[str]) -> tuple[int, ...]:
    if match["weekday"]:
        return (weekday_number(match["weekday"]) + 1,)
    return (6, 7) if match["end"] else (1, 2, 3, 4, 5)
