"""Days and months, and the names made from them."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.protocol.period import Period, day, month, period_of_group, read_period

JAN_15 = date(2026, 1, 15)


def test_a_day_and_a_month_and_their_groups():
    assert (day(JAN_15).label, day(JAN_15).kind, day(JAN_15).group) == ("2026-01-15", "day", "day-2026-01-15")
    assert (month(JAN_15).label, month(JAN_15).kind, month(JAN_15).group) == ("2026-01", "month", "month-2026-01")


def test_a_period_holds_its_days_and_no_others():
    assert month(JAN_15).holds(date(2026, 1, 31))
    assert not month(JAN_15).holds(date(2026, 2, 1))
    assert day(JAN_15).holds(JAN_15)
    assert not day(JAN_15).holds(date(2026, 1, 16))


def test_what_is_newest_goes_first():
    labels = ["2025-11", "2025-12-31", "2025-12", "2026-01-01"]
    assert sorted(map(Period, labels), key=lambda period: period.last_day) == list(map(Period, labels))


@pytest.mark.parametrize(
    "label",
    ["", "2026", "2026-13", "2026-00", "2026-02-30", "2026-1-5", "20260115", "2026-01-15-x", "../../x", "二〇二六", "2026-W05"],
)
def test_what_is_no_day_and_no_month_of_the_calendar_is_none(label):
    assert read_period(label) is None


@pytest.mark.parametrize(
    "group",
    ["", "day-2026-01", "month-2026-01-15", "week-2026-05", "day-2026-02-30", "day-2026-01-15-x", "provider", "day-../../etc"],
)
def test_what_is_no_group_is_none(group):
    assert period_of_group(group) is None


@given(st.dates(date(1000, 1, 1)))
def test_every_day_and_month_comes_back_from_its_names(of):
    for period in (day(of), month(of)):
        assert read_period(period.label) == period
        assert period_of_group(period.group) == period
        assert period.holds(of)
