"""
How long what failed waits (`Backoff`: a group, a session, the model), and how many calls the model may get now.

A fault of the provider (server down, wrong key, rate limit) pauses the provider on the same waits as a group's; after the
pause one call goes out as a probe. It costs no group an attempt. The calls of a day have a cap: without one, a retry loop
may cost millions of tokens overnight. Pure: what is written to disk is in `llm_state.py`. Source:
docs/reference/protocol.md, 3.12 and 3.13.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta
from typing import Final, Self, TypeAlias

from ..protocol.summary_file import Source
from ..text.record import record

#: A model writes worse than extracts where so many of its last answers were refused.
RECENT_ANSWERS: Final = 30
REFUSED_MOST: Final = 20
_MARK_DIGITS: Final = 12
#: The end of the mark of a text that was refused twice, where no extract stands for it: no further answer is asked for.
TWICE: Final = "-twice"

#: The waits after the first failures, the wait after more, and by up to which share of it each is changed.
Waits: TypeAlias = "tuple[Sequence[timedelta], timedelta, float]"


@record
class Backoff:
    """How often something failed in a row, when it did last, and when to try again; *attempts* is 0 where it did not fail."""

    attempts: int = 0
    failed_at: datetime | None = None
    next_at: datetime | None = None

    def again(self, now: datetime, waits: Waits, seed: str, least: timedelta = timedelta()) -> Self:
        """
        Return the state after one more failure, at *now*; the wait is *least* at least, and the same for the same *seed*.

        >>> waits = [timedelta(minutes=10), timedelta(minutes=30)], timedelta(days=1), 0.0
        >>> third = Backoff(2).again(datetime(2026, 1, 31), waits, "day-2026-01-20")
        >>> third.attempts, str(third.next_at)
        (3, '2026-02-01 00:00:00')
        """
        steps, later, share = waits
        attempts = self.attempts + 1
        wait = steps[attempts - 1] if attempts <= len(steps) else later
        unit = int.from_bytes(hashlib.sha256(f"{seed}-{attempts}".encode()).digest()[:4]) / 2**31 - 1
        return replace(self, attempts=attempts, failed_at=now, next_at=now + max(wait * (1 + share * unit), least))

    def is_over(self, now: datetime) -> bool:
        """Return whether nothing failed, or the wait after it is over."""
        return self.failed_at is None or self.next_at is None or is_due(self.failed_at, self.next_at, now)


@record(kw_only=True)
class Verdicts:
    """What became of a model's answers: *refused* by reason."""

    accepted: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)
    recent: str = ""  # of the last RECENT_ANSWERS, the newest last: a letter each, a or r

    @property
    def is_worse(self) -> bool:
        """Whether so many of the last answers were refused that extracts are the better summaries."""
        return self.recent.count("r") >= REFUSED_MOST

    def with_one(self, reason: str | None) -> Verdicts:
        """Return the account with one more answer; *reason* is None where it was accepted."""
        refused = {**self.refused, reason: self.refused.get(reason, 0) + 1} if reason else self.refused
        recent = f"{self.recent}{'r' if reason else 'a'}"[-RECENT_ANSWERS:]
        accepted = self.accepted + (reason is None)
        return replace(self, accepted=accepted, refused=refused, recent=recent)


@record(kw_only=True)
class ProviderState(Backoff):
    """What `worker/failed/provider.json` holds: the last fault of the provider, and today's cost so far."""

    reason: str = ""
    server: str = ""  # the marks of the `Endpoint` that failed
    key: str = ""
    day: str = ""  # local, "2026-01-28"
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    answers: Mapping[str, Verdicts] = field(default_factory=dict)  # by the name that the model is asked by

    @property
    def is_failing(self) -> bool:
        """Whether the last call was refused: the next one is a probe."""
        return self.attempts > 0

    def was_in_flight(self, started_at: datetime | None, now: datetime) -> bool:
        """Return whether a call that began at *started_at* and ended by *now* was in flight when the last fault was noted."""
        if self.failed_at is None:
            return False
        return self.failed_at == now or (started_at or now) <= self.failed_at <= now


def refused_mark(model: str, sources: Iterable[Source], times: int = 1) -> str:
    """
    Return the mark of a text of one model, whose answer was refused once or twice.

    It changes with the model, its prompts, and what the text is made from.
    """
    listed = json.dumps([model, sorted((source.name, source.digest) for source in sources)])
    mark = hashlib.sha256(listed.encode("utf-8", "surrogateescape")).hexdigest()[:_MARK_DIGITS]
    return mark if times == 1 else f"{mark}{TWICE}"


def is_due(failed_at: datetime, next_at: datetime, now: datetime) -> bool:
    """
    Return whether the wait from *failed_at* to *next_at* is over.

    A failure in the future was written before the clock was set back: its wait counts as over.
    """
    return next_at <= now or failed_at > now


def with_usage(state: ProviderState, usage: Mapping[str, int], today: str, calls: int) -> ProviderState:
    """Return the state after *calls* calls today, with the tokens of *usage* {promptTokens, completionTokens} added."""
    if state.day != today:
        state = replace(state, day=today, calls=0, prompt_tokens=0, completion_tokens=0)
    return replace(
        state,
        calls=calls,
        prompt_tokens=state.prompt_tokens + usage.get("promptTokens", 0),
        completion_tokens=state.completion_tokens + usage.get("completionTokens", 0),
    )


def after_call(
    state: ProviderState,
    started_at: datetime | None,
    now: datetime,
    waits: Waits,
    fault: str | None = None,
    retry_after: timedelta = timedelta(),
) -> ProviderState:
    """
    Return the state after a call that began at *started_at*: a *fault* of the provider pauses it, an answer ends the pause.

    A call that was in flight when the provider failed changes nothing: such calls count as one failure, and end no pause. A
    *retry_after* that is longer than the wait, which the server asked for, is respected.
    """
    if state.was_in_flight(started_at, now):
        return state
    if fault is None:
        return without_fault(state)
    return replace(state.again(now, waits, "provider", retry_after), reason=fault)


def without_fault(state: ProviderState) -> ProviderState:
    """Return the state without its fault and pause; the day's cost stays."""
    return replace(state, attempts=0, failed_at=None, next_at=None, reason="", server="", key="")


def calls_allowed(state: ProviderState, now: datetime, spent: int, max_calls: int, in_flight: int) -> int:
    """
    Return how many more calls may begin now, after *spent* calls today, with *in_flight* calls not yet answered.

    0 while the provider is paused, 1 as a probe when the pause is over, else what is left of the day's cap.
    """
    left = max(0, max_calls - spent)
    if state.is_failing and state.failed_at and state.next_at:
        return 0 if in_flight or not state.is_over(now) else min(1, left)
    return max(0, left - in_flight)
