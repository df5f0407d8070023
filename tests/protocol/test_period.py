"""Days and months, and the names made from them."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.protocol.period import Period, day, month, period_of_group, read_period

JAN_15 = date(2026, 1, 15)


def test_period_has_label_kind_and_group():
    assert (day(JAN_15).label, day(JAN_15).kind, day(JAN_15).group) == ("2026-01-15", "day", "day-2026-01-15")
    assert (month(JAN_15).label, month(JAN_15).kind, month(JAN_15).group) == ("2026-01", "month", "month-2026-01")


def test_period_holds_only_its_own_days():
    assert month(JAN_15).holds(date(2026, 1, 31))
    assert not month(JAN_15).holds(date(2026, 2, 1))
    assert day(JAN_15).holds(JAN_15)
    assert not day(JAN_15).holds(date(2026, 1, 16))


def test_period_last_day_sorts_days_and_months_by_end():
    labels = ["2025-11", "2025-12-31", "2025-12", "2026-01-01"]
    assert sorted(map(Period, labels), key=lambda period: period.last_day) == list(map(Period, labels))


@pytest.mark.parametrize(
    "label",
    ["", "2026", "2026-13", "2026-00", "2026-02-30", "2026-1-5", "20260115", "2026-01-15-x", "../../x", "二〇二六", "2026-W05"],
)
def test_read_period_returns_none_for_an_invalid_label(label):
    assert read_period(label) is None


@pytest.mark.parametrize(
    "group",
    ["", "day-2026-01", "month-2026-01-15", "week-2026-05", "day-2026-02-30", "day-2026-01-15-x", "provider", "day-../../etc"],
)
def test_period_of_group_returns_none_for_an_invalid_group(group):
    assert period_of_group(group) is None


@given(st.dates(date(1000, 1, 1)))
def test_period_is_restored_from_its_label_and_group(of):
    for period in (day(of), month(of)):
        assert read_period(period.label) == period
        assert period_of_group(period.group) == period
        assert period.holds(of)
