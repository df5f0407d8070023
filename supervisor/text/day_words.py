"""A day in words, in English and in Chinese, whatever the locale of the process is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from datetime import date

_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)


def day_words(day: date, language: Literal["zh", "en"]) -> str:
    """
    Return the day as a person writes it, with the day of the week.

    >>> from datetime import date
    >>> day_words(date(2026, 1, 28), "en"), day_words(date(2026, 1, 28), "zh")
    ('Wednesday, 28 January 2026', '2026年1月28日星期三')
    """
    if language == "zh":
        return f"{day.year}年{day.month}月{day.day}日星期{'一二三四五六日'[day.weekday()]}"
    return f"{_DAYS[day.weekday()]}, {day.day} {_MONTHS[day.month - 1]} {day.year}"


def day_in_brackets(day: date, language: Literal["zh", "en"]) -> str:
    """
    Return the day in brackets, as it is written before the messages of that day.

    >>> from datetime import date
    >>> day_in_brackets(date(2026, 1, 28), "en"), day_in_brackets(date(2026, 1, 28), "zh")
    ('(Wednesday, 28 January 2026)', '（2026年1月28日星期三）')
    """
    return f"（{day_words(day, language)}）" if language == "zh" else f"({day_words(day, language)})"
