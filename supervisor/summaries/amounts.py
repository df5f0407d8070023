"""
The numbers of what was summarised, and whether they say a number of an answer.

They do as they are, in another unit, without thousands, about so much, or as what two of them make. One that was told ten, a
hundred, a thousand times as large is known by its digits. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Final

from recalld.supervisor.text.figures import MONEY
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.record import record
from recalld.supervisor.text.tokenizer import HAN

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from datetime import date

    from recalld.supervisor.text.figures import Figure

_ABOUT: Final = lazy_re(
    r"约|近|大概|左右|上下|多|about|around|nearly|almost|some|roughly|over|under|up to|more than|less than", 2
)
#: Words that say that a number was worked out: a sum, a difference, a part.
_WORKED_OUT: Final = lazy_re(
    r"共|合计|总|[涨降跌升加减增]|[多少]|[贵省差剩余扣垫]|便宜|还欠|退|[每各又倍翻]|[一对减]半|平[均摊]|分摊|季度"
    r"|[提推]前|延[后期长]|[晚早]了|一[节个月年次人块件位]"
    r"|\b(?:more|less|fewer|totals?|in all|al?together|r[io]se|fell|falls?|drop\w*|cuts?|\w+ed by|left|leaves|gap|dearer"
    r"|cheaper|remain\w*|each|hal[fv]\w*|under|over|below|above|too little|sav(?:es?|ed)|difference|missing|both|times|twice"
    r"|per|quarter|makes?|an? (?:week|month|year|head|piece|night|person)|apiece|later|earlier|nearly|of which)\b",
    re.IGNORECASE,
)
#: One of these may only count: "a year", 一天, "1 kg" of a kilo.
_DAY_HOURS: Final = 24
_SMALL: Final = 100  # the largest number that is multiplied
_ONE: Final = frozenset((("hour", _DAY_HOURS), ("hour", 8766), ("gram", 1000)))
_HALF: Final = lazy_re(r"一半|对半|平[均摊分]|\bAA\b|\b(?:half|halves)\b", re.IGNORECASE)
_EACH: Final = lazy_re(r"[每各]|平均|一[节个件本位盒斤袋]|\b(?:each|apiece|per|an? \w+)\b", re.IGNORECASE)
_HAN: Final = lazy_re(f"[{HAN}]")
_BESIDE: Final = 4  # characters beside a number that show its language
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


@record
class Number:
    """A number in its unit and in the basic one, what the unit *measures*, in which text it is said, and whether in Chinese."""

    value: float
    measures: str
    factor: float
    base: float
    text: int
    is_chinese: bool = False


@dataclass(frozen=True)
class Amounts:
    """The numbers in what was *said*: of each text its day, its words and its figures."""

    said: tuple[tuple[date | None, str, tuple[Figure, ...]], ...]

    @cached_property
    def all(self) -> frozenset[Number]:
        """Each number."""
        found = {Number(float(day.year), "", 1.0, float(day.year), at) for at, (day, _, _) in enumerate(self.said) if day}
        for at, (_, text, those) in enumerate(self.said):
            found |= {number for one in those if isinstance(one.value, float) for number in _numbers_of(one, at, text)}
            for one in those:  # a day or an hour may be named without its month or its minutes
                parts = one.value if isinstance(one.value, tuple) else ()
                found |= {Number(float(part), "", 1.0, float(part), at) for part in parts}
        return frozenset(found)

    @cached_property
    def bare(self) -> frozenset[float]:
        """The numbers without a unit."""
        return frozenset(one.value for one in self.all if not one.measures)

    @cached_property
    def _units(self) -> frozenset[tuple[int, str, float]]:
        """The units of each text."""
        return frozenset((one.text, one.measures, one.factor) for one in self.all if one.measures)

    @cached_property
    def _money(self) -> frozenset[str]:
        """The money that they name."""
        return frozenset(one.measures for one in self.all if one.measures in MONEY)

    @cached_property
    def _products(self) -> frozenset[float]:
        """What two small numbers of one text make, without a unit: 45 doses of "three a day for 15 days"."""
        small: dict[int, list[float]] = {at: [] for at in range(len(self.said))}
        for one in self.all:
            if 1 < one.value <= _SMALL and (not one.measures or one.factor == _DAY_HOURS):
                small[one.text].append(one.value)
        return frozenset(a * b for those in small.values() for a, b in combinations(those[:_MOST_ADDED], 2))

    @cached_property
    def _tells_half(self) -> bool:
        return any(_HALF.search(text) for _, text, _ in self.said)

    def has(self, figure: Figure, around: str | None = None) -> bool:
        """Return whether they say the number, or make it, where the words *around* it, if given, say that it was worked out."""
        wanted, measures = figure.base, figure.measures
        if figure.value == 1 and (measures, figure.factor) in _ONE:
            return True
        for one in self.all:
            if measures == one.measures and abs(one.base - wanted) <= _EQUAL * abs(wanted):
                return True
            is_alike = figure.value == one.value or self._is_curtailed(figure, one.value)
            if is_alike and (not measures or (not one.measures and self._counts_in(figure, one))):
                return True
        if not measures and figure.value in self._products:
            return True
        if figure.value in _YEARS and not measures:
            return any(day and abs(day.year - figure.value) <= 1 for day, _, _ in self.said)  # type: ignore[operator]
        if self._tells_half and any(one.measures in ("", measures) and one.base == 2 * figure.base for one in self.all):
            return True
        if around is not None and not _WORKED_OUT.search(around):
            return False
        return self._adds_up(figure) or (around is not None and bool(_EACH.search(around)) and self._is_each(figure))

    def _counts_in(self, figure: Figure, bare: Number) -> bool:
        """Return whether a number without a unit may have the figure's: "20" of "20 to 30 minutes", 元 in Chinese."""
        if figure.measures not in MONEY:
            return figure.measures == "age" or (bare.text, figure.measures, figure.factor) in self._units
        if figure.measures in self._money:
            return True
        others = {unit for text, unit, _ in self._units if text == bare.text and unit in MONEY}
        return bare.is_chinese == (figure.measures == "CNY") and others <= {"CNY"}

    def has_about(self, figure: Figure, around: str) -> bool:
        """Return whether the number is given as about so much, by the words *around* it, and one of them is."""
        if figure.kind != "number" or not _ABOUT.search(around):
            return False
        return any(
            abs(one.base - figure.base) <= _ROUNDED * abs(one.base) for one in self.all if one.measures in ("", figure.measures)
        )

    def has_shifted(self, figure: Figure) -> bool:
        """Return whether one of them, which is no date, has the digits of the number, but other noughts: 120 and 120,000."""
        if figure.kind != "number" or figure.is_word or not figure.base:
            return False
        known = {one.base for _, _, those in self.said for one in those if one.kind == "number"}
        return any(round(figure.base * n, 6) in known and _has_digits(figure.base * n) for n in _SHIFTS)

    def _is_curtailed(self, figure: Figure, said: float) -> bool:
        """Return whether *said* is the number without its thousands, and another one that is said whole is about as large."""
        if not any(figure.value == said * n and said < below for n, below in _CURTAILED):
            return False
        return any(
            one.measures in ("", figure.measures)
            and figure.base <= _HEARD_SO * one.base
            and one.base <= _HEARD_SO * figure.base
            for one in self.all
        )

    @cached_property
    def _by_day(self) -> tuple[frozenset[Number], ...]:
        """The numbers of each day that are more than nothing."""
        by_day: dict[date | None, set[Number]] = {}
        for at, (day, text, those) in enumerate(self.said):
            numbers = (number for one in those if isinstance(one.value, float) for number in _numbers_of(one, at, text))
            by_day.setdefault(day, set()).update(one for one in numbers if one.value)
        return tuple(map(frozenset, by_day.values()))

    @cached_property
    def _made(self) -> frozenset[tuple[str | None, float, float]]:
        """What the numbers of each day make, with its unit; sums and differences also with None, for a bare number."""
        return frozenset(made for numbers in self._by_day for made in _made_of(numbers))

    def _adds_up(self, figure: Figure) -> bool:
        """Return whether the number is made of those of one day: a sum, a difference, one of them so many times."""
        least = 0 if figure.is_word else _LEAST_SUM[bool(figure.measures)]
        if not isinstance(figure.value, float) or figure.value < least:
            return False
        units: list[tuple[str | None, float]] = [(figure.measures, figure.factor)] if figure.measures else [(None, 1.0)]
        units += [("", 1.0)] if figure.measures not in ("", "hour") else []
        return any((*unit, round(figure.value, 6)) in self._made for unit in units)

    def _is_each(self, figure: Figure) -> bool:
        """Return whether the number is what each of several costs or counts: 200 of 8 节共 1,600."""
        each = figure.base / figure.factor
        for numbers in self._by_day:
            counts = {one.value for one in numbers if not one.measures}
            wholes = {one.value for one in numbers if one.measures in ("", figure.measures)}
            if each and any(whole > each and whole / each in counts for whole in wholes):
                return True
        return False


