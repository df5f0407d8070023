"""
The days of what happens every week or month: 每周三晚上吉他课, "swimming on Tuesdays and Fridays", 每月5号交房租.

They have no date. Each is a word of the message, and of a question for what is to be done on such a day.
"""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Final

from recalld.supervisor.query.calendar import WEEKDAYS, day_tokens, number
from recalld.supervisor.query.nth_weekdays import as_nth, nth_weekdays, without_nth_weekdays
from recalld.supervisor.query.tense import AHEAD, OVER
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.tokenizer import HAN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recalld.supervisor.query.calendar import Days

_HAN_DAYS: Final = "一二三四五六日天"
_HAN_WEEK: Final = "(?:周|星期|礼拜)"
#: What follows a number of times or of things: 每周一次, 每周三公里, 每周五百块.
_COUNTED: Final = r"(?![零两十百千万半次个节堂趟场回遍顿页单篇封本杯瓶包片斤里块元条件套]|小时|分钟|天(?!气)|公里|毫升)"
_HAN_DAY: Final = rf"(?:[一二三四五六]{_COUNTED}|[日天])"
#: More weekdays, without 周, are a number where one of these follows: 每周三一节课, 每周五六点.
_HAN_NEXT: Final = rf"[{_HAN_DAYS}]+(?![0-9{_HAN_DAYS}零两十百千万半个点次节堂号月天小趟场共起直般些时分到至])"
#: Every such day: 每周三, 每周二、四, 隔周五, 每两周的周五, 每周一到周五, 每个周末, 工作日.
CHINESE: Final = (
    rf"(?:(?:每|隔|逢)个?|(?:每|隔)[两二]个?{_HAN_WEEK}的?){_HAN_WEEK}(?:末|[{_HAN_DAYS}](?:到|至|[-~—]){_HAN_WEEK}?[{_HAN_DAYS}]"
    rf"|{_HAN_DAY}(?:[、，,和跟与及]?(?:每?{_HAN_WEEK}[{_HAN_DAYS}](?![{_HAN_DAYS}])|{_HAN_NEXT}))*)|(?:每个?|逢)?工作日"
)
_DAY: Final = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_EACH: Final = rf"(?:{_DAY}s?|mon|tues?|weds?|thur?s?|fri|sat|sun|week-?ends?|weekdays?)\b"
_AND: Final = r"(?:\s*(?:,|&|/|-|\u2013|\band\b|\bor\b|\bto\b|\bthrough\b|\buntil\b))+\s*"
#: Every such day: "every other Friday", "Tuesdays and Thursdays", "every Monday to Friday"; "two weekends" are not all.
ENGLISH: Final = (
    rf"\b(?:(?:every|each|most)\s+(?:other\s+|second\s+|single\s+)?{_EACH}(?:{_AND}(?:every\s+|each\s+)?{_EACH})*"
    r"|(?<!two )(?<!three )(?<!few )(?<!some )(?<!of )(?<!TGI )"
    rf"(?:{_DAY}|week-?end|weekday)s\b(?:{_AND}(?:{_DAY}|week-?end)s?\b)*)"
)
_EVERY: Final = (lazy_re(CHINESE), lazy_re(ENGLISH, re.IGNORECASE))
#: A day of every month, or several: 每月5号, 每个月的二十号, 每月15日和30日, "the 1st and 15th of every month".
_HAN_NUMBER: Final = "(?:[0-9]{1,2}|[一二三四五六七八九十]{1,3})"
MONTHLY_CHINESE: Final = rf"每个?月的?\s?{_HAN_NUMBER}\s?[号日](?:[、，,和与及]\s?{_HAN_NUMBER}\s?[号日])*"
_ORDINAL: Final = r"[0-3]?[0-9](?:st|nd|rd|th)"
_ORDINALS: Final = rf"{_ORDINAL}(?:(?:,|\s+and|\s*&)\s+(?:the\s+)?{_ORDINAL})*"
_MONTHLY_ENGLISH: Final = (
    rf"\b(?:{_ORDINALS}\s+of\s+(?:every|each|the)\s+month\b"
    rf"|(?:every\s+month|each\s+month|monthly),?\s+(?:on|by)\s+the\s+{_ORDINALS}\b)"
)
_MONTHLY: Final = (lazy_re(MONTHLY_CHINESE), lazy_re(_MONTHLY_ENGLISH, re.IGNORECASE))
_NUMBER: Final = lazy_re(rf"{_HAN_NUMBER}(?=\s?[号日])|[0-3]?[0-9](?=st|nd|rd|th)", re.IGNORECASE)
#: Signs that a clause is about every day that it names: 周五下午我一般不开会, "I'm usually free on Friday".
USUAL: Final = lazy_re(
    r"一般|通常|平时|习惯|总[是在]|从不|从来|\b(?:usually|generally|normally|typically"
    r"|(?:i|we)(?:'m|'re)? (?:always|never)(?! said| told))\b",
    re.IGNORECASE,
)
#: What was moved to a weekday may stay there: 钢琴课改到周六了.
_MOVED: Final = lazy_re(r"[改挪换调][到成在]|\b(?:moved|changed|switched|shifted)\s+(?:\w+\s+)?to\b", re.IGNORECASE)
#: A number after a weekday that is its date, and no time of day: "Friday 12", not "Friday 1pm".
_OF_MONTH: Final = r"\d\d?(?!\d)(?!\s?[ap]\.?m\b)(?![:.]\d)"
_NAMED: Final = lazy_re(
    rf"(?<![上下这本个每隔逢号0-9一二两三四五六七八九十])(?<![0-9一二三四五六七八九十]日)(?<![号日][，,(（]){_HAN_WEEK}[{_HAN_DAYS}](?![{_HAN_DAYS}到至])"
    r"|(?<!last )(?<!next )(?<!this )(?<!every )(?<!\d(?:st|nd|rd|th) )(?<!\d(?:st|nd|rd|th) \()"
    rf"\b(?:{_DAY}\b(?!\s+(?:the\s+)?{_OF_MONTH})|(?:mon|tues?|weds?|thur?s?|fri|sat|sun)\b(?=\s+(?:morning|afternoon|evening|night)s?\b))",
    re.IGNORECASE,
)
#: A day from which something is moved away, or that is denied: "moved from Friday to Sunday", "not Thursday", 从周六改到.
_LEFT: Final = lazy_re(
    rf"从(?P<han>[^，。；！？,;\n]{{2,8}})(?=[改挪换调推移延][到成在至迟后]|提前)|(?:不是|而不是|原定|原本|本来|原来[是在]?)(?P<denied>[上下本这]?{_HAN_WEEK}[{_HAN_DAYS}]"
    rf"|{_HAN_NUMBER}(?:月{_HAN_NUMBER})?[号日])"
    r"|\b(?:moved|changed|switched|shifted|pushed|brought|resched\w+|postponed|put)\b[^.,;!?\n]{0,40}?\bfrom\s+(?P<from>[^.,;!?\n]{3,25}?)"
    rf"(?=\s+(?:back\s+|forward\s+)?to\b)|\b(?:not|instead\s+of|rather\s+than)\s+(?:on\s+)?(?P<not>{_DAY}|the\s+{_ORDINAL})\b",
    re.IGNORECASE,
)
#: Where a clause ends; many who write Chinese set a blank in place of a comma: 我妈感冒了 机票改28号.
CLAUSE_END: Final = lazy_re(rf"[。！？!?\n；;]|\.\s|(?<=[{HAN}]) (?=[{HAN}])")
_PART_END: Final = lazy_re(rf"{CLAUSE_END.pattern}|[，,]")
_TO: Final = lazy_re(r"[到至~—–-]|\b(?:to|through|until)\b", re.IGNORECASE)
_WHICH: Final = lazy_re(
    rf"(?P<latin>mon|tue|wed|thu|fri|sat|sun)|(?P<end>末|week-?end)|(?P<working>weekday|工作日)|(?P<han>[{_HAN_DAYS}])",
    re.IGNORECASE,
)
#: A longer span is a week, not a weekend: what marks its days as tokens of a message.
FEW: Final = 2
WITHIN: Final = "within-"


