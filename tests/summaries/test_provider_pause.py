"""When the model may be asked (docs/reference/protocol.md, 3, Failure)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.summaries.retry import (
    BACKLOG_INTERVAL,
    BACKOFF,
    ProviderState,
    after_fault,
    after_success,
    calls_allowed,
    with_usage,
)
from tests.archive.states import NOON

TODAY = "2026-01-31"
WAITS = (BACKOFF, BACKLOG_INTERVAL, 0.0)


def failing(state: ProviderState, now=NOON, started=None, retry_after=timedelta()) -> ProviderState:
    return after_fault(state, started or now, now, "连不上", retry_after, WAITS)


def test_after_fault_waits_longer_each_time_then_one_day():
    state, now, waits = ProviderState(), NOON, []
    for _ in range(7):
        state = failing(state, now)
        waits.append(state.next_at - now)
        now = state.next_at
    assert waits == [*BACKOFF, BACKLOG_INTERVAL, BACKLOG_INTERVAL]


def test_after_fault_counts_concurrent_calls_as_one_fault():
    state = failing(ProviderState())
    later = NOON + timedelta(seconds=9)
    assert failing(state, later, started=NOON - timedelta(seconds=30)) == state
    assert failing(state, NOON, started=NOON + timedelta(seconds=1)) == state
    assert failing(state, later, started=NOON + timedelta(seconds=1)).attempts == 2


def test_after_success_keeps_the_pause_for_a_call_begun_before_the_fault():
    state = failing(ProviderState(), retry_after=timedelta(hours=11))
    assert after_success(state, NOON - timedelta(seconds=30), NOON) == state
    assert after_success(state, NOON - timedelta(seconds=30), NOON + timedelta(seconds=9)) == state
    assert after_success(state, None, NOON) == state


@pytest.mark.parametrize(("day", "tokens"), [(TODAY, 1_000), ("2026-01-30", 100)])
def test_with_usage_resets_the_tokens_on_a_new_day_and_sets_the_calls(day, tokens):
    before = with_usage(ProviderState(), {"promptTokens": 900}, day, 7)
    after = with_usage(before, {"promptTokens": 100}, TODAY, 8)
    assert (after.day, after.calls, after.prompt_tokens) == (TODAY, 8, tokens)


@given(st.integers(0, 100), st.integers(0, 100), st.integers(0, 100))
def test_calls_allowed_never_exceeds_the_daily_cap(spent, cap, under_way):
    asked = calls_allowed(ProviderState(), NOON, spent, cap, under_way)
    assert asked == max(0, cap - spent - under_way)