def _numbers_of(figure: Figure, at: int, text: str) -> Iterator[Number]:
    """Yield the number of a figure of the *text*; an age and a time of months as each other, too."""
    value = figure.value if isinstance(figure.value, float) else 0.0
    is_chinese = bool(_HAN.search(text, max(0, figure.start - _BESIDE), figure.end + _BESIDE))
    yield Number(value, figure.measures, figure.factor, figure.base, at, is_chinese)
    if figure.measures == "age":
        yield Number(value, "hour", float(_YEAR_HOURS), figure.base * _YEAR_HOURS, at)
    elif figure.measures == "hour" and figure.factor * 12 >= _YEAR_HOURS - figure.factor:
        yield Number(value, "age", 1.0, figure.base / _YEAR_HOURS, at)


def _made_of(numbers: Collection[Number]) -> Iterator[tuple[str | None, float, float]]:
    """Yield the sum and the difference of each two that have one unit or none, and each with a unit so many times."""
    bare = [one.value for one in numbers if not one.measures]
    times = _TIMES if len(bare) > _MOST_ADDED else {*bare, *_TIMES}
    for measures, factor in {(one.measures, one.factor) for one in numbers}:
        of_unit = [one.value for one in numbers if (one.measures, one.factor) == (measures, factor)]
        alike = sorted({*of_unit, *bare})
        for a, b in combinations([*alike, *alike], 2) if len(alike) <= _MOST_ADDED else ():
            for made in (round(a + b, 6), round(abs(a - b), 6)):
                yield measures, factor, made
                yield None, 1.0, made
        yield from ((measures, factor, round(value * n, 6)) for value in of_unit if measures and value != 1 for n in times)


def _has_digits(number: float) -> bool:
    """Return whether a number is no single digit that many texts have: 12, 0.45, 300."""
    return number >= _ROUND or len(f"{number:.4f}".replace(".", "").strip("0")) > 1
