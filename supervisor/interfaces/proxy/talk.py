"""
What a client asks a model: the messages of a request, the question among them, and its session. Pure.

Three protocols are read: OpenAI's chat completions and responses, and Anthropic's messages. A request that is not understood,
such as one with an unknown role, is no `Talk`: it passes as it is, and the server says what is wrong with it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final, Literal, TypeAlias

from ...context.spoken import spoken
from ...text.record import record
from .places import Place, items, members, whole

Kind: TypeAlias = Literal["chat", "responses", "messages"]

#: The paths below /v1 in which somebody talks.
PATHS: Final[Mapping[str, Kind]] = {"chat/completions": "chat", "responses": "responses", "messages": "messages"}
#: The fields with the messages, and with the system prompt beside them.
_MESSAGES: Final[Mapping[Kind, str]] = {"chat": "messages", "responses": "input", "messages": "messages"}
SYSTEM_FIELD: Final[Mapping[Kind, str]] = {"chat": "", "responses": "instructions", "messages": "system"}
SYSTEM_ROLES: Final = frozenset({"system", "developer"})
_ROLES: Final = frozenset({*SYSTEM_ROLES, "user", "assistant", "tool", "function"})
#: The types of parts that have words.
_WORDS: Final = frozenset({"text", "input_text", "output_text", "refusal"})
#: Fields that say which conversation it is, the surest first; characters of one, beyond which it is a digest.
_SESSION_FIELDS: Final = ("conversation", "prompt_cache_key", "metadata.user_id", "session_id", "user")
MOST_SESSION: Final = 200
_DIGITS: Final = 20


@record
class Said:
    """One message of a request: its *role* ("" of what is no message), its *words*, and where it is."""

    role: str
    words: str
    place: Place = field(repr=False)


@record
class Talk:
    """
    A request: its *text* and *fields*, the messages *said*, which of them is the question *at*, and the *system* prompt.

    *whole* is the place of the object, *listed* that of the array of messages, None where the request has a single text.
    """

    kind: Kind
    text: str = field(repr=False)
    whole: Place = field(repr=False)
    fields: Mapping[str, Place] = field(repr=False)
    said: tuple[Said, ...]
    at: int
    system: str
    listed: Place | None = field(repr=False)

    @property
    def question(self) -> str:
        """What the user asks: the last words of theirs."""
        return spoken(self.said[self.at].words)

    @property
    def before(self) -> list[tuple[str, str]]:
        """Role and words of what user and assistant have said before the question."""
        return [
            (message.role, spoken(message.words))
            for message in self.said[: self.at]
            if message.role in ("user", "assistant") and message.words
        ]

    @property
    def is_continued(self) -> bool:
        """Whether something follows the question: the model has called a tool, and gets its result."""
        return self.at + 1 < len(self.said)

    def value(self, name: str) -> Any:
        """Return the value of a field, None without it; "a.b" is one of an object."""
        name, _, inner = name.partition(".")
        found = self.fields[name].value if name in self.fields else None
        return (found.get(inner) if isinstance(found, Mapping) else None) if inner else found


def read_talk(path: str, body: bytes) -> Talk | None:
    """Return what is said in the body of a request to *path* below /v1; None for what is no talk, or has no user's words."""
    kind = PATHS.get(path)
    if kind is None:
        return None
    try:
        text = body.decode("utf-8")
        top = whole(text)
        fields = members(text, top) if isinstance(top.value, dict) else {}
        listed = fields.get(_MESSAGES[kind])
        messages = _said(text, listed) if listed else None
    except (ValueError, RecursionError, IndexError):
        return None
    if not messages or listed is None:
        return None
    at = next((n for n in range(len(messages) - 1, -1, -1) if messages[n].role == "user" and spoken(messages[n].words)), -1)
    if at < 0:
        return None
    beside = fields.get(SYSTEM_FIELD[kind])
    system = "\n".join(
        [words_of(beside.value) if beside else "", *(message.words for message in messages if message.role in SYSTEM_ROLES)]
    )
    return Talk(kind, text, top, fields, messages, at, system.strip(), listed if isinstance(listed.value, list) else None)


def _said(text: str, listed: Place) -> tuple[Said, ...] | None:
    """Return the messages; None where one is none."""
    if isinstance(listed.value, str):
        return (Said("user", listed.value, listed),)
    messages = []
    for place in items(text, listed) if isinstance(listed.value, list) else ():
        value = place.value
        if not isinstance(value, dict):
            return None
        role = value.get("role", "" if isinstance(value.get("type"), str) else None)  # a call of `responses` has no role
        if role is None or (role and role not in _ROLES):
            return None
        messages.append(Said(role, words_of(value.get("content")) if role in _ROLES else "", place))
    return tuple(messages)


def words_of(content: object) -> str:
    """
    Return the words of a content: a text, or a list of parts, of which those count that are text.

    >>> words_of([{"type": "text", "text": "看图"}, {"type": "tool_result", "content": "42"}])
    '看图'
    """
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    texts = [part.get("text", part.get("refusal")) for part in parts if isinstance(part, dict) and part.get("type") in _WORDS]
    return "\n".join(text for text in texts if isinstance(text, str))


def named_session(talk: Talk) -> str:
    """Return the session that the request names by a field of its protocol, "" if by none."""
    for name in _SESSION_FIELDS:
        value = talk.value(name)
        if isinstance(value, Mapping):
            value = value.get("id")
        if isinstance(value, str) and value.strip():
            return value if len(value) <= MOST_SESSION and value.isprintable() else digest(name, value)
    return ""


def first_session(talk: Talk) -> str:
    """Return the session of a request that names none: a digest of its system prompt and its first question."""
    first = next(message.words for message in talk.said if message.role == "user" and spoken(message.words))
    return f"proxy-{digest(talk.system, spoken(first))}"


def digest(*parts: object) -> str:
    """Return hex digits that differ where the parts do."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:_DIGITS]
