"""
What the flags of history.json have to be, and which messages leave it so that it keeps within its caps.

Flags are derived from the files alone (protocol.md, 3, Settling), in each round and after a crash: no plan has to be
remembered, and doing it twice is harmless. Only a message that a dated file holds may leave (3.15); an un-written
message stays, whatever the cap, and so do the newest messages. An invalid entry stays and counts towards no cap.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import date, datetime
from typing import Final, Literal

from ..protocol.message import Archived, History, Key, Message, with_archived, with_failure
from ..protocol.paths import day, day_of_name, month, summary_period
from ..text.record import record

SOFT_CAP: Final = 200  # messages; docs/reference/protocol.md, 3.15
HARD_CAP: Final = 300  # messages
HARD_BYTES: Final = 10_000_000
KEEP_NEWEST: Final = 20  # messages; the history block of a turn shows that many


@record
class Caps:
    """The limits of history.json, in messages and serialized bytes."""

    soft: int = SOFT_CAP
    hard: int = HARD_CAP
    hard_bytes: int = HARD_BYTES
    keep_newest: int = KEEP_NEWEST


@record
class Failure:
    """
    The last failure of a group or of the provider: how many so far, when, when to try again, and why.

    *refused*: which text of which model was refused (`summaries.retry.refused_mark`), "" where no answer was.
    """

    attempts: int
    failed_at: datetime
    next_at: datetime
    reason: str
    refused: str = ""

    @classmethod
    def by_group(cls, stored: Mapping[str, tuple[int, datetime, datetime, str, str]]) -> dict[str, Failure]:
        """Return the last failure of each group that waits for a retry, from what `TaskQueue.failures` reads."""
        return {group: cls(*fields) for group, fields in stored.items()}


@record(kw_only=True)
class Evidence:
    """The facts that flags are derived from."""

    file_of: Callable[[Key], str | None]  # the dated file that holds, or once held, this message
    present: frozenset[str]  # dated files on disk
    covered: frozenset[str]  # the dated files that need no summary: one names them as they are now, or their day is left
    active_groups: Collection[str]  # groups with a task or a result in the queue
    failures: Mapping[str, Failure]  # by group


def reconcile(history: History, evidence: Evidence, today: date, recent_days: int) -> History:
    """Return the history with the flags that follow from the evidence; a message that is `true` stays so."""
    return tuple(
        _reconciled(entry, evidence, today, recent_days)
        if isinstance(entry, Message) and entry.archived is not Archived.YES
        else entry
        for entry in history
    )


def mark_pending(history: History, keys: Collection[Key]) -> History:
    """Return the history in which the messages of *keys* that were `false` are `pending` (docs/reference/protocol.md, 3.3)."""
    return tuple(
        with_archived(entry, Archived.PENDING)
        if isinstance(entry, Message) and entry.archived is Archived.NO and entry.key in keys
        else entry
        for entry in history
    )


def trim(history: History, written: Callable[[Message], bool], caps: Caps) -> History:
    """
    Return the history, in its order, without the messages that have to leave; the same object when none has to.

    Over the soft cap written messages that are `true` leave, oldest first; over a hard cap other written messages as well.
    """
    sizes = [_size(entry) for entry in history]
    messages = [(n, entry) for n, entry in enumerate(history) if isinstance(entry, Message)]
    removable = messages[: -caps.keep_newest] if caps.keep_newest else messages
    removable = [(n, message) for n, message in removable if written(message)]
    finished = [(n, message) for n, message in removable if message.archived is Archived.YES]
    removed: set[int] = set()
    count, size = len(messages), sum(sizes)
    for candidates, most in ((finished, caps.soft), (removable, caps.hard)):
        for n, _ in candidates:
            if count <= most and size <= caps.hard_bytes:
                break
            if n not in removed:
                removed.add(n)
                count, size = count - 1, size - sizes[n]
    return tuple(entry for n, entry in enumerate(history) if n not in removed) if removed else history


def overflow(history: History, written: Callable[[Message], bool], caps: Caps) -> Literal["soft", "hard"] | None:
    """Return which cap the history exceeds although all messages that may leave have left; None when it exceeds none."""
    left = trim(history, written, caps)
    count, size = sum(isinstance(entry, Message) for entry in left), sum(map(_size, left))
    if count > caps.hard or size > caps.hard_bytes:
        return "hard"
    return "soft" if count > caps.soft else None


def _reconciled(message: Message, evidence: Evidence, today: date, recent_days: int) -> Message:
    name = evidence.file_of(message.key)
    if name is None:
        return with_archived(message, Archived.NO)
    of = day_of_name(name)
    period = summary_period(of, today, recent_days) if of else None
    # a file that is gone from disk was deleted by a person, and nothing is left to summarise
    if of is None or period is None or name in evidence.covered or name not in evidence.present:
        return with_archived(message, Archived.YES)
    groups = dict.fromkeys((period.group, day(of).group))  # a month too large for one call is first summarised day by day
    # the month of a day is active where the clock or `recent_days` was set back since it was submitted
    if any(group in evidence.active_groups for group in (*groups, month(of).group)):
        return with_archived(message, Archived.PENDING)
    failure = next((evidence.failures[group] for group in groups if group in evidence.failures), None)
    unarchived = with_archived(message, Archived.NO)
    if failure and (unarchived.attempts, unarchived.next_at) != (failure.attempts, failure.next_at):
        return with_failure(unarchived, failure.attempts, failure.failed_at, failure.next_at)
    return unarchived


def _size(entry: object) -> int:
    return entry.size if isinstance(entry, Message) else 0
