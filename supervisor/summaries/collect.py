"""Taking in what the worker made: judged, written beside the originals, and only then forgotten (docs/protocol.md, 3 and 6)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from supervisor.archive.coverage import may_replace
from supervisor.protocol.clock import to_wire
from supervisor.protocol.errors import Conflict, ErrorCollector
from supervisor.protocol.period import Period, period_of_group
from supervisor.protocol.summary_file import Summary
from supervisor.protocol.task import task_id
from supervisor.summaries.llm_state import note_result, prompt_marks
from supervisor.summaries.quality import cleaned, reject_reason, says_nothing
from supervisor.summaries.retry import delay_after, jittered
from supervisor.text.language import language_of
from supervisor.text.small_talk import is_chitchat

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from supervisor.protocol.task import Reason, Result
    from supervisor.workspace import Workspace

#: Characters of the material that a text is judged beside.
_SAMPLE: Final = 50_000
#: What an empty summary says, so that a person who opens it knows why.
NOTHING = "> 无需记录 · Nothing to record."


def collect_results(ws: Workspace, now: datetime) -> int:
    """Take in every finished task; returns how many summaries were written."""
    written, each = 0, ErrorCollector()
    for path in ws.task_queue.finished():
        if ws.should_stop():
            break
        with each:
            written += _take(ws, path, now)
    each.raise_first()
    return written


def _take(ws: Workspace, path: Path, now: datetime) -> bool:
    """Take in one result; what is none is set aside."""
    try:
        result = ws.task_queue.read_result(path)
        period = period_of_group(result.group)
        if period is None:
            raise ValueError("it belongs to no group")
    except ValueError as error:
        _set_aside(ws, path, str(error))
        return False
    try:
        written = _take_in(ws, result, period, now)
    except Conflict:
        return False  # a person saved the summary in this moment: the next round reads it anew
    note_result(ws, result, now)  # not before, since what fails to be taken in is taken in again
    ws.task_queue.discard(path)
    return written


def _take_in(ws: Workspace, result: Result, period: Period, now: datetime) -> bool:
    # gather
    files = ws.memory.dated()
    standing = ws.memory.summaries().get(period)
    # decide
    result = replace(result, text=cleaned(result.text))
    empty = result.status == "done" and says_nothing(result.text)
    reason = result.reason
    if result.status == "done":
        better = result.redo or (standing is not None and standing.extract and not result.extract)
        continues_nothing = bool(result.previous_digest) and standing is None  # a person deleted what it continued
        if continues_nothing or not may_replace(result.sources, standing, files, better=better):
            ws.memory.ensure_summary_durable(period)  # which may be this very one, of a process that was killed
            ws.events.emit("dropped", group=result.group)
            return False
        reason = _fault(ws, result, period) if not empty else None
    if empty and not _all_chitchat(ws, result):
        reason = "empty"
    if result.id != task_id(result.group, result.sources, result.attempt, result.previous_digest):
        reason = "refused"  # it names what its task did not
    # apply
    if reason == "provider":
        return False  # it costs the group no attempt
    if reason:
        unchanged = {file.source for file in files}.issuperset(result.sources)
        if reason != "lost" or unchanged:
            _fail(ws, result, reason, now)
        return False
    _write(ws, result, period, now, empty=empty)
    ws.task_queue.clear(result.group)
    return True


def _fault(ws: Workspace, result: Result, period: Period) -> Reason | None:
    """Return why the text can't stand, judged beside a sample of what it was made from."""
    said = [_said_in(ws, source.name) for source in result.sources]
    days = ws.memory.summaries().items() if period.kind == "month" else ()
    said += [standing.text[:_SAMPLE] for day, standing in days if day.kind == "day" and day.label.startswith(period.label)]
    # a month is told from its days, as a person may have edited them, and all languages count alike: where they differ,
    # either is right
    languages = {language_of(text) for text in said if text.strip()}
    return reject_reason(
        result.text,
        ws.config.archive.summarise_chars,
        material_language=languages.pop() if len(languages) == 1 else None,
        material="".join(said)[:_SAMPLE],
        prompt_marks=() if result.extract else prompt_marks(),
        extract=result.extract,
    )


def _said_in(ws: Workspace, name: str) -> str:
    """Return what a dated file or a note says, up to the sample's length."""
    said = ""
    for text in ws.memory.message_texts(name):
        if len(said) >= _SAMPLE:
            break
        said += f"{text[:_SAMPLE]}\n"
    return said


def _write(ws: Workspace, result: Result, period: Period, now: datetime, *, empty: bool) -> None:
    look, before = ws.memory.read_summary(period)
    summary = Summary(
        period=period.label,
        zone=ws.config.archive.timezone,
        created=to_wire(now),
        text=NOTHING if empty else result.text,
        sources=result.sources,
        provider=result.provider,
        model=result.model,
        prompt=result.prompt,
        extract=result.extract,
        empty=empty,
        kept=before.kept if before else "",
    )
    ws.memory.write_summary(period, summary, look)
    ws.events.emit("summarised", group=result.group, files=len(result.sources), ms=result.duration_ms)


def _fail(ws: Workspace, result: Result, reason: Reason, now: datetime) -> None:
    """Write the failure down, once per attempt; the group's messages mirror it when they are settled."""
    config = ws.config.archive
    before = ws.failures().get(result.group)
    attempts = result.attempt + 1
    if before and before.attempts >= attempts:
        return
    delay = delay_after(attempts, config.backoff, config.backlog_interval)
    delay = jittered(delay, config.jitter, f"{result.group}-{attempts}")
    ws.task_queue.fail(result.group, attempts, now, now + delay, reason)
    ws.events.emit("summary_failed", group=result.group, reason=reason, attempts=attempts)
    if attempts == config.max_attempts:
        ws.events.emit("archive_backlog", group=result.group, attempts=attempts)


def _all_chitchat(ws: Workspace, result: Result) -> bool:
    """Tell whether the supervisor's own rule agrees that the sources hold nothing but chit-chat."""
    said = (text for source in result.sources for text in ws.memory.message_texts(source.name))
    return all(not text.strip() or is_chitchat(text) for text in said)


def _set_aside(ws: Workspace, path: Path, why: str) -> None:
    look = ws.files.read_stable(path)
    if look:
        kept = ws.quarantine.keep("result", look.data)
        ws.events.emit("file_quarantined", file=ws.paths.relative(path), why=why, **({"copy": False} if kept == "full" else {}))
    ws.task_queue.discard(path)
