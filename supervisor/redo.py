"""A summary made anew because a person asks for it: its task goes into the queue, and what stands is kept until the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.policy.ripen import work_on
from supervisor.protocol.errors import BadRequest, NotFound
from supervisor.protocol.period import read_period
from supervisor.rollup import task_of

if TYPE_CHECKING:
    from datetime import datetime

    from supervisor.workspace import Workspace


def redo(ws: Workspace, label: str, now: datetime) -> str:
    """
    Put the task for the day or month *label* into the queue, and return its group; one that is in flight stays as it is.

    BadRequest when *label* is no period, NotFound when no dated file lies in it, NewerFormat where a newer recalld works. The
    attempt is not repeated when it fails: what stood goes on standing.
    """
    period = read_period(label)
    if period is None:
        raise BadRequest("period", f"{label!r} is no day (2026-01-28) and no month (2026-01)")
    members = [file for file in ws.memory.dated() if period.holds(file.day)]
    if not members:
        raise NotFound(f"memory/{label}-*.md")
    ws.seen.refuse_newer()
    ws.prepare()
    if period.group not in ws.spool.in_flight():
        failure = ws.failures().get(period.group)
        work = work_on(period, members, ws.memory.summaries(), anew=True)
        ws.spool.submit(task_of(ws, work, failure.attempts if failure else 0, now, redo=True))
    return period.group
