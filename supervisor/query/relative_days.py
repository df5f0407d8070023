"""
The days that a message means by "tomorrow", "next Tuesday", 后天 or 下周二, seen from the day on which it was sent.

`dates` reads the days of a question, which are in the past; the days of a message may be in the future. So a bare weekday means
the next one if its sentence is about the future (周五要交, "due on Friday"); otherwise it is left alone: 天文馆周一闭馆 is
about every Monday, and a wrong day is worse than none. A habit (每周三, "every Friday") has no date (`recurring`).
With its number ("Thursday 12th", 12号周四) a weekday is the nearest such day that has it, and alone ("for the 12th", 12号)
such a number is the next one.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from functools import cache
from typing import TYPE_CHECKING, Final

from recalld.supervisor.query.bare_numbers import ALONE, ENGLISH, RANKED, chinese
from recalld.supervisor.query.calendar import (
    LONGEST,
    WEEKDAYS,
    Days,
    day_tokens,
    latest_numbered,
    month_of,
    month_tokens,
    next_numbered,
    number,
    single_day,
)
from recalld.supervisor.query.dates import Span, read_rule, set_solid, spans
from recalld.supervisor.query.nth_weekdays import EVERY_CHINESE, EVERY_ENGLISH, ONE_CHINESE, ONE_ENGLISH, nth_of_month
from recalld.supervisor.query.recurring import (
    CHINESE,
    CLAUSE_END,
    FEW,
    MONTHLY_CHINESE,
    USUAL,
    WITHIN,
    recurring,
    without_days_left,
)
from recalld.supervisor.query.recurring import ENGLISH as WEEKLY
from recalld.supervisor.query.tense import AHEAD, OVER
from recalld.supervisor.text.lazy_re import lazy_re

if TYPE_CHECKING:
    from typing import TypeAlias

    from recalld.supervisor.query.dates import DaysOf

    _Rules: TypeAlias = tuple[tuple[re.Pattern[str], DaysOf], ...]

#: Only so many characters of a message are read, and only if one of these is in it.
MOST_CHARS: Final = 4_000
_HINT: Final = lazy_re(
    r"[今明后昨前]|周|星期|礼拜|月|[天日号]|\d[-/.]\d|\d(?:st|nd|rd|th)\b|day|nigh?t|week|tom?m?o?rr?ow|tm[rw]|tomoz|2mo|tonite|month|fortnight"
    r"|\b(?:mon|tues?|weds?|thur?s?|fri|sat|sun)\b"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)",
    re.IGNORECASE,
)
_DATED: Final = lazy_re(
    r"\d\s*[月./-]\s*\d|[一二三四五六七八九十]月|[0-9十一二三四五六七八九]号|\d(?:st|nd|rd|th)\b|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)",
    re.IGNORECASE,
)
#: A day that was so many days ago may be meant by its number alone, as well as the next one.
_JUST: Final = 5
_LATIN: Final = lazy_re("[A-Za-z]")
_COUNTS: Final = {
    "a": 1,
    "one": 1,
    "two": 2,
    "a couple of": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "ten": 10,
}
_WEEKDAY: Final = r"(?P<weekday>mon|tues?|wednes|thurs?|fri|satur|sun)day\b"
#: As words "sun" and "sat" are no days: an abbreviation needs a number, or a word before it.
_SHORT_WEEKDAY: Final = r"(?P<weekday>mon|tues?|wed(?:nes|s)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\b"
_MONTH: Final = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
#: A whole month of a question: 下个月, 12月份, "next month", "in December".
_MONTH_AHEAD: Final = lazy_re(
    r"(?P<next>下个?月|\bnext\s+month\b)|这个?月|本月|\bthis\s+month\b"
    r"|(?<![0-9个])(?P<han>1[0-2]|[1-9]|十[一二]?|[一二三四五六七八九])\s?月份?(?![0-9一二三四五六七八九十底末初])"
    r"|\b(?:in|for|during|this|next)\s+(?P<latin>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b(?!\s+(?:the\s+)?\d)",
    re.IGNORECASE,
)
_ORDINAL: Final = r"(?:st|nd|rd|th)\b"
_COUNT: Final = rf"(?P<n>\d\d?|{'|'.join(_COUNTS)})"
_NEAR_EN: Final = (
    r"\b(?:(?:the\s+)?day\s+(?:after\s+tomorrow|before\s+yesterday)|tomm?orr?ow|tomoz|tmr?w?|2mor+o?w?|today|toni(?:ght|te)|yesterday|last\s+night"
    r"|this\s+(?:morning|afternoon|evening))\b"
)
_HAN_WEEK: Final = "个?(?:周|星期|礼拜)"
_HAN_N: Final = "[0-9]{1,2}|[一二两三四五六七八九十]{1,3}"
_SENTENCE_END: Final = lazy_re(r"[。！？!?\n；;]|\.\s")


def relative_days(text: str, said: date) -> tuple[Span, ...]:
    """
    Return the days that *text* names by their distance from *said*, the day on which it was sent, in the order of the text.

    >>> from datetime import date
    >>> [span.days.label for span in relative_days("明天体检，下周二师傅上门", date(2026, 11, 23))]
    ['2026-11-24', '2026-12-01']
    >>> [span.days.label for span in relative_days("physio tomorrow, rent is due next Friday", date(2026, 11, 23))]
    ['2026-11-24', '2026-12-04']
    """
    if not may_name_a_day(text):
        return ()
    found: list[Span] = []
    rest, placed = set_solid(text[:MOST_CHARS])
    for pattern, days_of in _chinese() if not text.isascii() else ():
        rest = read_rule(pattern, days_of, rest, said, found)
    for pattern, days_of in _english() if _LATIN.search(text) else ():
        rest = read_rule(pattern, days_of, rest, said, found)
    return tuple(map(placed, sorted(found, key=lambda span: span.start)))


def may_name_a_day(text: str) -> bool:
    """Return whether the text may name a day: it has one of the words or signs that every day has."""
    return bool(_HINT.search(text, 0, MOST_CHARS))


def days_about(text: str, said: date) -> list[str]:
    """
    Return each day that a message of the day *said* is about, as a token: named by its distance or date, or recurring.

    The days of a week are marked, since who asks for a day means one that was named.

    >>> from datetime import date
    >>> days_about("we paint this weekend; the surveyor comes on 7 January; choir every Friday", date(2026, 11, 23))
    ['2026-11-28', '2026-11-29', '2027-01-07', '2026-11', '2027-01', 'weekly-5']
    >>> days_about("back next week", date(2026, 11, 23))[0]
    'within-2026-11-30'
    """
    if not may_name_a_day(text):
        return []
    text = without_days_left(text[:MOST_CHARS])
    near = [span.days for span in days_meant(text, said) if span.days.length <= LONGEST]
    about = [f"{'' if days.length <= FEW else WITHIN}{token}" for days in near for token in day_tokens(days)]
    months = month_tokens(token.removeprefix(WITHIN) for token in about)
    return [*dict.fromkeys([*about, *months]), *recurring(text)]


def days_meant(text: str, said: date) -> list[Span]:
    """Return the days that a message names by their distance, and single days by their date; without a year the nearest one."""
    if not may_name_a_day(text):
        return []
    relative = relative_days(text, said)
    dated = spans(text[:MOST_CHARS], said) if _DATED.search(text, 0, MOST_CHARS) else ()
    named = [span for span in dated if span.days.length == 1 and not any(map(span.overlaps, relative))]
    named = [span for span in named if not ALONE.fullmatch(text[span.start : span.end])]
    return [*relative, *(Span(_nearest(span, text, said), span.start, span.end) for span in named)]


def months_meant(text: str, today: date) -> list[Span]:
    """
    Return the month to come, or the one that is, that a question names: 下个月, 12月, "in December".

    >>> from datetime import date
    >>> [months_meant(text, date(2026, 11, 25))[0].days.label for text in ("what's on next month", "any plans in January?")]
    ['2026-12-01..2026-12-31', '2027-01-01..2027-01-31']
    """
    found = []
    for match in _MONTH_AHEAD.finditer(text):
        at = today.year * 12 + today.month - 1
        if match["next"]:
            at += 1
        elif named := match["han"] or match["latin"]:
            month = number(named) if match["han"] else _MONTHS.index(named[:3].lower()) + 1
            at += (month - today.month) % 12
        if days := month_of(at // 12, at % 12 + 1):
            found.append(Span(days, match.start(), match.end()))
    return found


def _nearest(span: Span, text: str, said: date) -> Days:
    """Return a day without a year in the year that brings it nearest to *said*, before or after it."""
    day = span.days.first
    next_year = single_day(day.year + 1, day.month, day.day)
    if next_year is None or str(day.year) in text[span.start : span.end] or next_year.first - said > said - day:
        return span.days
    return next_year


def _day(said: date, ahead: int) -> Days:
    there = said + timedelta(days=ahead)
    return Days(there, there)


def _week(said: date, ahead: int, first: int = 0, last: int = 6) -> Days:
    """Return the days *first* to *last* (0 = Monday) of the week *ahead* weeks after this one."""
    monday = said + timedelta(days=7 * ahead - said.weekday())
    return Days(monday + timedelta(days=first), monday + timedelta(days=last))


def _weekday(match: re.Match[str], said: date, weekday: int, week: int | None) -> Days | None:
    """Return the weekday of the week *week* ahead; None: the next such day, if its sentence is about the future."""
    if week is not None:
        return _week(said, week, weekday, weekday)
    ahead, sentence = (weekday - said.weekday()) % 7, _sentence(match)
    return _day(said, ahead) if ahead and AHEAD.search(sentence) and not USUAL.search(sentence) else None


def _numbered(match: re.Match[str], said: date, weekday: int) -> Days | None:
    """Return the day of the month *n* nearest to *said* that is this weekday; None if its month is named, or there is none."""
    if match["month"]:
        return None
    months = (divmod(said.year * 12 + said.month - 1 + ahead, 12) for ahead in (-1, 0, 1, 2))
    days = [day for year, month in months if (day := single_day(year, month + 1, number(match["n"])))]
    return min((day for day in days if day.first.weekday() == weekday), key=lambda day: abs(day.first - said), default=None)


def _numbered_only(match: re.Match[str], said: date) -> Days | None:
    """Return the next day with this number; None if it just was, or its sentence is about the past: "I paid on the 12th"."""
    if RANKED.search(_sentence(match)) or (not match.groupdict().get("ahead") and _is_over(match)):
        return None
    day = number(match["day"])
    just = latest_numbered(said, day)
    return None if just and 0 < (said - just.first).days <= _JUST else next_numbered(said, day)


def _is_over(match: re.Match[str]) -> bool:
    """Return whether the clause of the match is about the past."""
    clause = _sentence(match, CLAUSE_END)
    return bool(OVER.search(clause)) and not AHEAD.search(clause)


def _sentence(match: re.Match[str], ends: re.Pattern[str] = _SENTENCE_END) -> str:
    """Return the sentence of the match, or another part of the text that *ends* so."""
    text = match.string
    start = max((end.end() for end in ends.finditer(text, 0, match.start())), default=0)
    end = ends.search(text, match.end())
    return text[start : end.start() if end else len(text)]


_HAN_DAYS: Final = {"大前": -3, "前": -2, "昨": -1, "今": 0, "明": 1, "后": 2, "大后": 3}
_HAN_WEEKS: Final = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2}


def _near_zh(match: re.Match[str], said: date) -> Days | None:
    ahead = _HAN_DAYS[match["near"]]
    return None if ahead == 0 and _is_over(match) else _day(said, ahead)


def _week_zh(match: re.Match[str], said: date) -> Days | None:
    week, part = _HAN_WEEKS.get(match["week"] or ""), match["part"]
    if part == "末":
        return None if week is None and _is_over(match) else _week(said, week or 0, 5, 6)
    if not part:
        return None if week is None else _week(said, week)
    return _weekday(match, said, _han_weekday(match), week)


def _numbered_zh(match: re.Match[str], said: date) -> Days | None:
    return _numbered(match, said, _han_weekday(match))


def _han_weekday(match: re.Match[str]) -> int:
    return min("一二三四五六日天".index(match["part"]), 6)


def _later_zh(match: re.Match[str], said: date) -> Days | None:
    return _day(said, number(match["n"]) * (7 if match["unit"] in ("周", "星期", "礼拜") else 1))


def _month_zh(match: re.Match[str], said: date) -> Days | None:
    index = said.year * 12 + said.month - 1 + (match["month"] is not None and match["month"].startswith("下"))
    month = month_of(index // 12, index % 12 + 1)
    if not month:
        return None
    if match["end"]:
        return Days(month.last, month.last)
    return single_day(month.first.year, month.first.month, number(match["day"]))


def _near_en(match: re.Match[str], said: date) -> Days | None:
    near = " ".join(match[0].lower().split())
    if near.startswith(("the day", "day")):
        return _day(said, 2 if "tom" in near else -2)
    if near.startswith(("tom", "tm", "2m")):
        return _day(said, 1)
    if near.startswith(("yesterday", "last")):
        return _day(said, -1)
    return None if _is_over(match) else _day(said, 0)


def _weekday_en(match: re.Match[str], said: date) -> Days | None:
    week = {"next": 1, "last": -1, "this": 0}.get((match["near"] or "").lower())
    return _weekday(match, said, _english_weekday(match), week)


def _week_from_weekday(match: re.Match[str], said: date) -> Days | None:
    return _day(said, (_english_weekday(match) - said.weekday() - 1) % 7 + 8)


def _english_weekday(match: re.Match[str]) -> int:
    return WEEKDAYS.index(match["weekday"][:3].lower())


def _numbered_en(match: re.Match[str], said: date) -> Days | None:
    return _numbered(match, said, _english_weekday(match))


def _week_en(match: re.Match[str], said: date) -> Days | None:
    near = match["near"].lower()
    if near == "the" and _is_over(match):
        return None
    week = 1 if near == "next" else 0
    return _week(said, week, 5, 6) if match["unit"].lower() == "weekend" else _week(said, week)


def _later_en(match: re.Match[str], said: date) -> Days | None:
    count = match["n"].lower()
    return _day(said, (int(count) if count.isdigit() else _COUNTS[count]) * (7 if match["unit"].lower() == "week" else 1))


def _month_end_en(_match: re.Match[str], said: date) -> Days | None:
    month = month_of(said.year, said.month)
    return month and Days(month.last, month.last)


def _habit(_match: re.Match[str], _said: date) -> Days | None:
    """Return None: a habit names no day."""
    return None


def _rules(*rules: tuple[str, DaysOf]) -> _Rules:
    # the case of Han characters would take most of the time
    flags = re.IGNORECASE if rules[0][0].isascii() else re.NOFLAG
    return tuple((lazy_re(pattern, flags), days_of) for pattern, days_of in rules)


@cache
def _chinese() -> _Rules:
    return _rules(
        (f"{MONTHLY_CHINESE}|{EVERY_CHINESE}", _habit),
        (ONE_CHINESE, nth_of_month),
        (rf"{CHINESE}|{_HAN_WEEK}[一二三四五六日天](?:到|至|[-~—])(?:{_HAN_WEEK})?[一二三四五六日天]", _habit),
        (
            rf"(?P<month>[0-9一二三四五六七八九十]月)?(?<![0-9十])(?P<n>{_HAN_N})[号日][，,、(（]?{_HAN_WEEK}(?P<part>[一二三四五六日天])",
            _numbered_zh,
        ),
        (rf"{_HAN_WEEK}(?P<part>[一二三四五六日天])[，,、(（]?(?P<month>)(?P<n>{_HAN_N})[号日]", _numbered_zh),
        ("(?:每天|天天|第二天|前天晚上说|今后|明后天|今明两天|今天的话)", _habit),
        (
            r"(?<![以之目提从早有])(?P<near>大前|大后|前|昨|今|明|后)(?:天|日(?!子|报)|晚|早(?!已)|儿(?![子童媳女])|夜)",
            _near_zh,
        ),
        (rf"(?P<month>下个?月)的?(?:(?P<day>{_HAN_N})[号日]|(?P<end>[底末]))", _month_zh),
        (r"(?<![个年一二三四五六七八九十0-9])(?P<month>(?:这个?|本)?月)的?(?P<end>[底末])(?P<day>)", _month_zh),
        (
            rf"(?P<week>上上|下下|上|下|这|本)?(?<![一二两三四五六七八九十几半0-9]){_HAN_WEEK}(?:的?{_HAN_WEEK})?(?P<part>[一二三四五六日天末])(?![个起次到至])",
            _week_zh,
        ),
        (rf"(?P<week>下下|下|这|本){_HAN_WEEK}(?P<part>)", _week_zh),
        (rf"(?<![第0-9])(?P<n>{_HAN_N})个?(?P<unit>天|周|星期|礼拜)(?:之?后|以后)", _later_zh),
        *((pattern, _numbered_only) for pattern in chinese()),
    )


@cache
def _english() -> _Rules:
    return _rules(
        (rf"\b(?:{WEEKLY}|{EVERY_ENGLISH})", _habit),
        (ONE_ENGLISH, nth_of_month),
        (rf"\b{_SHORT_WEEKDAY},?\s+(?:the\s+)?(?P<n>\d\d?){_ORDINAL}(?P<month>\s+(?:of\s+)?{_MONTH})?", _numbered_en),
        (rf"(?P<month>{_MONTH}\s+)?\b(?P<n>\d\d?){_ORDINAL},?\s+\(?{_SHORT_WEEKDAY}", _numbered_en),
        (_NEAR_EN, _near_en),
        (rf"\b{_WEEKDAY}\s+week\b", _week_from_weekday),
        (rf"\ba\s+week\s+on\s+{_WEEKDAY}", _week_from_weekday),
        (rf"\b(?:(?P<near>next|this|last|coming)\s+)?{_WEEKDAY}(?!s)", _weekday_en),
        (rf"\b(?:(?P<near>next|this|coming)|on|by|until|till)\s+(?!sun\b|sat\s+nav){_SHORT_WEEKDAY}(?!['’-])", _weekday_en),
        (r"\bin\s+a\s+fortnight\b", lambda _match, said: _day(said, 14)),
        (r"\b(?P<near>next|this|the(?=\s+weekend))\s+(?P<unit>weekend|week)\b(?!\s+(?:after|before|of)\b)", _week_en),
        (rf"\b(?:in\s+){_COUNT}\s+(?P<unit>day|week)s?(?:['’]?\s+time)?\b(?!\s+(?:ago|of|or))", _later_en),
        (rf"\b{_COUNT}\s+(?P<unit>day|week)s?\s+from\s+(?:now|today)\b", _later_en),
        (r"\b(?:the\s+)?end\s+of\s+(?:the|this)\s+month\b", _month_end_en),
        (ENGLISH, _numbered_only),
    )
