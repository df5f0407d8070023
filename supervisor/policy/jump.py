"""
When the clock was moved: what goes by age waits until it has stood still for a while (durability.md, H36).

A clock that is set ahead makes yesterday old and every wait over; days would be summed up that are not over, and paid for.
Nothing is lost by it, but nothing of it can be taken back either.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

#: A difference up to this is the clock being set right; the wait after a larger one, and after one of more than a day.
SMALL: Final = timedelta(hours=1)
LARGE: Final = timedelta(days=1)
WAIT: Final = timedelta(minutes=1)
LONG_WAIT: Final = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Reading:
    """What two clocks show at one moment: the wall clock, and the seconds of one that is never set."""

    wall: datetime
    steady_s: float


def jump(before: Reading, after: Reading) -> timedelta:
    """Return how far the wall clock was moved between the two; negative when back."""
    return (after.wall - before.wall) - timedelta(seconds=after.steady_s - before.steady_s)


def caution(moved: timedelta) -> timedelta:
    """
    Return how long to leave alone what goes by age, after the wall clock was *moved*; nothing for a small move.

    >>> caution(timedelta(minutes=-5)), caution(timedelta(hours=2)), caution(timedelta(days=3650))
    (datetime.timedelta(0), datetime.timedelta(seconds=60), datetime.timedelta(seconds=600))
    """
    size = abs(moved)
    return timedelta() if size <= SMALL else WAIT if size <= LARGE else LONG_WAIT
