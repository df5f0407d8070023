"""
Which messages of a session are summed up next, and how far that has come (docs/reference/protocol.md, 11).

A session has three markers: how far `summarize` has come, overflow, and the running summary. A marker is the messages that were
summed up, each by its id, and never a moment: a program whose clock is ahead would hide all messages until then. Pure.
"""

from __future__ import annotations

from array import array
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2b, sha256
from typing import Any, Final, Literal, TypeAlias

from ..archive.identity import is_derived
from ..protocol.dated_file import Block
from ..protocol.inbox import ChatKind, chat_of
from ..protocol.message import UNSAID
from ..storage.clock import from_wire, to_wire, truncate_to_ms
from ..storage.lenient_json import read_record, record_fields, wire_name
from ..summaries.schedule import Backoff

Kind: TypeAlias = Literal["summary", "overflow"]
KINDS: Final[tuple[Kind, ...]] = ("summary", "overflow")
#: The source of a line about messages that left the history; 000.
OVERFLOW: Final = "auto-overflow"
_VERSION: Final = 1
#: Of a marker; one of before 0.10.0 had a moment alone, and counts as none.
_MARKER_FORMAT: Final = 2
#: Hex digits of a session's digest in the names of its files: its key may hold anything.
_DIGITS: Final = 16


@dataclass(frozen=True, slots=True)
class Marker:
    """
    What was summed up: the *numbers* of the messages, and the digests of the *files* of which all messages of the session were.

    For people: *id* and time *at* of the newest message.
    """

    id: str
    at: datetime
    numbers: frozenset[int]
    files: frozenset[str] = frozenset()

    def has(self, identity: str, at: datetime) -> bool:
        """Return whether the message of this id and time was summed up."""
        return number_of(identity, at) in self.numbers


def number_of(identity: str, at: datetime) -> int:
    """Return 64 bits that identify a message: an id may be used again, at another time."""
    named = f"{identity}\0{to_wire(truncate_to_ms(at))}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(named, digest_size=8).digest(), "little")


def _numbers_of(block: Block) -> Iterator[int]:
    """Yield the numbers of a message: one that was written without an id may still have none in history.json."""
    identity, words = block.key
    yield number_of(identity, block.created_at)
    if is_derived(identity):
        yield number_of(words, block.created_at)


@dataclass(frozen=True, slots=True)
class Intent:
    """A line that is to be written, and the *marker* of its *kind* once it is."""

    kind: Kind
    source: str
    text: str
    marker: Marker


@dataclass(frozen=True, slots=True)
class RunningSummary:
    """
    The running summary of a session, and the *marker* of what it has; without one there is none yet.

    *is_private*: it has words of a private chat, which no group may read. *failure* is that of the last try to continue it.
    """

    text: str = ""
    marker: Marker | None = None
    is_private: bool = False
    failure: Backoff = field(default_factory=Backoff)


@dataclass(frozen=True, slots=True)
class Progress:
    """
    How far a session is summed up, the line that is being written, and the *failure* of overflow since its last success.

    *chat* is "group" or "channel" once a message has said so.
    """

    markers: Mapping[Kind, Marker] = field(default_factory=dict)
    intent: Intent | None = None
    failure: Backoff = field(default_factory=Backoff)
    running: RunningSummary = field(default_factory=RunningSummary)
    chat: ChatKind = "direct"

    def past(self, kind: Kind, marker: Marker) -> Progress:
        """Return the progress once everything up to the marker is summed up."""
        markers: dict[Kind, Marker] = {**self.markers, kind: marker}
        return replace(self, markers=markers, intent=None, failure=Backoff())


def id_of(block: Block) -> str:
    """Return the id of the message, whichever text of it the block has."""
    return block.revision_of or block.id


def session_digest(session: str) -> str:
    """Return what names the files of a session."""
    return sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def session_group(session: str) -> str:
    """Return what names the tasks of a session."""
    return f"session-{session_digest(session)}"


@dataclass(frozen=True, slots=True)
class SessionPart:
    """
    What was read of a session: its *blocks*, oldest first, and the *marker* of what of it is summed up.

    *files* are the dated files that were read, by digest, with the numbers of the session's messages in each. *older* are those
    that were not, since they hold only what is older than was asked for.
    """

    blocks: tuple[Block, ...]
    marker: Marker | None = None
    files: Mapping[str, frozenset[int]] = field(default_factory=dict)
    older: frozenset[str] = frozenset()

    def fresh(self, blocks: Sequence[Block]) -> list[Block]:
        """Return those of the blocks that are not summed up."""
        marker = self.marker
        return [block for block in blocks if marker is None or not marker.has(id_of(block), block.created_at)]

    def past(self, blocks: Sequence[Block]) -> Marker:
        """Return the marker once these messages, at least one, are summed up, too; what is *older* counts as passed by."""
        before = self.marker
        added = frozenset(number for block in blocks for number in _numbers_of(block))
        numbers = added.union(before.numbers if before else ())
        whole = (digest for digest, blocks in self.files.items() if blocks <= numbers)
        files = self.older.union(before.files if before else (), whole)
        return Marker(id_of(blocks[-1]), blocks[-1].created_at, numbers, files)


