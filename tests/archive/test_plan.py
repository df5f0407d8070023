"""When an archive run is due, what it takes, and which dated file each message goes to."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.archive.plan import due, plan_days, without_open_questions
from recalld.supervisor.archive.slug import slugs_of
from recalld.supervisor.protocol.message import Key, Message
from recalld.supervisor.storage.clock import local_day
from tests.archive.states import HISTORIES, MOMENTS, NOON, parsed_message

HOUR, MINUTE, MS = timedelta(hours=1), timedelta(minutes=1), timedelta(milliseconds=1)
ZONES = ("Asia/Shanghai", "America/New_York", "Australia/Lord_Howe")


def messages(count: int, when: datetime = NOON) -> list[Message]:
    return [parsed_message(f"m{n}", f"第 {n} 句", when) for n in range(count)]


# ── due ──────────────────────────────────────────────────────────────────────


def why_due(*given: Any, **named: Any) -> str | None:
    """Why a run is due at the moment that is given third."""
    run = due(*given, 100, 6 * HOUR, **named)
    return run[1] if run and run[0] <= given[2] else None


@pytest.mark.feature("003.7")
@pytest.mark.parametrize(
    ("ages", "last_run", "now", "why"),
    [
        ([0] * 100, NOON, NOON, None),
        ([0] * 101, NOON, NOON, "count"),
        ([30 * HOUR], NOON, NOON + 6 * HOUR - MS, None),
        ([30 * HOUR], NOON, NOON + 6 * HOUR, "interval"),
        ([0, 6 * HOUR], None, NOON, "interval"),  # nothing was archived yet
        ([6 * HOUR - MS], None, NOON, None),
        ([0], NOON - 14 * HOUR, NOON + MINUTE, None),  # after a night: not six hours before its answer
        ([0], NOON - 14 * HOUR, NOON + 6 * HOUR, "interval"),
        ([6 * HOUR], NOON + 900 * HOUR, NOON, "interval"),  # what lies in the future does not count
        ([6 * HOUR, -HOUR], None, NOON, "interval"),
    ],
)
def test_due_is_above_100_or_six_hours_after_the_oldest_since_the_last_run(ages, last_run, now, why):
    assert why_due([one for age in ages for one in messages(1, NOON - (age or timedelta()))], last_run, now) == why


def test_due_returns_overflow_at_once():
    assert why_due(messages(1), None, NOON, overflowing=True) == "overflow"
    again = due(messages(1), NOON, NOON, 100, 6 * HOUR, overflowing=True)
    assert again == (NOON + 10 * MINUTE, "overflow")


# ── whole exchanges ──────────────────────────────────────────────────────────


@given(HISTORIES, MOMENTS)
def test_without_open_questions_keeps_order_and_old_questions(history, now):
    said = [one for one in history if isinstance(one, Message)]
    taken = without_open_questions(said, now, 10 * MINUTE)
    places = [next(n for n, one in enumerate(said) if one is chosen) for chosen in taken]
    assert places == sorted(places)
    for one in said:
        if not any(one is chosen for chosen in taken):
            assert one.role == "user"
            assert one.created_at is not None
            assert now - one.created_at < 10 * MINUTE


# ── days ─────────────────────────────────────────────────────────────────────


@pytest.mark.feature("003.8")
@given(HISTORIES, st.sampled_from(ZONES), st.sets(st.sampled_from(["m1", "m2", "m3"])))
def test_plan_days_assigns_each_message_once_to_its_local_day(history, zone_name, written):
    zone = ZoneInfo(zone_name)
    said = [one for one in history if isinstance(one, Message)]
    first: dict[Key, Message] = {}
    for one in said:
        first.setdefault(one.key, one)
    plan = plan_days(said, zone, {"2026-01-31-deploy-staging.md"}, written.__contains__, slugs_of)
    days = {block.key: file.day for file in plan for block in file.blocks}
    assert days == {key: local_day(one.created_at, zone) for key, one in first.items()}  # type: ignore[arg-type]
    assert sum(len(file.blocks) for file in plan) == len(first)
    assert len({file.name for file in plan}) == len(plan) == len({file.day for file in plan})
    assert all(file.name.startswith(file.day.isoformat()) for file in plan)
    assert [file.day for file in plan] == sorted(file.day for file in plan)
    assert "2026-01-31-deploy-staging.md" not in {file.name for file in plan}
