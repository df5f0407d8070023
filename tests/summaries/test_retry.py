"""How long a group waits after a failure: 10 min, 30 min, 2 h, 6 h, 12 h, then a day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.summaries.retry import delay_after, is_due, jittered

NOW = datetime(2026, 1, 31, 2, tzinfo=UTC)
DELAYS = st.timedeltas(timedelta(), timedelta(days=2))


@pytest.mark.parametrize("attempts", [1, 5, 6])
@pytest.mark.parametrize("ahead", [timedelta(days=365), timedelta(minutes=5)])
def test_is_due_returns_true_when_the_failure_is_in_the_future(attempts, ahead):
    """The failure was noted while the clock was ahead, then it was put right."""
    noted = NOW + ahead
    assert is_due(noted, noted + delay_after(attempts), NOW)


@given(DELAYS, st.floats(0, 1), st.text())
def test_jittered_stays_within_its_share_and_is_deterministic(delay, share, of):
    moved = jittered(delay, share, of)
    assert moved == jittered(delay, share, of)
    assert abs(moved - delay) <= delay * share + timedelta(microseconds=1)


def test_jittered_is_exact_at_zero_share_and_spreads_groups_otherwise():
    assert jittered(timedelta(minutes=10), 0, "day-2026-01-15-1") == timedelta(minutes=10)
    assert len({jittered(timedelta(minutes=10), 0.1, f"day-2026-01-{day:02d}-1") for day in range(1, 29)}) > 20
