"""
What the flag of each message has to be, by evidence alone (docs/protocol.md, 3, Settling).

Run each round and after a crash: no plan has to be remembered, and finishing twice is harmless.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from supervisor.policy.age import home
from supervisor.protocol.layout import day_of_name
from supervisor.protocol.message import Archived, History, Key, Message, failed, flagged
from supervisor.protocol.period import day, month

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from datetime import date, datetime


@dataclass(frozen=True, slots=True)
class Failure:
    """The last failure of a group or of the provider: how many so far, when, when to try again, and why."""

    attempts: int
    failed_at: datetime
    next_at: datetime
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the files say."""

    file_of: Callable[[Key], str | None]  # the dated file that holds, or once held, these words
    present: frozenset[str]  # dated files on disk
    covered: frozenset[str]  # of these, the ones a standing summary names
    in_flight: Collection[str]  # groups with a task or a result in the spool
    failures: Mapping[str, Failure]  # by group


def settle(history: History, evidence: Evidence, today: date, recent_days: int) -> History:
    """Return the history with every flag that the evidence asks for; nothing leaves `true`."""
    return tuple(
        _settled(entry, evidence, today, recent_days)
        if isinstance(entry, Message) and entry.archived is not Archived.YES
        else entry
        for entry in history
    )


def _settled(message: Message, evidence: Evidence, today: date, recent_days: int) -> Message:
    name = evidence.file_of(message.key)
    if name is None:
        return flagged(message, Archived.NO)
    of = day_of_name(name)
    period = home(of, today, recent_days) if of else None
    # gone from disk: a person's will, and nothing is left to summarise
    if of is None or period is None or name in evidence.covered or name not in evidence.present:
        return flagged(message, Archived.YES)
    groups = dict.fromkeys((period.group, day(of).group))  # a month too large for one call is told day by day first
    # the month of a day is under way where the clock or `recent_days` was set back since it was submitted
    if any(group in evidence.in_flight for group in (*groups, month(of).group)):
        return flagged(message, Archived.PENDING)
    failure = next((evidence.failures[group] for group in groups if group in evidence.failures), None)
    back = flagged(message, Archived.NO)
    if failure and (back.attempts, back.next_at) != (failure.attempts, failure.next_at):
        return failed(back, failure.attempts, failure.failed_at, failure.next_at)
    return back


def mark_pending(history: History, keys: Collection[Key]) -> History:
    """Return the history with those of *keys* that are `false` marked `pending` (003, 归档流程 1)."""
    return tuple(
        flagged(entry, Archived.PENDING)
        if isinstance(entry, Message) and entry.archived is Archived.NO and entry.key in keys
        else entry
        for entry in history
    )
