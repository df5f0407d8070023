"""
Writes the date after a relative day in a stored message: "tomorrow (24 November): physio", 明天（11月24日）体检.

The reader of a memory block sees a message on another day than the one on which it was sent. Only the block has the date, no
file has it. Code is left as it is, and so is a word that has its date next to it already.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

from recalld.supervisor.query.dates import spans
from recalld.supervisor.query.relative_days import MOST_CHARS, relative_days
from recalld.supervisor.text.day_words import day_of_month
from recalld.supervisor.text.lazy_re import lazy_re

if TYPE_CHECKING:
    from datetime import date

    from recalld.supervisor.query.calendar import Days
    from recalld.supervisor.query.dates import Span

#: The most dates that are written into a message, after its first relative days.
_MOST: Final = 4
#: A date at most so many characters away already says which day is meant.
_NEXT_TO: Final = 6
_DIGIT: Final = lazy_re(r"\d|[一二三四五六七八九十][月号日]")
#: Code, in which nothing is written: a fence, a quoted piece, an indented line; and a word in an address, a path or a name.
_CODE: Final = lazy_re(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`|(?m:^(?: {4}|\t).*$)", re.DOTALL)
_PART: Final = lazy_re(r"[/\\_=@#-][!-~]*\Z")
_TAIL: Final = lazy_re(r"[!-~]*?[/\\_=@#-]\w")
_PART_CHARS: Final = 60
_HAN: Final = lazy_re("[\u4e00-\u9fff]")


@lru_cache(maxsize=64)
def with_days(text: str, said: date) -> str:
    """
    Return the text of a message of the day *said* with the date after each of its first few relative days, except today.

    >>> from datetime import date
    >>> with_days("tomorrow: physio", date(2026, 11, 23)), with_days("下周二师傅上门", date(2026, 11, 23))
    ('tomorrow (24 November): physio', '下周二（12月1日）师傅上门')
    """
    found = [span for span in relative_days(text, said) if span.days.first != said or span.days.length > 1]
    found = [span for span in found if not _is_part(text, span)]
    if not found:
        return text
    read = text[:MOST_CHARS]
    code = [match.span() for match in _CODE.finditer(read)]
    dates = [one for one in spans(read, said) if _DIGIT.search(text[one.start : one.end])]
    dates = [one for one in dates if not any(map(one.overlaps, found))]
    unsaid = [span for span in found if not _is_said(span, dates, code)]
    each = [span for n, span in enumerate(unsaid) if not n or span.days != unsaid[n - 1].days]  # 明天（周三） is one
    for span in reversed(each[:_MOST]):
        text = f"{text[: span.end]}{_in_brackets(span.days, said, text[span.start : span.end])}{text[span.end :]}"
    return text


def _is_said(span: Span, dates: list[Span], code: list[tuple[int, int]]) -> bool:
    """Return whether the text has the date next to the word, or the word is a part of code."""
    near = any(one.start < span.end + _NEXT_TO and span.start < one.end + _NEXT_TO for one in dates)
    return near or any(start < span.end and span.start < end for start, end in code)


def _is_part(text: str, span: Span) -> bool:
    """Return whether the word is a part of an address, a path or a name: at-tomorrow.sh."""
    before, after = text[max(0, span.start - _PART_CHARS) : span.start], text[span.end : span.end + _PART_CHARS]
    return bool(_PART.search(before) or _TAIL.match(after)) and text[span.start].isascii()


def _in_brackets(days: Days, said: date, word: str) -> str:
    language: Literal["zh", "en"] = "zh" if not word.isascii() and _HAN.search(word) else "en"
    first, last = (day_of_month(day, language, year=day.year != said.year) for day in (days.first, days.last))
    if language == "zh":
        return f"（{first}）" if first == last else f"（{first}至{last}）"
    return f" ({first})" if first == last else f" ({first} to {last})"
