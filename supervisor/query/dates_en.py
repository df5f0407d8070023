"""Rules for days in English: May 2nd, in June 2023, last Friday, the day before yesterday, two weeks ago (see dates)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from recalld.supervisor.query.calendar import (
    WEEKDAYS,
    Days,
    ago,
    day_of_month_back,
    days_back,
    holiday_of,
    latest_day,
    latest_holiday,
    latest_month,
    latest_numbered,
    latest_season,
    month_of,
    months_back,
    past_span,
    season_of,
    single_day,
    week_back,
    weekday_back,
    weekend_back,
    year_of,
)
from recalld.supervisor.query.nth_weekdays import EVERY_ENGLISH, ONE_ENGLISH, latest_nth_of_month
from recalld.supervisor.text.lazy_re import lazy_re

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date
    from typing import TypeGuard

_MONTHS: Final = "jan feb mar apr may jun jul aug sep oct nov dec".split()  # noqa: SIM905 - a list to be read
_COUNTED: Final = "zero one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905 - a list to be read
_NUMBERS: Final = {word: n for n, word in enumerate(_COUNTED)} | {
    "a": 1,
    "an": 1,
    "couple": 2,
    "fifteen": 15,
    "twenty": 20,
    "thirty": 30,
}
_HOLIDAYS: Final = {
    "new year's eve": "new year's eve",
    "new year's day": "new year",
    "new year's": "new year",
    "valentine's day": "valentine",
    "halloween": "halloween",
    "christmas eve": "christmas eve",
    "christmas": "christmas",
    "xmas": "christmas",
}
_PART: Final = {
    "early": "early",
    "mid": "mid",
    "late": "late",
    "beginning": "begin",
    "start": "begin",
    "middle": "mid",
    "end": "end",
    "first week": "begin",
    "second week": "second week",
    "third week": "third week",
    "fourth week": "fourth week",
    "last week": "end",
    "whole": "whole",
}

_MONTH: Final = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_ORDINAL: Final = "[0-3]?[0-9](?:st|nd|rd|th)"
_DAY: Final = r"(?P<day>[0-3]?[0-9])(?:st|nd|rd|th)?\b(?![:.]?[0-9])"
_YEAR: Final = r"(?:,?\s*(?:of\s+)?(?P<year>(?:19|20)[0-9]{2}))?\b"
_WEEKDAY: Final = r"(?P<weekday>mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\b"
_SEASON: Final = "(?P<season>spring|summer|autumn|fall|winter)"
_OF: Final = (
    r"(?:(?P<part>early|mid|late|beginning|start|middle|end|(?:first|second|third|fourth|last) week)(?:[\s-]+(?:of|in))?[\s-]+)"
)


def _month(text: str) -> int:
    return _MONTHS.index(text[:3].lower()) + 1


def _day(match: re.Match[str], today: date) -> Days | None:
    month, day = _month(match["month"]), int(match["day"])
    return single_day(int(match["year"]), month, day) if match["year"] else latest_day(month, day, today)


def _none(_match: re.Match[str], _today: date) -> Days | None:
    """Return None: a future date is not searched for."""
    return None


def _is_the_one_before(found: Days | None, match: re.Match[str], today: date) -> TypeGuard[Days]:
    """Return whether "last" means the span a year earlier, because *today* is in the one that was *found*."""
    return found is not None and today in found and (match.groupdict().get("near") or "").lower() == "last"


def _of_month(match: re.Match[str], today: date) -> Days | None:
    month, part = _month(match["month"]), _PART[(match.groupdict().get("part") or "whole").lower()]
    if match["year"]:
        return month_of(int(match["year"]), month, part)
    found = latest_month(month, today, part)
    if _is_the_one_before(found, match, today):
        return month_of(found.first.year - 1, month, part)
    return found


def _day_of_near_month(match: re.Match[str], today: date) -> Days | None:
    return day_of_month_back(today, 1 if match["near"].lower() == "last" else 0, int(match["day"]))


def _weekday_before_last(match: re.Match[str], today: date) -> Days | None:
    found = weekday_back(today, WEEKDAYS.index(match["weekday"][:3].lower()))
    return days_back(found.first, 7) if found else None


def _years_ago_today(match: re.Match[str], today: date) -> Days | None:
    return single_day(today.year - (_count(match["n"]) or 1), today.month, today.day)


def _season(match: re.Match[str], today: date) -> Days | None:
    season = match["season"].lower().replace("fall", "autumn")
    if match.groupdict().get("year"):
        return season_of(int(match["year"]), season)
    found = latest_season(season, today)
    if _is_the_one_before(found, match, today):
        return season_of(found.first.year - 1, season)
    return found


def _year(match: re.Match[str], _today: date) -> Days | None:
    return year_of(int(match["year"]))


def _near_day(match: re.Match[str], today: date) -> Days | None:
    text = match[0].lower()
    return days_back(today, 2 if "before" in text else 0 if text.startswith("t") else 1)


def _last_weekday(match: re.Match[str], today: date) -> Days | None:
    weekday = WEEKDAYS.index(match["weekday"][:3].lower())
    near = (match.groupdict().get("near") or "").lower()
    if match.groupdict().get("week"):
        return weekday_back(today, weekday, 1 if match["week"].lower() == "last" else 0)
    found = weekday_back(today, weekday)
    if found and near in ("last", "past") and found.first == today:
        return days_back(today, 7)
    return found


def _near(match: re.Match[str], today: date) -> Days | None:
    return _stretch(match["unit"].lower(), 0 if match["near"].lower() == "this" else 1, today)


def _before_last(match: re.Match[str], today: date) -> Days | None:
    return _stretch(match["unit"].lower(), 2, today)


def _stretch(unit: str, back: int, today: date) -> Days | None:
    if unit == "week":
        return week_back(today, back)
    if unit == "weekend":
        return weekend_back(today, back)
    return months_back(today, back) if unit == "month" else year_of(today.year - back)


def _holiday(match: re.Match[str], today: date) -> Days | None:
    feast, year = _HOLIDAYS[match["feast"].lower().replace("’", "'")], match["year"]
    return holiday_of(int(year), feast) if year else latest_holiday(feast, today)


def _past(match: re.Match[str], today: date) -> Days | None:
    return past_span(today, _count(match["n"]) or 5, match["unit"].lower())


def _half_year(_match: re.Match[str], today: date) -> Days | None:
    return months_back(today, 6)


def _number_only(match: re.Match[str], today: date) -> Days | None:
    return latest_numbered(today, int(match["day"]))


def _count(text: str) -> int:
    """Return the value of a number word; 0 for "a few"."""
    text = text.lower().removesuffix(" of").removeprefix("a ") or "a"
    return int(text) if text.isdigit() else _NUMBERS.get(text, 0)


def _ago(match: re.Match[str], today: date) -> Days | None:
    count, unit = _count(match["n"]), match["unit"].lower()
    if not count and not match["n"].startswith("0"):
        far, near = {"day": (7, 2), "week": (35, 14), "month": (180, 60), "year": (2200, 730)}[unit]
        first, last = days_back(today, far), days_back(today, near)
        return Days(first.first, last.last) if first and last else None
    return ago(today, count, unit)


def _rule(pattern: str) -> re.Pattern[str]:
    return lazy_re(pattern, re.IGNORECASE)


#: Each rule needs one of these; a text without them is spared all of them.
HINT: Final = _rule(
    "[0-9]|next|last|this|past|previous|ago|back|yesterday|today|tonight|spring|summer|autumn|fall|winter"
    "|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun|new year|valentine|halloween|christmas|xmas"
)
_COUNT: Final = rf"(?:[0-9]{{1,3}}|{'|'.join(_NUMBERS)}|(?:a )?few|several|a couple(?: of)?|couple(?: of)?)"
RULES: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str], date], Days | None]], ...]] = (
    (
        _rule(
            rf"\b(?:in\s+)?{_MONTH}(?:\s+{_DAY})?,?\s+(?:of\s+)?next\s+year\b|\bnext\s+(?:year|month|week)\b(?:\s+on\s+the\s+{_ORDINAL})?"
        ),
        _none,
    ),
    (_rule(rf"\bnext\s+(?:{_MONTH}|{_SEASON})"), _none),
    (_rule(rf"\b(?P<near>last|this)\s+month,?\s+(?:on\s+)?the\s+{_DAY}"), _day_of_near_month),
    (_rule(rf"\bthe\s+{_DAY}\s+of\s+(?P<near>last|this)\s+month\b"), _day_of_near_month),
    (_rule(rf"\bthe\s+{_WEEKDAY}\s+before\s+last\b"), _weekday_before_last),
    (_rule(rf"\b(?P<n>{_COUNT})\s+years?\s+ago\s+today\b"), _years_ago_today),
    (_rule(EVERY_ENGLISH), _none),
    (_rule(ONE_ENGLISH), latest_nth_of_month),
    (_rule(rf"\b{_MONTH}\s+(?:the\s+)?{_DAY}{_YEAR}"), _day),
    (_rule(rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}{_YEAR}"), _day),
    # subtle: "may", "march" and "sun" are words too: a month needs a preposition or the like before it, or a year after it
    (_rule(rf"\b{_OF}{_MONTH}{_YEAR}"), _of_month),
    (_rule(rf"\b{_MONTH},?\s+(?:of\s+)?(?P<year>(?:19|20)[0-9]{{2}})\b"), _of_month),
    (_rule(rf"\b(?P<near>in|during|since|until|by|of|last|this|around|back in)\s+{_MONTH}{_YEAR}"), _of_month),
    (
        _rule(rf"\b(?P<near>last|this|in|during)?\s*(?:the\s+)?{_SEASON}\s+(?:of\s+)?(?P<year>(?:19|20)[0-9]{{2}})\b"),
        _season,
    ),
    (_rule(rf"\b(?P<near>last|this)\s+{_SEASON}\b"), _season),
    (_rule(rf"\b(?P<feast>{'|'.join(_HOLIDAYS)})(?:\s+day)?\b{_YEAR}".replace("'", "['’]")), _holiday),
    (_rule(r"\b(?:in|during|since|of|back in|year)\s+(?P<year>(?:19|20)[0-9]{2})\b"), _year),
    (
        _rule(
            r"\b(?:(?:(?:the )?day before )?yesterday|last (?:night|evening)|to(?:day|night)"
            r"|this (?:morning|afternoon|evening))\b"
        ),
        _near_day,
    ),
    (_rule(rf"\b(?:on\s+)?{_WEEKDAY}\s+(?:of\s+)?(?P<week>last|this)\s+week\b"), _last_weekday),
    (_rule(rf"\b(?:(?P<near>last|this|past)\s+|on\s+){_WEEKDAY}"), _last_weekday),
    (_rule(rf"(?<!every )(?<!each )(?<!next )(?<!black )(?<!good )(?<!coming )\b(?=\w+day\b){_WEEKDAY}"), _last_weekday),
    (_rule(r"\b(?:on|since|until|by|from)\s+the\s+(?P<day>[0-3]?[0-9])(?:st|nd|rd|th)\b(?=\s*(?:[?.,!;)]|$))"), _number_only),
    (_rule(rf"\b(?:last|past)\s+(?P<n>{_COUNT})\s+(?P<unit>day|week|month|year)s\b"), _past),
    (_rule(r"\bhalf a year ago\b"), _half_year),
    (_rule(r"\bthe\s+(?P<unit>weekend|week|month|year)\s+before\s+last\b"), _before_last),
    (_rule(r"\b(?P<near>last|this|past|previous)\s+(?P<unit>weekend|week|month|year)\b(?!\s+of)"), _near),
    (_rule(rf"\b(?P<n>{_COUNT})\s+(?P<unit>day|week|month|year)s?\s+(?:ago|back)\b"), _ago),
)
