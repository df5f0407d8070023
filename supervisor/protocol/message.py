"""
The messages of history.json: read tolerantly, changed in recalld's own fields only, written back as they were found.

This module alone knows the camelCase names of the JSON fields. An element that is not a message becomes an `InvalidEntry`,
which keeps its place and its value and which every step skips. Source: docs/reference/protocol.md, 2.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from enum import Enum
from typing import Any, Final, TypeAlias

from ..storage.clock import read_instant, to_wire, wire_time
from ..storage.lenient_json import DEEPEST, is_deeper, parse_json, render_json
from ..storage.texts import Text


class Archived(Enum):
    """The states of the flag (docs/reference/protocol.md, 2.8); only `archive.plan.reconcile` changes NO to YES directly."""

    NO = False
    PENDING = "pending"
    YES = True


#: The roles that a message has, and names that other programs and people use for two of them.
ROLES: Final = ("user", "assistant", "system", "tool")
_NAMES: Final[Mapping[str, str]] = {
    **{role: role for role in ROLES},
    **dict.fromkeys(("human", "用户", "用戶"), "user"),
    **dict.fromkeys(("agent", "ai", "bot", "chatbot", "model", "teller", "助手", "助理"), "assistant"),
}
#: Roles of prompts, and of what tools return, two of them only with models: no person and no assistant wrote it.
UNSAID: Final = frozenset({"system", "developer", "tool", "function"})

#: Fields that recalld itself writes into a message; all other fields are kept.
OUR_FIELDS: Final = ("archived", "archiveAttempts", "archiveFailedAt", "archiveNextAt")
#: Failed attempts of a group are fewer than this; a larger number is not believed.
ATTEMPTS_END: Final = 1_000_000
#: Fields that hold the words of a message, in this order; a model that refuses has none in `content`.
_TEXT_FIELDS: Final = ("text", "content", "refusal")
#: Fields that hold the words of a part: of a text, a refusal, the result of a tool.
_PART_FIELDS: Final = ("text", "value", "content", "refusal", "output")
#: All of these: a string in one of them may be words.
WORD_FIELDS: Final = tuple(dict.fromkeys((*_TEXT_FIELDS, *_PART_FIELDS)))
#: Types of parts in which a model thinks aloud: kept in the message, but not part of its words.
_THINKING: Final = ("thinking", "redacted_thinking", "reasoning")
#: Levels that a message may be nested: recursive functions work on it, and Python allows a thousand nested calls.
_MOST_LEVELS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of history.json; *raw* is its JSON object as found, in its key order; the other fields are read from it."""

    raw: Mapping[str, Any]
    id: str  # "" until `archive.identity` assigns one
    role: str  # "user" | "assistant" | "system" | "tool" | another, as found
    text: str
    created_at: datetime | None  # aware, UTC; None where it is missing or impossible, until one is assigned
    archived: Archived
    attempts: int = 0
    failed_at: datetime | None = None
    next_at: datetime | None = None
    text_digest: str = field(init=False, repr=False, compare=False)  # computed once: a round reads it many times

    def __post_init__(self) -> None:
        object.__setattr__(self, "text_digest", digest_of_text(self.text))

    @property
    def key(self) -> Key:
        """Id and digest of the text: each such pair is written to a dated file once."""
        return (self.id, self.text_digest)

    @property
    def size(self) -> int:
        """The bytes that it takes in history.json."""
        return len(render_json(self.raw)) + 2

    @property
    def given_at(self) -> object:
        """The time that its writer gave it: a moment where createdAt names one, else what was found there; None for nothing."""
        return self.raw["createdAtFound"] if "createdAtFound" in self.raw else self.created_at or self.raw.get("createdAt")

    @property
    def fingerprint(self) -> str:
        """The digest of createdAt as found, role and text; the id of a message that has none is made of it."""
        return self.fingerprints[0]

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """
        Every fingerprint by which it is known when another program removes its id; that of createdAt as found comes first.

        Other programs may remove the fields that recalld added, or keep them, and may spell the time in another way.
        """
        return fingerprints_of(self.raw, self.raw.get("role"), self.text, self.created_at)


