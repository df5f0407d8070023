"""How long what failed waits, and when the model may be asked (docs/reference/protocol.md, 3, Failure)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.protocol.config import Config
from recalld.supervisor.summaries.llm_state import provider_state
from recalld.supervisor.summaries.schedule import (
    ProviderState,
    Verdicts,
    after_call,
    calls_allowed,
    with_usage,
)
from tests.archive.states import NOON

TODAY = "2026-01-31"
WAITS = Config().archive.backoff


def failing(state: ProviderState, now=NOON, started=None, retry_after=timedelta()) -> ProviderState:
    return after_call(state, started or now, now, WAITS, "连不上", retry_after)


def test_after_call_counts_concurrent_faults_as_one():
    state = failing(ProviderState())
    later = NOON + timedelta(seconds=9)
    assert failing(state, later, started=NOON - timedelta(seconds=30)) == state
    assert failing(state, NOON, started=NOON + timedelta(seconds=1)) == state
    assert failing(state, later, started=NOON + timedelta(seconds=1)).attempts == 2


@pytest.mark.parametrize(("day", "tokens"), [(TODAY, 1_000), ("2026-01-30", 100)])
def test_with_usage_resets_the_tokens_on_a_new_day_and_sets_the_calls(day, tokens):
    before = with_usage(ProviderState(), {"promptTokens": 900}, day, 7)
    after = with_usage(before, {"promptTokens": 100}, TODAY, 8)
    assert (after.day, after.calls, after.prompt_tokens) == (TODAY, 8, tokens)


@given(st.integers(0, 100), st.integers(0, 100), st.integers(0, 100))
def test_calls_allowed_never_exceeds_the_daily_cap(spent, cap, under_way):
    allowed = calls_allowed(ProviderState(), NOON, spent, cap, under_way)
    assert allowed == max(0, cap - spent - under_way)


def test_provider_state_keeps_the_accounts_next_to_a_spoiled_one(world):
    sound = {"accepted": 2, "refused": {"太短": 1}, "recent": "aar"}
    spoiled = {"甲": 5, "乙": {"accepted": -1}, "丙": {"refused": {"太短": -1}}, "丁": {"accepted": "2"}}
    world.ws.task_queue.note_provider({"answers": {**spoiled, "戊": sound}})
    assert provider_state(world.ws.task_queue).answers == {"戊": Verdicts(**sound)}
