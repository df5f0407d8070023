"""What is wrong with a time or a time zone."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "before_2000": "{value} is before 2000, and no message is that old",
    "too_far": "{value} is too far ahead, see archive.future_limit",
    "no_time": "{value} is no time; write it like 2026-01-28T09:02:00+08:00",
    "two_days": "{value} may be {first} or {second}; write it like 2026-01-28T09:02:00+08:00",
    "read_since": "{value} could not be read when it came",
    "no_zone_data": "this machine has no time zone data; install the Python package tzdata",
    "no_zone": "{name!r} is no known time zone; use an IANA name such as {near}",
    "calendar_end": "{value!r} is at the end of the calendar; give a year up to {year}",
}
