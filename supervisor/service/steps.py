"""
The steps of archive and summaries over a whole workspace: each function passes a step the stores and settings that it uses.

Rounds, status, repair and the command line call these; the steps themselves are in `supervisor.archive` and
`supervisor.summaries`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.archive import intake as archive_intake
from supervisor.archive import restore as archive_restore
from supervisor.archive import run as archive_run
from supervisor.summaries.collect import collect_results
from supervisor.summaries.submit import submit_due

if TYPE_CHECKING:
    from datetime import datetime

    from supervisor.archive.plan import Due
    from supervisor.workspace import Workspace


def intake(ws: Workspace, now: datetime) -> int:
    """Take in the new messages of history.json and the drop-box; returns how many there were."""
    return archive_intake.intake(
        history=ws.history,
        journal=ws.journal,
        memory=ws.memory,
        drop_box=ws.drop_box,
        quarantine=ws.quarantine,
        settings=ws.config.archive,
        events=ws.events,
        now=now,
        should_stop=ws.should_stop,
    )


def archive(ws: Workspace, now: datetime, *, everything: bool = False) -> int:
    """Write the un-written messages to new dated files; returns how many messages."""
    return archive_run.archive(
        history=ws.history,
        journal=ws.journal,
        memory=ws.memory,
        settings=ws.config.archive,
        events=ws.events,
        now=now,
        everything=everything,
        should_stop=ws.should_stop,
        progress=ws.progress,
    )


def why_due(ws: Workspace, now: datetime) -> Due | None:
    """Return why an archive run is due now; None when it is not."""
    return archive_run.why_due(
        history=ws.history, journal=ws.journal, memory=ws.memory, settings=ws.config.archive, caps=ws.caps, now=now
    )


def reconcile_flags(ws: Workspace, now: datetime) -> None:
    """Set every flag of history.json to what follows from the files."""
    archive_run.reconcile_flags(
        history=ws.history,
        journal=ws.journal,
        memory=ws.memory,
        task_queue=ws.task_queue,
        today=ws.today(now),
        recent_days=ws.config.archive.recent_days,
    )


def trim_history(ws: Workspace) -> int:
    """Remove from history.json the messages that exceed its caps and are written; returns how many."""
    return archive_run.trim_history(history=ws.history, journal=ws.journal, events=ws.events, caps=ws.caps)


def restore_history(ws: Workspace, now: datetime, *, unknown: bool = False) -> int:
    """Restore a damaged or lost history.json; returns how many messages it has now, 0 when nothing was done."""
    return archive_restore.restore_history(
        history=ws.history,
        journal=ws.journal,
        quarantine=ws.quarantine,
        settings=ws.config.archive,
        events=ws.events,
        now=now,
        unknown=unknown,
    )


def collect(ws: Workspace, now: datetime) -> int:
    """Take in the results of the worker; returns how many summaries were written."""
    return collect_results(
        now,
        files=ws.files,
        memory=ws.memory,
        task_queue=ws.task_queue,
        quarantine=ws.quarantine,
        calls=ws.calls,
        config=ws.config,
        events=ws.events,
        should_stop=ws.should_stop,
    )


def submit(ws: Workspace, now: datetime) -> int:
    """Submit the tasks of the summaries that are due; returns how many."""
    return submit_due(
        now,
        history=ws.history,
        journal=ws.journal,
        memory=ws.memory,
        task_queue=ws.task_queue,
        calls=ws.calls,
        config=ws.config,
        events=ws.events,
    )
