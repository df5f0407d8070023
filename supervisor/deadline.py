"""
How long a turn may wait: a moment of the monotonic clock, after which every step ends with what it has so far.

Steps look at it between two files, two groups, two answers; nothing is interrupted, so each piece between two looks is small.
Source: design of recall; config recall.timeout_ms.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Deadline:
    """The moment *ends_at* of the clock *now*, in seconds."""

    ends_at: float
    now: Callable[[], float] = time.monotonic

    @property
    def left_s(self) -> float:
        """Seconds that are left, never below 0."""
        return max(0.0, self.ends_at - self.now())

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return self.now() >= self.ends_at


#: For work that nobody waits for.
NEVER: Final = Deadline(float("inf"))


def within(seconds: float, now: Callable[[], float] = time.monotonic) -> Deadline:
    """Return the moment *seconds* from now."""
    return Deadline(now() + seconds, now)
