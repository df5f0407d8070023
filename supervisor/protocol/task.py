"""
The formats of tasks and results, the JSON files that supervisor and worker exchange (docs/reference/protocol.md, 6).

The task of a day or a month names its material, and the worker makes the prompt. A task that somebody waits for has its
material in it, which may be in no file yet. The id of each is computed from its content and the attempt, so that submitting,
finishing and collecting it twice is harmless.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, asdict, field, fields, replace
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias, get_args

from ..storage.clock import from_wire, to_wire
from ..storage.foreign_name import parts_of
from ..storage.lenient_json import parse_json, render_json
from ..storage.texts import restored, stored
from ..text.record import record
from .message import ATTEMPTS_END
from .summary_file import Source, can_be_named

VERSION: Final = 1
#: The format of a task that somebody waits for, which came later.
ASKED_VERSION: Final = 2
#: The format of a task with turns, which came later still.
REPLY_VERSION: Final = 3
_LINE: Final = 200  # characters
#: The longest wait taken from a server's Retry-After: a day, as for a group that fails repeatedly.
LONGEST_RETRY_S: Final = 86_400

SummaryKind: TypeAlias = Literal["daily-summary", "monthly-summary"]
Status: TypeAlias = Literal["done", "failed"]
#: What somebody waits for: a model's answer or an extract for a session, one word of the model, the list of its server.
AskedKind: TypeAlias = Literal["session-summary", "session-extract", "model-test", "model-list", "reply", "lookup"]
ASKED_KINDS: Final = get_args(AskedKind)
#: Those whose answer a person reads: the answer to an input, and the second message after a look further.
REPLY_KINDS: Final = ("reply", "lookup")
#: Why there is no summary: what the worker reports, then what the supervisor finds in an answer (`summaries/quality.py`).
Reason: TypeAlias = Literal[
    "timeout", "provider", "empty", "refused", "truncated", "input", "lost", "spent",
    "vague", "new", "copy", "transcript", "repeats", "form", "language",
    "data", "thought", "forged", "long",
]  # fmt: skip
REASONS: Final = get_args(Reason)
#: Those that say nothing of an answer.
NO_ANSWER: Final = frozenset({"timeout", "provider", "input", "lost", "spent"})


class NewerVersion(ValueError):
    """The file is of a newer recalld, which reads it; it is no damage."""


@record(kw_only=True)
class Task:
    """A summary to write. *material* names the files to read, dated files or `summary/…` ones, oldest first."""

    id: str
    kind: SummaryKind
    group: str  # "day-2026-01-15", "month-2025-12"
    period: str  # "2026-01-15", "2025-12"
    zone: str  # IANA name: the local times in the material are read in it
    sources: tuple[Source, ...]  # the files that the summary will name: all dated files of the group
    material: tuple[str, ...]
    previous: str = ""  # the text of the existing summary, "" when there is none or it is only an extract
    previous_digest: str = ""  # of the existing summary file
    redo: bool = False  # a person requested it
    apart: bool = False  # the last answer was refused: it is asked for by exchange, or by day
    priority: int = 5  # 0 is first; replies come before summaries
    created_at: str = ""
    attempt: int = 0  # earlier failures of the group


@record(kw_only=True)
class AskedTask:
    """A task that somebody waits for. Its material is the *prompt* or *turns* for a model, or the *messages* of an extract."""

    id: str
    kind: AskedKind
    #: "session-" and the session's digest: nobody waits once the lock of that session is free. Of an answer "reply-" or
    #: "lookup-" and the digest of its input.
    group: str = ""
    server: str = ""  # the mark of the model that is meant (`protocol.llm.Endpoint`); "" for any
    prompt: str = ""
    messages: tuple[dict[str, Any], ...] = ()  # {role, content, name, createdAt}, oldest first, without secrets
    turns: tuple[dict[str, str], ...] = ()  # {role, content}, in place of a prompt
    mark: str = ""  # of an answer: what its request bears (`protocol.turn`)
    created_at: str = ""
    attempt: int = 0  # earlier failures of the session


@record(kw_only=True)
class Result:
    """The result of a task. *sources*, *group*, *previous_digest*, *redo* and *attempt* are copied from the task."""

    id: str
    status: Status
    text: str = ""
    error: str = ""
    reason: Reason | None = None
    retry_after_s: int = 0  # seconds that the provider asked to wait, 0 when it did not say
    too_long: bool = False  # the prompt was, and a shorter one may be accepted
    provider: str = ""
    model: str = ""
    prompt: str = ""
    extract: bool = False
    joined: bool = False  # code joined the text from summaries of days
    request: str = ""  # of an answer: the look further that it asks for, which its text no longer has
    turns: tuple[dict[str, str], ...] = ()  # with a request: what the model was told, and this answer
    mark: str = ""  # with a request: that of the task
    usage: dict[str, int] = field(default_factory=dict)
    group: str = ""
    sources: tuple[Source, ...] = ()
    previous_digest: str = ""
    redo: bool = False
    attempt: int = 0
    started_at: str = ""
    completed_at: str = ""
    duration_ms: int = 0


def result_of(task: Task | AskedTask, began: datetime, ended: datetime, **about: Any) -> Result:
    """Return a result of the task, which has what is copied from it, and the fields of *about*."""
    result = Result(
        id=task.id,
        group=task.group,
        attempt=task.attempt,
        started_at=to_wire(began),
        completed_at=to_wire(ended),
        duration_ms=max(0, round((ended - began).total_seconds() * 1000)),
        **about,
    )
    if isinstance(task, AskedTask):
        return result
    return replace(result, sources=task.sources, previous_digest=task.previous_digest, redo=task.redo)


def task_id(group: str, sources: tuple[Source, ...], attempt: int, previous_digest: str = "") -> str:
    """
    Return the id of a task: the same for the same work, another when sources or the existing summary have changed.

    >>> task_id("day-2026-01-15", (Source("2026-01-15-deploy.md", "9f8a3c0012345678", 12),), 0)
    'day-2026-01-15-ea62e2400d-0'
    """
    listed = json.dumps([sorted((s.name, s.digest) for s in sources), previous_digest])
    return f"{group}-{hashlib.sha256(listed.encode()).hexdigest()[:10]}-{attempt}"


def asked_id(group: str, kind: AskedKind, prompt: str, messages: Sequence[Mapping[str, Any]], attempt: int) -> str:
    """
    Return the id of a task that somebody waits for: the same for the same material.

    >>> asked_id("session-d2a84f4b8b650937", "session-summary", "总结：…", (), 0)
    'session-d2a84f4b8b650937-b41171bd01-0'
    """
    listed = json.dumps([kind, prompt, list(messages)])
    return f"{group}-{hashlib.sha256(listed.encode()).hexdigest()[:10]}-{attempt}"


def render_task(task: Task | AskedTask) -> bytes:
    """Return the bytes of a task's file."""
    if isinstance(task, Task):
        return _render(task, VERSION)
    return _render(task, REPLY_VERSION if task.turns or task.kind in REPLY_KINDS else ASKED_VERSION)


