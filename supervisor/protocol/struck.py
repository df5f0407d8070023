"""
What is no longer true, as a file of memory says it: ``~~words~~ (until 2026-11-23: reason)``. Pure.

Of Chinese words it says it in Chinese: ``~~原话~~（至 2026-11-23：原因）``.
A person may strike words through without a day; `write --replaces` and `invalidate` name it (docs/reference/protocol.md, 10.8).
"""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from ..text.lazy_re import lazy_re

if TYPE_CHECKING:
    from collections.abc import Sequence

_SINCE = r"(?: ?[(（](?:until|至) ?(\d{4}-\d\d-\d\d)(?:[:：] ?(.*))?[)）])?"
_STRUCK = lazy_re(rf"~~((?:(?!~~).)+)~~{_SINCE}[.。]?(?:\s+#\w+)*", re.DOTALL)
#: What is before the words of a line: the sign of a list, day and source of an entry.
_BEFORE = lazy_re(r"\s*(?:[-*+]\s+|\d{1,3}[.)、]\s+)?(?:\[[ xX]\]\s+)?(?:\d{4}-\d\d-\d\d\|[^|\n]*\|\s*)?")


class Struck(NamedTuple):
    """Words that are no longer true, since the day *until* (None: nobody says since when), and the *reason*, if any."""

    words: str
    until: date | None = None
    reason: str = ""

    def __str__(self) -> str:
        """Return the words as a file has them, the day and the reason in their language."""
        from ..text.language import language_of  # here: most commands strike nothing

        said = f"~~{self.words.replace('~~', '')}~~"
        if self.until is None:
            return said
        if language_of(self.words) == "zh":
            return f"{said}（至 {self.until}{f'：{self.reason}' if self.reason else ''}）"
        return f"{said} (until {self.until}{f': {self.reason}' if self.reason else ''})"


def read_struck(words: str) -> Struck | None:
    """
    Return what the words say that is no longer true, None where a part of them still stands.

    >>> read_struck("~~住在杭州~~ (until 2026-11-23)")
    Struck(words='住在杭州', until=datetime.date(2026, 11, 23), reason='')
    >>> read_struck("12月~~1~~15日发布")
    """
    match = _STRUCK.fullmatch(words.strip()) if words.lstrip().startswith("~~") else None
    if match is None:
        return None
    try:
        until = date.fromisoformat(match[2]) if match[2] else None
    except ValueError:  # there is no such day
        until = None
    return Struck(match[1], until, match[3] or "")


def struck_line(line: str, until: date, reason: str = "") -> str:
    """
    Return a line with its words struck; what comes before them, day and source or the sign of a list, stays.

    >>> struck_line("2026-02-14|web-chat|住在杭州", date(2026, 11, 23))
    '2026-02-14|web-chat|~~住在杭州~~（至 2026-11-23）'
    """
    before = before_words(line)
    return before + str(Struck(line[len(before) :].strip(), until, reason))


class Dated(NamedTuple):
    """The words of a line, its number, and the day of its entry (None: it is none)."""

    number: int
    day: date | None
    words: str


def in_place_of(number: int, lines: Sequence[Dated]) -> int | None:
    """
    Return the number of the line that stands in the place of the struck line *number*, None if none does.

    It is an entry of the day on which that line ended, below it; of several the one with most words in common. Where that one
    has ended as well, the line that stands in its place.
    """
    from ..text.tokenizer import tokens  # here: most commands need none

    words = {line.number: line.words for line in lines}
    while found := read_struck(words.get(number, "")):
        later = [line for line in lines if line.number > number and found.until and line.day == found.until]
        shared = {*tokens(found.words)}
        number = max(later, key=lambda line: len(shared & {*tokens(line.words)}), default=Dated(0, None, "")).number
    return number or None


def before_words(line: str) -> str:
    """Return what is before the words of a line."""
    match = _BEFORE.match(line)
    return match[0] if match else ""
