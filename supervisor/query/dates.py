"""
The days that a text names: one grammar for both languages, in two directions.

Back are the days of a question, ahead those of a message, which are also what it is found by (`days_about`). A row of the table
has a phrase in Chinese, the same in English, and what it means (`meanings`); it sees only what no row before it has matched.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from typing import Final, TypeAlias

from ..text.comparing import MONTH
from ..text.language import HAN
from ..text.lazy_re import lazy_re
from . import meanings
from .calendar import (
    COUNTS,
    FEW,
    HAN_WEEK,
    HAN_WEEKDAYS,
    LONGEST,
    MONTHLY,
    WEEKDAY,
    WEEKLY,
    WITHIN,
    Days,
    day_tokens,
    month_tokens,
    recurring,
)
from .intent import asks_to_do
from .meanings import Said

_Meaning: TypeAlias = "Callable[[re.Match[str], Said], Days | None]"
_Rules: TypeAlias = "tuple[tuple[re.Pattern[str], _Meaning | None], ...]"

# ── the table ────────────────────────────────────────────────────────────────

_N: Final = "(?:[0-9]{1,2}|[一二两三四五六七八九十廿]{1,3})"
_YEAR_ZH: Final = "(?P<year>(?:[0-9]{4}|[〇零一二三四五六七八九]{4})年|今年|去年|前年|大前年|明年|来年|(?<!今)大?后年)的?"
#: What follows a day of a month: 号, what it goes on to, or no unit of anything.
_DAY_ZH: Final = (
    f"(?:[日号](?!线)|(?=(?:到|至|[-~—]+){_N}[日号])|(?<=[0-9])(?![0-9.:个多几万元块次点斤%]|[a-z]))"
    f"(?:(?:到|至|[-~—]+)(?P<to>{_N})[日号](?!线))?"
)
_NEAR_ZH: Final = "(?P<near>上上|上|下下|下|这|本)"
_WEEK: Final = f"个?{HAN_WEEK}"
#: What may not come before a week: 两周, 双周.
_NO_WEEK: Final = "(?<![一二两双单三四五六七八九十几半每隔逢0-9])"
_HAN_DAY: Final = f"(?P<weekday>[{HAN_WEEKDAYS}])"
_UNIT_ZH: Final = f"(?P<unit>天|日|月|年|{HAN_WEEK})"
_MONTH: Final = rf"(?P<month>{MONTH})\.?"
_DAY: Final = r"(?P<day>[0-3]?[0-9])(?:st|nd|rd|th)?\b(?![:.]?[0-9])"
_YEAR: Final = r"(?:,?\s*(?:of\s+)?(?P<year>(?:19|20)[0-9]{2}|(?:last|this|next)\s+year))?\b"
_THAT_YEAR: Final = r"(?P<year>(?:19|20)[0-9]{2})\b"
_NEAR: Final = "(?P<near>last|this|next|past|previous)"
_WEEKDAY: Final = f"(?P<weekday>{WEEKDAY})"
_PART: Final = r"(?P<part>early|mid|late|beginning|start|middle|end)(?:[\s-]+(?:of|in))?[\s-]+"
_COUNTS: Final = rf"[0-9]{{1,3}}|{'|'.join(COUNTS)}|a few|a couple(?: of)?|couple of"
_UNIT: Final = "(?P<unit>day|week|month|year)"
_NEAR_DAY: Final = (
    r"\b(?:the\s+)?(?P<near>day\s+before\s+yesterday|day\s+after\s+tomorrow|yesterday|tomm?orr?ow|tomoz|tmr?w?|2mor+o?w?|to(?=day|ni(?:ght|te))"
    r"|last(?=\s+(?:night|evening)\b)|this(?=\s+(?:morning|afternoon|evening)\b))(?:day|ni(?:ght|te)|\s+(?:night|morning|afternoon|evening))?\b"
)
#: By figures, in any language. Month first, as 5/2 is read in Chinese and American English; day first if there is no such
#: month. A fraction and 24/7 are no dates.
_FIGURES: Final[_Rules] = (
    (
        lazy_re(r"(?<!\d)(?P<year>(?:19|20)\d\d)(?P<mark>[-/.])(?P<month>\d\d?)(?P=mark)(?P<day>\d\d?)(?!\d)"),
        meanings.day_of_year,
    ),
    (lazy_re(r"(?<![\d-])(?P<year>(?:19|20)\d\d)[-/](?P<month>0[1-9]|1[0-2])(?![\d/-])"), meanings.month),
    (
        lazy_re(
            r"(?<![\d/.$€£¥￥])(?!(?:1/[23458]|2/3|3/4|24/7)(?![\d/]))"
            r"(?P<month>\d\d?)/(?P<day>\d\d?)(?:/(?P<year>20\d\d|\d\d))?(?![\d/%])"
        ),
        meanings.slashed,
    ),
)
#: Chinese, English, what it means (None: no days, though its words alone may seem to); a phrase that one of the languages does
#: not have is empty there. A habit has no date, and those of the lunar calendar are only found as words.
_TABLE: Final[tuple[tuple[str, str, _Meaning | None], ...]] = (
    (f"{_WEEK}[{HAN_WEEKDAYS}](?:到|至|[-~—])(?:{_WEEK})?[{HAN_WEEKDAYS}]", "", None),
    (*WEEKLY, None),
    (*MONTHLY, None),
    (
        f"(?:第[一二三四1-4]|最后一?|头一|首)个?{HAN_WEEK}[{HAN_WEEKDAYS}]",
        rf"\b(?:(?:first|second|third|fourth|last)\s+{WEEKDAY}(?=\s+(?:of|in)\b)|a\s+week\s+on\s+{WEEKDAY}|{WEEKDAY}\s+week\b)",
        None,
    ),
    (f"(?:农历|阴历)(?:(?:{_N}|正|冬|腊)月)?(?:初?{_N}[日号]?)?", "", None),
    (f"{_NEAR_ZH}个?月的?(?P<day>{_N})[日号](?!线)", rf"\bthe\s+{_DAY}\s+of\s+{_NEAR}\s+month\b", meanings.day_of_near_month),
    (
        f"(?:{_YEAR_ZH})?(?P<month>{_N})月份?(?P<day>{_N}){_DAY_ZH}(?:[，,、(（]?{_WEEK}[{HAN_WEEKDAYS}])?",
        rf"\b{_MONTH}\s+(?:the\s+)?{_DAY}{_YEAR}(?:,?\s+\(?{WEEKDAY})?",
        meanings.day_of_year,
    ),
    ("", rf"\b(?:{WEEKDAY},?\s+(?:the\s+)?)?{_DAY}\s+(?:of\s+)?{_MONTH}{_YEAR}", meanings.day_of_year),
    # subtle: "may", "march" and "June" have other meanings: a month needs a preposition before it, or a year after it
    ("", rf"\b{_PART}{_MONTH}{_YEAR}", meanings.month),
    (
        f"(?:{_YEAR_ZH})?(?<![0-9个])(?P<month>{_N})月(?:份|(?P<part>初|上旬|中旬|下旬|底|末|中(?!国)))?(?!饼|亮|球)",
        rf"\b{_MONTH},?\s+(?:of\s+)?(?P<year>(?:19|20)[0-9]{{2}}|(?:last|next)\s+year)\b",
        meanings.month,
    ),
    ("", rf"\b(?P<near>in|during|since|until|by|of|last|this|next|around|back in)\s+{_MONTH}{_YEAR}", meanings.month),
    ("", rf"\bfor\s+{_MONTH}", meanings.month_ahead),
    ("", r"\b(?P<month>january|february|july|september|october|november|december)\b", meanings.month_ahead),
    (
        f"{_NEAR_ZH}个?月(?P<part>初|上旬|中旬|下旬|底|末|中)?",
        r"\b(?:the\s+)?(?P<part>beginning|start|middle|end)\s+of\s+(?P<near>the|this|last|next)\s+month\b",
        meanings.near_month,
    ),
    ("(?<![个年一二三四五六七八九十0-9])月(?P<part>[底末])", "", meanings.near_month),
    (_YEAR_ZH, rf"\b(?:in|during|since|of|back in|year)\s+{_THAT_YEAR}", meanings.year),
    (
        f"(?:最近|过去|近)这?(?P<n>{_N}|几)个?{_UNIT_ZH}(?![前号])",
        rf"\b(?:last|past)\s+(?P<n>{_COUNTS})\s+{_UNIT}s\b",
        meanings.so_far,
    ),
    (
        "(?<![以之目提从早有])(?P<near>大前|大后|前|昨|今|明|后)(?:天|日(?!子|报)|晚|早(?!已)|儿(?![子童媳女])|夜)",
        _NEAR_DAY,
        meanings.near_day,
    ),
    (
        f"(?<![0-9十])(?P<n>{_N})[号日][，,、(（]?{_WEEK}{_HAN_DAY}",
        rf"\b{_WEEKDAY},?\s+(?:the\s+)?(?P<n>\d\d?)(?:st|nd|rd|th)\b",
        meanings.numbered_weekday,
    ),
    (
        f"{_WEEK}{_HAN_DAY}[，,、(（]?(?P<n>{_N})[号日]",
        rf"\b(?P<n>\d\d?)(?:st|nd|rd|th)\b,?\s+\(?{_WEEKDAY}",
        meanings.numbered_weekday,
    ),
    (
        f"{_NEAR_ZH}?{_NO_WEEK}{_WEEK}(?:的?{_WEEK})?{_HAN_DAY}(?![个起次直到至])",
        rf"\b(?P<near>last|past|this|next|coming|on|by|until|till|since)\s+(?!sun\b){_WEEKDAY}(?!['’-])",
        meanings.weekday,
    ),
    ("", rf"(?<!black )(?<!good )\b(?=\w+day\b){_WEEKDAY}", meanings.weekday),
    (f"{_NEAR_ZH}?{_NO_WEEK}{_WEEK}末", r"\b(?P<near>the)\s+weekend\b(?!\s+(?:after|before|of)\b)", meanings.weekend),
    (f"{_NEAR_ZH}{_WEEK}", r"\bthe\s+(?P<unit>weekend|week|month|year)\s+(?P<near>before\s+last)\b", meanings.stretch),
    ("", rf"\b{_NEAR}\s+(?P<unit>weekend|week|month|year)\b(?!\s+(?:after|before|of)\b)", meanings.stretch),
    (
        f"(?<![0-9一二三四五六七八九十百千万.])(?P<n>[0-9]{{1,3}}|{_N}|[几半])个?{_UNIT_ZH}(?:之|以)?前",
        rf"\b(?P<n>half\s+a|{_COUNTS})\s+{_UNIT}s?\s+(?:ago|back)\b",
        meanings.ago,
    ),
    ("(?<![提以])前[几些两](?P<unit>天)", "", meanings.ago),
    (
        f"(?<![第0-9])(?P<n>{_N})个?(?P<unit>天|{HAN_WEEK})(?:之?后|以后)",
        rf"\bin\s+(?!a\s+few|few|several)(?P<n>{_COUNTS})\s+(?P<unit>day|week|fortnight)s?(?:['’]?\s+time)?\b(?!\s+(?:ago|of|or))",
        meanings.later,
    ),
    (meanings.ALONE_ZH, "", meanings.number_alone),
)
_LATIN: Final = lazy_re("[A-Za-z]")


# without the case of Han characters, which would take most of the time
_CHINESE: Final[_Rules] = tuple((lazy_re(phrase), days_of) for phrase, _, days_of in _TABLE if phrase)
_ENGLISH: Final[_Rules] = tuple((lazy_re(phrase, re.IGNORECASE), days_of) for _, phrase, days_of in _TABLE if phrase)


def _rules(text: str) -> _Rules:
    return (*_FIGURES, *(() if text.isascii() else _CHINESE), *(_ENGLISH if _LATIN.search(text) else ()))


# ── reading ──────────────────────────────────────────────────────────────────

#: Only so many characters of a message are read.
MOST_CHARS: Final = 4_000
_HAS_YEAR: Final = lazy_re("[0-9]{4}|[〇零一二三四五六七八九]{4}年")
#: Between the first and the last day of a span: 5月2号到5月4号, "May 2 to May 4".
_TO: Final = lazy_re(r"\s*(?:到|至|[-–—~]+|to|through|until|till)\s*", re.IGNORECASE)
#: Many who write Chinese set numbers apart: 11 月 28 号. A longer number is no month: 物业费1882 月底前交.
_APART: Final = lazy_re(rf"(?<=[0-9]) (?=[{HAN}])(?!(?<=[0-9]{{3}} )月)|(?<=[{HAN}]) (?=[0-9])")


@dataclass(frozen=True, slots=True)
class Span:
    """Days that a text names, and their place in it as `plain` has it."""

    days: Days
    start: int
    end: int

    def overlaps(self, other: Span) -> bool:
        """True if both stand in the same place."""
        return self.start < other.end and other.start < self.end


def spans(text: str, today: date) -> tuple[Span, ...]:
    """
    Return the days up to *today* that a question names, in the order of the text; one with its year may be later.

    >>> from datetime import date
    >>> [span.days.label for span in spans("5月2号和上周三说了什么，还有 in June 2025?", date(2026, 1, 31))]
    ['2025-05-02', '2026-01-21', '2025-06-01..2025-06-30']
    """
    return _read(text, Said(today, is_ahead=False))


def days_meant(text: str, today: date) -> list[Span]:
    """
    Return the days that a message of the day *today* names, no longer ones than a week or so.

    >>> from datetime import date
    >>> [span.days.label for span in days_meant("明天体检，下周二师傅上门", date(2026, 11, 23))]
    ['2026-11-24', '2026-12-01']
    >>> [span.days.label for span in days_meant("physio tomorrow, rent is due next Friday", date(2026, 11, 23))]
    ['2026-11-24', '2026-12-04']
    """
    return [span for span in _read(text[:MOST_CHARS], Said(today, is_ahead=True)) if span.days.length <= LONGEST]


def days_about(text: str, today: date) -> list[str]:
    """
    Return each day that a message of the day *today* is about, as a token: a day that it names, or what recurs.

    The days of a week are marked, since who asks for a day means one that was named; those of one that is over have no token.

    >>> from datetime import date
    >>> days_about("we paint this weekend; the surveyor comes on 7 January; choir every Friday", date(2026, 11, 23))
    ['2026-11-28', '2026-11-29', '2027-01-07', '2026-11', '2027-01', 'weekly-5']
    >>> days_about("back next week", date(2026, 11, 23))[0]
    'within-2026-11-30'
    """
    text = text[:MOST_CHARS]
    named = [span.days for span in days_meant(text, today) if span.days.length <= FEW or span.days.last >= today]
    about = [f"{'' if days.length <= FEW else WITHIN}{token}" for days in named for token in day_tokens(days)]
    months = month_tokens(token.removeprefix(WITHIN) for token in about)
    return [*dict.fromkeys([*about, *months]), *recurring(text)]


#: A question for what is to be done is about so many days at most.
_MONTH_LONG: Final = 31


def due_days(sentence: str, today: date) -> tuple[Span, ...]:
    """
    Return the days, from today on, for which a sentence asks what is to be done; none if it asks something else.

    They find the messages that are about these days, whenever they were sent.

    >>> from datetime import date
    >>> [due_days(text, date(2026, 11, 25))[0].days.label for text in ("明天有什么安排", "any plans in January?")]
    ['2026-11-26', '2027-01-01..2027-01-31']
    """
    if not asks_to_do(sentence):
        return ()
    ahead = _read(sentence, Said(today, is_ahead=True))
    ahead = tuple(span for span in ahead if span.days.last >= today and span.days.length <= _MONTH_LONG)
    return tuple(Span(Days(max(span.days.first, today), span.days.last), span.start, span.end) for span in ahead)


def plain(text: str) -> str:
    """Return the text as it is read: in NFKC, and without the blanks between numbers and Chinese."""
    text = unicodedata.normalize("NFKC", text)
    return _APART.sub("", text) if " " in text and not text.isascii() else text


def _read(text: str, today: Said) -> tuple[Span, ...]:
    rest = plain(text)
    spans: list[Span] = []
    for pattern, days_of in _rules(rest):
        rest = _read_rule(pattern, days_of, rest, today, spans)
    joined: list[Span] = []
    for span in sorted(spans, key=lambda span: span.start):
        before = joined[-1] if joined else None
        if before and before.days.last < span.days.first and _TO.fullmatch(rest, before.end, span.start):  # "May 2 to May 4"
            joined[-1] = Span(Days(before.days.first, span.days.last), before.start, span.end)
        else:
            joined.append(span)
    return tuple(joined)


def _read_rule(pattern: re.Pattern[str], days_of: _Meaning | None, text: str, today: Said, spans: list[Span]) -> str:
    """Add the days that the phrase names in the text to *spans*, and return the text without it."""

    def taken(match: re.Match[str]) -> str:
        with suppress(ValueError, OverflowError):  # a day that does not exist must not be read as another date: 2月30日
            days = days_of and days_of(match, today)
            if days and (today.is_ahead or days.first <= today.day or _HAS_YEAR.search(match[0])):
                spans.append(Span(days, match.start(), match.end()))
        return "\0" * len(match[0])

    return pattern.sub(taken, text)
