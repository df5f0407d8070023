"""
The parser of the times that other programs and people write: ISO 8601, epochs, and dates as people write them.

A time is read where it can mean one thing only. "11/10/2026" may be two days, and a program that writes it means one of them:
nobody else can know which one, so recalld reports it and does not guess. Source: docs/reference/protocol.md, 2.5.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Final

from ..text.lazy_re import lazy_re
from .texts import Text, msgid

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC)  # docs/reference/protocol.md, 2: an earlier time is impossible
# The year 10000 in seconds. As milliseconds the same number is in 1978, before _EARLIEST: a smaller number can only be
# seconds, any other only milliseconds, and no plausible instant is misread.
_YEAR_10000: Final = 253_402_300_800
_LEAP_SECOND: Final = 60
_MICROSECOND_DIGITS: Final = 6
#: Characters of a wrong time that a sentence quotes.
_MOST_QUOTED: Final = 40
#: Characters of a date that people write; JavaScript's longest, with the name of its zone, has 70.
_LONGEST: Final = 100

_NUMBER: Final = lazy_re(r"[0-9]{9,15}(?:\.[0-9]{1,12})?")
_ISO: Final = lazy_re(
    r"([0-9]{4})(-?)([0-9]{2})\2([0-9]{2})"  # 2026-01-31 or 20260131
    r"(?:[Tt ]+([0-9]{2})(?::?([0-9]{2})(?::?([0-9]{2})(?:[.,]([0-9]+))?)?)?"  # T08:00:00.123, from hours on
    r" ?(?:(Z|z|UTC|GMT)|([+-])([0-9]{2})(?::?([0-5][0-9]))?)?)?",  # Z, +08:00, +0800, +08
)
_MONTHS: Final = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH: Final = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY: Final = r"([0-9]{1,2})(?:st|nd|rd|th)?"
#: Each form of a date, and what its groups are: year, month, day, a month's name, or two numbers whose order nobody knows.
_DATES: Final = tuple(
    (lazy_re(pattern, re.IGNORECASE), order)
    for pattern, order in (
        (r"([0-9]{4})\s*年\s*([0-9]{1,2})\s*月\s*([0-9]{1,2})\s*[日号號]", "ymd"),
        (r"([0-9]{4})(?P<sep>[/.-])([0-9]{1,2})(?P=sep)([0-9]{1,2})(?![0-9])", "y-md"),
        (r"([0-9]{1,2})(?P<sep>[/.-])([0-9]{1,2})(?P=sep)([0-9]{4})(?![0-9])", "n-ny"),
        (rf"{_DAY}[\s-]+{_MONTH},?[\s-]+([0-9]{{4}})(?![0-9])", "dMy"),
        (rf"{_MONTH}\s+{_DAY},?\s+([0-9]{{4}})(?![0-9])", "Mdy"),
    )
)
_WEEKDAY: Final = lazy_re(
    r"[\s(（]*(?:(mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b\.?"
    r"|(?:星期|周|週|礼拜)([一二三四五六日天]))[\s)）,，]*",
    re.IGNORECASE,
)
_WEEKDAYS: Final = {
    name: number
    for names in ("mon tue wed thu fri sat sun", "一 二 三 四 五 六 日")
    for number, name in enumerate(names.split())
}
_TIME: Final = lazy_re(
    r"[T,，\s]*(凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里|[ap]\.?m\.?)?\s*([0-9]{1,2})"
    r"(?:[:：]([0-9]{2})(?:[:：]([0-9]{2})(?:[.,]([0-9]+))?)?"  # 9:00, 09:00:00.123
    r"|\s*[点點时時]\s*(?:([0-9]{1,2})\s*分?(?:\s*([0-9]{1,2})\s*秒)?|(半)|整|钟)?"  # 9点, 9时05分03秒, 9点半
    r"|(?=\s*[ap]\.?m\b))"  # 9 am
    r"(?:\s*([ap]\.?m\b\.?))?",
    re.IGNORECASE,
)
_ZONE: Final = lazy_re(r"\s*(?:(Z|UTC|GMT)|(?:UTC|GMT)?([+-])([0-9]{1,2})(?::?([0-5][0-9]))?)(?:\s*\([^()]*\))?", re.IGNORECASE)
#: The hours that go with each word for a part of the day: those that stay, and those that get twelve added. No other is a time.
_HOURS: Final = {
    "am": (range(12), range(0)),
    "pm": (range(12, 24), range(1, 12)),
    "下午": (range(12, 24), range(1, 12)),
    "中午": (range(11, 15), range(1, 3)),
    **dict.fromkeys(("凌晨", "清晨", "早上", "早晨", "上午"), (range(12), range(0))),
    **dict.fromkeys(("傍晚", "晚上", "夜里"), (range(17, 24), range(5, 12))),
}
_NOON: Final = 12


def read_instant(value: object, zone: tzinfo) -> datetime | None:
    """
    Return the aware UTC instant that a message's createdAt means, None where it means none or may mean two; never raises.

    Known forms are ISO 8601 strings (`Z`, offsets, a space for the T, any number of decimals, comma fractions, a date alone, a
    leap second as the last moment before it; without an offset the time is in *zone*), dates as people write them
    (`2026年11月10日 9:00`, `2026/11/10 09:00`, `Tue, 10 Nov 2026 09:00:00 +0800`, `13/10/2026`), and numbers or digits as epoch
    seconds or milliseconds, distinguished by size. A time before 2000 or after 9999 returns None.
    """
    instants = instants_of(value, zone)
    return instants[0] if len(instants) == 1 else None


def instants_of(value: object, zone: tzinfo) -> list[datetime]:
    """Return the instants that the value may mean, from 2000 on: none, one, or two for a date whose order nobody knows."""
    return [t for t in _instants(value, zone) if t >= _EARLIEST]


def why_no_instant(value: object, zone: tzinfo) -> str:
    """Return why `read_instant` returns None, as in "'noon' is no time; write it like …"."""
    instants = _instants(value, zone)
    if len(instants) > 1:
        first, second = (f"{t.astimezone(zone):%Y-%m-%d}" for t in instants)
        return Text(
            "{value} may be {first} or {second}; write it like 2026-01-28T09:02:00+08:00",
            value=quoted(value),
            first=first,
            second=second,
        )
    return Text(
        msgid("{value} is before 2000, and no message is that old")
        if instants
        else msgid("{value} is no time; write it like 2026-01-28T09:02:00+08:00"),
        value=quoted(value),
    )


def why_not_said_at(value: object, zone: tzinfo, latest: datetime) -> str:
    """Return why *value* can't be the time of a message, "" where it can; no message is later than *latest*."""
    t = read_instant(value, zone)
    if t is None:
        return why_no_instant(value, zone)
    return Text("{value} is too far ahead, see archive.future_limit", value=quoted(value)) if t > latest else ""


