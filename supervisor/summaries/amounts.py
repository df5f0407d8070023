"""
The numbers of what was summarised, and whether they say a number of an answer.

They do as they are, in another unit, without thousands, about so much, or as what two of them make. One that was told ten, a
hundred, a thousand times as large is known by its digits. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Final

from recalld.supervisor.text.lazy_re import lazy_re

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from datetime import date

    from recalld.supervisor.text.figures import Figure

_ABOUT: Final = lazy_re(
    r"约|近|大概|左右|上下|多|about|around|nearly|almost|some|roughly|over|under|up to|more than|less than", 2
)
_ROUNDED: Final = 0.1
_EQUAL: Final = 0.01  # 18 months and a year and a half
#: A sum of fewer is a count of something, with a unit of fewer than the second; of more numbers each is the sum of two.
_LEAST_SUM: Final = (10, 2)
_MOST_ADDED: Final = 40
#: What a number is taken times without saying so: both ways, a quarter, a year, a half.
_TIMES: Final = (2, 3, 4, 12, 0.5)
#: What a bare number may leave away, where it is below so many: of 281,000 "281" is said, of 三十二万 三十二; and how many
#: times as large or small a number may be that is said whole, for it to be heard so.
_CURTAILED: Final = ((1_000, 1_000), (10_000, 100))
_HEARD_SO: Final = 4
#: By what a number is told too large or too small, and from where on a round one is.
_SHIFTS: Final = tuple(10.0**n for n in (-4, -3, -2, -1, 1, 2, 3, 4))
_ROUND: Final = 100
_YEAR_HOURS: Final = 8766
_YEARS: Final = range(1900, 2101)


@dataclass(frozen=True)
class Amounts:
    """The numbers in what was *said*: of each text its day and its figures."""

    said: tuple[tuple[date | None, tuple[Figure, ...]], ...]

    @cached_property
    def all(self) -> frozenset[tuple[float, str, float]]:
        """Each number, what its unit measures, and the number in the basic unit."""
        found = {(float(day.year), "", float(day.year)) for day, _ in self.said if day}
        for _, those in self.said:
            found |= {number for one in those if isinstance(one.value, float) for number in _numbers_of(one)}
            for one in those:  # a day or an hour may be named without its month or its minutes
                found |= {(float(n), "", float(n)) for n in one.value} if isinstance(one.value, tuple) else set()
        return frozenset(found)

    def has(self, figure: Figure) -> bool:
        """Return whether they say the number, or make it."""
        wanted, measures = figure.base, figure.measures
        for value, theirs, base in self.all:
            if measures == theirs and abs(base - wanted) <= _EQUAL * abs(wanted):
                return True
            if not (measures and theirs) and (figure.value == value or self._is_curtailed(figure, value)):
                return True
        if figure.value in _YEARS and not measures:
            return any(day and abs(day.year - figure.value) <= 1 for day, _ in self.said)  # type: ignore[operator]
        return self._adds_up(figure)

    def has_about(self, figure: Figure, around: str) -> bool:
        """Return whether the number is given as about so much, by the words *around* it, and one of them is."""
        if figure.kind != "number" or not _ABOUT.search(around):
            return False
        return any(abs(base - figure.base) <= _ROUNDED * abs(base) for _, _, base in self.all)

    def has_shifted(self, figure: Figure) -> bool:
        """Return whether one of them, which is no date, has the digits of the number, but other noughts: 120 and 120,000."""
        if figure.kind != "number" or figure.is_word or not figure.base:
            return False
        known = {one.base for _, those in self.said for one in those if one.kind == "number"}
        return any(round(figure.base * n, 6) in known and _has_digits(figure.base * n) for n in _SHIFTS)

    def _is_curtailed(self, figure: Figure, said: float) -> bool:
        """Return whether *said* is the number without its thousands, and another one that is said whole is about as large."""
        if not any(figure.value == said * n and said < below for n, below in _CURTAILED):
            return False
        return any(
            unit in ("", figure.measures) and figure.base <= _HEARD_SO * base and base <= _HEARD_SO * figure.base
            for _, unit, base in self.all
        )

    @cached_property
    def _made(self) -> frozenset[tuple[str | None, float]]:
        """What the numbers of each day make, with what it measures; sums and differences also with None, for a bare number."""
        by_day: dict[date | None, set[tuple[str, float]]] = {}
        for day, those in self.said:
            numbers = (number for one in those if isinstance(one.value, float) for number in _numbers_of(one))
            by_day.setdefault(day, set()).update((measures, base) for _, measures, base in numbers if base)
        return frozenset(made for numbers in by_day.values() for made in _made_of(numbers))

    def _adds_up(self, figure: Figure) -> bool:
        """Return whether the number is made of those of one day: a sum, a difference, one of them so many times."""
        if not isinstance(figure.value, float) or figure.value < _LEAST_SUM[bool(figure.measures)]:
            return False
        return any(
            (unit, round(figure.base, 6)) in self._made for unit in ((figure.measures, "") if figure.measures else (None,))
        )


def _numbers_of(figure: Figure) -> Iterator[tuple[float, str, float]]:
    """Yield the number, what its unit measures, and the number in the basic unit; an age and a time of months as each other."""
    value = figure.value if isinstance(figure.value, float) else 0.0
    yield value, figure.measures, figure.base
    if figure.measures == "age":
        yield value, "hour", figure.base * _YEAR_HOURS
    elif figure.measures == "hour" and figure.factor * 12 >= _YEAR_HOURS - figure.factor:
        yield value, "age", figure.base / _YEAR_HOURS


def _made_of(numbers: Collection[tuple[str, float]]) -> Iterator[tuple[str | None, float]]:
    """Yield the sum and the difference of each two that have one unit or none, and each with a unit so many times."""
    counts = {base for unit, base in numbers if not unit}
    for unit in {unit for unit, _ in numbers}:
        alike = [base for theirs, base in numbers if theirs in (unit, "")]
        for a, b in combinations([*alike, *alike], 2) if len(alike) <= _MOST_ADDED else ():
            yield from ((tag, round(made, 6)) for tag in (unit, None) for made in (a + b, abs(a - b)))
        times = _TIMES if len(counts) > _MOST_ADDED else {*counts, *_TIMES}
        yield from ((unit, round(base * n, 6)) for theirs, base in numbers if unit and theirs == unit for n in times)


def _has_digits(number: float) -> bool:
    """Return whether a number is no single digit that many texts have: 12, 0.45, 300."""
    return number >= _ROUND or len(f"{number:.4f}".replace(".", "").strip("0")) > 1
