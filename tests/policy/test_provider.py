"""When the model may be asked (docs/protocol.md, 3, Failure)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.policy.backoff import LATER, STEPS
from supervisor.policy.provider import ProviderState, after_fault, after_success, allotted, charged, is_of, may_ask
from tests.policy.states import NOON

TODAY = "2026-01-31"
WAITS = (STEPS, LATER, 0.0)


def failing(state: ProviderState, now=NOON, started=None, retry_after=timedelta()) -> ProviderState:
    return after_fault(state, started or now, now, "连不上", retry_after, WAITS)


def test_each_fault_waits_longer_and_from_the_sixth_on_a_day():
    state, now, waits = ProviderState(), NOON, []
    for _ in range(7):
        state = failing(state, now)
        waits.append(state.next_at - now)
        now = state.next_at
    assert waits == [*STEPS, LATER, LATER]


def test_calls_that_were_under_way_when_it_failed_count_as_one_fault():
    state = failing(ProviderState())
    later = NOON + timedelta(seconds=9)
    assert failing(state, later, started=NOON - timedelta(seconds=30)) == state
    assert failing(state, NOON, started=NOON + timedelta(seconds=1)) == state
    assert failing(state, later, started=NOON + timedelta(seconds=1)).attempts == 2


def test_a_longer_wait_that_the_server_asks_for_is_kept_and_a_shorter_one_is_not():
    assert failing(ProviderState(), retry_after=timedelta(hours=3)).next_at == NOON + timedelta(hours=3)
    assert failing(ProviderState(), retry_after=timedelta(seconds=3)).next_at == NOON + STEPS[0]


def test_while_it_is_paused_or_a_probe_is_out_nothing_is_asked():
    state = failing(ProviderState())
    assert may_ask(state, NOON + STEPS[0] - timedelta(seconds=1), TODAY, 200, 0) == 0
    assert may_ask(state, NOON + STEPS[0], TODAY, 200, 0) == 200
    assert may_ask(state, NOON + STEPS[0], TODAY, 200, 1) == 0
    assert may_ask(after_success(state), NOON, TODAY, 200, 0) == 200


def test_a_pause_from_before_the_clock_was_set_back_is_over():
    assert may_ask(failing(ProviderState()), NOON - timedelta(days=300), TODAY, 200, 0) == 200


@pytest.mark.parametrize(("day", "left"), [(TODAY, 3), ("2026-01-30", 10)])
def test_what_is_left_of_the_cap_is_that_of_today(day, left):
    spent = charged(ProviderState(), {"calls": 7, "promptTokens": 900}, day)
    assert may_ask(spent, NOON, TODAY, 10, 0) == left


def test_a_zone_farther_west_gives_the_same_hours_no_second_cap():
    tomorrow = charged(ProviderState(), {"calls": 12}, "2026-02-01")
    assert may_ask(tomorrow, NOON, TODAY, 12, 0) == 0
    assert charged(tomorrow, {"calls": 1}, TODAY).calls == 13
    assert charged(tomorrow, {"calls": 1}, "2026-02-02").calls == 1
    assert not is_of(ProviderState(day="哼"), TODAY)  # a person broke the file


def test_a_cap_of_nothing_lets_nothing_through_not_even_a_probe():
    assert may_ask(ProviderState(), NOON, TODAY, 0, 0) == 0
    assert may_ask(failing(ProviderState()), NOON + LATER, TODAY, 0, 0) == 0


@given(st.lists(st.tuples(st.sampled_from(["2026-01-30", TODAY]), st.integers(0, 50)), max_size=20), st.integers(0, 100))
def test_what_may_be_asked_and_what_was_asked_never_pass_the_cap(calls, cap):
    state = ProviderState()
    for day, count in sorted(calls):
        state = charged(state, {"calls": count}, day)
    spent = state.calls if state.day == TODAY else 0
    assert may_ask(state, NOON, TODAY, cap, 0) == max(0, cap - spent)


@pytest.mark.parametrize(
    ("costs", "left", "given"),
    [
        ([], 12, []),
        ([1, 1], 0, []),
        ([1, 1], 12, [3, 3]),  # an estimate may be low: what is over is theirs
        ([1, 1, 1], 3, [1, 1, 1]),
        ([1, 1, 1], 5, [3, 1, 1]),
        ([5, 1], 5, [5]),
        ([1, 5, 1], 4, [3]),  # the order holds: what is later does not overtake
        ([30, 1], 12, [12]),  # more than a day has: it goes on tomorrow where it stopped
    ],
)
def test_each_task_may_make_what_it_is_thought_to_take_and_more_where_the_day_has_it(costs, left, given):
    assert allotted(costs, left) == given


@given(st.lists(st.integers(1, 40), max_size=10), st.integers(0, 60))
def test_tasks_together_never_get_more_than_is_left_and_none_but_the_first_less_than_it_takes(costs, left):
    given = allotted(costs, left)
    assert sum(given) <= left
    assert all(calls >= cost for cost, calls in list(zip(costs, given, strict=False))[1:])
    assert bool(given) == bool(costs and left)
