"""
The formats of tasks and results, the JSON files that supervisor and worker exchange (docs/reference/protocol.md, 6).

A task names its material; the worker makes the prompt. Its id is computed from its group, its sources and the attempt, so that
submitting, finishing and collecting it twice is harmless.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, TypeAlias

from recalld.supervisor.protocol.message import ATTEMPTS_END
from recalld.supervisor.protocol.summary_file import Source, can_be_named
from recalld.supervisor.storage.clock import from_wire, to_wire
from recalld.supervisor.storage.lenient_json import parse_json, render_json

VERSION: Final = 1
_LINE: Final = 200  # characters
#: The longest wait taken from a server's Retry-After: a day, as for a group that fails repeatedly.
LONGEST_RETRY_S: Final = 86_400
#: Names of fields in JSON where they differ.
_WIRE: Final = {
    "created_at": "createdAt",
    "previous_digest": "previousDigest",
    "retry_after_s": "retryAfterS",
    "started_at": "startedAt",
    "completed_at": "completedAt",
    "duration_ms": "durationMs",
}

Kind: TypeAlias = Literal["daily-summary", "monthly-summary"]
Reason: TypeAlias = Literal["timeout", "provider", "empty", "refused", "truncated", "vague", "input", "lost"]
REASONS: Final = ("timeout", "provider", "empty", "refused", "truncated", "vague", "input", "lost")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A summary to write. *material* names the files to read, dated files or `summary/…` ones, oldest first."""

    id: str
    kind: Kind
    group: str  # "day-2026-01-15", "month-2025-12"
    period: str  # "2026-01-15", "2025-12"
    zone: str  # IANA name: the local times in the material are read in it
    sources: tuple[Source, ...]  # the files that the summary will name: all dated files of the group
    material: tuple[str, ...]
    previous: str = ""  # the text of the existing summary, "" when there is none or it is only an extract
    previous_digest: str = ""  # of the existing summary file
    redo: bool = False  # a person requested it
    priority: int = 5  # 0 is first; replies come before summaries
    created_at: str = ""
    attempt: int = 0  # earlier failures of the group


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of a task. *sources*, *group*, *previous_digest*, *redo* and *attempt* are copied from the task."""

    id: str
    status: Literal["done", "failed"]
    text: str = ""
    error: str = ""
    reason: Reason | None = None
    retry_after_s: int = 0  # seconds that the provider asked to wait, 0 when it did not say
    provider: str = ""
    model: str = ""
    prompt: str = ""
    extract: bool = False
    usage: dict[str, int] = field(default_factory=dict)
    group: str = ""
    sources: tuple[Source, ...] = ()
    previous_digest: str = ""
    redo: bool = False
    attempt: int = 0
    started_at: str = ""
    completed_at: str = ""
    duration_ms: int = 0


def task_id(group: str, sources: tuple[Source, ...], attempt: int, previous_digest: str = "") -> str:
    """
    Return the id of a task: the same for the same work, another when sources or the existing summary have changed.

    >>> task_id("day-2026-01-15", (Source("2026-01-15-deploy.md", "9f8a3c0012345678", 12),), 0)
    'day-2026-01-15-ea62e2400d-0'
    """
    listed = json.dumps([sorted((s.name, s.digest) for s in sources), previous_digest])
    return f"{group}-{hashlib.sha256(listed.encode()).hexdigest()[:10]}-{attempt}"


def render_task(task: Task) -> bytes:
    """Return the bytes of a task's file."""
    return _render(task)


def render_result(result: Result) -> bytes:
    """Return the bytes of a result's file."""
    return _render(result)


def parse_task(data: bytes) -> Task:
    """Return the parsed task; ValueError with a reason when *data* is not one. Unknown fields are ignored."""
    raw = _object(data)
    return Task(
        id=_text(raw, "id"),
        kind=_one_of(raw, "kind", ("daily-summary", "monthly-summary")),
        group=_text(raw, "group"),
        period=_text(raw, "period"),
        zone=_text(raw, "zone"),
        sources=_sources(raw),
        material=tuple(str(name) for name in _list(raw, "material")),
        previous=_text(raw, "previous", ""),
        previous_digest=_text(raw, "previousDigest", ""),
        redo=raw.get("redo") is True,
        priority=_number(raw, "priority"),
        created_at=_text(raw, "createdAt", ""),
        attempt=_attempt(raw),
    )


