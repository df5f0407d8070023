"""
From a task to its result: the material read and checked, the provider asked, every fault turned into a failed result.

Nothing a message says is followed here: a summary is text made from text, no tool exists to be called (docs/protocol.md, 6).
"""

from __future__ import annotations

from datetime import UTC, datetime, time
from typing import TYPE_CHECKING, Final, Protocol
from zoneinfo import ZoneInfo

from supervisor.protocol.clock import to_wire
from supervisor.protocol.dated import Block, parse_dated
from supervisor.protocol.layout import day_of_name, period_of_name
from supervisor.protocol.summary import parse_summary
from supervisor.protocol.task import Result, Task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.protocol.clock import Clock
    from supervisor.protocol.files import Files
    from supervisor.protocol.layout import Layout

NOTHING: Final = "无需记录"


class Provider(Protocol):
    """Who writes the text. A new one is one file in worker/providers/."""

    name: str
    model: str
    extract: bool  # no model wrote it

    def summarise(self, task: Task, blocks: Sequence[Block]) -> str:
        """Return the Markdown body, "" when there is nothing to record."""
        ...


class Lost(Exception):
    """The material is gone, or no longer what the task names: the supervisor asks anew with what is there now."""


def summarise(task: Task, provider: Provider, files: Files, layout: Layout, clock: Clock) -> Result:
    """Return what came of the task; never raises what a task can cause."""
    began = clock()
    text, error, lost = "", "", False
    try:
        text = provider.summarise(task, material(task, files, layout)) or NOTHING
    except Lost as fault:
        error, lost = str(fault), True
    except (OSError, ValueError, ArithmeticError, LookupError, RecursionError, MemoryError) as fault:
        error = f"{type(fault).__name__}: {fault}"
    ended = clock()
    return Result(
        id=task.id,
        status="failed" if error else "done",
        text=text,
        error=error[:200],
        reason="lost" if lost else "input" if error else None,
        provider=provider.name,
        model=provider.model,
        extract=provider.extract,
        group=task.group,
        sources=task.sources,
        previous_digest=task.previous_digest,
        redo=task.redo,
        attempt=task.attempt,
        started_at=to_wire(began),
        completed_at=to_wire(ended),
        duration_ms=max(0, round((ended - began).total_seconds() * 1000)),
    )


def material(task: Task, files: Files, layout: Layout) -> list[Block]:
    """Return the messages to read, oldest first; Lost when a file is gone or not what the task names."""
    digests = {source.name: source.digest for source in task.sources}
    found: list[Block] = []
    for name in task.material:
        look = next(filter(None, (files.look(path) for path in (layout.dated(name), layout.original(name)))), None)
        period = period_of_name(name.removeprefix("summary/"))
        if period and name.startswith("summary/"):
            look = files.look(layout.summary(period))
        if look is None or (name in digests and look.digest[:16] != digests[name]):
            raise Lost(f"{name} is gone or was changed")
        parsed = parse_dated(look.data, layout.dated(name))
        if parsed:
            found.extend(parsed.blocks)
        elif period:
            text = parse_summary(look.data, period.label, layout.summary(period)).text
            found.append(_note(text, period.label, "summary", task.zone))
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
