"""
The figures of a workspace as Prometheus reads them: at `/metrics`, and by `recalld status --metrics` for a textfile collector.

No figure has a label with a session, a group or a file. A time is in seconds since 1970, and a figure of what never was is left
out, so that its age is never taken for a small one.
"""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from recalld.supervisor.checks.check import Look
from recalld.supervisor.checks.status import status
from recalld.supervisor.checks.table import verdict
from recalld.supervisor.events import lasting_states
from recalld.supervisor.storage.clock import from_wire

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime
    from pathlib import Path

    from recalld.supervisor.workspace import Workspace

#: The figures, each with what it is; all are gauges.
_HELP: Final = {
    "info": "The installed recalld.",
    "well": "1 if nothing is wrong, as `recalld status` says.",
    "supervisor_running": "1 if a supervisor runs in the workspace.",
    "messages": "Messages of history.json, by their flag `archived`.",
    "unwritten_messages": "Messages that are in no dated file yet.",
    "oldest_unwritten_timestamp_seconds": "The time of the oldest message that is in no dated file yet.",
    "last_archive_timestamp_seconds": "When the newest dated file was made.",
    "last_fsck_timestamp_seconds": "When every message was accounted for last.",
    "lost_messages": "Messages that were missing then.",
    "damaged_files": "Files that were damaged then.",
    "last_backup_timestamp_seconds": "When the last nightly backup ran.",
    "last_backup_failed": "1 if it failed.",
    "refused": "1 if the disk or the system refuses to read or to write.",
    "retries": "Summaries that failed and wait for their next try.",
    "queue_tasks": "Tasks of the worker, by the folder that they are in.",
    "llm_calls_today": "Calls of the model today.",
    "llm_calls_limit": "The most calls a day.",
    "llm_tokens_today": "Tokens of the model today, by direction.",
    "disk_free_bytes": "Free bytes on the disk of the workspace.",
    "index_timestamp_seconds": "When the index was last written.",
}


def metrics(ws: Workspace, now: datetime, environ: Mapping[str, str]) -> str:
    """Return the figures of the workspace in the text format of Prometheus."""
    look = Look(ws, now, environ)
    facts, (_, is_well) = status(look), verdict(look)
    lines: list[str] = []
    last = ""
    for name, labels, value in _figures(ws, facts, is_well=is_well):
        if value is None:
            continue
        if name != last:
            lines += [f"# HELP recalld_{name} {_HELP[name]}", f"# TYPE recalld_{name} gauge"]
        lines.append(f"recalld_{name}{labels} {value:.15g}")
        last = name
    return "\n".join(lines) + "\n"


def _figures(ws: Workspace, facts: Mapping[str, Any], *, is_well: bool) -> Iterator[tuple[str, str, float | None]]:
    """Yield each figure: its name, its labels, and its value, None where there is none."""
    fsck, backup, today = facts["lastFsck"] or {}, facts["lastBackup"] or {}, facts["today"]
    refused = lasting_states(ws.paths.log, {"degraded": "recovered"})
    free = os.statvfs(ws.paths.root)
    yield "info", f'{{version="{version("recalld")}"}}', 1
    yield "well", "", is_well
    yield "supervisor_running", "", facts["supervisor"] == "running"
    for flag in ("false", "pending", "true"):
        yield "messages", f'{{archived="{flag}"}}', facts["history"][flag]
    yield "unwritten_messages", "", facts["unwritten"]
    yield "oldest_unwritten_timestamp_seconds", "", _seconds(facts["oldestUnwritten"])
    yield "last_archive_timestamp_seconds", "", _seconds(facts["lastRun"])
    yield "last_fsck_timestamp_seconds", "", _seconds(fsck.get("at"))
    yield "lost_messages", "", fsck.get("lost")
    yield "damaged_files", "", fsck.get("damage")
    yield "last_backup_timestamp_seconds", "", _seconds(backup.get("at"))
    yield "last_backup_failed", "", bool(backup["failed"]) if backup else None
    yield "refused", "", bool(refused)
    yield "retries", "", len(facts["waitingForRetry"])
    for folder, count in facts["queue"].items():
        yield "queue_tasks", f'{{state="{folder}"}}', count
    yield "llm_calls_today", "", today["calls"]
    yield "llm_calls_limit", "", today["maxCalls"]
    for direction in ("prompt", "completion"):
        yield "llm_tokens_today", f'{{direction="{direction}"}}', today[f"{direction}Tokens"]
    yield "disk_free_bytes", "", free.f_bavail * free.f_frsize
    yield "index_timestamp_seconds", "", _written(ws, ws.paths.state / "index" / "meta.json")


def _seconds(wire: str | None) -> float | None:
    return from_wire(wire).timestamp() if wire else None


def _written(ws: Workspace, path: Path) -> float | None:
    stat = ws.files.disk.stat(path)
    return stat.mtime_ns / 1e9 if stat else None
