"""
The days that a question speaks of, seen from the day it is asked: 5月2号, 上周三, 五月初, "last Friday", "in June 2023".

What has no year is the last one that has begun: memories lie behind us. Each language has its table (dates_zh, dates_en);
a rule sees only what the rules above it have left.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from supervisor.policy import dates_en, dates_zh
from supervisor.policy.days import Days, month_of, one

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

_FULL: Final = re.compile(r"(?<!\d)((?:19|20)\d\d)(?:-(\d\d?)-|/(\d\d?)/|\.(\d\d?)\.)(\d\d?)(?!\d)")
_MONTH: Final = re.compile(r"(?<![\d-])((?:19|20)\d\d)[-/](0[1-9]|1[0-2])(?![\d/-])")


@dataclass(frozen=True, slots=True)
class Span:
    """Days that a text names, and where in the text (NFKC) it does so."""

    days: Days
    start: int
    end: int


def spans(text: str, today: date) -> tuple[Span, ...]:
    """
    Return the days that *text* names, in its order.

    >>> from datetime import date
    >>> [span.days.label for span in spans("5月2号和上周三说了什么，还有 in June 2025?", date(2026, 1, 31))]
    ['2025-05-02', '2026-01-21', '2025-06-01..2025-06-30']
    """
    rest = unicodedata.normalize("NFKC", text)
    found = []
    for pattern, days_of in _RULES:
        for match in pattern.finditer(rest):
            days = days_of(match, today)
            if days:
                found.append(Span(days, match.start(), match.end()))
        for span in found:
            rest = rest[: span.start] + "\0" * (span.end - span.start) + rest[span.end :]
    return tuple(sorted(found, key=lambda span: span.start))


def _full(match: re.Match[str], _today: date) -> Days | None:
    year, *months, day = match.groups()
    return one(int(year), int(next(month for month in months if month)), int(day))


def _month(match: re.Match[str], _today: date) -> Days | None:
    return month_of(int(match[1]), int(match[2]))


_RULES: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str], date], Days | None]], ...]] = (
    (_FULL, _full),
    (_MONTH, _month),
    *dates_zh.RULES,
    *dates_en.RULES,
)
