"""
Results of the worker: each is judged, written as a summary or as a failure, and only then deleted from the queue.

Whether a text is good enough is decided in `quality.py`, how long a failure waits in `retry.py`. Source: protocol.md, 3
and 6.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from ..archive.coverage import may_replace
from ..archive.memory_folder import MemoryFolder
from ..archive.quarantine import Quarantine
from ..archive.tombstones import Tombstones
from ..extracts.candidates import are_courtesies
from ..protocol.message import Failure
from ..protocol.paths import Period, period_of_group
from ..protocol.summary_file import Summary
from ..protocol.task import NO_ANSWER, Reason, Result, task_id
from ..storage.clock import to_wire
from ..storage.control import Control, ErrorCollector
from ..storage.errors import Conflict
from ..storage.files import Files
from ..text.llm_output import cleaned, says_nothing
from .llm_state import ModelUse, note_answer, note_result, summary_writer
from .meanwhile import NOTHING, stand_after_refusals
from .quality import judge, reject_form
from .reading import blocks_of, material_of
from .schedule import Backoff, refused_mark


@dataclass(frozen=True, slots=True)
class _Stores:
    """What a result is read from, judged by, and written to."""

    files: Files
    memory: MemoryFolder
    quarantine: Quarantine
    tombstones: Tombstones
    use: ModelUse


def collect_results(
    now: datetime,
    *,
    files: Files,
    memory: MemoryFolder,
    quarantine: Quarantine,
    tombstones: Tombstones,
    use: ModelUse,
    control: Control,
) -> int:
    """Take in every finished task, until *control* says stop; returns how many summaries were written."""
    stores = _Stores(files, memory, quarantine, tombstones, use)
    written, errors = 0, ErrorCollector()
    for path in use.task_queue.finished():
        if control.should_stop():
            break
        with errors:
            written += _take(stores, path, now, is_awaited=True)
    for path in use.task_queue.abandoned():
        with errors:
            _take(stores, path, now, is_awaited=False)
    errors.raise_first()
    return written


def _take(stores: _Stores, path: Path, now: datetime, *, is_awaited: bool) -> bool:
    """
    Take in one result and delete it; return whether it became a summary. An unreadable result goes to quarantine.

    Of one that nobody awaits any more only the cost is noted.
    """
    try:
        result = stores.use.task_queue.read_result(path)
        period = period_of_group(result.group)
        if period is None and is_awaited:
            raise ValueError("it belongs to no group")
    except ValueError as error:
        _set_aside(stores, path, str(error))
        return False
    try:
        written = period is not None and is_awaited and _take_in(stores, result, period, now)
    except Conflict:
        return False  # a person saved the summary at this moment: the next round reads it again
    # after taking it in: a result that could not be taken in is read again, and its cost must count once
    note_result(result, now, stores.use)
    stores.use.task_queue.discard(path)
    return written


def _take_in(stores: _Stores, result: Result, period: Period, now: datetime) -> bool:
    # gather
    files = stores.memory.dated()
    existing = stores.memory.summaries().get(period)
    # decide
    result = replace(result, text=cleaned(result.text))
    empty = result.status == "done" and says_nothing(result.text)
    reason, text = result.reason, result.text
    if result.status == "done":
        # an old worker may have read words that were forgotten since
        is_forgotten = any(stores.tombstones.has_file(source.name, source.digest) for source in result.sources)
        better = result.redo or (existing is not None and existing.extract and not result.extract)
        continues_nothing = bool(result.previous_digest) and existing is None  # a person deleted the text that it continues
        if is_forgotten or continues_nothing or not may_replace(result.sources, existing, files, better=better):
            # the existing summary may be this very result, written by a process that was killed
            stores.memory.ensure_summary_durable(period)
            stores.use.events.emit("dropped", group=result.group)
            return False
        reason, text = _judged(stores, result, period, existing, empty=empty), NOTHING if empty else text
    is_answer = not result.extract and reason not in NO_ANSWER and (reason or not empty)
    if is_answer and (result.usage.get("calls") or not result.joined):  # else code joined it without a call
        note_answer(result.model, reason, stores.use)
    if result.id != task_id(result.group, result.sources, result.attempt, result.previous_digest):
        reason = "refused"  # it names other sources than its task
    # apply
    if reason == "provider":
        return False  # it costs the group no attempt
    if reason:
        unchanged = {file.source for file in files}.issuperset(result.sources)
        if reason != "lost" or unchanged:
            _fail(stores, result, period, reason, now)
        return False
    _write(stores, result, text, period, now, empty=empty)
    stores.use.task_queue.clear(result.group)
    return True


def _judged(stores: _Stores, result: Result, period: Period, existing: Summary | None, *, empty: bool) -> Reason | None:
    """Return why the text may not become the summary of its sources; *empty*: it says that there is nothing to record."""
    archive = stores.use.config.archive
    if empty:  # right where the sources are only small talk by the supervisor's own rule
        blocks = blocks_of(stores.memory, (source.name for source in result.sources), archive.zone)
        return None if are_courtesies(blocks) else "empty"
    if result.extract:
        return reject_form(result.text, archive.summarise_chars)
    continued = existing.text if existing and not (existing.extract or result.redo) else ""
    material = material_of(stores.memory, period, result.sources, stores.use.config, continued, may_copy=result.joined)
    return judge(result.text, material, archive.summarise_chars)


def _write(stores: _Stores, result: Result, text: str, period: Period, now: datetime, *, empty: bool) -> None:
    version, before = stores.memory.read_summary(period)
    summary = Summary(
        period=period.label,
        zone=stores.use.config.archive.timezone,
        created=to_wire(now),
        text=text,
        sources=result.sources,
        provider=result.provider,
        model=result.model,
        prompt=result.prompt,
        extract=result.extract,
        empty=empty,
        joined=result.joined,
        kept=before.kept if before else "",
    )
    stores.memory.write_summary(period, summary, version)
    stores.use.events.emit("summarised", group=result.group, files=len(result.sources), ms=result.duration_ms)


def _fail(stores: _Stores, result: Result, period: Period, reason: Reason, now: datetime) -> None:
    """
    Write the failure down, once per attempt; the group's messages get it in the next reconciliation of flags.

    After the second refusal of one model for one text no further answer is asked for: from now on the extract stands, and
    covers its files; those of a short day are shown.
    """
    use = stores.use
    last = use.task_queue.failures().get(result.group)
    refused = last.refused if last else ""
    if reason not in NO_ANSWER and not (result.extract or result.redo):
        refused, before = refused_mark(use.model_version, result.sources), refused
        if before.startswith(refused) and _stands_as_it_is(stores, result, period, reason, now):
            use.events.emit("summary_failed", group=result.group, reason=reason, attempts=result.attempt + 1)
            return
    failure = Backoff(result.attempt).again(now)
    if (last and last.attempts >= failure.attempts) or failure.next_at is None:
        return
    use.task_queue.fail(result.group, Failure(failure.attempts, now, failure.next_at, reason, refused))
    use.events.emit("summary_failed", group=result.group, reason=reason, attempts=failure.attempts)
    if failure.attempts == use.config.archive.max_attempts:
        use.events.emit("archive_backlog", group=result.group, attempts=failure.attempts)


def _stands_as_it_is(stores: _Stores, result: Result, period: Period, reason: Reason, now: datetime) -> bool:
    """Have the extract stand, or the files of a short day without a summary be shown; return whether one does."""
    use, members = stores.use, [file for file in stores.memory.dated() if file.source in result.sources]
    if summary_writer(stores.memory, use).shows(period, members) and period not in stores.memory.summaries():
        mark = refused_mark(use.model_version, result.sources, times=2)
        use.task_queue.fail(result.group, Failure(1, now, now, reason, mark))
        return True
    if stands := stand_after_refusals(now, period, result.sources, stores.memory, use):
        use.task_queue.clear(result.group)
    return stands


def _set_aside(stores: _Stores, path: Path, why: str) -> None:
    if version := stores.files.read_stable(path):
        kept = stores.quarantine.keep("result", version.data)
        file = f"worker/{path.parent.name}/{path.name}"
        stores.use.events.emit("file_quarantined", file=file, why=why, **({"copy": False} if kept == "full" else {}))
    stores.use.task_queue.discard(path)
