"""
From a task to its result: the material is read and checked, the provider called, every fault turned into a failed result.

The material is dated files, a person's notes, and for a month the summaries of its days. No instruction in a message is
followed: the provider has no tools to call. How a model is prompted is in `writing.py`. Source: docs/protocol.md, 6.
"""

from __future__ import annotations

from datetime import UTC, datetime, time
from typing import TYPE_CHECKING, Final, cast
from zoneinfo import ZoneInfo

from supervisor.protocol.clock import to_wire
from supervisor.protocol.dated_file import Block, parse_dated
from supervisor.protocol.paths import day_of_name, period_of_name
from supervisor.protocol.summary_file import parse_summary
from supervisor.protocol.task import Result
from worker.providers import Model, ProviderError
from worker.writing import Writing

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.protocol.clock import Clock
    from supervisor.protocol.config import Config
    from supervisor.protocol.files import Files
    from supervisor.protocol.paths import WorkspacePaths
    from supervisor.protocol.task import Reason, Task
    from worker.providers import Summariser


NOTHING: Final = "无需记录"
_ERROR_CHARS: Final = 200


class MaterialLost(Exception):
    """The material is gone, or differs from what the task names: the supervisor makes a new task from the files of now."""


def summarise(
    task: Task,
    provider: Model | Summariser,
    config: Config,
    files: Files,
    paths: WorkspacePaths,
    clock: Clock,
    cancelled: Callable[[], bool] = lambda: False,
) -> Result:
    """
    Return the result of the task; every fault of the task, its material or the provider is a failed result.

    What is no fault of the task is raised: Cancelled when *cancelled* returns true while a model writes, NoCall when no call
    may be made, BadConfig when a prompt of the workspace is wrong.
    """
    began = clock()
    writing = Writing(provider, config, files, paths, clock, cancelled) if isinstance(provider, Model) else None
    write = writing.write if writing else cast("Summariser", provider).summarise
    text, error, wait_s = "", "", 0
    reason: Reason | None = None
    try:
        text = write(task, _read_material(task, files, paths, with_extracts=provider.extract)) or NOTHING
    except MaterialLost as fault:
        reason, error = "lost", str(fault)
    except ProviderError as fault:
        reason, error, wait_s = fault.reason, fault.why, fault.retry_after_s
    except (OSError, ValueError, ArithmeticError, LookupError, RecursionError, MemoryError) as fault:
        reason, error = "input", f"{type(fault).__name__}: {fault}"
    ended = clock()
    return Result(
        id=task.id,
        status="failed" if reason else "done",
        text=text,
        error=error[:_ERROR_CHARS],
        reason=reason,
        retry_after_s=wait_s,
        provider=provider.name,
        model=provider.model,
        prompt=writing.version if writing else "",
        extract=provider.extract,
        usage=writing.usage.wire() if writing else {},
        group=task.group,
        sources=task.sources,
        previous_digest=task.previous_digest,
        redo=task.redo,
        attempt=task.attempt,
        started_at=to_wire(began),
        completed_at=to_wire(ended),
        duration_ms=max(0, round((ended - began).total_seconds() * 1000)),
    )


def _read_material(task: Task, files: Files, paths: WorkspacePaths, *, with_extracts: bool) -> list[Block]:
    """
    Return the messages to read, oldest first; MaterialLost when a file is gone or differs from what the task names.

    *with_extracts*: a daily summary may be an extract. A model never reads one: it reads the dated files.
    """
    digests = {source.name: source.digest for source in task.sources}
    blocks: list[Block] = []
    for name in task.material:
        version = next(filter(None, (files.read_stable(path) for path in (paths.dated(name), paths.original(name)))), None)
        period = period_of_name(name.removeprefix("summary/"))
        if period and name.startswith("summary/"):
            version = files.read_stable(paths.summary(period))
        if version is None or (name in digests and version.digest[:16] != digests[name]):
            raise MaterialLost(f"{name} is gone or was changed")
        parsed = parse_dated(version.data, paths.dated(name))
        if parsed:
            blocks.extend(parsed.blocks)
        elif period:
            summary = parse_summary(version.data, period.label, paths.summary(period))
            if summary.extract and not with_extracts:
                raise MaterialLost(f"{name} is an extract now")
            blocks.append(_note(summary.text, period.label, "summary", task.zone))
        else:
            day = day_of_name(name)
            label = day.isoformat() if day else task.period
            blocks.append(_note(version.data.decode("utf-8-sig", "replace"), label, "note", task.zone))
    return blocks


def _note(text: str, label: str, role: str, zone: str) -> Block:
    """Return a text that is no message as a block at noon of its day."""
    day = datetime.fromisoformat(label if len(label) > len("2026-01") else f"{label}-01").date()
    at = datetime.combine(day, time(12), ZoneInfo(zone)).astimezone(UTC)
    return Block("", role, text, at, {})
