"""
When the model may be asked: its faults pause it on the same waits as a group's, with one probe, and a day has its cap.

A fault of the provider costs no group an attempt (docs/protocol.md, 3, Failure); holes.md tells of 94 sessions in an hour and
61 million tokens in a day, which is what the cap is for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from supervisor.policy.backoff import delay_after, is_due, jittered

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

#: Calls a task gets beyond its estimate and half of it: one too long for the model costs a call, and is then cut in two.
SPARE: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderState:
    """What worker/failed/provider.json holds: the last fault, none where attempts is 0, and what the day has cost so far."""

    attempts: int = 0
    failed_at: datetime | None = None
    next_at: datetime | None = None
    reason: str = ""
    day: str = ""  # local, "2026-01-28"
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def is_failing(self) -> bool:
        """Whether the last call was refused: what is asked next is a probe."""
        return self.attempts > 0


def is_of(state: ProviderState, today: str) -> bool:
    """
    Tell whether what was counted counts for the local day *today*: of that day, or of the one after it.

    A zone farther west, or a clock set back by hours, must not give the same hours a second cap.
    """
    return state.day in {today, (date.fromisoformat(today) + timedelta(days=1)).isoformat()}


def charged(state: ProviderState, usage: Mapping[str, int], today: str) -> ProviderState:
    """Return the state after calls that cost *usage* {calls, promptTokens, completionTokens}; a new day begins at 0."""
    if not is_of(state, today):
        state = replace(state, day=today, calls=0, prompt_tokens=0, completion_tokens=0)
    return replace(
        state,
        calls=state.calls + usage.get("calls", 0),
        prompt_tokens=state.prompt_tokens + usage.get("promptTokens", 0),
        completion_tokens=state.completion_tokens + usage.get("completionTokens", 0),
    )


def after_fault(
    state: ProviderState,
    started_at: datetime | None,
    now: datetime,
    reason: str,
    retry_after: timedelta,
    waits: tuple[Sequence[timedelta], timedelta, float],
) -> ProviderState:
    """
    Return the state after a fault of the provider in a call begun at *started_at*.

    Calls that were under way when the provider failed count as one failure. *waits* are the steps, the wait past them, and
    the share of jitter; a longer *retry_after*, which the server asked for, is respected.
    """
    begun = started_at or now
    if state.failed_at and (state.failed_at == now or begun <= state.failed_at <= now):
        return state
    steps, later, jitter = waits
    attempts = state.attempts + 1
    delay = max(jittered(delay_after(attempts, steps, later), jitter, f"provider-{attempts}"), retry_after)
    return replace(state, attempts=attempts, failed_at=now, next_at=now + delay, reason=reason)


def after_success(state: ProviderState) -> ProviderState:
    """Return the state without its fault."""
    return replace(state, attempts=0, failed_at=None, next_at=None, reason="")


def may_ask(state: ProviderState, now: datetime, today: str, max_calls: int, under_way: int) -> int:
    """
    Return how many more calls may be begun now, *under_way* being those that tasks in flight may still make.

    None while the provider is paused, or while a probe is out, else what is left of the day's cap.
    """
    is_paused = state.is_failing and state.failed_at and state.next_at and not is_due(state.failed_at, state.next_at, now)
    if is_paused or (state.is_failing and under_way):
        return 0
    spent = state.calls if is_of(state, today) else 0
    return max(0, max_calls - spent - under_way)


def allotted(costs: Iterable[int], left: int) -> list[int]:
    """
    Return how many calls each of the first tasks may make, about *costs* each, so that together they never pass *left*.

    Tasks go in their order while the day has what they are thought to take; the first goes with what there is. What is then
    over is theirs as well, for an estimate may be low: half as much again and `SPARE` calls a task.
    """
    chosen: list[tuple[int, int]] = []  # what it is thought to take, what it gets
    for cost in costs:
        if left <= 0 or (cost > left and chosen):
            break
        chosen.append((cost, min(cost, left)))
        left -= min(cost, left)
    given = []
    for cost, calls in chosen:
        more = min(left, cost // 2 + SPARE)
        given.append(calls + more)
        left -= more
    return given
