"""
The words in a dated file's name (003, 记忆文件命名与 slug 规则).

When an archive run is due, what it takes, and which dated file each message goes to (003, 触发与归档).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from supervisor.protocol.clock import local_day
from supervisor.protocol.dated_file import Block, block_of
from supervisor.protocol.paths import dated_name
from supervisor.text.redact import redacted
from supervisor.text.tokenizer import latin_words, stem
from supervisor.text.word_frequency import rarity

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from supervisor.protocol.message import Key, Message

LENGTH: Final = 32  # characters; 003
_WORDS: Final = 3
_WORD: Final = re.compile(r"[a-z][a-z0-9]{2,}(?:-[a-z0-9]+)*")


def slug_of(texts: Sequence[str], length: int = LENGTH) -> str:
    """
    Return up to three of the most telling Latin words of the messages in kebab-case, "" where there are none.

    A word tells more the more messages hold it and the rarer it is in the language; what looks like a secret is left out.
    """
    counts: Counter[str] = Counter()
    first: dict[str, int] = {}
    for n, text in enumerate(texts):
        for word in {w.strip("-.").replace(".", "-").replace("_", "-") for w in latin_words(redacted(text))}:
            if _WORD.fullmatch(word) and len(word) <= length // 2:
                counts[word] += 1
                first.setdefault(word, n)
    telling = {word: count**0.5 * rarity(stem(word)) for word, count in counts.items()}
    best = sorted((word for word in counts if telling[word] > 0), key=lambda word: (-telling[word], first[word], word))
    slug = ""
    for word in best[:_WORDS]:
        longer = f"{slug}-{word}".strip("-")
        if len(longer) <= length:
            slug = longer
    return slug


def short_id(identity: str) -> str:
    """Return the first 8 letters and digits of an id, in lower case; of one that has none, those of its code points."""
    plain = re.sub(r"[^a-z0-9]", "", identity.lower())
    return (plain or identity.encode("utf-8", "surrogatepass").hex() or "0")[:8]


def unique(name_of: Callable[[str], str], slug: str, taken: Collection[str]) -> str:
    """Return the name for *slug*, with ``-2``, ``-3`` … behind it where that day already has the name."""
    n, name = 1, name_of(slug)
    while name in taken:
        n += 1
        tail = f"-{n}"
        name = name_of(slug[: LENGTH - len(tail)].rstrip("-") + tail)
    return name


UNARCHIVED_LIMIT: Final = 100  # messages; 003
INTERVAL: Final = timedelta(hours=6)  # 003
EXCHANGE_WAIT: Final = timedelta(minutes=10)  # a question younger than this waits for its answer
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)

Due: TypeAlias = Literal["count", "interval", "overflow"]


def due(
    unwritten: Sequence[Message],
    last_run: datetime | None,
    now: datetime,
    limit: int = UNARCHIVED_LIMIT,
    interval: timedelta = INTERVAL,
    *,
    overflowing: bool = False,
) -> Due | None:
    """
    Return why a run is due; None when it is not.

    *last_run* is when the newest dated file was made. The oldest un-written message has to have waited *interval* since
    then, or since its own time where that is later, so that a talk after a pause is not cut after its first words.
    """
    if overflowing:
        return "overflow"
    if len(unwritten) > limit:
        return "count"
    times = [message.created_at for message in unwritten if message.created_at]
    if not times:
        return None
    # a time well ahead says that the clock was moved back, and nothing of how long the words have waited
    oldest = min(time if time - now < EXCHANGE_WAIT else _LONG_AGO for time in times)
    since = max(oldest, last_run) if last_run and last_run <= now else oldest
    return "interval" if now - since >= interval else None


def take(unwritten: Sequence[Message], now: datetime, wait: timedelta = EXCHANGE_WAIT) -> tuple[Message, ...]:
    """Return the messages without a question, last in its session, that is less than *wait* old and has no answer yet."""
    held: set[int] = set()
    answered: set[object] = set()
    for n in range(len(unwritten) - 1, -1, -1):
        message = unwritten[n]
        session = str(message.raw.get("session"))
        if message.role != "user":
            answered.add(session)
        elif session not in answered and message.created_at and now - message.created_at < wait:
            held.add(n)
    return tuple(message for n, message in enumerate(unwritten) if n not in held)


@dataclass(frozen=True, slots=True)
class DayFile:
    """A dated file to be made: its name, its local day, and its blocks in the order of the history."""

    name: str
    day: date
    blocks: tuple[Block, ...]

    @property
    def keys(self) -> frozenset[Key]:
        """What is written when the file is durable."""
        return frozenset(block.key for block in self.blocks)


def plan_days(
    messages: Sequence[Message],
    zone: tzinfo,
    taken: Collection[str],
    is_written: Callable[[str], bool],
    slug_length: int = LENGTH,
) -> tuple[DayFile, ...]:
    """
    Return one new dated file for each local day of *messages*, whatever their age; oldest day first.

    *taken* holds every name that is or was in use; *is_written* tells of an id whether other words stand written under it,
    so that these are filed as a revision.
    """
    days: defaultdict[date, list[Message]] = defaultdict(list)
    for message in _first_of_each(messages):
        if message.created_at is None:
            raise ValueError("a message without a time can't be filed")
        days[local_day(message.created_at, zone)].append(message)
    filed: set[str] = set()
    names = set(taken)
    plan = []
    for day in sorted(days):
        blocks = []
        for message in days[day]:
            revision = is_written(message.id) or message.id in filed
            filed.add(message.id)
            blocks.append(block_of(message, revision=revision))
        slug = slug_of([block.text for block in blocks], slug_length) or f"mem-{short_id(blocks[0].id)}"
        name = unique(lambda slug: dated_name(day, slug), slug, names)  # noqa: B023 - called at once
        names.add(name)
        plan.append(DayFile(name, day, tuple(blocks)))
    return tuple(plan)


def _first_of_each(messages: Sequence[Message]) -> list[Message]:
    """Return the messages, of those with the same id and words only the first: they are one."""
    found: dict[Key, Message] = {}
    for message in messages:
        found.setdefault(message.key, message)
    return list(found.values())
