"""
Which messages leave history.json so that it keeps its size (003, history.json 长度限制, 容量兜底).

Only words that stand in a dated file may leave; what was never written stays, whatever the cap, and so do the newest
messages. What can't be understood stays and counts towards no cap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from supervisor.protocol.json_text import render_json
from supervisor.protocol.message import Archived, History, Message

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
