"""When the model may be asked (docs/protocol.md, 3, Failure)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.summaries.retry import LATER, STEPS, ProviderState, after_fault, after_success, charged, may_ask
from tests.archive.states import NOON

TODAY = "2026-01-31"
WAITS = (STEPS, LATER, 0.0)


def failing(state: ProviderState, now=NOON, started=None, retry_after=timedelta()) -> ProviderState:
    return after_fault(state, started or now, now, "连不上", retry_after, WAITS)


def test_after_fault_waits_longer_each_time_then_one_day():
    state, now, waits = ProviderState(), NOON, []
    for _ in range(7):
        state = failing(state, now)
        waits.append(state.next_at - now)
        now = state.next_at
    assert waits == [*STEPS, LATER, LATER]


def test_after_fault_counts_concurrent_calls_as_one_fault():
    state = failing(ProviderState())
    later = NOON + timedelta(seconds=9)
    assert failing(state, later, started=NOON - timedelta(seconds=30)) == state
    assert failing(state, NOON, started=NOON + timedelta(seconds=1)) == state
    assert failing(state, later, started=NOON + timedelta(seconds=1)).attempts == 2


def test_after_fault_uses_retry_after_only_when_it_is_longer():
    assert failing(ProviderState(), retry_after=timedelta(hours=3)).next_at == NOON + timedelta(hours=3)
    assert failing(ProviderState(), retry_after=timedelta(seconds=3)).next_at == NOON + STEPS[0]


def test_may_ask_allows_nothing_while_paused_then_one_probe():
    state = failing(ProviderState())
    assert may_ask(state, NOON + STEPS[0] - timedelta(seconds=1), 0, 200, 0) == 0
    assert may_ask(state, NOON + STEPS[0], 0, 200, 0) == 1
    assert may_ask(state, NOON + STEPS[0], 0, 200, 1) == 0
    answered = after_success(state, NOON + timedelta(seconds=1), NOON + timedelta(seconds=9))
    assert may_ask(answered, NOON + timedelta(seconds=9), 0, 200, 0) == 200


def test_after_success_keeps_the_pause_for_a_call_begun_before_the_fault():
    state = failing(ProviderState(), retry_after=timedelta(hours=11))
    assert after_success(state, NOON - timedelta(seconds=30), NOON) == state
    assert after_success(state, NOON - timedelta(seconds=30), NOON + timedelta(seconds=9)) == state
    assert after_success(state, None, NOON) == state


def test_may_ask_ends_a_pause_when_the_clock_was_set_back():
    assert may_ask(failing(ProviderState()), NOON - timedelta(days=300), 0, 200, 0) == 1


@pytest.mark.parametrize(("day", "tokens"), [(TODAY, 1_000), ("2026-01-30", 100)])
def test_charged_resets_the_tokens_on_a_new_day_and_sets_the_calls(day, tokens):
    before = charged(ProviderState(), {"promptTokens": 900}, day, 7)
    after = charged(before, {"promptTokens": 100}, TODAY, 8)
    assert (after.day, after.calls, after.prompt_tokens) == (TODAY, 8, tokens)


def test_may_ask_allows_no_probe_with_a_cap_of_zero():
    assert may_ask(ProviderState(), NOON, 0, 0, 0) == 0
    assert may_ask(failing(ProviderState()), NOON + LATER, 0, 0, 0) == 0


@given(st.integers(0, 100), st.integers(0, 100), st.integers(0, 100))
def test_may_ask_never_exceeds_the_daily_cap(spent, cap, under_way):
    asked = may_ask(ProviderState(), NOON, spent, cap, under_way)
    assert asked == max(0, cap - spent - under_way)
