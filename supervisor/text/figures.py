"""
What a text says in figures: numbers, days, weekdays and times of the clock, equal however they are written.

三万二 is 32,000, 1月28日 is "Jan 28", 下午三点半 is 15:30 and "3:30 pm". A summary is compared with its material by these.
Letters and digits that are one word (G1024, gpt-4o) are a name, not a number, and a number in English words is none: a small
one may only count. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal

from .lazy_re import lazy_re
from .record import record

#: Characters as wide as a Han character, and the digits, points and colons that they are; the length stays.
_NARROW: Final = str.maketrans("０１２３４５６７８９．：％－／～", "0123456789.:%-/~")
_HAN_DIGITS: Final = dict(zip("零〇一二三四五六七八九两", (0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 2), strict=True))
_HAN_TENS: Final = {"十": 10, "百": 100, "千": 1_000}
_HAN_MYRIADS: Final = {"万": 10_000, "亿": 100_000_000}
_MULTIPLES: Final = (
    {"k": 1_000, "w": 10_000, "hundred": 100, "thousand": 1_000, "million": 1_000_000} | _HAN_TENS | _HAN_MYRIADS
)
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

#: It begins with a digit or with 十, as 百姓 and 千万别 do not.
_HAN_NUMBER: Final = "[零〇一二三四五六七八九十两][零〇一二三四五六七八九十百千万亿两]{0,11}"
_COUNT: Final = rf"(?:\d+|{_HAN_NUMBER})"
_MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_ORDINAL: Final = r"\d{1,2}(?:st|nd|rd|th)?"
_BEGIN: Final = r"(?<![A-Za-z0-9_.:,/-])"
#: How each kind is written. The first that matches at a place is what is written there.
_WRITTEN: Final = {
    "name": (  # but digits with a short unit, "5km" and "3rd", are a number
        r"(?<![A-Za-z0-9.])\d+(?:\.\d+){2,}",
        (
            r"(?<![A-Za-z0-9.])(?=[\d./-]{0,40}[A-Za-z_])(?=[A-Za-z_./-]{0,80}\d)(?!\d[\d.,:]*-?[A-Za-z]{1,5}(?![A-Za-z0-9]))"
            r"[A-Za-z0-9_./-]{1,80}[A-Za-z0-9_]"
        ),
    ),
    "day": (
        r"\d{4}\s?[-/.年]\s?(?P<m>\d{1,2})\s?[-/.月]\s?(?P<d>\d{1,2})(?!\d)\s?[日号]?",
        rf"(?<![\d个])(?P<zm>{_COUNT})\s?月\s?(?:(?P<zd>{_COUNT})\s?[日号]|份?(?!\d))",
        rf"(?<![A-Za-z])(?P<em>{_MONTH})\s(?:the\s)?(?P<ed>{_ORDINAL})(?![\d:])",
        rf"{_BEGIN}(?P<fd>{_ORDINAL})\s(?:of\s)?(?P<fm>{_MONTH})(?![a-z])",
        rf"{_BEGIN}(?P<od>\d{{1,2}})(?:st|nd|rd|th)\b|(?<![\d.:,月])(?P<zo>{_COUNT})\s?号(?![线楼院门])",
    ),
    "weekday": (
        r"(?:周|星期|礼拜)(?P<zw>[一二三四五六日天])",
        rf"(?<![A-Za-z])(?P<ew>{'|'.join(_WEEKDAYS)})(?:s|nes|rs|ur|urs)?(?:day)?s?\b",
    ),
    "time": (
        r"(?P<h>\d{1,2}):(?P<min>\d\d)(?:\s?[ap]\.?m\b\.?)?",
        rf"(?P<zh>{_COUNT})\s?点(?!\d)(?:(?P<half>半)|(?P<zmin>{_COUNT})分?|钟|整)?",
        r"(?P<eh>\d{1,2})\s?[ap]\.?m\b\.?",
    ),
    "number": (
        r"(?P<digits>(?<![\d.])\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,15}(?:\.\d{1,15})?)(?P<multiple>\s?[百千万亿]{1,3}|\s?(?:hundred|thousand|million)\b|[kw]\b)?",
        rf"(?P<hans>{_HAN_NUMBER})",
    ),
}
_FIGURE: Final = lazy_re("|".join(f"(?P<{kind}>{'|'.join(forms)})" for kind, forms in _WRITTEN.items()), re.IGNORECASE)
#: The largest number in Chinese that may only count, or be part of a word: 两个方案, 一起, 十分.
_COUNTED: Final = 10


@record
class Figure:
    """
    What is written from *start* to *end*.

    *value*: of a number itself; of a day (month, day of the month), 0 where one is not named; of a time the minute of half
    a day; of a weekday 0 to 6, Monday first; of a name its letters and digits.
    """

    kind: Literal["number", "day", "weekday", "time", "name"]
    value: float | tuple[int, int] | str
    start: int
    end: int


def figures(text: str) -> Iterator[Figure]:
    """
    Yield the figures of the text in their order.

    >>> [f.value for f in figures("三万二 is 32k, not 32,500")]
    [32000.0, 32000.0, 32500.0]
    >>> [f.value for f in figures("1月28日, Jan 28th; 下午三点半 is 15:30; 周三")]
    [(1, 28), (1, 28), 210, 210, 2]
    """
    for match in _FIGURE.finditer(text.translate(_NARROW)):
        if figure := _figure_of(match):
            yield figure


def _figure_of(match: re.Match[str]) -> Figure | None:
    if match["name"]:
        return Figure("name", match["name"].casefold(), *match.span())
    if match["day"]:
        return _day_of(match)
    if match["weekday"]:
        chinese = "一二三四五六日".find((match["zw"] or "").replace("天", "日"))
        return Figure("weekday", chinese if match["zw"] else _WEEKDAYS.index(match["ew"][:3].lower()), *match.span())
    return _time_of(match) if match["time"] else _number_of(match)


def _day_of(match: re.Match[str]) -> Figure | None:
    month = _count(match["m"] or match["zm"] or "") or _month(match["em"] or match["fm"] or "")
    day = _count(match["d"] or match["zd"] or match["od"] or match["zo"] or re.sub(r"\D", "", match["ed"] or match["fd"] or ""))
    return Figure("day", (int(month), int(day)), *match.span()) if month <= 12 and day <= 31 and (month or day) else None


def _month(name: str) -> int:
    return _MONTHS.index(name[:3].lower()) + 1 if name else 0


def _time_of(match: re.Match[str]) -> Figure | None:
    hour = _count(match["h"] or match["zh"] or match["eh"])
    minute = 30 if match["half"] else _count(match["min"] or match["zmin"] or "")
    return Figure("time", int(hour * 60 + minute) % 720, *match.span()) if hour <= 24 and minute < 60 else None


def _number_of(match: re.Match[str]) -> Figure | None:
    if match["hans"]:
        value = _count(match["hans"])
        return Figure("number", value, *match.span()) if value > _COUNTED else None
    value = float(match["digits"].replace(",", ""))
    multiple = (match["multiple"] or "").strip().lower()
    for sign in [multiple] if multiple.isascii() else multiple:
        value *= _MULTIPLES.get(sign, 1)
    return Figure("number", value, *match.span())


def _count(written: str) -> float:
    """Return the number that digits or Chinese numerals say; 三万二 is 32,000, 二零二六 is 2026."""
    if not written or written.isascii():
        return float(written or 0)
    if not any(sign in _HAN_TENS or sign in _HAN_MYRIADS for sign in written):
        return float("".join(str(_HAN_DIGITS[sign]) for sign in written))
    total = part = digit = 0
    scale = 1
    for sign in written:
        if sign in _HAN_DIGITS:
            digit = _HAN_DIGITS[sign]
            scale = 1 if sign in "零〇" else scale
        elif sign in _HAN_TENS:
            part += (digit or 1) * _HAN_TENS[sign]
            digit, scale = 0, _HAN_TENS[sign] // 10
        else:
            total = (total + part + digit or 1) * _HAN_MYRIADS[sign]
            part, digit, scale = 0, 0, _HAN_MYRIADS[sign] // 10
    return float(total + part + digit * max(1, scale))
