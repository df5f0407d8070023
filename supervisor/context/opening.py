"""
What a session begins with, before anything is asked: pinned lines, the newest long-term lines, and where talk stopped.

A client that starts, resumes or compacts a session asks for it (protocol.md, 7.7). It has a budget of its own. It names its
sources as the memory block of a turn does, and `pack` writes both. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from recalld.supervisor.context.memory_block import PackedBlock, pack
from recalld.supervisor.index.hit import Hit
from recalld.supervisor.protocol.inbox import chat_of
from recalld.supervisor.protocol.message import UNSAID, Message
from recalld.supervisor.text.record import record
from recalld.supervisor.text.small_talk import is_small_talk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recalld.supervisor.context.choice import BlockLimits
    from recalld.supervisor.index.hit import Passage
    from recalld.supervisor.protocol.message import History

#: Why a client asks: a session is new, goes on, was emptied, or its older messages were replaced by a summary.
Start: TypeAlias = Literal["startup", "resume", "clear", "compact"]
STARTS: Final[tuple[Start, ...]] = ("startup", "resume", "clear", "compact")
#: The newest lines of the long-term file, and the last messages of a conversation; after a compaction the client has lost more.
_LINES: Final = 8
_MESSAGES: Final = 6
_MESSAGES_LOST: Final = 16
#: What is told first: messages, then lines; of each the newest.
_SAID, _NOTED, _STEP = 3.0, 2.0, 0.01


@record
class Opening:
    """The block, "" where memory has nothing, and its tokens."""

    text: str = ""
    tokens: int = 0


def where_it_stopped(history: History, project: str, session: str, start: Start) -> tuple[Message, ...]:
    """
    Return the last messages of the last conversation in the folder *project* that is not the *session*, oldest first.

    After a compaction they are those of the session itself; a session that is resumed is still shown by its client.
    """
    if start == "resume":
        return ()
    said = [one for one in history if isinstance(one, Message) and one.role not in UNSAID and _is_worth_telling(one)]
    if start == "compact":
        return tuple(one for one in said if chat_of(one.raw).session == session)[-_MESSAGES_LOST:]
    others = [one for one in said if one.raw.get("project") == project and chat_of(one.raw).is_direct]
    others = [one for one in others if chat_of(one.raw).session != session]
    last = chat_of(others[-1].raw).session if others else ""
    return tuple(one for one in others if chat_of(one.raw).session == last)[-_MESSAGES:]


def opening(said: Sequence[Passage], noted: Sequence[Passage], pinned: Sequence[Passage], limits: BlockLimits) -> PackedBlock:
    """Return the block within the *limits*, of the messages *said* (oldest first), the lines *noted*, and the *pinned* ones."""
    hits = [Hit(one, _SAID + n * _STEP) for n, one in enumerate(said)]
    hits += [Hit(one, _NOTED + n * _STEP) for n, one in enumerate(noted[-_LINES:])]
    return pack(sorted(hits, key=lambda hit: -hit.rank), (), limits, pinned)


def _is_worth_telling(message: Message) -> bool:
    return bool(message.text.strip()) and not is_small_talk(message.text)