def render_result(result: Result) -> bytes:
    """Return the bytes of a result's file."""
    return _render(result, VERSION)


def parse_task(data: bytes) -> Task | AskedTask:
    """
    Return the parsed task; ValueError with a reason when *data* is not one, NewerVersion when a newer recalld has made it.

    Unknown fields are ignored.
    """
    raw = _object(data, VERSION, ASKED_VERSION, REPLY_VERSION)
    return Task(**_fields(Task, raw)) if raw["version"] == VERSION else AskedTask(**_fields(AskedTask, raw))


def parse_result(data: bytes) -> Result:
    """Return the parsed result; ValueError with a reason when *data* is not one, NewerVersion as in `parse_task`."""
    raw = _object(data, VERSION)
    fields = _fields(Result, raw)
    usage = raw.get("usage")
    fields |= {
        "error": restored(fields["error"], raw.get("errorText")),
        "reason": _one_of(raw, "reason", REASONS) if fields["status"] == "failed" else None,
        "retry_after_s": min(fields["retry_after_s"], LONGEST_RETRY_S),
        "prompt": _line(raw, "prompt", False),  # of a task it is the whole text
        "usage": {str(k): v for k, v in usage.items() if isinstance(v, int)} if isinstance(usage, dict) else {},
    }
    return Result(**fields)


