"""
inbox.json: what a user has said and nobody has answered yet. It is the assistant's, and only read (docs/protocol.md, 7).

An array of {id, text, createdAt, channel?, session?, chat?}, read as tolerantly as a message: plain strings, other
spellings, an object around the array. What can't be understood is passed over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from supervisor.protocol.lenient_json import parse_json
from supervisor.protocol.message import InvalidEntry, Message, read_message

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import tzinfo

ChatKind: TypeAlias = Literal["direct", "group", "channel"]
#: Marks in a session's key, as other programs write them: "agent:main:telegram:group:-1001".
_MARKS: Final[tuple[tuple[str, ChatKind], ...]] = ((":group:", "group"), (":channel:", "channel"))


@dataclass(frozen=True, slots=True)
class Chat:
    """Where something was said: with the user alone, in a group or a channel; *session* is the key of it, "" unknown."""

    kind: ChatKind = "direct"
    session: str = ""

    @property
    def is_direct(self) -> bool:
        """Whether nobody but the user reads along."""
        return self.kind == "direct"


DIRECT: Final = Chat()


def chat_of(raw: Mapping[str, Any]) -> Chat:
    """
    Return where a message was said: its `chat`, else what its session's key says, else direct.

    >>> chat_of({"session": "agent:main:telegram:group:-1001"}).kind, chat_of({"chat": "channel"}).kind, chat_of({}).kind
    ('group', 'channel', 'direct')
    """
    session, said = raw.get("session"), raw.get("chat")
    key = session if isinstance(session, str) else ""
    if said == "direct":
        return Chat("direct", key)
    if said == "group" or said == "channel":  # noqa: PLR1714 - mypy narrows each, not both at once
        return Chat(said, key)
    return Chat(next((kind for mark, kind in _MARKS if mark in f":{key}:"), "direct"), key)


def parse_inbox(data: bytes, zone: tzinfo) -> tuple[Message, ...]:
    """Return the inputs in order; ValueError with a reason where *data* is no JSON. Times without an offset are in *zone*."""
    found = parse_json(data)
    if isinstance(found, dict):
        lists = [value for value in found.values() if isinstance(value, list)]
        found = lists[0] if len(lists) == 1 else [found]
    if not isinstance(found, list):
        raise ValueError("it holds no array")  # noqa: TRY004 - every fault of the bytes is one kind
    read = [read_message(_with_role(raw), zone) for raw in found]
    return tuple(one for one in read if not isinstance(one, InvalidEntry) and one.role == "user" and one.text.strip())


def _with_role(raw: object) -> object:
    if isinstance(raw, str):
        return {"role": "user", "text": raw}
    return {"role": "user", **raw} if isinstance(raw, dict) else raw
