"""
What the archive has to do, by the files: when a run is due, what goes to which dated file, and what leaves history.json.

Flags are derived from the files alone (protocol.md, 3, Settling), in each round and after a crash: no plan has to be
remembered, and doing it twice is harmless. Only a message that a dated file holds may leave (3.15); an un-written
message stays, whatever the cap, and so do the newest messages. An invalid entry stays and counts towards no cap. Pure.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final, Literal, TypeAlias

from ..protocol.dated_file import Block, block_of
from ..protocol.message import Archived, Failure, History, Key, Message, with_archived, with_failure
from ..protocol.paths import OVERFLOW_INTERVAL, day, day_of_name, month, summary_period
from ..storage.clock import local_day

#: A time that is further ahead means that the clock was set back, and does not show how long the message has waited.
_AHEAD: Final = timedelta(minutes=10)
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)

Due: TypeAlias = Literal["count", "interval", "overflow"]
#: Makes the slugs of days, each its messages (role, text).
Slugs: TypeAlias = "Callable[[Sequence[Sequence[tuple[str, str]]]], Sequence[str]]"


@dataclass(frozen=True, slots=True)
class DayFile:
    """A dated file to be written: its name, its local day, and its blocks in the order of the history."""

    name: str
    day: date
    blocks: tuple[Block, ...]  # they are written when the file is durable


@dataclass(frozen=True, slots=True)
class Caps:
    """The limits of history.json, in messages and serialized bytes (docs/reference/protocol.md, 3.15)."""

    soft: int = 200
    hard: int = 300
    hard_bytes: int = 10_000_000
    keep_newest: int = 20  # the history block of a turn shows that many


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The facts that flags are derived from."""

    file_of: Callable[[Key], str | None]  # the dated file that holds, or once held, this message
    present: frozenset[str]  # dated files on disk
    covered: frozenset[str]  # the dated files that need no summary: one names them as they are now, or their day is left
    active_groups: Collection[str]  # groups with a task or a result in the queue
    failures: Mapping[str, Failure]  # by group


def due(
    unwritten: Sequence[Message],
    last_run: datetime | None,
    now: datetime,
    limit: int,
    interval: timedelta,
    *,
    overflowing: bool = False,
) -> tuple[datetime, Due] | None:
    """
    Return when a run is due, *now* if it is already, and why; None when nothing waits.

    *last_run* is when the newest dated file was made. The oldest un-written message has to have waited *interval* since
    then, or since its own time when that is later, so that a conversation after a pause is not cut after its first messages.
    """
    since = last_run if last_run and last_run <= now else _LONG_AGO
    reasons: list[tuple[datetime, Due]] = []
    if unwritten and overflowing:
        reasons.append((since + OVERFLOW_INTERVAL, "overflow"))
    if len(unwritten) > limit:
        reasons.append((now, "count"))
    times = [time if time - now < _AHEAD else _LONG_AGO for time in (m.created_at for m in unwritten) if time]
    if times:
        reasons.append((max(min(times), since) + interval, "interval"))
    return min(((max(now, moment), why) for moment, why in reasons), key=lambda due: due[0], default=None)


def without_open_questions(unwritten: Sequence[Message], now: datetime, wait: timedelta) -> tuple[Message, ...]:
    """Return the messages without the open questions: last in their session, less than *wait* old, not yet answered."""
    left: list[Message] = []
    answered: set[str] = set()
    for message in reversed(unwritten):
        session = str(message.raw.get("session"))
        if message.role != "user":
            answered.add(session)
        if session in answered or not message.created_at or now - message.created_at >= wait:
            left.append(message)
    return tuple(reversed(left))


def first_to_take(unwritten: Sequence[Message], at: datetime, wait: timedelta) -> datetime:
    """Return the moment from *at* on when a run finds a message to take: later than *at* if all are open questions then."""
    times = [message.created_at for message in unwritten if message.created_at]
    return at if not times or without_open_questions(unwritten, at, wait) else min(times) + wait


def plan_days(
    messages: Sequence[Message],
    zone: tzinfo,
    taken: Collection[str],
    is_written: Callable[[str], bool],
    slugs: Slugs,
) -> tuple[DayFile, ...]:
    """
    Return one new dated file for each local day of *messages* that have a time, whatever their age; oldest day first.

    *taken* holds every name that is or was in use; *is_written* returns whether a message with this id is written, so that
    another text under the same id becomes a revision. *slugs* makes the slugs of days.
    """
    first: dict[Key, Message] = {}
    for message in messages:
        first.setdefault(message.key, message)
    planned: set[str] = set()
    filed: defaultdict[date, list[Block]] = defaultdict(list)
    dated = [(local_day(message.created_at, zone), message) for message in first.values() if message.created_at]
    for date_of, message in sorted(dated, key=lambda pair: pair[0]):
        revision = is_written(message.id) or message.id in planned
        planned.add(message.id)
        filed[date_of].append(block_of(message, revision=revision))
    if not filed:
        return ()
    from .slug import free_name, short_id  # lazy: it loads dictionaries

    names, plan = set(taken), []
    of_days = [[(block.role, block.words) for block in blocks] for blocks in filed.values()]
    for (date_of, blocks), slug in zip(filed.items(), slugs(of_days), strict=True):
        name = free_name(date_of, slug or f"mem-{short_id(blocks[0].id)}", names)
        names.add(name)
        plan.append(DayFile(name, date_of, tuple(blocks)))
    return tuple(plan)


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
        return with_failure(unarchived, failure)
    return unarchived


def _size(entry: object) -> int:
    return entry.size if isinstance(entry, Message) else 0
