"""
The formats of tasks and results, the JSON files that supervisor and worker exchange (docs/reference/protocol.md, 6).

The task of a day or a month names its material, and the worker makes the prompt. A task that somebody waits for has its
material in it, which may be in no file yet. The id of each is computed from its content and the attempt, so that submitting,
finishing and collecting it twice is harmless.
"""

import hashlib
import json
import math
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias, TypeVar, get_args

from ..storage.clock import from_wire, to_wire
from ..storage.lenient_json import parse_json, read_record, record_fields, render_json, wire_name
from ..text.foreign_text import parts_of
from .message import ATTEMPTS_END
from .summary_file import Source, can_be_named

R = TypeVar("R")

VERSION: Final = 1
#: The format of a task that somebody waits for, which came later.
ASKED_VERSION: Final = 2
#: The format of a task with turns, which came later still.
REPLY_VERSION: Final = 3
_LINE: Final = 200  # characters
#: The longest wait taken from a server's Retry-After: a day, as for a group that fails repeatedly.
LONGEST_RETRY_S: Final = 86_400

#: What somebody waits for: a model's answer for a session, one word of the model, an answer in a conversation.
AskedKind: TypeAlias = Literal["session-summary", "model-test", "reply", "lookup"]
#: Those whose answer a person reads: the answer to an input, and the second message after a look further.
REPLY_KINDS: Final = ("reply", "lookup")
#: Why there is no summary: what the worker reports, then what the supervisor finds in an answer (`summaries/quality.py`).
Reason: TypeAlias = Literal[
    "timeout", "provider", "empty", "refused", "truncated", "input", "lost", "spent",
    "vague", "copy", "repeats", "transcript", "form", "language",
    "data", "thought", "forged", "long",
]  # fmt: skip
REASONS: Final = get_args(Reason)
#: Those that say nothing of an answer.
NO_ANSWER: Final = frozenset({"timeout", "provider", "input", "lost", "spent"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A summary to write. *material* names the files to read, dated files or `summary/…` ones, oldest first."""

    id: str
    kind: Literal["daily-summary", "monthly-summary"]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedTask:
    """A task that somebody waits for. Its material is the *prompt* or the *turns* for a model."""

    id: str
    kind: AskedKind
    #: "session-" and the session's digest: nobody waits once the lock of that session is free. Of an answer "reply-" or
    #: "lookup-" and the digest of its input.
    group: str = ""
    server: str = ""  # the mark of the model that is meant (`protocol.llm.Endpoint`); "" for any
    prompt: str = ""
    turns: tuple[dict[str, str], ...] = ()  # {role, content}, in place of a prompt
    mark: str = ""  # of an answer: what its request bears (`protocol.turn`)
    created_at: str = ""
    attempt: int = 0  # earlier failures of the session


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of a task. *sources*, *group*, *previous_digest*, *redo* and *attempt* are copied from the task."""

    id: str
    status: Literal["done", "failed"]
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
    return _id(group, [sorted((s.name, s.digest) for s in sources), previous_digest], attempt)


def asked_id(group: str, kind: AskedKind, prompt: str, attempt: int) -> str:
    """
    Return the id of a task that somebody waits for: the same for the same material.

    >>> asked_id("session-d2a84f4b8b650937", "session-summary", "总结：…", 0)
    'session-d2a84f4b8b650937-da0439a854-0'
    """
    return _id(group, [kind, prompt], attempt)


def _id(group: str, material: object, attempt: int) -> str:
    return f"{group}-{hashlib.sha256(json.dumps(material).encode()).hexdigest()[:10]}-{attempt}"


def render_task(task: Task | AskedTask) -> bytes:
    """Return the bytes of a task's file."""
    if isinstance(task, Task):
        return _render(task, VERSION)
    return _render(task, REPLY_VERSION if task.turns or task.kind in REPLY_KINDS else ASKED_VERSION)


def render_result(result: Result) -> bytes:
    """Return the bytes of a result's file."""
    return _render(result, VERSION)


def parse_task(data: bytes) -> Task | AskedTask:
    """Return the parsed task; ValueError with a reason when *data* is not one. Unknown fields are ignored."""
    raw = _object(data, VERSION, ASKED_VERSION, REPLY_VERSION)
    if raw["version"] != VERSION:
        asked_task = read_record(AskedTask, raw, wire_name)
        if not all({"role", "content"} <= set(turn) for turn in asked_task.turns):
            raise ValueError("turns are not {role, content}")
        return _checked(asked_task)
    task = read_record(Task, raw, wire_name)
    if not all(parts_of(name, from_here=True) for name in task.material):
        raise ValueError("material leads out of the folder")
    return _checked(task)


def parse_result(data: bytes) -> Result:
    """Return the parsed result; ValueError with a reason when *data* is not one."""
    raw = _object(data, VERSION)
    usage = raw.get("usage")
    raw["usage"] = {k: v for k, v in usage.items() if type(v) is int} if isinstance(usage, dict) else {}
    if raw.get("status") != "failed":
        raw.pop("reason", None)
    elif "reason" not in raw:
        raise ValueError("it failed without a reason")
    result = read_record(Result, raw, wire_name)
    return replace(
        _checked(result),
        retry_after_s=min(result.retry_after_s, LONGEST_RETRY_S),
        provider=_line(result.provider),
        model=_line(result.model),
        prompt=_line(result.prompt),
    )


def _checked(record: R) -> R:
    """Return the record with times as recalld writes them; ValueError for a value that is out of its range."""
    times = {}
    for part in fields(record):  # type: ignore[arg-type]
        value = getattr(record, part.name)
        if part.name.endswith("_at") and value:
            times[part.name] = _time(value)
        if isinstance(value, int) and not 0 <= value < (ATTEMPTS_END if part.name == "attempt" else math.inf):
            raise ValueError(f"{part.name} is not a number of its range")
    if not all(map(can_be_named, getattr(record, "sources", ()))):
        raise ValueError("sources can not be named in a summary")
    return replace(record, **times)  # type: ignore[type-var]


def _render(record: Task | AskedTask | Result, version: int) -> bytes:
    values = {key: value for key, value in record_fields(record, wire_name).items() if value is not None}
    for key in ("tooLong", "joined", "apart", "turns", "mark", "request"):
        if not values.get(key):
            values.pop(key, None)  # a file without it is read by every version
    return render_json({"version": version, **values}) + b"\n"


def _object(data: bytes, *versions: int) -> dict[str, Any]:
    raw = parse_json(data)
    if not isinstance(raw, dict):
        raise ValueError("it is not an object")  # noqa: TRY004 - every fault of the bytes is one kind
    version = raw.get("version")
    if version not in versions or isinstance(version, bool):
        raise ValueError(f"its version is {version!r}, not {' or '.join(map(str, versions))}")
    return raw


def _line(value: str) -> str:
    """Return a field for the head of a summary: one line of characters that can be written in UTF-8, whatever was sent."""
    return " ".join(value.encode("utf-8", "replace").decode().split())[:_LINE]


def _time(value: object) -> str:
    try:
        return to_wire(from_wire(value))  # type: ignore[arg-type]
    except (ValueError, TypeError):
        raise ValueError(f"{value!r:.40} is not a time with a zone") from None
