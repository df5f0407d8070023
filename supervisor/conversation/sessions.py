"""
Which messages of a session are summed up next, and how far that has come (docs/reference/protocol.md, 11).

A session has three markers: how far `summarize` has come, overflow, and the running summary. A marker is a message and its
moment, so that it still marks when the message is deleted: what was said before that moment counts as summed up. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from recalld.supervisor.conversation.running import Failure
from recalld.supervisor.storage.clock import from_wire, to_wire
from recalld.supervisor.summaries.retry import Backoff

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from recalld.supervisor.protocol.dated_file import Block

Kind: TypeAlias = Literal["summary", "overflow"]
KINDS: Final[tuple[Kind, ...]] = ("summary", "overflow")
#: The source of a line about messages that left the history; 000.
OVERFLOW: Final = "auto-overflow"
#: The only roles whose overflowing messages are summed up; 000.
_SPEAKERS: Final = ("user", "assistant")
_VERSION: Final = 1
#: Hex digits of a session's digest in the names of its files: its key may hold anything.
_DIGITS: Final = 16


@dataclass(frozen=True, slots=True)
class Marker:
    """The last message that was summed up, when it was said, and the *ids* of all of that moment that were."""

    id: str
    at: datetime
    ids: frozenset[str]

    def has(self, block: Block) -> bool:
        """Tell whether the message was summed up."""
        return self.covers(id_of(block), block.created_at)

    def covers(self, identity: str, at: datetime) -> bool:
        """Tell whether the message of this id and moment was; one without an id, if any of its moment was."""
        return at < self.at or (at == self.at and (not identity or identity in self.ids))


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

    *is_private*: it has words of a private talk, which no group may read. *failure* is that of the last try to continue it.
    """

    text: str = ""
    marker: Marker | None = None
    is_private: bool = False
    failure: Failure = field(default_factory=Failure)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a session is summed up, the line that is being written, and the *failure* of overflow since its last success."""

    markers: Mapping[Kind, Marker] = field(default_factory=dict)
    intent: Intent | None = None
    failure: Backoff = field(default_factory=Backoff)
    running: RunningSummary = field(default_factory=RunningSummary)

    def intending(self, intent: Intent) -> Progress:
        """Return the progress before the line is written."""
        return replace(self, intent=intent)

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


def not_summed_up(talk: Sequence[Block], marker: Marker | None) -> list[Block]:
    """Return the messages that came after the marker; all of them without one."""
    return [block for block in talk if marker is None or not marker.has(block)]


def overflowing(talk: Sequence[Block], marker: Marker | None, max_history: int, least: int) -> list[Block]:
    """
    Return the messages that left the last *max_history* since the marker; none while fewer than *least* are spoken ones.

    000: of 120 messages, with 100 that stay, the first 20. Those of tools leave, too, but are not summed up.
    """
    left = not_summed_up(talk[: max(0, len(talk) - max_history)], marker)
    return left if sum(map(is_spoken, left)) >= least else []


def is_spoken(block: Block) -> bool:
    """Tell whether the message is the user's or the assistant's."""
    return block.role in _SPEAKERS


def marker_after(blocks: Sequence[Block], before: Marker | None) -> Marker:
    """Return the marker once these messages, at least one, are summed up."""
    last = blocks[-1]
    ids = {id_of(block) for block in blocks if block.created_at == last.created_at}
    if before and before.at > last.created_at:
        return before
    return Marker(
        id_of(last), last.created_at, frozenset(ids | (before.ids if before and before.at == last.created_at else set()))
    )


def source_of(session: str, blocks: Sequence[Block]) -> str:
    """Return the source of a session's line: its name, else the channel of its newest message that has one, else ""."""
    channels = (block.fields.get("channel") for block in reversed(blocks))
    return session if session.strip() else next((one for one in channels if isinstance(one, str) and one.strip()), "")


# ── on disk ──────────────────────────────────────────────────────────────────


def progress_to_wire(session: str, progress: Progress) -> dict[str, Any]:
    """Return the progress as its file has it; *session* says whose it is, for people."""
    intent = progress.intent
    return {
        "version": _VERSION,
        "session": session,
        "markers": {kind: _marker_to_wire(marker) for kind, marker in progress.markers.items()},
        "intent": intent
        and {
            "kind": intent.kind,
            "source": intent.source,
            "text": intent.text,
            "marker": _marker_to_wire(intent.marker),
        },
        **_failure_to_wire(progress.failure),
        **({"running": _running_to_wire(progress.running)} if progress.running != RunningSummary() else {}),
    }


def progress_from_wire(raw: Any) -> Progress:
    """Return the progress that a file has; ValueError, TypeError or LookupError if it has none."""
    if raw["version"] != _VERSION:
        raise ValueError(f"its version is {raw['version']}")
    intent = raw["intent"]
    if intent and intent["kind"] not in KINDS:
        raise ValueError("its intent has no kind")
    return Progress(
        {kind: _marker_from_wire(raw["markers"][kind]) for kind in KINDS if kind in raw["markers"]},
        Intent(intent["kind"], str(intent["source"]), str(intent["text"]), _marker_from_wire(intent["marker"]))
        if intent
        else None,
        _failure_from_wire(raw),
        _running_from_wire(raw["running"]) if "running" in raw else RunningSummary(),
    )


def _running_to_wire(running: RunningSummary) -> dict[str, Any]:
    return {
        "summary": running.text,
        "marker": running.marker and _marker_to_wire(running.marker),
        "private": running.is_private,
        **_failure_to_wire(running.failure),
        "questions": running.failure.questions,
    }


def _running_from_wire(raw: Any) -> RunningSummary:
    marker = _marker_from_wire(raw["marker"]) if raw["marker"] else None
    failed = _failure_from_wire(raw)
    failure = Failure(failed.attempts, failed.failed_at, failed.next_at, int(raw.get("questions", 0)))
    return RunningSummary(str(raw["summary"]), marker, bool(raw["private"]), failure)


def _failure_to_wire(failure: Backoff) -> dict[str, Any]:
    return {
        "attempts": failure.attempts,
        "failedAt": failure.failed_at and to_wire(failure.failed_at),
        "nextAt": failure.next_at and to_wire(failure.next_at),
    }


def _failure_from_wire(raw: Any) -> Backoff:
    failed_at, next_at = (from_wire(raw[name]) if raw[name] else None for name in ("failedAt", "nextAt"))
    return Backoff(int(raw["attempts"]), failed_at, next_at)


def _marker_to_wire(marker: Marker) -> dict[str, Any]:
    return {"id": marker.id, "at": to_wire(marker.at), "ids": sorted(marker.ids)}


def _marker_from_wire(raw: Any) -> Marker:
    return Marker(str(raw["id"]), from_wire(raw["at"]), frozenset(map(str, raw["ids"])))
