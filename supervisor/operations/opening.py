"""
What a session begins with, before anything is asked: pinned lines, the newest long-term lines, and where talk stopped.

A client that starts, resumes or compacts a session asks for it (protocol.md, 7.7). It has a budget of its own. It names its
sources as the memory block of a turn does, and `pack` writes both.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final, Literal, TypeAlias, cast

from ..index.hit import Passage
from ..protocol.inbox import chat_of
from ..protocol.message import UNSAID, History, Message
from ..text.language import is_small_talk
from ..text.record import record
from ..workspace import Workspace
from .operation import Request, Visible, one_of, operation

#: How long it waits for a history.json that can't be read, in seconds: a client waits for it.
_PATIENCE_S: Final = 0.1
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


@record(kw_only=True)
class OpeningRequest(Request):
    """
    The folder *project* in which a client begins, its *session*, and the *start*: startup, resume, clear or compact.

    The block has at most *tokens*, and at most `context.start_tokens`, which 0 stands for.
    """

    project: str = ""
    session: str = ""
    start: str = one_of(STARTS, "startup")
    tokens: int = 0


@operation("opening", OpeningRequest, owner=True)
def opening(memory: Visible, request: OpeningRequest) -> Opening:
    """Return what a session begins with: pinned lines, the newest long-term lines, and where talk stopped in the project."""
    from ..context.choice import BlockLimits
    from ..context.memory_block import pack
    from ..context.request import Asked
    from ..context.secrets import redactor, turn_language
    from ..index.chunking import chunk_note
    from ..index.hit import Hit
    from ..protocol.marks import only_pinned

    ws, most = memory.ws, memory.ws.config.context.start_tokens
    noted = memory.long_term()
    nothing: History = ()
    history = ws.attempt("history", partial(ws.shown_history.read, _PATIENCE_S), nothing)
    stopped = where_it_stopped(history, request.project, request.session, cast("Start", request.start))
    lines, pinned = (
        [chunk.passage for chunk in chunk_note(noted.path, text, None, "long_term")]
        for text in (noted.text, only_pinned(noted.text))
    )
    language = turn_language(Asked(stopped[-1].text if stopped else noted.text), ws.config)
    tokens = min(request.tokens or most, most)
    limits = BlockLimits(
        tokens=tokens - tokens // 4,
        pinned_tokens=tokens // 4,
        max_hits=0,
        line_chars=ws.config.recall.line_chars,
        citations=ws.config.recall.citations != "off",
        note=ws.config.recall.note,
        today=ws.today(memory.caller.clock()),
        hide=redactor(Asked(""), (), (), language, ws.config.privacy),
        cjk_weight=ws.config.tokens.cjk_weight,
        language=language,
    )
    hits = [Hit(passage, _SAID + n * _STEP) for n, passage in enumerate(_passages(stopped, ws))]
    hits += [Hit(line, _NOTED + n * _STEP) for n, line in enumerate(lines[-_LINES:])]
    block = pack(sorted(hits, key=lambda hit: -hit.rank), (), limits, pinned[::-1])
    return Opening(block.text, block.tokens)


def where_it_stopped(history: History, project: str, session: str, start: Start) -> tuple[Message, ...]:
    """
    Return the last messages of the last conversation in the folder *project* that is not the *session*, oldest first.

    After a compaction they are those of the session itself; a session that is resumed is still shown by its client.
    """
    if start == "resume":
        return ()
    messages = [
        entry for entry in history if isinstance(entry, Message) and entry.role not in UNSAID and _is_worth_telling(entry)
    ]
    if start == "compact":
        return tuple(message for message in messages if chat_of(message.raw).session == session)[-_MESSAGES_LOST:]
    others = [message for message in messages if message.raw.get("project") == project and chat_of(message.raw).is_direct]
    others = [message for message in others if chat_of(message.raw).session != session]
    last = chat_of(others[-1].raw).session if others else ""
    return tuple(message for message in others if chat_of(message.raw).session == last)[-_MESSAGES:]


def _is_worth_telling(message: Message) -> bool:
    return bool(message.text.strip()) and not is_small_talk(message.text)


def _passages(messages: Iterable[Message], ws: Workspace) -> list[Passage]:
    """Return the messages as passages, each with its id as its place, where `get` finds it also after it was filed."""
    from ..index.chunking import chunk_message
    from ..protocol.dated_file import block_of
    from ..recall.unfiled import path_by_id

    return [
        chunk_message(path_by_id(message.id), block_of(message), ws.zone).passage
        for message in messages
        if message.id and message.created_at
    ]
