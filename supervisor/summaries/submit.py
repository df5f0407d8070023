"""
Tasks for the worker: one for each summary that is due, or one that a person asks for; covered dated files move to originals/.

What is due is decided in `schedule.py`, how many calls the model may get in `llm_state.py`; the results are taken in by
`collect.py`. Source: docs/reference/protocol.md, 3, Groups and roll-up, and 6.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial

from ..archive.coverage import covered
from ..archive.history import HistoryStore
from ..archive.journal import SeenJournal
from ..archive.memory_folder import MemoryFolder
from ..archive.plan import mark_pending
from ..events import Events
from ..protocol.config import Config
from ..protocol.llm import writes_extracts
from ..protocol.message import Failure, Message
from ..protocol.paths import Period, day, month, read_period
from ..protocol.queue import TaskQueue
from ..protocol.summary_file import Summary
from ..protocol.task import Task, task_id
from ..storage.clock import local_day, to_wire
from ..storage.control import ErrorCollector
from ..storage.errors import BadRequest
from ..storage.texts import Text
from .llm_state import MAX_QUEUED, ModelUse, calls_left, calls_needed, summary_writer
from .meanwhile import stands_alone
from .schedule import TWICE, SummaryJob, due_summaries, files_by_period, is_due, not_pruned, refused_mark, summary_job


def submit_due(now: datetime, *, history: HistoryStore, journal: SeenJournal, memory: MemoryFolder, use: ModelUse) -> int:
    """Move covered files to originals/, and submit the tasks of the summaries that are due, newest first; returns how many."""
    task_queue, config, events = use.task_queue, use.config, use.events
    # gather
    # without a dated file that lost its head, which fsck reports, and one that the journal misses: its messages are not known
    files = [file for file in memory.dated() if file.ours == (file.name in journal.names)]
    summaries, failures, active = memory.summaries(), task_queue.failures(), task_queue.active_groups()
    today, recent_days = local_day(now, config.archive.zone), config.archive.recent_days
    # decide
    writer = summary_writer(memory, use)
    named, by_period = covered(files, summaries), files_by_period(files, today, recent_days)
    old = [file for period, members in by_period.items() if not writer.shows(period, members) for file in members]
    moving = [file.name for file in old if file.ours and not file.original and file.name in named]
    due = due_summaries(not_pruned(files, summaries, journal.pruned), summaries, today, recent_days, writer)
    waiting = {group for group, failure in failures.items() if not is_due(failure.failed_at, failure.next_at, now)}
    ready = [job for job in due if job.period.group not in active and job.period.group not in waiting]
    costs = {job.period.group: calls_needed(job.size, config.llm) for job in due}
    in_flight = sum(costs.get(group, 1) for group in active)  # a person may have asked for a group that is not due
    ready = ready[: max(0, MAX_QUEUED - task_queue.queued_count())]
    left = calls_left(now, in_flight, use)
    ready = _affordable(ready, costs, left)
    # a day that is recent again, since the clock was set back, keeps the wait of its failure; a short day, that it was refused
    kept = waiting | {group for group, failure in failures.items() if failure.refused.endswith(TWICE)}
    kept &= {group for f in files if f.name not in named for group in (day(f.day).group, month(f.day).group)}
    # apply
    errors = _move_to_originals(moving, memory, events)
    for group in failures.keys() - _groups_to_retry(due, writer.given_up) - active.keys() - kept:
        task_queue.clear(group)  # nothing is left to summarise
    ready = [job for job in ready if not _stands(job, summaries, now, memory, use)]
    _mark(ready, history, journal)
    submitted = _submit(ready, failures, now, use)
    errors.raise_first()
    return submitted


def submit_again(
    label: str,
    now: datetime,
    *,
    journal: SeenJournal,
    memory: MemoryFolder,
    task_queue: TaskQueue,
    config: Config,
    prepare: Callable[[], None],
) -> str:
    """
    Submit the task of the day or month *label*, reading everything again, and return its group; an active task stays as it is.

    BadRequest when *label* is no period or has no dated file, NewerFormat when a newer recalld uses the workspace. *prepare*
    makes the workspace's folders. A failure is not tried again, and leaves the existing summary as it is.
    """
    period = read_period(label)
    if period is None:
        raise BadRequest("period", Text("{label!r} is no day (2026-01-28) and no month (2026-01)", label=label))
    members = [file for file in memory.dated() if period.holds(file.day)]
    if not members:
        raise BadRequest("period", Text("memory has no dated file of {label}, so there is nothing to summarise", label=label))
    journal.refresh()
    standing = memory.summaries().get(period)
    if standing and any(source.name in journal.pruned for source in standing.sources):
        raise BadRequest(
            "period",
            Text(
                "dated files of {label} were pruned, and its summary has what they said: take them back from trash/ first, with `recalld undo`",
                label=label,
            ),
        )
    prepare()
    if period.group not in task_queue.active_groups():
        failure = task_queue.failures().get(period.group)
        job = summary_job(period, members, memory.summaries(), from_scratch=True)
        task_queue.submit(_task_of(job, failure, now, config.archive.timezone, redo=True))
    return period.group


def _stands(job: SummaryJob, summaries: Mapping[Period, Summary], now: datetime, memory: MemoryFolder, use: ModelUse) -> bool:
    """Return whether the extract of the job stands, which nobody has decided yet: an older one, a day before its month."""
    existing = summaries.get(job.period)
    is_open = existing is None or (existing.extract and not existing.waits)
    return is_open and not writes_extracts(use.config.llm) and stands_alone(now, job.period, job.sources, memory, use)


def _affordable(ready: Iterable[SummaryJob], costs: Mapping[str, int], left: int) -> list[SummaryJob]:
    """Return the first jobs that *left* calls can pay; a first job that needs more calls than that is returned alone."""
    chosen: list[SummaryJob] = []
    for job in ready:
        cost = costs[job.period.group]
        if left <= 0 or (cost > left and chosen):
            break
        chosen.append(job)
        left -= cost
    return chosen


def _groups_to_retry(due: Iterable[SummaryJob], given_up: Collection[str]) -> set[str]:
    """
    Return the groups whose failures still count: the days and the months of all files that are due.

    A month whose days come first keeps its wait (protocol.md, 3.12), and a given-up day is not asked for again.
    """
    days = {source.name[: len("2026-01-28")] for job in due for source in job.sources}
    months = {label[: len("2026-01")] for label in days}
    left = {group for group in given_up if group.removeprefix("day-")[: len("2026-01")] in months}
    return {f"day-{label}" for label in days} | {f"month-{label}" for label in months} | left


def _move_to_originals(names: Iterable[str], memory: MemoryFolder, events: Events) -> ErrorCollector:
    """Move the files, each failing alone; returns the errors."""
    errors, moved = ErrorCollector(), 0
    for name in names:
        with errors:
            moved += memory.move_to_originals(name)
    if moved:
        events.emit("moved", files=moved)
    return errors


def _mark(ready: Iterable[SummaryJob], history: HistoryStore, journal: SeenJournal) -> None:
    """Mark the groups' written `false` messages pending before their tasks exist."""
    names = {source.name for job in ready for source in job.sources}
    entries = history.read() if names else ()
    keys = frozenset(e.key for e in entries if isinstance(e, Message) and journal.file_of(e.key) in names)
    if keys:
        history.change(partial(mark_pending, keys=keys))


