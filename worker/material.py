"""What a task is made from, read and checked: dated files, a person's notes, and daily summaries for a month."""

from __future__ import annotations

from datetime import UTC, datetime, time
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from supervisor.protocol.dated import Block, parse_dated
from supervisor.protocol.layout import day_of_name, period_of_name
from supervisor.protocol.summary import parse_summary

if TYPE_CHECKING:
    from supervisor.protocol.files import Files
    from supervisor.protocol.layout import Layout
    from supervisor.protocol.task import Task


class Lost(Exception):
    """The material is gone, or no longer what the task names: the supervisor asks anew with what is there now."""


def material(task: Task, files: Files, layout: Layout, *, extracts: bool) -> list[Block]:
    """
    Return the messages to read, oldest first; Lost when a file is gone or not what the task names.

    *extracts*: a summary that no model wrote may be read too. A model never reads one: its dated files are its material.
    """
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
            summary = parse_summary(look.data, period.label, layout.summary(period))
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
