"""
The roll-up: ripe days and closed months become tasks for the worker, and what a summary covers moves to originals/.

Source: docs/protocol.md, 3, Groups and roll-up; 003 forgot it, so that memories sank out of reach on their sixth day.

A summary made anew because a person asks for it: its task goes into the queue, and what stands is kept until the answer.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from supervisor.archive.coverage import covered
from supervisor.archive.flags import mark_pending
from supervisor.protocol.clock import to_wire
from supervisor.protocol.errors import BadRequest, ErrorCollector, NotFound
from supervisor.protocol.message import Message
from supervisor.protocol.period import day, month, read_period, summary_period
from supervisor.protocol.task import Task, task_id
from supervisor.summaries.llm_state import bytes_by_group, calls_for, calls_left, maker
from supervisor.summaries.retry import is_due
from supervisor.summaries.schedule import SummaryJob, due_summaries, work_on

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from supervisor.workspace import Workspace


def submit_due(ws: Workspace, now: datetime) -> int:
    """Move what is covered, submit what is due, newest first; returns how many tasks."""
    # gather
    # a file of ours without its head was destroyed, and is no note that could be summarised: fsck names it; and of one that
    # the journal missed nobody knows yet whose words it holds
    files = [file for file in ws.memory.dated() if file.ours == (file.name in ws.journal.names)]
    summaries, failures = ws.memory.summaries(), ws.failures()
    in_flight, today, recent = ws.task_queue.active_groups(), ws.today(now), ws.config.archive.recent_days
    # decide
    named = covered(files, summaries)
    moving = [f for f in files if f.ours and not f.original and f.name in named and summary_period(f.day, today, recent)]
    who = maker(ws)
    wanted = due_summaries(files, summaries, today, recent, who)
    waiting = {group for group, failure in failures.items() if not is_due(failure.failed_at, failure.next_at, now)}
    ready = [work for work in wanted if work.period.group not in in_flight and work.period.group not in waiting]
    costs = {group: calls_for(ws, size) for group, size in bytes_by_group(wanted, files).items()}
    under_way = sum(costs.get(group, 1) for group in in_flight)  # one that a person asked for need not be wanted
    ready = _affordable(ws, ready[: max(0, ws.config.archive.max_queued - ws.task_queue.queued_count())], costs, now, under_way)
    # apply
    each, moved = ErrorCollector(), 0
    for file in moving:
        with each:
            moved += ws.memory.move_to_originals(file.name)
    if moved:
        ws.events.emit("moved", files=moved)
    # a day that a clock set back has made young again still waits as long as its failure said
    held = waiting & {group for f in files if f.name not in named for group in (day(f.day).group, month(f.day).group)}
    for group in failures.keys() - _alive(wanted, who.given_up) - in_flight.keys() - held:
        ws.task_queue.clear(group)  # nothing is left that could be summarised
    _mark(ws, ready)
    tasks = [task_of(ws, work, failures[g].attempts if (g := work.period.group) in failures else 0, now) for work in ready]
    submitted = [task for task in tasks if ws.task_queue.submit(task)]
    if submitted:
        ws.events.emit("submitted", tasks=len(submitted), groups=[task.group for task in submitted])
    each.raise_first()
    return len(submitted)


def _affordable(
    ws: Workspace, ready: Sequence[SummaryJob], costs: Mapping[str, int], now: datetime, under_way: int
) -> list[SummaryJob]:
    """Return as much of the work, in its order, as the day's calls allow; the first of a day may be larger than its cap."""
    left = calls_left(ws, now, under_way)
    if ws.extracting:
        return list(ready)
    chosen: list[SummaryJob] = []
    for work in ready if left else ():
        cost = costs[work.period.group]
        if cost > left and chosen:
            break
        chosen.append(work)
        left -= cost
        if left <= 0:
            break
    return chosen


def _alive(wanted: Sequence[SummaryJob], given_up: Collection[str]) -> set[str]:
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


def _mark(ws: Workspace, ready: Sequence[SummaryJob]) -> None:
    """Mark the groups' written `false` messages pending before their tasks exist."""
    names = {source.name for work in ready for source in work.sources}
    entries = ws.history.read() if names else ()
    keys = frozenset(e.key for e in entries if isinstance(e, Message) and ws.journal.file_of(e.key) in names)
    if keys:
        ws.history.change(partial(mark_pending, keys=keys))


def task_of(ws: Workspace, work: SummaryJob, attempt: int, now: datetime, *, redo: bool = False) -> Task:
    """Return the task of the work; *attempt* counts the earlier failures of its group."""
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
    )


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
    ws.journal.refuse_newer()
    ws.prepare()
    if period.group not in ws.task_queue.active_groups():
        failure = ws.failures().get(period.group)
        work = work_on(period, members, ws.memory.summaries(), anew=True)
        ws.task_queue.submit(task_of(ws, work, failure.attempts if failure else 0, now, redo=True))
    return period.group