def overflowing(part: SessionPart, max_history: int, least: int, since: datetime | None = None) -> list[Block]:
    """
    Return the messages that left the last *max_history* and are not summed up; none while fewer than *least* are spoken ones.

    000: of 120 messages, with 100 that stay, the first 20. Those of tools leave, too, but are not summed up. With *since* all
    that is older has left, too: where a turn shows fewer.
    """
    stays = max(0, len(part.blocks) - max_history)
    left = part.fresh([block for n, block in enumerate(part.blocks) if n < stays or (since and block.created_at < since)])
    return left if sum(map(is_spoken, left)) >= least else []


def past_threshold(part: SessionPart, most: int, chars: int, keep: int) -> list[Block]:
    """
    Return what is to be summed up of a session in which more than *most* messages, or more than *chars* characters, are not.

    The *keep* newest stay, with the question that they belong to (000: 20 messages, 10,000 characters, 10 stay).
    """
    fresh = part.fresh(part.blocks)
    spoken = [n for n, block in enumerate(fresh) if is_spoken(block)]
    if len(spoken) <= keep or (len(spoken) <= most and sum(len(fresh[n].words) for n in spoken) <= chars):
        return []
    stays = spoken[-keep] if keep else len(fresh)
    last = next((n for n in reversed(range(1, stays + 1)) if n == len(fresh) or fresh[n].role == "user"), stays)
    return fresh[:last] if spoken[0] < last else []


def is_spoken(block: Block) -> bool:
    """Return whether a person or an assistant wrote the message: it is no prompt, and nothing of a tool."""
    return block.role not in UNSAID


def source_of(session: str, blocks: Sequence[Block]) -> str:
    """Return the source of a session's line: its name, else the channel of its newest message that has one, else ""."""
    if session.strip():
        return session
    channels = (block.fields.get("channel") for block in reversed(blocks))
    return next((channel for channel in channels if isinstance(channel, str) and channel.strip()), "")


# ── on disk ──────────────────────────────────────────────────────────────────


def progress_to_wire(session: str, progress: Progress) -> dict[str, Any]:
    """Return the progress as its file has it; *session* says whose it is, for people."""
    intent = progress.intent
    return {
        "version": _VERSION,
        "session": session,
        "markers": {kind: _marker_to_wire(marker) for kind, marker in progress.markers.items()},
        "intent": intent
        and {"kind": intent.kind, "source": intent.source, "text": intent.text, "marker": _marker_to_wire(intent.marker)},
        **record_fields(progress.failure, wire_name),
        **({"running": _running_to_wire(progress.running)} if progress.running != RunningSummary() else {}),
        **({"chat": progress.chat} if progress.chat != "direct" else {}),
    }


def progress_from_wire(raw: Any) -> Progress:
    """Return the progress that a file has; ValueError, TypeError or LookupError if it has none."""
    if raw["version"] != _VERSION:
        raise ValueError(f"its version is {raw['version']}")
    markers = {kind: _marker_from_wire(raw["markers"][kind]) for kind in KINDS if kind in raw["markers"]}
    return Progress(
        {kind: marker for kind, marker in markers.items() if marker},
        _intent_from_wire(raw["intent"]) if raw["intent"] else None,
        read_record(Backoff, raw, wire_name),
        _running_from_wire(raw["running"]) if "running" in raw else RunningSummary(),
        chat_of(raw).kind if "chat" in raw else "direct",
    )


def _intent_from_wire(raw: Any) -> Intent | None:
    if raw["kind"] not in KINDS:
        raise ValueError("its intent has no kind")
    marker = _marker_from_wire(raw["marker"])
    return Intent(raw["kind"], str(raw["source"]), str(raw["text"]), marker) if marker else None


def _running_to_wire(running: RunningSummary) -> dict[str, Any]:
    return {
        "summary": running.text,
        "marker": running.marker and _marker_to_wire(running.marker),
        "private": running.is_private,
        **record_fields(running.failure, wire_name),
    }


def _running_from_wire(raw: Any) -> RunningSummary:
    marker = _marker_from_wire(raw["marker"]) if raw["marker"] else None
    return RunningSummary(
        str(raw["summary"]) if marker else "", marker, bool(raw["private"]), read_record(Backoff, raw, wire_name)
    )


def _marker_to_wire(marker: Marker) -> dict[str, Any]:
    numbers = b64encode(array("Q", sorted(marker.numbers)).tobytes()).decode("ascii")
    about = {"id": marker.id, "at": to_wire(marker.at), "ids": [marker.id]}  # the ids are for versions before 0.38
    return {**about, "format": _MARKER_FORMAT, "messages": numbers, "files": sorted(marker.files)}


def _marker_from_wire(raw: Any) -> Marker | None:
    if raw.get("format", 1) != _MARKER_FORMAT:
        return None
    numbers = frozenset(array("Q", b64decode(raw["messages"])))
    return Marker(str(raw["id"]), from_wire(raw["at"]), numbers, frozenset(map(str, raw["files"])))
