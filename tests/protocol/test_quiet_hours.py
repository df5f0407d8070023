"""`care.quiet_hours`: which hours they are, also over midnight, and when they end."""

from __future__ import annotations

import pytest

from recalld.supervisor.protocol.period import quiet_until
from tests.world import ZONE, at


@pytest.mark.parametrize(
    ("hours", "now", "end"),
    [
        ("22:00-07:00", "2026-01-31T21:59", None),
        ("22:00-07:00", "2026-01-31T22:00", "2026-02-01T07:00"),
        ("22:00-07:00", "2026-02-01T06:59", "2026-02-01T07:00"),
        ("22:00-07:00", "2026-02-01T07:00", None),
        ("12:30-14:00", "2026-01-31T13:00", "2026-01-31T14:00"),
        ("12:30-14:00", "2026-01-31T14:00", None),
        ("12:30-12:30", "2026-01-31T12:30", None),
        ("", "2026-01-31T03:00", None),
    ],
)
def test_quiet_until_is_the_end_of_the_hours(hours, now, end):
    assert quiet_until(hours, at(now), ZONE) == (end and at(end))