@dataclass(frozen=True, slots=True)
class Failure:
    """
    The last failure of a group: how many so far, when, when to try again, and why.

    *refused*: which text of which model was refused (`summaries.schedule.refused_mark`), "" where no answer was.
    """

    attempts: int
    failed_at: datetime
    next_at: datetime
    reason: str
    refused: str = ""


@dataclass(frozen=True, slots=True)
class InvalidEntry:
    """An element of the array that is not a message, and one clause that says why."""

    raw: Any
    why: str


Key: TypeAlias = tuple[str, str]
Entry: TypeAlias = Message | InvalidEntry
History: TypeAlias = tuple[Entry, ...]


def digest_of_text(text: str) -> str:
    """Return the first 16 hex digits of the sha256 of *text*."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def role_of(value: str) -> str:
    """
    Return the role that is meant; another program's own as it is.

    >>> role_of("Human"), role_of("助手"), role_of("boss")
    ('user', 'assistant', 'boss')
    """
    return _NAMES.get(value.strip().lower(), value)


def is_role(value: object) -> bool:
    """Return whether a message may have this role; one with another is only read from files that others write."""
    return isinstance(value, str) and role_of(value) in {*ROLES, *UNSAID}


def text_field_of(raw: Mapping[str, Any]) -> str:
    """Return the field that holds the words of a message: the first that has any, else one that could; "" for none."""
    fields = [name for name in _TEXT_FIELDS if isinstance(raw.get(name), (str, list)) or _words(raw.get(name))]
    return next((name for name in fields if _words(raw[name])), fields[0] if fields else "")


def fingerprint_of(created_at: object, role: object, text: str) -> str:
    """Return the first 16 hex digits of the sha256 of createdAt as found, role and text, as a JSON array in ASCII."""
    return hashlib.sha256(json.dumps([created_at, role, text]).encode("ascii")).hexdigest()[:16]


def fingerprints_of(fields: Mapping[str, Any], role: object, text: str, created_at: datetime | None) -> tuple[str, ...]:
    """Return the fingerprints for each time of the message: the first that was found, the one in *fields*, the moment."""
    times = [fields[name] for name in ("createdAtFound", "createdAt") if name in fields]
    if created_at:
        times.append(to_wire(created_at))
    return tuple(dict.fromkeys(fingerprint_of(time, role, text) for time in times or [None]))


def parse_history(data: bytes, zone: tzinfo) -> History:
    """Return the messages in their order; ValueError with a reason when *data* is not a JSON array in UTF-8."""
    array = parse_json(data)
    if not isinstance(array, list):
        raise ValueError(Text("it holds no array"))  # noqa: TRY004 - every fault of the bytes is one kind
    history = tuple(read_message(raw, zone) for raw in array)
    if any(isinstance(entry, InvalidEntry) and is_deeper(entry.raw, DEEPEST) for entry in history):
        raise ValueError(Text("its nesting is too deep"))
    return history


def render_history(history: History) -> bytes:
    """Return the file's bytes: valid JSON, one message a line, so that people and diff tools can read it."""
    if not history:
        return b"[]\n"
    return b"[\n" + b",\n".join(render_json(entry.raw) for entry in history) + b"\n]\n"


def is_thought(part: Mapping[str, Any]) -> bool:
    """Return whether a part of a message is what a model only thinks."""
    return part.get("type") in _THINKING or part.get("thought") is True


