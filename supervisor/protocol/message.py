"""
A message of history.json: read tolerantly, changed only in the fields that are ours, written back as it was found.

Wire names are camelCase and live here alone. What can't be understood is an `Odd`: it stays in its place, untouched, and
everything skips it. Source: docs/protocol.md, 2; 003, history.json.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from supervisor.protocol.clock import from_wire, read_instant, to_wire
from supervisor.protocol.lenient_json import DEEPEST, is_deeper, parse_json, render_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, tzinfo


class Archived(Enum):
    """The three states of the flag (003)."""

    NO = False
    PENDING = "pending"
    YES = True


#: Every legal move of the flag. On the evidence of settling alone, NO may also become YES. Nothing leaves YES.
MOVES: Final[Mapping[Archived, frozenset[Archived]]] = {
    Archived.NO: frozenset({Archived.PENDING, Archived.YES}),
    Archived.PENDING: frozenset({Archived.YES, Archived.NO}),
    Archived.YES: frozenset(),
}

#: Spellings of a role that other programs use.
ROLES: Final[Mapping[str, str]] = {"agent": "assistant", "teller": "assistant"}

#: Fields that recalld itself writes into a message; all others are foreign and survive.
OUR_FIELDS: Final = ("archived", "archiveAttempts", "archiveFailedAt", "archiveNextAt")
#: No group was tried so often.
ATTEMPTS_END: Final = 1_000_000
#: Levels that a message may be nested: what is done with it goes through them, and Python ends at a thousand calls.
_MOST_LEVELS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message. *raw* is the JSON object as found, in its key order; the other fields are read from it."""

    raw: Mapping[str, Any]
    id: str  # "" until first sight gives it one
    role: str  # "user" | "assistant" | "system" | "tool" | another, as found
    text: str
    created_at: datetime | None  # aware, UTC; None until first sight where it is missing or impossible
    archived: Archived
    attempts: int = 0
    failed_at: datetime | None = None
    next_at: datetime | None = None
    words: str = field(init=False, repr=False, compare=False)  # the digest of the text; a round asks for it again and again

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", digest_of_text(self.text))

    @property
    def key(self) -> Key:
        """What is written once: these words under this id."""
        return (self.id, self.words)

    @property
    def base(self) -> str:
        """The digest of createdAt as found, role and text: the same message where a writer strips ids."""
        return fingerprint_of(self.raw.get("createdAtFound", self.raw.get("createdAt")), self.raw.get("role"), self.text)

    @property
    def bases(self) -> tuple[str, ...]:
        """Every base the message may come back with: a writer may strip what recalld added, or keep it."""
        if "createdAtFound" not in self.raw:
            return (self.base,)
        return (self.base, fingerprint_of(self.raw.get("createdAt"), self.raw.get("role"), self.text))


@dataclass(frozen=True, slots=True)
class InvalidEntry:
    """An element of the array that can't be understood, and one sentence that says why."""

    raw: Any
    why: str


Key: TypeAlias = tuple[str, str]
Entry: TypeAlias = Message | InvalidEntry
History: TypeAlias = tuple[Entry, ...]


