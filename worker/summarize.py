"""
What a task is made from, read and checked: dated files, a person's notes, and daily summaries for a month.

From a task to its result: the material read and checked, the provider asked, every fault turned into a failed result.

Nothing a message says is followed here: a summary is text made from text, no tool exists to be called (docs/protocol.md, 6).
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


class Lost(Exception):
    """The material is gone, or no longer what the task names: the supervisor asks anew with what is there now."""


def material(task: Task, files: Files, paths: WorkspacePaths, *, extracts: bool) -> list[Block]:
    """
    Return the messages to read, oldest first; Lost when a file is gone or not what the task names.

    *extracts*: a summary that no model wrote may be read too. A model never reads one: its dated files are its material.
    """
    digests = {source.name: source.digest for source in task.sources}
    found: list[Block] = []
    for name in task.material:
        look = next(filter(None, (files.read_stable(path) for path in (paths.dated(name), paths.original(name)))), None)
        period = period_of_name(name.removeprefix("summary/"))
        if period and name.startswith("summary/"):
            look = files.read_stable(paths.summary(period))
        if look is None or (name in digests and look.digest[:16] != digests[name]):
            raise Lost(f"{name} is gone or was changed")
        parsed = parse_dated(look.data, paths.dated(name))
        if parsed:
            found.extend(parsed.blocks)
        elif period:
            summary = parse_summary(look.data, period.label, paths.summary(period))
            if summary.extract and not extracts:
                raise Lost(f"{name} is an extract now")
            found.append(_note(summary.text, period.label, "summary", task.zone))
        else:
            day = day_of_name(name)
            label = day.isoformat() if day else task.period
            found.append(_note(look.data.decode("utf-8-sig", "replace"), label, "note", task.zone))
    return found


def _note(text: str, label: str, role: str, zone: str) -> Block:
    """Return text that is no message as a block of its day."""
    day = datetime.fromisoformat(label if len(label) > len("2026-01") else f"{label}-01").date()
    at = datetime.combine(day, time(12), ZoneInfo(zone)).astimezone(UTC)
    return Block("", role, text, at, {})


NOTHING: Final = "无需记录"
_ERROR_CHARS: Final = 200


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
    Return what came of the task; of what a task or a provider can cause nothing is raised.

    Cancelled when *cancelled* says so while a model writes, NoCall when it may not be asked, BadConfig when the workspace's
    wording is wrong: none is the task's fault.
    """
    began = clock()
    writing = Writing(provider, config, files, paths, clock, cancelled) if isinstance(provider, Model) else None
    write = writing.write if writing else cast("Summariser", provider).summarise
    text, error, wait_s = "", "", 0
    reason: Reason | None = None
    try:
        text = write(task, material(task, files, paths, extracts=provider.extract)) or NOTHING
    except Lost as fault:
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
