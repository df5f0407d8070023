"""Times and sizes as a person writes them ("6h", "10MB"), read."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Milliseconds; a bare number counts seconds.
_TIME_UNITS: Final = {"": 1000, "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
#: Bytes; MB is a million, as disks are sold and as logs count; who means the power of two says MiB.
_SIZE_UNITS: Final = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_LONGEST: Final = 3650 * _TIME_UNITS["d"]  # far above any sense, far below what overflows when added to a date
_LARGEST: Final = 10**15  # bytes; the same
_AMOUNT: Final = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?) ?([a-z]*)")


def read_duration(value: object) -> timedelta:
    """
    The length of time that was written; ValueError where it is none, is negative or passes ten years.

    >>> read_duration("1.5h") == read_duration(5400) == timedelta(minutes=90)
    True
    """
    return timedelta(milliseconds=_amount(value, _TIME_UNITS, _LONGEST))


def read_size(value: object) -> int:
    """
    The number of bytes that was written; ValueError where it is none or is negative.

    >>> read_size("10MB"), read_size("10MiB"), read_size(512)
    (10000000, 10485760, 512)
    """
    return int(_amount(value, _SIZE_UNITS, _LARGEST))


def _amount(value: object, units: Mapping[str, int], most: int) -> float:
    """*value* in the smallest of *units*, exact where it is written without a point."""
    number: float
    if isinstance(value, str) and (found := _AMOUNT.fullmatch(value.strip().lower())) and found[2] in units:
        number, unit = (float(found[1]) if "." in found[1] else int(found[1])), units[found[2]]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number, unit = value, units[""]
    else:
        raise ValueError(value)
    if 0 <= number <= most and number * unit <= most:  # NaN is not; an integer that no float holds neither
        return number * unit
    raise ValueError(value)
