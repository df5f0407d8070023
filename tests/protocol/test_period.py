"""Days and months, and the names made from them."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.protocol.period import day, month, period_of_group, read_period

JAN_15 = date(2026, 1, 15)


def test_period_has_label_kind_and_group():
    assert (day(JAN_15).label, day(JAN_15).kind, day(JAN_15).group) == ("2026-01-15", "day", "day-2026-01-15")
    assert (month(JAN_15).label, month(JAN_15).kind, month(JAN_15).group) == ("2026-01", "month", "month-2026-01")


def test_period_holds_only_its_own_days():
    assert month(JAN_15).holds(date(2026, 1, 31))
    assert not month(JAN_15).holds(date(2026, 2, 1))
    assert day(JAN_15).holds(JAN_15)
    assert not day(JAN_15).holds(date(2026, 1, 16))


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