def recurring(text: str) -> list[str]:
    """
    Return the days of *text* on which something happens every week or month, as tokens; Monday is weekly-1.

    >>> recurring("每周二、四游泳"), recurring("piano every Wed and Saturdays"), recurring("周五我一般不开会")
    (['weekly-2', 'weekly-4'], ['weekly-3', 'weekly-6'], ['weekly-5'])
    >>> recurring("房租每月5号转"), recurring("rent is due on the 1st of every month")
    (['monthly-5'], ['monthly-1'])
    """
    by_number = nth_weekdays(text)
    text = without_nth_weekdays(text)
    found = [match[0] for pattern in _EVERY for match in pattern.finditer(text)]
    found += [match[0] for part in _PART_END.split(text) if _is_of_every(part) for match in _NAMED.finditer(part)]
    weekly = [f"weekly-{day}" for part in found for day in _weekdays(part)]
    months = [day for pattern in _MONTHLY for match in pattern.finditer(text) for day in _NUMBER.findall(match[0])]
    return list(dict.fromkeys([*weekly, *(f"monthly-{number(day)}" for day in months), *by_number]))


def without_days_left(text: str) -> str:
    """
    Return the text with blanks in place of each day that it moves something away from: who asks for that day doesn't mean it.

    >>> without_days_left("piano moved from Saturday to Sunday")
    'piano moved from          to Sunday'
    >>> without_days_left("钢琴课从周六改到周日，不是周五")
    '钢琴课从  改到周日，不是  '
    """
    parts, end = [], 0
    for match in _LEFT.finditer(text):
        start, stop = match.span(match.lastgroup or 0)
        parts += [text[end:start], " " * (stop - start)]
        end = stop
    return "".join((*parts, text[end:]))


def _is_of_every(clause: str) -> bool:
    """
    Return whether a bare weekday in the clause may be every such day: it was moved there, or the clause tells of no one day.

    >>> [_is_of_every(text) for text in ("钢琴课改到周六下午了", "bins on Friday", "周五要交报告", "we went there on Friday")]
    [True, True, False, False]
    """
    return bool(USUAL.search(clause) or _MOVED.search(clause)) or not (OVER.search(clause) or AHEAD.search(clause))


def occasions(days: Days) -> dict[str, tuple[str, ...]]:
    """
    Return what else a message about a day may have, for each day of a span: a longer span with it, and what recurs on it.

    A span of a week has nearly all that recurs: of that it has nothing.

    >>> from datetime import date
    >>> from recalld.supervisor.query.calendar import Days
    >>> occasions(Days(date(2026, 11, 28), date(2026, 11, 28)))
    {'2026-11-28': ('within-2026-11-28', 'weekly-6', 'monthly-28', 'monthly-4-6', 'monthly-0-6')}
    """
    found: dict[str, tuple[str, ...]] = {token: (f"{WITHIN}{token}",) for token in day_tokens(days)}
    if days.length <= FEW:
        for token, spans in found.items():
            day = date.fromisoformat(token)
            found[token] = (*spans, f"weekly-{day.isoweekday()}", f"monthly-{day.day}", *as_nth(day))
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
    if match["working"]:
        return 1, 2, 3, 4, 5
    if match["han"]:
        return (min(_HAN_DAYS.index(match["han"]), 6) + 1,)
    return (WEEKDAYS.index(match["latin"].lower()) + 1,)
