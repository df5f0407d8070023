"""
What the summary of a task is made from: dated files, a person's notes, and for a month the summaries of its days.

Who claims a task reads it: a worker, or what carries tasks to a pool of workers. Source: docs/reference/protocol.md, 6.
"""

from __future__ import annotations

from datetime import UTC, datetime, time
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from ..text.decoding import text_of
from .dated_file import Block, parse_dated
from .paths import day_of_name, period_of_name
from .said_back import SaidBack
from .summary_file import parse_summary

if TYPE_CHECKING:
    from ..storage.files import Files
    from .paths import WorkspacePaths
    from .task import Task


class MaterialLost(Exception):
    """The material is gone, or differs from what the task names: the supervisor makes a new task from the files of now."""


def read_material(task: Task, files: Files, paths: WorkspacePaths, *, with_extracts: bool) -> list[Block]:
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
        elif text := text_of(version.data):
            day = day_of_name(name)
            label = day.isoformat() if day else task.period
            blocks.append(_note(text, label, "note", task.zone))
    return blocks


def _note(text: str, label: str, role: str, zone: str) -> Block:
    """Return a text that is no message as a block at noon of its day."""
    day = datetime.fromisoformat(label if len(label) > len("2026-01") else f"{label}-01").date()
    at = datetime.combine(day, time(12), ZoneInfo(zone)).astimezone(UTC)
    return Block("", role, text, at, {})
