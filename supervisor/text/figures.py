"""
What a text says in figures: numbers, days, weekdays and times of the clock, equal however they are written.

三万二 is 32,000, 1月28日 is "Jan 28", 下午三点半 is 15:30 and "3:30 pm". A summary is compared with its material by these.
Letters and digits that are one word (G1024, gpt-4o) are a name, not a number, and a number in English words is none: a small
one may only count. Pure.
"""

from __future__ import annotations

import re
from typing import Final

from .lazy_re import lazy_re

#: Characters as wide as a Han character, and the digits, points and colons that they are; the length stays.
_NARROW: Final = str.maketrans("０１２３４５６７８９．：％－／～", "0123456789.:%-/~")
_HAN_DIGITS: Final = dict(zip("零〇一二三四五六七八九两", (0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 2), strict=True))
_HAN_TENS: Final = {"十": 10, "百": 100, "千": 1_000}
_HAN_MYRIADS: Final = {"万": 10_000, "亿": 100_000_000}
_MULTIPLES: Final = (
    {"k": 1_000, "w": 10_000, "hundred": 100, "thousand": 1_000, "million": 1_000_000} | _HAN_TENS | _HAN_MYRIADS
)
_WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH: Final = (
    r"(?<![A-Za-z])(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
#: It begins with a digit or with 十, as 百姓 and 千万别 do not.
_HAN_NUMBER: Final = "[零〇一二三四五六七八九十两][零〇一二三四五六七八九十百千万亿两]{0,11}"
_COUNT: Final = rf"(?:\d{{1,2}}|{_HAN_NUMBER})"
#: How each is written. The first that matches at a place is what is written there.
_FIGURE: Final = lazy_re(
    # a name, but digits with a short unit, "5km" and "3rd", are a number
    r"(?P<name>(?<![A-Za-z0-9.])\d+(?:\.\d+){2,}"
    r"|(?<![A-Za-z0-9.])(?=[\d./-]{0,40}[A-Za-z_])(?=[A-Za-z_./-]{0,80}\d)(?!\d[\d.,:]*-?[A-Za-z]{1,5}(?![A-Za-z0-9]))"
    r"[A-Za-z0-9_./-]{1,80}[A-Za-z0-9_])"
    rf"|(?:\d{{4}}\s?[-/.年]\s?)?(?P<month>{_COUNT})\s?月\s?(?P<of_month>{_COUNT})\s?[日号]?"
    r"|\d{4}[-/.](?P<iso_month>\d{1,2})[-/.](?P<iso_day>\d{1,2})(?!\d)"
    rf"|(?P<name_of_month>{_MONTH})\s(?:the\s)?(?P<behind>\d{{1,2}})(?:st|nd|rd|th)?(?![\d:])"
    rf"|(?P<before>\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?(?P<month_named>{_MONTH})"
    r"|(?:周|星期|礼拜)(?P<han_day>[一二三四五六日天])"
    rf"|(?<![A-Za-z])(?P<day>{'|'.join(_WEEKDAYS)})(?:s|nes|rs|ur|urs)?(?:day)?s?\b"
    rf"|(?P<hour>\d{{1,2}}(?=:\d\d|\s?[ap]\.?m\b)|{_COUNT}(?=\s?点(?!\d)))(?::|\s?点)?"
    rf"(?:(?P<half>半)|(?P<minute>(?<=:)\d\d|{_COUNT}(?=分)|(?<=点)(?:\d\d|{_HAN_NUMBER}))分?|钟|整)?(?:\s?[ap]\.?m\b\.?)?"
    r"|(?P<digits>(?<![\d.])\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,15}(?:\.\d{1,15})?)"
    r"(?P<multiple>\s?[百千万亿]{1,3}|\s?号(?![线楼院门])|\s?(?:hundred|thousand|million)\b|[kw]\b|(?P<ordinal>st|nd|rd|th)\b)?"
    rf"|(?P<hans>{_HAN_NUMBER})(?P<dated>\s?月|\s?[日号](?![线楼院门]))?",
    re.IGNORECASE,
)
#: The largest number in Chinese that may only count, or be part of a word: 两个方案, 一起, 十分.
_COUNTED: Final = 10
#: A larger number before 号 is no day: of a house, a cabinet.
_LAST_DAY: Final = 31


def figures(text: str) -> list[float | str]:
    """
    Return the figures of the text in their order.

    >>> figures("三万二 is 32k, not 32,500")
    [32000.0, 32000.0, 32500.0]
    >>> figures("1月28日 is Jan 28; 下午三点半 is 15:30 and 3:30 pm; 周三"), figures("gpt-4o: 两个")
    (['1/28', '1/28', '3:30', '3:30', '3:30', 'wed'], ['gpt-4o'])
    """
    values = (_value(match) for match in _FIGURE.finditer(text.translate(_NARROW)))
    return [value for value in values if value is not None]


def without_figures(text: str) -> str:
    """Return the text with a blank in the place of each figure."""
    return _FIGURE.sub(lambda match: match[0] if _value(match) is None else " ", text.translate(_NARROW))


def _value(match: re.Match[str]) -> float | str | None:
    if match["name"]:
        return match["name"].casefold()
    month, day = match["month"] or match["iso_month"], match["of_month"] or match["iso_day"]
    if name := match["name_of_month"] or match["month_named"]:
        month, day = str(_MONTHS.index(name[:3].lower()) + 1), match["behind"] or match["before"]
    if month:
        return f"{_count(month):.0f}/{_count(day):.0f}"
    if match["han_day"]:
        return _WEEKDAYS["一二三四五六日".find(match["han_day"].replace("天", "日"))]
    if match["day"]:
        return match["day"].lower()
    if match["hour"]:
        return f"{_count(match['hour']) % 12:.0f}:{30 if match['half'] else _count(match['minute'] or ''):02.0f}"
    if match["hans"]:
        value = _count(match["hans"])
        is_day = match["dated"] and value <= _LAST_DAY
        return f"/{value:.0f}" if is_day else value if value > _COUNTED else None
    value = float(match["digits"].replace(",", ""))
    multiple = (match["multiple"] or "").strip().lower()
    if (match["ordinal"] or multiple == "号") and value <= _LAST_DAY:
        return f"/{value:.0f}"
    for sign in [multiple] if multiple.isascii() else multiple:
        value *= _MULTIPLES.get(sign, 1)
    return value


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
