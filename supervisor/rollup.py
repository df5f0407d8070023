"""
The roll-up: ripe days and closed months become tasks for the worker, and what a summary covers moves to originals/.

Source: docs/protocol.md, 3, Groups and roll-up; 003 forgot it, so that memories sank out of reach on their sixth day.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from supervisor.intake import know_written
from supervisor.model import allot, bytes_by_group, calls_for, maker
from supervisor.policy.age import home
from supervisor.policy.backoff import is_due
from supervisor.policy.coverage import covered
from supervisor.policy.ripen import Work, ripe
from supervisor.policy.settle import mark_pending
from supervisor.protocol.clock import to_wire
from supervisor.protocol.errors import OneByOne
from supervisor.protocol.message import Message
from supervisor.protocol.task import Task, task_id

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from supervisor.workspace import Workspace


def roll_up(ws: Workspace, now: datetime) -> int:
    """Move what is covered, submit what is due, newest first; returns how many tasks."""
    # gather
    know_written(ws)  # a file that the journal missed could be asked for while nobody knows whose words it holds
    # a file of ours without its head was destroyed, and is no note that could be summarised: fsck names it
    files = [file for file in ws.memory.dated() if file.ours or file.name not in ws.seen.names]
    summaries, failures = ws.memory.summaries(), ws.failures()
    in_flight, today, recent = ws.spool.in_flight(), ws.today(now), ws.config.archive.recent_days
    # decide
    named = covered(files, summaries)
    moving = [f for f in files if f.ours and not f.original and f.name in named and home(f.day, today, recent)]
    who = maker(ws)
    wanted = ripe(files, summaries, today, recent, who)
    waiting = {group for group, failure in failures.items() if not is_due(failure.failed_at, failure.next_at, now)}
    ready = [work for work in wanted if work.period.group not in in_flight and work.period.group not in waiting]
    costs = {group: calls_for(ws, size, failures.get(group)) for group, size in bytes_by_group(wanted, files).items()}
    ready = ready[: max(0, ws.config.archive.max_queued - ws.spool.waiting())]
    calls = allot(ws, [work.period.group for work in ready], costs, now)
    ready = ready[: len(calls)]
    # apply
    each = OneByOne()
    for file in moving:
        with each:
            ws.memory.move_to_originals(file.name)
    if moving:
        ws.events.emit("moved", files=len(moving))
    for group in failures.keys() - _alive(wanted, who.given_up) - in_flight.keys():
        ws.spool.clear(group)  # nothing is left that could be summarised
    _mark(ws, ready)
    tasks = [
        task_of(ws, work, failures[g].attempts if (g := work.period.group) in failures else 0, now, most)
        for work, most in zip(ready, calls, strict=True)
    ]
    submitted = [task for task in tasks if ws.spool.submit(task)]
    if submitted:
        ws.events.emit("submitted", tasks=len(submitted), groups=[task.group for task in submitted])
    each.raise_first()
    return len(submitted)


def _alive(wanted: Sequence[Work], given_up: Collection[str]) -> set[str]:
    """Return the groups whose failures still say something: those that are wanted, their days, and the month of a day."""
    groups = {work.period.group for work in wanted}
    for work in wanted:
        if work.period.kind == "month":
            groups |= {f"day-{source.name[: len('2026-01-28')]}" for source in work.sources}
        else:  # a month that is told day by day first waits on as it did (docs/protocol.md, 3: new material resets nothing)
            month = work.period.label[: len("2026-01")]
            groups.add(f"month-{month}")
            groups |= {group for group in given_up if group.startswith(f"day-{month}")}  # else they would be asked for anew
    return groups


def _mark(ws: Workspace, ready: Sequence[Work]) -> None:
    """Mark the groups' written `false` messages pending before their tasks exist."""
    names = {source.name for work in ready for source in work.sources}
    entries = ws.history.read() if names else ()
    keys = frozenset(e.key for e in entries if isinstance(e, Message) and ws.seen.file_of(e.key) in names)
    if keys:
        ws.history.change(partial(mark_pending, keys=keys))


def task_of(ws: Workspace, work: Work, attempt: int, now: datetime, max_calls: int = 0, *, redo: bool = False) -> Task:
    """Return the task of the work; *attempt* counts the earlier failures of its group, *max_calls* as in `Task`."""
    return Task(
        id=task_id(work.period.group, work.sources, attempt, work.previous_digest),
        kind="daily-summary" if work.period.kind == "day" else "monthly-summary",
        group=work.period.group,
        period=work.period.label,
        zone=ws.config.archive.timezone,
        sources=work.sources,
        material=work.material,
        previous=work.previous,
        previous_digest=work.previous_digest,
        redo=redo,
        created_at=to_wire(now),
        attempt=attempt,
        max_calls=max_calls,
    )