def parse_result(data: bytes) -> Result:
    """Return the parsed result; ValueError with a reason when *data* is not one."""
    raw = _object(data)
    status = _one_of(raw, "status", ("done", "failed"))
    usage = raw.get("usage")
    return Result(
        id=_text(raw, "id"),
        status=status,
        text=_text(raw, "text", ""),
        error=_text(raw, "error", ""),
        reason=_one_of(raw, "reason", REASONS) if status == "failed" else None,
        retry_after_s=min(_number(raw, "retryAfterS"), LONGEST_RETRY_S),
        provider=_line(raw, "provider"),
        model=_line(raw, "model"),
        prompt=_line(raw, "prompt"),
        extract=raw.get("extract") is True,
        usage={str(k): v for k, v in usage.items() if isinstance(v, int)} if isinstance(usage, dict) else {},
        group=_text(raw, "group", ""),
        sources=_sources(raw),
        previous_digest=_text(raw, "previousDigest", ""),
        redo=raw.get("redo") is True,
        attempt=_attempt(raw),
        started_at=_time(raw, "startedAt"),
        completed_at=_time(raw, "completedAt"),
        duration_ms=_number(raw, "durationMs"),
    )


def _render(record: Task | Result) -> bytes:
    fields = {_WIRE.get(key, key): value for key, value in asdict(record).items() if value is not None}
    return render_json({"version": VERSION, **fields}) + b"\n"


def _object(data: bytes) -> dict[str, Any]:
    raw = parse_json(data)
    if not isinstance(raw, dict):
        raise ValueError("it is not an object")  # noqa: TRY004 - every fault of the bytes is one kind
    if raw.get("version") != VERSION:
        raise ValueError(f"its version is {raw.get('version')!r}, not {VERSION}")
    return raw


def _text(raw: dict[str, Any], key: str, default: str | None = None) -> str:
    found = raw.get(key, default)
    if not isinstance(found, str):
        raise ValueError(f"{key} is not a string")  # noqa: TRY004
    return found


def _line(raw: dict[str, Any], key: str) -> str:
    """Return a field for the head of a summary: one line of characters that can be written in UTF-8, whatever was sent."""
    return " ".join(_text(raw, key, "").encode("utf-8", "replace").decode().split())[:_LINE]


def _attempt(raw: dict[str, Any]) -> int:
    found = _number(raw, "attempt")
    if found >= ATTEMPTS_END:
        raise ValueError("attempt is too large")
    return found


def _time(raw: dict[str, Any], key: str) -> str:
    found = _text(raw, key, "")
    try:
        return found and to_wire(from_wire(found))
    except ValueError:
        raise ValueError(f"{key} is not a time with a zone") from None


def _number(raw: dict[str, Any], key: str) -> int:
    found = raw.get(key, 0)
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise ValueError(f"{key} is not a number")
    return found


def _list(raw: dict[str, Any], key: str) -> list[Any]:
    found = raw.get(key, [])
    if not isinstance(found, list):
        raise ValueError(f"{key} is not a list")  # noqa: TRY004
    return found


def _one_of(raw: dict[str, Any], key: str, allowed: tuple[str, ...]) -> Any:
    found = raw.get(key)
    if found not in allowed:
        raise ValueError(f"{key} is {found!r}, not one of {', '.join(allowed)}")
    return found


def _sources(raw: dict[str, Any]) -> tuple[Source, ...]:
    listed = _list(raw, "sources")
    try:
        found = tuple(Source(str(s["name"]), str(s["digest"]), int(s.get("count", 0))) for s in listed)
    except (TypeError, KeyError, ValueError, AttributeError):
        raise ValueError("sources are not {name, digest, count}") from None
    if not all(map(can_be_named, found)):
        raise ValueError("sources can not be named in a summary")
    return found