def quoted(value: object) -> str:
    """Return the value as a sentence quotes it, its beginning where it is long: it may be the text of a message."""
    text = repr(value)
    return text if len(text) <= _MOST_QUOTED else f"{text[:_MOST_QUOTED]}…"


def _instants(value: object, zone: tzinfo) -> list[datetime]:
    instants: list[datetime] = []
    with suppress(ValueError, OverflowError):  # day 31 of February, hour 25, offset +24:00, year 9999 west of Greenwich
        if isinstance(value, int | float):  # True too: it is one second after 1970, before all messages
            instants += _from_number(value)
        elif isinstance(value, str):
            text = value.strip()
            if _NUMBER.fullmatch(text):
                instants += _from_number(float(text))
            elif iso := _ISO.fullmatch(text):
                instants.append(_from_iso(iso, zone))
            elif len(text) <= _LONGEST:
                instants += _from_date(text, zone)
    return instants


def _from_number(number: float) -> list[datetime]:
    """Epoch seconds or milliseconds; the comparison refuses NaN, infinities and integers too large for a float."""
    if not 0 <= number < _YEAR_10000 * 1000:
        return []
    return [_EPOCH + (timedelta(seconds=number) if number < _YEAR_10000 else timedelta(milliseconds=number))]


def _from_iso(match: re.Match[str], zone: tzinfo) -> datetime:
    year, _, month, day, hour, minute, second, fraction, utc, sign, off_hours, off_minutes = match.groups()
    clock = _clock(int(hour or 0), minute, second, fraction)
    return _at(date(int(year), int(month), int(day)), clock, _offset(utc, sign, off_hours, off_minutes) or zone)


