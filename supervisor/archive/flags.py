"""
Which messages leave history.json so that it keeps its size (003, history.json 长度限制, 容量兜底).

Only words that stand in a dated file may leave; what was never written stays, whatever the cap, and so do the newest
messages. What can't be understood stays and counts towards no cap.

What the flag of each message has to be, by evidence alone (docs/protocol.md, 3, Settling).

Run each round and after a crash: no plan has to be remembered, and finishing twice is harmless.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from supervisor.protocol.lenient_json import render_json
from supervisor.protocol.message import Archived, History, Key, Message, with_archived, with_failure
from supervisor.protocol.paths import day_of_name
from supervisor.protocol.period import day, month, summary_period

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from datetime import date, datetime

SOFT_CAP: Final = 200  # messages; 003
HARD_CAP: Final = 300  # messages; 003
HARD_BYTES: Final = 10_000_000  # 003, 10 MB
KEEP_NEWEST: Final = 20  # messages; the history block of a turn shows that many


@dataclass(frozen=True, slots=True)
class Caps:
    """The limits of history.json, in messages and serialized bytes."""

    soft: int = SOFT_CAP
    hard: int = HARD_CAP
    hard_bytes: int = HARD_BYTES
    keep_newest: int = KEEP_NEWEST


def trim(history: History, written: Callable[[Message], bool], caps: Caps) -> History:
    """
    Return the history, in its order, without what may leave and has to.

    Over the soft cap written `true` messages leave, oldest first; over a hard one written others as well.
    """
    sizes = [_size(entry) for entry in history]
    messages = [n for n, entry in enumerate(history) if isinstance(entry, Message)]
    free = messages[: -caps.keep_newest] if caps.keep_newest else messages
    free = [n for n in free if written(_message(history, n))]
    done = [n for n in free if _message(history, n).archived is Archived.YES]
    gone: set[int] = set()
    count, size = len(messages), sum(sizes)
    for position, is_over in ((done, _over_soft), (free, _over_hard)):
        for n in position:
            if not is_over(count, size, caps):
                break
            if n not in gone:
                gone.add(n)
                count, size = count - 1, size - sizes[n]
    return tuple(entry for n, entry in enumerate(history) if n not in gone) if gone else history


def overflows(unwritten: Sequence[Message], caps: Caps) -> bool:
    """Tell whether un-written messages alone exceed a hard cap: nothing may leave, yet it is too long."""
    return _over_hard(len(unwritten), sum(map(_size, unwritten)), caps)


def _over_soft(count: int, size: int, caps: Caps) -> bool:
    return count > caps.soft or size > caps.hard_bytes


def _over_hard(count: int, size: int, caps: Caps) -> bool:
    return count > caps.hard or size > caps.hard_bytes


def _size(entry: object) -> int:
    """Return the bytes the entry takes in the file; what can't be understood counts for nothing."""
    return len(render_json(entry.raw)) + 2 if isinstance(entry, Message) else 0


def _message(history: History, n: int) -> Message:
    entry = history[n]
    if not isinstance(entry, Message):
        raise TypeError("not a message")
    return entry


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


def reconcile(history: History, evidence: Evidence, today: date, recent_days: int) -> History:
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
        return with_archived(message, Archived.NO)
    of = day_of_name(name)
    period = summary_period(of, today, recent_days) if of else None
    # gone from disk: a person's will, and nothing is left to summarise
    if of is None or period is None or name in evidence.covered or name not in evidence.present:
        return with_archived(message, Archived.YES)
    groups = dict.fromkeys((period.group, day(of).group))  # a month too large for one call is told day by day first
    # the month of a day is under way where the clock or `recent_days` was set back since it was submitted
    if any(group in evidence.in_flight for group in (*groups, month(of).group)):
        return with_archived(message, Archived.PENDING)
    failure = next((evidence.failures[group] for group in groups if group in evidence.failures), None)
    back = with_archived(message, Archived.NO)
    if failure and (back.attempts, back.next_at) != (failure.attempts, failure.next_at):
        return with_failure(back, failure.attempts, failure.failed_at, failure.next_at)
    return back


def mark_pending(history: History, keys: Collection[Key]) -> History:
    """Return the history with those of *keys* that are `false` marked `pending` (003, 归档流程 1)."""
    return tuple(
        with_archived(entry, Archived.PENDING)
        if isinstance(entry, Message) and entry.archived is Archived.NO and entry.key in keys
        else entry
        for entry in history
    )