def read_message(raw: object, zone: tzinfo) -> Entry:
    """Return *raw* as a message, or as an InvalidEntry; *zone* is the zone of times without an offset. Never raises."""
    if not isinstance(raw, dict):
        return InvalidEntry(raw, Text("it is not an object"))
    if is_deeper(raw, _MOST_LEVELS):
        return InvalidEntry(raw, Text("its nesting is too deep"))
    role = raw.get("role")
    if not isinstance(role, str) or not role.strip():
        return InvalidEntry(raw, Text("it has no role"))
    text = text_of(raw)
    if text is None:
        return InvalidEntry(raw, Text("it has no text"))
    identity = raw.get("id")
    if identity is None:
        identity = ""
    elif not isinstance(identity, str):
        if isinstance(identity, bool) or not isinstance(identity, int):
            return InvalidEntry(raw, Text("its id is not a string"))
        identity = str(identity)
    return Message(
        raw=raw,
        id=identity,
        role=role_of(role),
        text=text,
        created_at=read_instant(raw.get("createdAt"), zone),
        archived=_flag_of(raw.get("archived")),
        attempts=_count_of(raw.get("archiveAttempts")),
        failed_at=wire_time(raw.get("archiveFailedAt")),
        next_at=wire_time(raw.get("archiveNextAt")),
    )


def with_words(raw: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """Return the fields of a message with ``change(words)`` in the place of all words in them, thoughts, too."""

    def changed(value: Any) -> Any:
        match value:
            case str():
                return change(value)
            case list():
                return [changed(item) for item in value]
            case dict():
                return {name: changed(item) if name in (*WORD_FIELDS, *_THINKING) else item for name, item in value.items()}
        return value

    return {name: changed(item) if name in _TEXT_FIELDS else item for name, item in raw.items()}


def with_archived(message: Message, archived: Archived) -> Message:
    """Return the message with another flag; ValueError for one that has YES, which stays. YES removes the failure fields."""
    if archived is message.archived:
        return message
    if message.archived is Archived.YES:
        raise ValueError(f"archived may not go from {message.archived.value!r} to {archived.value!r}")
    raw = dict(message.raw)
    raw["archived"] = archived.value
    if archived is Archived.YES:
        for field in OUR_FIELDS[1:]:
            raw.pop(field, None)
        return replace(message, raw=raw, archived=archived, attempts=0, failed_at=None, next_at=None)
    return replace(message, raw=raw, archived=archived)


def with_failure(message: Message, failure: Failure) -> Message:
    """Return the message with the failure of its group in its own fields (docs/reference/protocol.md, 3.12)."""
    times = {"archiveFailedAt": to_wire(failure.failed_at), "archiveNextAt": to_wire(failure.next_at)}
    raw = {**message.raw, "archiveAttempts": failure.attempts, **times}
    return replace(message, raw=raw, attempts=failure.attempts, failed_at=failure.failed_at, next_at=failure.next_at)


def with_id(message: Message, identity: str) -> Message:
    """Return the message with an assigned id, which becomes the first field of the object."""
    return replace(message, raw={"id": identity, **{k: v for k, v in message.raw.items() if k != "id"}}, id=identity)


def with_timestamp(message: Message, at: datetime) -> Message:
    """Return the message with an assigned time; createdAt as found is kept in createdAtFound."""
    raw = dict(message.raw)
    raw.setdefault("createdAtFound", raw.get("createdAt"))
    raw["createdAt"] = to_wire(at)
    return replace(message, raw=raw, created_at=at)


def text_of(raw: Mapping[str, Any], without: Container[str] = ()) -> str | None:
    """Return the words of a message, *without* those of such types of parts; None when it is no message that may have none."""
    name = text_field_of(raw)
    if name:
        return _words(raw[name], without)
    # an assistant's message that only calls a tool has no text
    return "" if "content" in raw and raw["content"] is None else None


def _words(value: object, without: Container[str] = ()) -> str:
    """Return the words of a string, of a part, or of a list of parts, a line each; not what a model thinks."""
    match value:
        case str():
            return value
        case list():
            return "\n".join(filter(None, (_words(item, without) for item in value)))
        case dict() if not is_thought(value) and str(value.get("type")) not in without:
            return next(filter(None, (_words(value.get(name), without) for name in _PART_FIELDS)), "")
    return ""


def _flag_of(value: object) -> Archived:
    """Return the flag; an unknown value counts as not archived, since reconciling sets every flag from the files."""
    if value is True:
        return Archived.YES
    return Archived.PENDING if value == "pending" else Archived.NO


def _count_of(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < ATTEMPTS_END else 0