def _clock(hour: int, minute: str | None, second: str | None, fraction: str | None) -> timedelta:
    """Return a time of day; a leap second is the last microsecond before it, which keeps the order."""
    micro = int((fraction or "")[:_MICROSECOND_DIGITS].ljust(_MICROSECOND_DIGITS, "0"))
    seconds = int(second or 0)
    if seconds == _LEAP_SECOND:
        seconds, micro = 59, 999_999
    t = datetime(2000, 1, 1, hour, int(minute or 0), seconds, micro, tzinfo=UTC)  # ValueError for hour 24
    return t - datetime(2000, 1, 1, tzinfo=UTC)


def _at(day: date, clock: timedelta, zone: tzinfo) -> datetime:
    """Return the instant at which the clocks of *zone* show that on that day."""
    return (datetime(day.year, day.month, day.day, tzinfo=zone) + clock).astimezone(UTC)


def _offset(utc: str | None, sign: str | None, hours: str | None, minutes: str | None) -> tzinfo | None:
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    return timezone(-offset if sign == "-" else offset) if utc or sign else None


def _from_date(text: str, zone: tzinfo) -> list[datetime]:
    """Return the instants that a date as people write it may mean; weekday, time and offset may follow it."""
    weekday, rest = _weekday(text)
    matches = [(pattern.match(rest), order) for pattern, order in _DATES]
    date_found = next(((match, order) for match, order in matches if match), None)
    if date_found is None:
        return []
    days = _days(*date_found)
    behind, rest = _weekday(rest[date_found[0].end() :])
    weekdays = {text for text in (weekday, behind) if text is not None}
    clock = timedelta()
    if rest:
        time_found = _TIME.match(rest)
        hour = _hour(time_found) if time_found else None
        if time_found is None or hour is None:
            return []
        _, _, minute, second, fraction, zh_minute, zh_second, half, _ = time_found.groups()
        clock = _clock(hour, "30" if half else minute or zh_minute, second or zh_second, fraction)
        if offset := rest[time_found.end() :]:
            zone_found = _ZONE.fullmatch(offset)
            if zone_found is None:
                return []
            zone = _offset(*zone_found.groups()) or zone
    return [_at(day, clock, zone) for day in days if weekdays <= {day.weekday()}]


def _weekday(text: str) -> tuple[int | None, str]:
    """Return the number of the weekday that the text begins with, None for none, and what follows."""
    match = _WEEKDAY.match(text)
    if match is None:
        return None, text
    name = match[1].lower()[:3] if match[1] else match[2].replace("天", "日")
    return _WEEKDAYS[name], text[match.end() :]


def _days(match: re.Match[str], order: str) -> list[date]:
    """Return the days that the groups of a date may mean; both where the order of day and month is not known."""
    parts = dict(zip(order, match.groups(), strict=True))
    year = int(parts["y"])
    if order == "n-ny":
        first, other = int(match[1]), int(match[3])
        orders = {(first, other), (other, first)}
    else:
        month = _MONTHS.index(parts["M"].lower()[:3]) + 1 if "M" in parts else int(parts["m"])
        orders = {(month, int(parts["d"]))}
    days = []
    for month, day in sorted(orders):
        with suppress(ValueError):
            days.append(date(year, month, day))
    return days


def _hour(match: re.Match[str]) -> int | None:
    """Return the hour of 24; None for one that does not go with the word for the part of the day, or may mean two."""
    hour, words = int(match[2]), [word for word in (match[1], match[9]) if word]
    if not words:
        return hour
    word = words[0].lower().replace(".", "")
    if word == "am" and hour == _NOON:
        hour = 0
    as_it_is, twelve_more = _HOURS[word]
    if len(words) > 1 or hour not in (*as_it_is, *twelve_more):
        return None
    return hour if hour in as_it_is else hour + _NOON
