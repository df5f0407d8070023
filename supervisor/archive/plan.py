"""
Decide when an archive run is due, which messages it takes, and to which dated file each goes (docs/reference/protocol.md, 3).

Nothing is written here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import partial
from typing import Final, Literal, TypeAlias

from ..protocol.dated_file import Block, block_of
from ..protocol.message import Key, Message
from ..protocol.paths import OVERFLOW_INTERVAL, dated_name
from ..storage.clock import local_day
from ..text.record import record

#: A time that is further ahead means that the clock was set back, and does not show how long the message has waited.
_AHEAD: Final = timedelta(minutes=10)
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)

Due: TypeAlias = Literal["count", "interval", "overflow"]
#: Makes the slugs of days, each its messages (role, text).
Slugs: TypeAlias = "Callable[[Sequence[Sequence[tuple[str, str]]]], Sequence[str]]"


@record
class DayFile:
    """A dated file to be written: its name, its local day, and its blocks in the order of the history."""

    name: str
    day: date
    blocks: tuple[Block, ...]

    @property
    def keys(self) -> frozenset[Key]:
        """The keys of its messages; they are written when the file is durable."""
        return frozenset(block.key for block in self.blocks)


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
    open_questions: set[int] = set()
    answered: set[object] = set()
    for n in range(len(unwritten) - 1, -1, -1):
        message = unwritten[n]
        session = str(message.raw.get("session"))
        if message.role != "user":
            answered.add(session)
        elif session not in answered and message.created_at and now - message.created_at < wait:
            open_questions.add(n)
    return tuple(message for n, message in enumerate(unwritten) if n not in open_questions)


def first_to_take(unwritten: Sequence[Message], at: datetime, wait: timedelta) -> datetime:
    """Return the moment from *at* on when a run finds a message to take: later than *at* if all are open questions then."""
    times = [message.created_at for message in unwritten if message.created_at]
    return at if not times or without_open_questions(unwritten, at, wait) else min(times) + wait


def plan_days(
    messages: Sequence[Message],
    zone: tzinfo,
    taken: Collection[str],
    is_written: Callable[[str], bool],
    slugs: Slugs | None = None,
) -> tuple[DayFile, ...]:
    """
    Return one new dated file for each local day of *messages*, whatever their age; oldest day first.

    *taken* holds every name that is or was in use; *is_written* returns whether a message with this id is written, so that
    another text under the same id becomes a revision. *slugs* makes the slugs of days, None: `slug.slugs_of`.
    """
    days: defaultdict[date, list[Message]] = defaultdict(list)
    for message in _first_of_each(messages):
        if message.created_at is None:
            raise ValueError("a message without a time belongs to no day")
        days[local_day(message.created_at, zone)].append(message)
    planned: set[str] = set()
    filed: dict[date, list[Block]] = {}
    for day in sorted(days):
        blocks = filed[day] = []
        for message in days[day]:
            revision = is_written(message.id) or message.id in planned
            planned.add(message.id)
            blocks.append(block_of(message, revision=revision))
    return _named(filed, taken, slugs)


def _named(days: Mapping[date, Sequence[Block]], taken: Collection[str], slugs: Slugs | None) -> tuple[DayFile, ...]:
    if not days:
        return ()
    from .slug import free_name, short_id, slugs_of  # lazy: it loads dictionaries

    names, plan = set(taken), []
    of_days = [[(block.role, block.words) for block in blocks] for blocks in days.values()]
    for (day, blocks), slug in zip(days.items(), (slugs or slugs_of)(of_days), strict=True):
        name = free_name(partial(dated_name, day), slug or f"mem-{short_id(blocks[0].id)}", names)
        names.add(name)
        plan.append(DayFile(name, day, tuple(blocks)))
    return tuple(plan)


def _first_of_each(messages: Sequence[Message]) -> list[Message]:
    by_key: dict[Key, Message] = {}
    for message in messages:
        by_key.setdefault(message.key, message)
    return list(by_key.values())
