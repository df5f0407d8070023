"""The summary period of a day, seen from today: recent, by day or by month."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.protocol.paths import Period, quiet_until, summary_period
from tests.world import ZONE, at

JAN_31, FEB_1 = date(2026, 1, 31), date(2026, 2, 1)
DAYS = st.dates(date(2000, 1, 1), date(2100, 12, 31))

#: today, the day of the message, the label of its summary (None: the dated file is its home).
TABLE = [
    (JAN_31, "2026-01-26", None),  # five days ago
    (JAN_31, "2026-01-25", "2026-01-25"),  # six
    (JAN_31, "2025-12-01", "2025-12-01"),
    (JAN_31, "2025-11-30", "2025-11"),
    (JAN_31, "2026-02-03", None),  # tomorrow's words are no old ones
    (FEB_1, "2026-01-26", "2026-01-26"),
    (FEB_1, "2025-12-31", "2025-12"),
    (date(2026, 1, 1), "2025-12-27", None),  # last month, yet recent
    (date(2026, 1, 1), "2025-12-26", "2025-12-26"),
    (date(2024, 2, 29), "2024-02-24", None),
]


@pytest.mark.parametrize(("today", "day", "label"), TABLE)
def test_summary_period_is_none_then_day_then_month_as_a_day_ages(today, day, label):
    assert summary_period(date.fromisoformat(day), today) == (Period(label) if label else None)


@given(DAYS, DAYS, st.integers(0, 400))
def test_summary_period_never_gets_finer_as_time_passes(day, today, later):
    rank = {None: 0, "day": 1, "month": 2}
    then, now = summary_period(day, today), summary_period(day, today + timedelta(days=later))
    assert rank[then and then.kind] <= rank[now and now.kind]


@given(DAYS, DAYS, st.integers(0, 60))
def test_summary_period_contains_its_day_and_is_none_while_recent(day, today, recent):
    found = summary_period(day, today, recent)
    assert (found is None) == ((today - day).days <= recent)
    assert found is None or found.holds(day)


# ── quiet hours ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("hours", "now", "end"),
    [
        ("22:00-07:00", "2026-01-31T21:59", None),
        ("22:00-07:00", "2026-01-31T22:00", "2026-02-01T07:00"),
        ("22:00-07:00", "2026-02-01T07:00", None),
        ("12:30-14:00", "2026-01-31T13:00", "2026-01-31T14:00"),
        ("12:30-12:30", "2026-01-31T12:30", None),
        ("", "2026-01-31T03:00", None),
    ],
)
def test_quiet_until_is_the_end_of_the_hours(hours, now, end):
    assert quiet_until(hours, at(now), ZONE) == (end and at(end))
