"""How long a group waits after a failure (003, 失败与退避)."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

STEPS: Final = tuple(timedelta(minutes=m) for m in (10, 30, 120, 360, 720))
LATER: Final = timedelta(days=1)  # past the last step: one try a day


def delay_after(attempts: int, steps: Sequence[timedelta] = STEPS, later: timedelta = LATER) -> timedelta:
    """
    Return the wait before the next try, after *attempts* failures.

    *attempts* counts from 1. Past the last step it is *later*, one day.

    >>> delay_after(1), delay_after(5), delay_after(6)
    (datetime.timedelta(seconds=600), datetime.timedelta(seconds=43200), datetime.timedelta(days=1))
    """
    return steps[attempts - 1] if attempts <= len(steps) else later


def jittered(delay: timedelta, share: float, of: str) -> timedelta:
    """Return the delay moved by up to ± *share* of it, always the same for the same *of* (a group and its attempt)."""
    unit = int.from_bytes(hashlib.sha256(of.encode()).digest()[:4]) / 2**31 - 1
    return delay * (1 + share * unit)


def is_due(failed_at: datetime, next_at: datetime, now: datetime) -> bool:
    """
    Tell whether the wait from *failed_at* to *next_at* is over.

    A failure that lies ahead was written before the clock was moved back: its wait counts as over (holes.md A12).
    """
    return next_at <= now or failed_at > now
