"""Days and months, and the names made from them."""

from __future__ import annotations

from datetime import date

from recalld.supervisor.protocol.period import day, month

JAN_15 = date(2026, 1, 15)


def test_period_has_label_kind_and_group():
    assert (day(JAN_15).label, day(JAN_15).kind, day(JAN_15).group) == ("2026-01-15", "day", "day-2026-01-15")
    assert (month(JAN_15).label, month(JAN_15).kind, month(JAN_15).group) == ("2026-01", "month", "month-2026-01")


def test_period_holds_only_its_own_days():
    assert month(JAN_15).holds(date(2026, 1, 31))
    assert not month(JAN_15).holds(date(2026, 2, 1))
    assert day(JAN_15).holds(JAN_15)
    assert not day(JAN_15).holds(date(2026, 1, 16))