def _fields(kind: type, raw: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a record of this *kind*, each read as its name or its type has it; unknown ones are ignored."""
    values = {}
    for part in fields(kind):
        read = _BY_NAME.get(part.name) or _BY_TYPE.get(str(part.type))
        if read:
            values[part.name] = read(raw, _wire(part.name), part.default is MISSING)
    return values


def _render(record: Task | AskedTask | Result, version: int) -> bytes:
    values = {_wire(key): value for key, value in asdict(record).items() if value is not None}
    if text := stored(values.get("error", "")):
        values["errorText"] = text
    for key in ("tooLong", "joined", "apart", "turns", "mark", "request"):
        if not values.get(key):
            values.pop(key, None)  # a file without it is read by every version
    return render_json({"version": version, **values}) + b"\n"


def _wire(key: str) -> str:
    """Return the name of a field in JSON: "createdAt" of `created_at`."""
    return re.sub("_([a-z])", lambda match: match[1].upper(), key)


def _object(data: bytes, *versions: int) -> dict[str, Any]:
    raw = parse_json(data)
    if not isinstance(raw, dict):
        raise ValueError("it is not an object")  # noqa: TRY004 - every fault of the bytes is one kind
    version = raw.get("version")
    if isinstance(version, int) and version > max(versions):
        raise NewerVersion(f"its version is {version}, of a newer recalld")
    if version not in versions or isinstance(version, bool):
        raise ValueError(f"its version is {version!r}, not {' or '.join(map(str, versions))}")
    return raw


def _text(raw: dict[str, Any], key: str, is_needed: bool = True) -> str:
    value = raw.get(key, None if is_needed else "")
    if not isinstance(value, str):
        raise ValueError(f"{key} is not a string")  # noqa: TRY004
    return value


def _line(raw: dict[str, Any], key: str, _: bool) -> str:
    """Return a field for the head of a summary: one line of characters that can be written in UTF-8, whatever was sent."""
    return " ".join(_text(raw, key, False).encode("utf-8", "replace").decode().split())[:_LINE]


def _time(raw: dict[str, Any], key: str, _: bool) -> str:
    value = _text(raw, key, False)
    try:
        return value and to_wire(from_wire(value))
    except ValueError:
        raise ValueError(f"{key} is not a time with a zone") from None


def _number(raw: dict[str, Any], key: str, _: bool) -> int:
    value = raw.get(key, 0)
    if type(value) is not int or not 0 <= value < (ATTEMPTS_END if key == "attempt" else math.inf):
        raise ValueError(f"{key} is not a number of its range")
    return value


def _one_of(raw: dict[str, Any], key: str, allowed: tuple[str, ...]) -> Any:
    value = raw.get(key)
    if value not in allowed:
        raise ValueError(f"{key} is {value!r}, not one of {', '.join(allowed)}")
    return value


def _list(raw: dict[str, Any], key: str) -> list[Any]:
    value = raw.get(key, [])
    if not isinstance(value, list):
        raise ValueError(f"{key} is not a list")  # noqa: TRY004
    return value


def _objects(raw: dict[str, Any], key: str, texts: tuple[str, ...]) -> tuple[dict[str, Any], ...]:
    """Return a list of objects that have these *texts*."""
    value = _list(raw, key)
    for item in value:
        if not isinstance(item, dict):
            raise ValueError(f"{key} are not objects")  # noqa: TRY004
        for name in texts:
            _text(item, name)
    return tuple(value)


def _messages(raw: dict[str, Any], key: str, _: bool) -> tuple[dict[str, Any], ...]:
    messages = _objects(raw, key, ("role", "content", "createdAt"))
    for message in messages:
        _time(message, "createdAt", True)
    return messages


def _material(raw: dict[str, Any], key: str, _: bool) -> tuple[str, ...]:
    names = tuple(str(name) for name in _list(raw, key))
    if not all(parts_of(name, from_here=True) for name in names):
        raise ValueError("material leads out of the folder")
    return names


def _sources(raw: dict[str, Any], key: str, _: bool) -> tuple[Source, ...]:
    listed = _list(raw, key)
    try:
        sources = tuple(Source(str(s["name"]), str(s["digest"]), int(s.get("count", 0))) for s in listed)
    except (TypeError, KeyError, ValueError, AttributeError):
        raise ValueError("sources are not {name, digest, count}") from None
    if not all(map(can_be_named, sources)):
        raise ValueError("sources can not be named in a summary")
    return sources


#: How a field is read from the object, by its key and whether it is needed: by the field's name, else by its type.
_BY_NAME: Final[Mapping[str, Callable[[dict[str, Any], str, bool], Any]]] = {
    **dict.fromkeys(("provider", "model"), _line),
    **dict.fromkeys(("started_at", "completed_at"), _time),
    "messages": _messages,
    "turns": lambda raw, key, _: _objects(raw, key, ("role", "content")),
    "material": _material,
}
_BY_TYPE: Final[Mapping[str, Callable[[dict[str, Any], str, bool], Any]]] = {
    "str": _text,
    "int": _number,
    "bool": lambda raw, key, _: raw.get(key) is True,
    "SummaryKind": lambda raw, key, _: _one_of(raw, key, get_args(SummaryKind)),
    "AskedKind": lambda raw, key, _: _one_of(raw, key, ASKED_KINDS),
    "Status": lambda raw, key, _: _one_of(raw, key, get_args(Status)),
    "tuple[Source, ...]": _sources,
}