def digest_of_text(text: str) -> str:
    """Return the first 16 hex digits of the sha256 of *text*."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def fingerprint_of(created_at: object, role: object, text: str) -> str:
    """Return the first 16 hex digits of the sha256 of createdAt as found, role and text, as a JSON array in ASCII."""
    return hashlib.sha256(json.dumps([created_at, role, text]).encode("ascii")).hexdigest()[:16]


def read_message(raw: object, zone: tzinfo) -> Entry:
    """Return the message that *raw* is, or the Odd that it is; *zone* is that of times without an offset. Never raises."""
    if not isinstance(raw, dict):
        return InvalidEntry(raw, "it is not an object")
    if is_deeper(raw, _MOST_LEVELS):
        return InvalidEntry(raw, "its nesting is too deep")
    role = raw.get("role")
    if not isinstance(role, str) or not role.strip():
        return InvalidEntry(raw, "it has no role")
    text = _text_of(raw)
    if text is None:
        return InvalidEntry(raw, "it has no text")
    identity = raw.get("id", "")
    if not isinstance(identity, str):
        if isinstance(identity, bool) or not isinstance(identity, int):
            return InvalidEntry(raw, "its id is not a string")
        identity = str(identity)
    return Message(
        raw=raw,
        id=identity,
        role=ROLES.get(role, role),
        text=text,
        created_at=read_instant(raw.get("createdAt"), zone),
        archived=_flag_of(raw.get("archived")),
        attempts=_count_of(raw.get("archiveAttempts")),
        failed_at=_time_of(raw.get("archiveFailedAt")),
        next_at=_time_of(raw.get("archiveNextAt")),
    )


def _text_of(raw: Mapping[str, Any]) -> str | None:
    """Return the words: `text`, else `content` as a string or as a list with text parts; None when there are none."""
    found = raw["text"] if "text" in raw else raw.get("content", ...)
    if isinstance(found, str):
        return found
    if found is None and "text" not in raw:
        return ""  # an assistant that only called a tool says nothing
    if not isinstance(found, list):
        return None
    parts = [part if isinstance(part, str) else part.get("text", "") for part in found if isinstance(part, (str, dict))]
    return "\n".join(part for part in parts if isinstance(part, str) and part)


def _flag_of(found: object) -> Archived:
    """Return the flag; anything unknown counts as not archived, since the evidence decides in the end."""
    if found is True:
        return Archived.YES
    return Archived.PENDING if found == "pending" else Archived.NO


def _count_of(found: object) -> int:
    return found if isinstance(found, int) and not isinstance(found, bool) and 0 <= found < ATTEMPTS_END else 0


def _time_of(found: object) -> datetime | None:
    try:
        return from_wire(found) if isinstance(found, str) else None
    except ValueError:
        return None


def with_archived(message: Message, archived: Archived) -> Message:
    """Return the message with its flag moved; ValueError when the move is not in MOVES. Success clears the failure fields."""
    if archived is message.archived:
        return message
    if archived not in MOVES[message.archived]:
        raise ValueError(f"archived may not go from {message.archived.value!r} to {archived.value!r}")
    raw = dict(message.raw)
    raw["archived"] = archived.value
    if archived is Archived.YES:
        for field in OUR_FIELDS[1:]:
            raw.pop(field, None)
        return replace(message, raw=raw, archived=archived, attempts=0, failed_at=None, next_at=None)
    return replace(message, raw=raw, archived=archived)


def with_failure(message: Message, attempts: int, failed_at: datetime, next_at: datetime) -> Message:
    """Return the message with the failure of its group mirrored in it (003, 失败与退避)."""
    raw = {
        **message.raw,
        "archiveAttempts": attempts,
        "archiveFailedAt": to_wire(failed_at),
        "archiveNextAt": to_wire(next_at),
    }
    return replace(message, raw=raw, attempts=attempts, failed_at=failed_at, next_at=next_at)


def with_id(message: Message, identity: str) -> Message:
    """Return the message with an id given at first sight, which stands first in the object."""
    return replace(message, raw={"id": identity, **{k: v for k, v in message.raw.items() if k != "id"}}, id=identity)


def with_timestamp(message: Message, at: datetime) -> Message:
    """Return the message with the time of first sight; what stood in createdAt is kept beside it."""
    raw = dict(message.raw)
    if "createdAt" in raw:
        raw.setdefault("createdAtFound", raw["createdAt"])
    else:
        raw.setdefault("createdAtFound", None)
    raw["createdAt"] = to_wire(at)
    return replace(message, raw=raw, created_at=at)


# ── the array ────────────────────────────────────────────────────────────────


def parse_history(data: bytes, zone: tzinfo) -> History:
    """Return the messages in their order; ValueError with a reason when *data* is not a JSON array in UTF-8."""
    array = parse_json(data)
    if not isinstance(array, list):
        raise ValueError(f"it holds {_KINDS[type(array)]}, not an array")  # noqa: TRY004 - every fault of the bytes is one kind
    history = tuple(read_message(raw, zone) for raw in array)
    if any(isinstance(entry, InvalidEntry) and is_deeper(entry.raw, DEEPEST) for entry in history):
        raise ValueError("its nesting is too deep")
    return history


def render_history(history: History) -> bytes:
    """Return valid JSON, a message a line, so that the file reads well and differs by lines."""
    if not history:
        return b"[]\n"
    return b"[\n" + b",\n".join(render_json(entry.raw) for entry in history) + b"\n]\n"


_KINDS: Final = {
    dict: "an object",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "a truth value",
    type(None): "null",
}
