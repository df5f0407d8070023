"""
The events of clients, and what they want to read, from the clients' own sources and documents. Pure.

Codex took its events from Claude Code; `script/test-clients` runs both.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from ...context.spoken import spoken
from ...protocol.connections import HOOK_UNKNOWN
from ...text.record import record

#: What an event is about: a question comes, an answer was given, a session begins; or nothing that recalld needs.
Kind: TypeAlias = Literal["question", "answer", "start", "nothing"]

_EVENTS: Final[Mapping[str, Kind]] = {
    "UserPromptSubmit": "question",
    "Stop": "answer",
    "SessionStart": "start",
    "PreCompact": "nothing",
}
#: Characters of a session's or a turn's id, and hex digits of a message's.
_MOST_ID: Final = 200
_DIGITS: Final = 20
#: Characters of a block: 10,000 arrive whole in Claude Code.
_MOST_CHARS: Final = 9_500


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
    """How a client speaks: the field that names the *turn*, and the bytes of a block that it takes whole."""

    turn: str
    most_bytes: int


#: Codex moves more than 2,500 of its tokens, of four bytes, into a file.
DIALECTS: Final[Mapping[str, Dialect]] = {
    "claude-code": Dialect("prompt_id", 30_000),
    "codex": Dialect("turn_id", 9_000),
}


def read_event(client: str, value: object) -> Event:
    """Return the event of the client; OddEvent for one that can't be used, such as of a newer form."""
    dialect = DIALECTS.get(client)
    if dialect is None:
        raise OddEvent(HOOK_UNKNOWN)
    if not isinstance(value, Mapping):
        raise OddEvent("it is no JSON object")
    name = value.get("hook_event_name")
    kind = _EVENTS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise OddEvent("the event is unknown")
    if value.get("agent_id"):  # a subagent's talk is not the user's
        return Event("nothing", name=str(name))
    session = _text(value, "session_id", _MOST_ID)
    if not session:
        raise OddEvent("it has no session_id")
    return Event(
        kind,
        session,
        _text(value, dialect.turn, _MOST_ID),
        spoken(_text(value, "prompt", needed=True)) if kind == "question" else "",
        spoken(_text(value, "last_assistant_message")) if kind == "answer" else "",
        _text(value, "source") or "startup",
        str(name),
    )


def messages_of(event: Event, client: str, project: str, now: str) -> list[dict[str, Any]]:
    """
    Return the messages that the event adds to memory, as `append` takes them; *now* is their time.

    The id is made of session, turn, role and words, so that an event that comes twice adds nothing.
    """
    where = {"session": event.session, "channel": client, "chat": "direct"} | ({"project": project} if project else {})
    return [
        {"id": _id(event, client, role, text, now), "role": role, "text": text, "createdAt": now, **where}
        for role, text in (("user", event.question), ("assistant", event.answer))
        if text
    ]


def written(event: Event, block: str) -> str:
    """Return what the client reads: the *block* in its form, "" where there is none."""
    if not block.strip():
        return ""
    return json.dumps({"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": block}}) + "\n"


def fits(client: str, block: str) -> bool:
    """True if the client takes a block of this size whole."""
    return len(block) <= _MOST_CHARS and len(block.encode("utf-8", "replace")) <= DIALECTS[client].most_bytes


def _text(fields: Mapping[Any, Any], name: str, most: int = 0, *, needed: bool = False) -> str:
    """Return the text of a field, "" where there is none; OddEvent for a value of another type, or a long id."""
    value = fields.get(name)
    if value is None and not needed:
        return ""
    if not isinstance(value, str):
        raise OddEvent(f"its {name} is no text" if name in fields else f"it has no {name}")
    if most and len(value) > most:
        raise OddEvent(f"its {name} is too long")
    return value


def _id(event: Event, client: str, role: str, text: str, now: str) -> str:
    parts = "\0".join((event.session, event.turn or now, role, text))
    return f"{client}-{hashlib.sha256(parts.encode('utf-8', 'surrogatepass')).hexdigest()[:_DIGITS]}"
