"""
Find the days that a question names, relative to the day it is asked: 5月2号, 上周三, 五月初, "last Friday", "in June 2023".

A date without a year is the last one that has begun, since memories are in the past. Each language has a table of rules
(dates_zh, dates_en); a rule sees only the text that no rule before it has matched.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from recalld.supervisor.query.calendar import Days, latest_day, month_of, single_day
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.record import record
from recalld.supervisor.text.tokenizer import HAN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import date
    from typing import TypeAlias

    DaysOf: TypeAlias = Callable[[re.Match[str], date], Days | None]

_FULL: Final = lazy_re(r"(?<!\d)((?:19|20)\d\d)(?:-(\d\d?)-|/(\d\d?)/|\.(\d\d?)\.)(\d\d?)(?!\d)")
#: Month first, as 5/2 is read in Chinese and American English; day first if there is no such month. Fractions and 24/7 are not
#: dates.
_SLASHED: Final = lazy_re(
    r"(?<![\d/.$€£¥￥])(?:(?P<where>on|since|from|by|until|before|after|[在从到于是])\s*)?"
    r"(?<![\d/.])(?P<one>\d\d?)/(?P<two>\d\d?)(?:/(?P<year>20\d\d|\d\d))?(?![\d/%])",
    re.IGNORECASE,
)
_FRACTIONS: Final = frozenset({"1/2", "1/3", "2/3", "1/4", "3/4", "1/5", "1/8"})
#: Between the first and the last day of a span: 5月2号到5月4号, "May 2 to May 4".
_TO: Final = lazy_re(r"\s*(?:到|至|[-–—~]+|to|through|until|till)\s*", re.IGNORECASE)
_LATIN: Final = lazy_re("[A-Za-z]")
#: Many who write Chinese set numbers apart: 11 月 28 号. A longer number is no month: 物业费1882 月底前交.
_APART: Final = lazy_re(rf"(?<=[0-9]) (?=[{HAN}])(?!(?<=[0-9]{{3}} )月)|(?<=[{HAN}]) (?=[0-9])")
_MONTH: Final = lazy_re(r"(?<![\d-])((?:19|20)\d\d)[-/](0[1-9]|1[0-2])(?![\d/-])")

#: The first conversation with the assistant; "the first conversation with Anna" is another one.
_FIRST_TALK: Final = lazy_re(
    r"(?:我们俩?|咱们?俩?|你我|[你我][和跟与][你我])的?(?:第一次|最初|最早|首次)的?(?:聊天?|对话|交谈|交流|谈话|说话|见面|认识)"
    r"|第一次[和跟与]你(?:聊天?|对话|交谈|交流|谈话|说话|见面|认识)"
    r"|\b(?:our|the) (?:very )?first (?:ever )?(?:conversation|chat|talk|session)\b(?! with (?!you\b))"
    r"|\bfirst time (?:that )?we (?:ever )?(?:talked|chatted|spoke|met)\b|\bwe first (?:talked|chatted|spoke|met)\b"
    r"|\bI first (?:talked|spoke|wrote) (?:to|with) you\b",
    re.IGNORECASE,
)


@record
class Span:
    """Days that a text names, and their place in the text as it is given."""

    days: Days
    start: int
    end: int

    def overlaps(self, other: Span) -> bool:
        """Return whether both stand in the same place."""
        return self.start < other.end and other.start < self.end


def spans(text: str, today: date) -> tuple[Span, ...]:
    """
    Return the days that *text* names, in the order of the text.

    >>> from datetime import date
    >>> [span.days.label for span in spans("5月2号和上周三说了什么，还有 in June 2025?", date(2026, 1, 31))]
    ['2025-05-02', '2026-01-21', '2025-06-01..2025-06-30']
    """
    plain, placed_in_text = _in_nfkc(text)
    rest, placed = set_solid(plain)
    found: list[Span] = []
    for pattern, days_of in _rules(rest):
        rest = read_rule(pattern, days_of, rest, today, found)
    return tuple(placed_in_text(placed(span)) for span in _joined(sorted(found, key=lambda span: span.start), rest))


def read_rule(pattern: re.Pattern[str], days_of: DaysOf, text: str, today: date, found: list[Span]) -> str:
    """Add the days that the rule finds in the text to *found*, and return the text without them."""

    def taken(match: re.Match[str]) -> str:
        if days := days_of(match, today):
            found.append(Span(days, match.start(), match.end()))
        return "\0" * len(match[0])  # a day that does not exist (2月30日) must not be read as another date

    return pattern.sub(taken, text)


def _in_nfkc(text: str) -> tuple[str, Callable[[Span], Span]]:
    """Return the text in NFKC, which is longer where ㎏ or ① is in it, and what gives a span of it its place in *text*."""
    if unicodedata.is_normalized("NFKC", text):
        return text, lambda span: span
    starts = [place for place, char in enumerate(text) if not (place and unicodedata.combining(char))]
    pieces = [(start, end) for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    plain = [unicodedata.normalize("NFKC", text[start:end]) for start, end in pieces]
    places = [piece for piece, chars in zip(pieces, plain, strict=True) for _ in chars]
    return "".join(plain), lambda span: replace(span, start=places[span.start][0], end=places[span.end - 1][1])


def set_solid(text: str) -> tuple[str, Callable[[Span], Span]]:
    """
    Return the text without the blanks between numbers and Chinese, and what gives a span of it its place in *text*.

    >>> set_solid("下个月 8 号 to 12 May")[0]
    '下个月8号 to 12 May'
    """
    gaps = frozenset(match.start() for match in _APART.finditer(text)) if " " in text and not text.isascii() else ()
    if not gaps:
        return text, lambda span: span
    kept = [place for place in range(len(text)) if place not in gaps]
    return "".join(text[place] for place in kept), lambda span: replace(
        span, start=kept[span.start], end=kept[span.end - 1] + 1
    )


def first_talk(text: str, first_day: Callable[[], date | None]) -> tuple[Span, ...]:
    """
    Return the *first_day* of memory, if there is one, where *text* (NFKC) names the first conversation with the assistant.

    >>> from datetime import date
    >>> [first_talk(text, lambda: date(2026, 1, 2))[0].days.label for text in ("我们第一次聊天", "when we first met")]
    ['2026-01-02', '2026-01-02']
    """
    found = _FIRST_TALK.search(text)
    day = first_day() if found else None
    return (Span(Days(day, day), found.start(), found.end()),) if found and day else ()


def _joined(found: Iterable[Span], text: str) -> Iterator[Span]:
    """Yield the spans; two that the text joins ("May 2 to May 4") become one."""
    held: Span | None = None
    for span in found:
        if held and held.days.last < span.days.first and _TO.fullmatch(text, held.end, span.start):
            held = Span(Days(held.days.first, span.days.last), held.start, span.end)
        else:
            if held:
                yield held
            held = span
    if held:
        yield held


def _full(match: re.Match[str], _today: date) -> Days | None:
    year, *months, day = match.groups()
    return single_day(int(year), int(next(month for month in months if month)), int(day))


def _slashed(match: re.Match[str], today: date) -> Days | None:
    month, day = int(match["one"]), int(match["two"])
    written = f"{match['one']}/{match['two']}"
    if not match["year"] and (written == "24/7" or (written in _FRACTIONS and not match["where"])):
        return None
    if month > 12:
        month, day = day, month
    if not match["year"]:
        return latest_day(month, day, today)
    return single_day(int(match["year"]) % 2000 + 2000, month, day)


def _month(match: re.Match[str], _today: date) -> Days | None:
    return month_of(int(match[1]), int(match[2]))


def _rules(text: str) -> Iterator[tuple[re.Pattern[str], DaysOf]]:
    """Yield the rules that can match the text; the rules of a language are loaded only if the text has its letters."""
    yield from ((_FULL, _full), (_MONTH, _month), (_SLASHED, _slashed))
    if not text.isascii():
        from recalld.supervisor.query import dates_zh

        yield from dates_zh.RULES if dates_zh.HINT.search(text) else ()
    if _LATIN.search(text):
        from recalld.supervisor.query import dates_en

        yield from dates_en.RULES if dates_en.HINT.search(text) else ()
