"""
The events of clients, and what they want to read: one table, from the clients' own sources and documents. Pure.

`script/test-clients` runs Claude Code, Codex and Gemini CLI; the row of Cursor is from documents. Plugins of recalld's own, for
OpenCode and OpenClaw, send events of Claude Code's form.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from recalld.supervisor.context.render import framed as between_tags
from recalld.supervisor.context.spoken import spoken
from recalld.supervisor.text.record import record

#: What an event is about: a question comes, an answer was given, a session begins; or nothing that recalld needs.
Kind: TypeAlias = Literal["question", "answer", "start", "nothing"]

#: Characters of a session's or a turn's id, and hex digits of a message's.
_MOST_ID: Final = 200
_DIGITS: Final = 20


class OddEvent(ValueError):
    """An event that recalld can't use; its text says why, without words of a message."""


@record
class Event:
    """One event: its *kind*, the client's *session* and *turn*, what was asked and answered, and how a session begins."""

    kind: Kind
    session: str = ""
    turn: str = ""
    question: str = ""
    answer: str = ""
    start: str = "startup"
    name: str = ""


@record
class Dialect:
    """
    How a client speaks: its events by name, the fields of session, turn, question and answer, and what it takes.

    *takes* are the kinds of events after which it reads a block, of at most *most_bytes*; *tags*: it leaves tags as they are.
    *wrapped*: the block is in `hookSpecificOutput`, as Claude Code began it, else in `additional_context`. *asks_with_answer*:
    the event of an answer has the question, too, so that both are kept then.
    """

    events: Mapping[str, Kind]
    session: str = "session_id"
    turn: str = "prompt_id"
    question: str = "prompt"
    answer: str = "last_assistant_message"
    takes: tuple[Kind, ...] = ("question", "start")
    most_bytes: int = 30_000
    most_chars: int = 9_500
    tags: bool = True
    wrapped: bool = True
    asks_with_answer: bool = False


_CLAUDE: Final[Mapping[str, Kind]] = {
    "UserPromptSubmit": "question",
    "Stop": "answer",
    "SessionStart": "start",
    "PreCompact": "nothing",
}
#: 10,000 characters arrive whole in Claude Code. Codex moves more than 2,500 of its tokens, of four bytes, into a file.
DIALECTS: Final[Mapping[str, Dialect]] = {
    "claude-code": Dialect(_CLAUDE),
    "codex": Dialect(_CLAUDE, turn="turn_id", most_bytes=9_000),
    "gemini-cli": Dialect(
        {"BeforeAgent": "question", "AfterAgent": "answer", "SessionStart": "start", "PreCompress": "nothing"},
        turn="timestamp",
        answer="prompt_response",
        tags=False,
        asks_with_answer=True,
    ),
    "cursor": Dialect(
        {"beforeSubmitPrompt": "question", "afterAgentResponse": "answer", "sessionStart": "start", "preCompact": "nothing"},
        session="conversation_id",
        turn="generation_id",
        answer="text",
        takes=("start",),
        wrapped=False,
    ),
    "opencode": Dialect(_CLAUDE, turn="turn_id"),
    "openclaw": Dialect(_CLAUDE, turn="turn_id"),
}


def read_event(client: str, found: object) -> Event:
    """Return the event of the client; OddEvent for one that can't be used, such as of a newer form."""
    dialect = DIALECTS.get(client)
    if dialect is None:
        raise OddEvent("the client is unknown")
    if not isinstance(found, Mapping):
        raise OddEvent("it is no JSON object")
    name = found.get("hook_event_name")
    kind = dialect.events.get(name) if isinstance(name, str) else None
    if kind is None:
        raise OddEvent("the event is unknown")
    if found.get("agent_id"):  # a subagent's talk is not the user's
        return Event("nothing", name=str(name))
    session = _text(found, dialect.session, _MOST_ID) or (_text(found, "session_id", _MOST_ID) if kind == "start" else "")
    if not session:
        raise OddEvent(f"it has no {dialect.session}")
    needs_question = kind == "question" or (kind == "answer" and dialect.asks_with_answer)
    return Event(
        kind,
        session,
        _text(found, dialect.turn, _MOST_ID),
        spoken(_text(found, dialect.question, needed=needs_question)) if needs_question else "",
        spoken(_text(found, dialect.answer)) if kind == "answer" else "",
        _text(found, "source") or "startup",
        str(name),
    )


def messages_of(event: Event, client: str, project: str, now: str) -> list[dict[str, Any]]:
    """
    Return the messages that the event adds to memory, as `append` takes them; *now* is the time of both.

    The id is made of session, turn, role and words, so that an event that comes twice adds nothing. A client that tells the
    question again with the answer has it kept then; with another the question is kept when it is asked, whatever comes of it.
    """
    with_answer = DIALECTS[client].asks_with_answer
    spoken = {
        "user": event.question if event.kind == ("answer" if with_answer else "question") else "",
        "assistant": event.answer,
    }
    where = {"session": event.session, "channel": client, "chat": "direct"} | ({"project": project} if project else {})
    return [
        {"id": _id(event, client, role, text, now), "role": role, "text": text, "createdAt": now, **where}
        for role, text in spoken.items()
        if text
    ]


def written(client: str, event: Event, block: str) -> str:
    """Return what the client reads: the *block* in its form, "" where it has none, or takes none here."""
    dialect = DIALECTS[client]
    if not block.strip() or event.kind not in dialect.takes:
        return ""
    if not dialect.wrapped:
        return json.dumps({"additional_context": block}) + "\n"
    return json.dumps({"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": block}}) + "\n"


def framed(client: str, memory: str) -> str:
    """Return a memory block between its tags, or as it is for a client that would escape them."""
    return between_tags(memory) if DIALECTS[client].tags or not memory.strip() else memory


def fits(client: str, block: str) -> bool:
    """Return whether the client takes a block of this size whole."""
    dialect = DIALECTS[client]
    return len(block) <= dialect.most_chars and len(block.encode("utf-8", "replace")) <= dialect.most_bytes


def _text(found: Mapping[Any, Any], name: str, most: int = 0, *, needed: bool = False) -> str:
    """Return the text of a field, "" where there is none; OddEvent for a value of another type, or a long id."""
    value = found.get(name)
    if value is None and not needed:
        return ""
    if not isinstance(value, str):
        raise OddEvent(f"its {name} is no text" if name in found else f"it has no {name}")
    if most and len(value) > most:
        raise OddEvent(f"its {name} is too long")
    return value


def _id(event: Event, client: str, role: str, text: str, now: str) -> str:
    parts = "\0".join((event.session, event.turn or now, role, text))
    return f"{client}-{hashlib.sha256(parts.encode('utf-8', 'surrogatepass')).hexdigest()[:_DIGITS]}"
