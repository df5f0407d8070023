"""
From a task to its result: the material is read and checked, the provider called, every fault turned into a failed result.

The material is dated files, a person's notes, and for a month the summaries of its days. No instruction in a message is
followed: the provider has no tools to call. How a model is prompted is in `writing.py`. Source: docs/reference/protocol.md, 6.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, time
from functools import partial
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from recalld.supervisor.protocol.dated_file import Block, parse_dated
from recalld.supervisor.protocol.paths import day_of_name, period_of_name
from recalld.supervisor.protocol.said_back import SaidBack
from recalld.supervisor.protocol.summary_file import parse_summary
from recalld.supervisor.protocol.task import AskedTask, Result
from recalld.supervisor.storage.clock import to_wire
from recalld.worker.calls import Calls
from recalld.worker.providers import Model, ProviderError
from recalld.worker.writing import Writing

if TYPE_CHECKING:
    from collections.abc import Callable

    from recalld.supervisor.protocol.config import Config
    from recalld.supervisor.protocol.paths import WorkspacePaths
    from recalld.supervisor.protocol.task import Reason, Task
    from recalld.supervisor.storage.clock import Clock
    from recalld.supervisor.storage.files import Files
    from recalld.worker.providers import Summariser


NOTHING: Final = "无需记录"
_ERROR_CHARS: Final = 200


class MaterialLost(Exception):
    """The material is gone, or differs from what the task names: the supervisor makes a new task from the files of now."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    text: str = ""
    reason: Reason | None = None
    error: str = ""
    retry_after_s: int = 0
    too_long: bool = False


def summarise(
    task: Task,
    provider: Model | Summariser,
    config: Config,
    files: Files,
    paths: WorkspacePaths,
    clock: Clock,
    cancelled: Callable[[], bool] = lambda: False,
    window: int | None = None,
) -> Result:
    """
    Return the result of the task; a fault of the task, its material or the provider is a failed result.

    *window*: of the server, in tokens. Raises Cancelled once *cancelled* returns true, NoCall when no call may be made,
    BadConfig when a prompt is wrong.
    """
    material = partial(_read_material, task, files, paths, with_extracts=provider.extract)
    if not isinstance(provider, Model):
        return delivered(task, provider, clock, lambda: provider.summarise(task, material()) or NOTHING)
    writing = Writing(Calls(provider, config, files, paths, clock, cancelled, is_asked=task.redo, window=window))
    result = delivered(task, provider, clock, lambda: writing.write(task, material()) or NOTHING, writing.calls)
    wrote = writing.calls.answered or result.model  # a server may have swapped the model under its name
    return replace(result, model=wrote, prompt=writing.version, joined=writing.is_joined and result.status == "done")


def delivered(
    task: Task | AskedTask, provider: Model | Summariser, clock: Clock, write: Callable[[], str], calls: Calls | None = None
) -> Result:
    """Return what *write* returns, or why it failed, as the result of the task, with what its *calls* have cost."""
    began = clock()
    outcome = _outcome(write)
    ended = clock()
    result = Result(
        id=task.id,
        status="failed" if outcome.reason else "done",
        text=outcome.text,
        error=outcome.error if len(outcome.error) <= _ERROR_CHARS else outcome.error[:_ERROR_CHARS],
        reason=outcome.reason,
        retry_after_s=outcome.retry_after_s,
        too_long=outcome.too_long,
        provider=provider.name,
        model=provider.model,
        extract=provider.extract,
        usage=calls.usage.wire() if calls else {},
        started_at=to_wire(began),
        completed_at=to_wire(ended),
        duration_ms=max(0, round((ended - began).total_seconds() * 1000)),
        group=task.group,
        attempt=task.attempt,
    )
    if isinstance(task, AskedTask):
        return result
    return replace(result, sources=task.sources, previous_digest=task.previous_digest, redo=task.redo)


def _outcome(write: Callable[[], str]) -> _Outcome:
    """Return the text that *write* returns, or the reason of its failure."""
    try:
        return _Outcome(write())
    except MaterialLost as fault:
        return _Outcome(reason="lost", error=str(fault))
    except ProviderError as fault:
        return _Outcome(reason=fault.reason, error=fault.why, retry_after_s=fault.retry_after_s, too_long=fault.overflow)
    except (OSError, ValueError, ArithmeticError, LookupError, RecursionError, MemoryError) as fault:
        return _Outcome(reason="input", error=f"{type(fault).__name__}: {fault}")


def _read_material(task: Task, files: Files, paths: WorkspacePaths, *, with_extracts: bool) -> list[Block]:
    """
    Return the messages to read, oldest first, without answers that only say back what memory had.

    MaterialLost when a file is gone or differs from what the task names.

    *with_extracts*: a daily summary may be an extract. A model never reads one: it reads the dated files.
    """
    digests = {source.name: source.digest for source in task.sources}
    blocks: list[Block] = []
    said_back = SaidBack(files, paths)
    for name in task.material:
        version = next(filter(None, (files.read_stable(path) for path in (paths.dated(name), paths.original(name)))), None)
        period = period_of_name(name.removeprefix("summary/"))
        if period and name.startswith("summary/"):
            version = files.read_stable(paths.summary(period))
        if version is None or (name in digests and version.digest[:16] != digests[name]):
            raise MaterialLost(f"{name} is gone or was changed")
        parsed = parse_dated(version.data, paths.dated(name))
        if parsed:
            blocks.extend(said_back.without(parsed.blocks))
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