def _submit(ready: Sequence[SummaryJob], failures: Mapping[str, Failure], now: datetime, use: ModelUse) -> int:
    tasks = []
    for job in ready:
        failure = failures.get(job.period.group)
        is_apart = failure is not None and failure.refused == refused_mark(use.model_version, job.sources)
        tasks.append(_task_of(job, failure, now, use.config.archive.timezone, apart=is_apart))
    submitted = [task for task in tasks if use.task_queue.submit(task)]
    if submitted:
        use.events.emit("submitted", tasks=len(submitted), groups=[task.group for task in submitted])
    return len(submitted)


def _task_of(
    job: SummaryJob, failure: Failure | None, now: datetime, timezone: str, *, redo: bool = False, apart: bool = False
) -> Task:
    """Return the task of the job, after the last *failure* of its group; *apart* asks in another way, after a refusal."""
    attempt = failure.attempts if failure else 0
    return Task(
        id=task_id(job.period.group, job.sources, attempt, job.previous_digest),
        kind="daily-summary" if job.period.kind == "day" else "monthly-summary",
        group=job.period.group,
        period=job.period.label,
        zone=timezone,
        sources=job.sources,
        material=job.material,
        previous=job.previous,
        previous_digest=job.previous_digest,
        redo=redo,
        apart=apart,
        created_at=to_wire(now),
        attempt=attempt,
    )
