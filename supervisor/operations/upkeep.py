"""
The operations that show and repair the state of a workspace: status, checks, events, plan, fsck, restore, archive, the index.

All are for the owner alone. `doctor` is not one of them, since it also examines a workspace that can't be opened.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..archive.coverage import MemoryFile, memory_file
from ..archive.memory_folder import MemoryFolder
from ..archive.plan import DayFile, plan_days, without_open_questions
from ..archive.quarantine import Unread
from ..archive.run import taken_names, why_due
from ..checks.check import Finding, Look
from ..protocol.dated_file import DatedFile, parse_dated, render_dated
from ..protocol.message import Failure
from ..protocol.summary_file import Summary
from ..storage.clock import to_wire
from ..storage.errors import BadFile, BadRequest
from ..storage.texts import Text, msgid
from ..summaries.llm_state import BYTES_PER_TOKEN, calls_needed, configured_state, summary_writer
from ..summaries.schedule import SummaryJob, due_summaries, is_due, not_pruned
from ..workspace import Workspace
from .operation import OfPython, Visible, operation

if TYPE_CHECKING:
    from ..checks.fsck import Ledger, Repairs
    from ..index.manifest import Changes
    from ..index.view import Inventory


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusAnswer:
    """The *facts* by stable keys, with wire times; the *sentences* about what is wrong, and whether all is well."""

    facts: Mapping[str, Any]
    sentences: tuple[str, ...]
    is_well: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreAnswer:
    """
    How many messages history.json has after it was *restored* (0: nothing was done).

    *unread* says what could not be read of this damaged file and of earlier ones.
    """

    restored: int
    unread: tuple[Unread, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveAnswer:
    """The dated *files* by the ids of the messages that were written, and how many messages are *left*."""

    files: Mapping[str, str]
    left: int


@operation("status", owner=True)
def status(memory: Visible, ask: OfPython = None, version: OfPython = None) -> StatusAnswer:
    """
    Return the state of the workspace, and what is wrong with it.

    *ask* returns the version of the running supervisor, *version* that of this recalld, as for `Look`; both are None when the
    supervisor itself answers.
    """
    from ..checks.table import status as status_of
    from ..checks.table import verdict

    others = (ask, version) if ask else ()
    look = Look(memory.ws, memory.caller.clock(), *others)
    facts = status_of(look)
    sentences, is_well = verdict(look)
    facts["trouble"] = facts["trouble"] or (None if is_well else sentences[0])
    return StatusAnswer(facts=facts, sentences=tuple(sentences), is_well=is_well)


@operation("fsck", owner=True, within_s=600.0)
def fsck(memory: Visible) -> Ledger:
    """Account for every message and file."""
    from ..checks.table import account

    return account(Look(memory.ws, memory.caller.clock()))


@operation("repair", owner=True, within_s=600.0)
def repair(memory: Visible) -> Repairs:
    """Repair what fsck finds, as far as possible; AlreadyRuns while a supervisor runs."""
    from ..checks.fsck import repair as mend
    from ..host.lock import supervisor_lock

    with supervisor_lock(memory.ws):
        return mend(memory.ws, memory.caller.clock())


@operation("accept", owner=True)
def accept(memory: Visible, file: Path) -> int:
    """
    Record that the missing messages of a dated file are not wanted; return how many. BadRequest if none are missing.

    A damaged file stays as it is: what is left of it is the person's.
    """
    ws, name = memory.ws, file.name
    with ws.files.lock(ws.paths.history_lock):
        ws.journal.refresh()
        gone = ws.deletions.absences()
        missing = {**gone.damaged, **gone.cut, **gone.lost}.get(name)
        if missing is None:
            sentence = msgid("nothing is missing of {name}; `recalld status` names the dated files of which something is")
            raise BadRequest("--accept", Text(sentence, name=name))
        digests = {file.name: file.digest for file in ws.memory.dated() if file.name in gone.damaged}
        ws.journal.record_accepted(missing, name, digests.get(name, ""))
    ws.events.emit("accepted", file=name, messages=len(missing))
    return len(missing)


@operation("restore", owner=True, within_s=600.0)
def restore(memory: Visible) -> RestoreAnswer:
    """Restore a damaged or lost history.json."""
    from ..archive.intake import restore_history

    ws = memory.ws
    ws.prepare()
    restored = restore_history(ws, memory.caller.clock())
    if not restored:
        _refuse_unreadable(ws)
    ws.journal.refresh()
    return RestoreAnswer(restored=restored, unread=tuple(ws.quarantine.unread(ws.journal.known.ids)))


def _refuse_unreadable(ws: Workspace) -> None:
    """Refuse a history.json of which nothing could be restored: it lies there as it was."""
    from ..archive.intake import keep_damaged

    try:
        ws.history.read()
    except BadFile as error:
        mend = Text("nothing was restored; correct it, or move it away")
        if not keep_damaged(ws.history, ws.quarantine):
            mend = Text(
                "nothing was restored, since .recalld/quarantine is full; delete there what you do not need, and try again"
            )
        raise BadFile(error.path, error.why, mend) from None


@operation("archive", owner=True, within_s=600.0)
def archive(memory: Visible) -> ArchiveAnswer:
    """Write every message to its dated file now; if a supervisor runs, ask it to do so and wait for it."""
    from ..host.round import archive_now

    files, left = archive_now(memory.ws, memory.caller.clock())
    return ArchiveAnswer(files=files, left=left)


@operation("redo", owner=True)
def redo(memory: Visible, period: str) -> str:
    """Have a summary written again and return its group; the old one is kept until the new one is there."""
    from ..summaries.submit import submit_again

    ws = memory.ws
    stores: dict[str, Any] = {"journal": ws.journal, "memory": ws.memory, "task_queue": ws.task_queue}
    return submit_again(period, memory.caller.clock(), **stores, config=ws.config, prepare=ws.prepare)


@operation("index_status", owner=True)
def index_status(memory: Visible) -> Inventory:
    """Return what the index holds, and how many files differ from it."""
    return memory.ws.index.inventory()


@operation("index_rebuild", owner=True, within_s=600.0)
def index_rebuild(memory: Visible, wait_s: float = 10.0) -> Changes:
    """Rebuild the index from the files, unless another process keeps it locked for longer than *wait_s* (`shared`)."""
    return memory.ws.searcher.refresh(wait_s, memory.control, rebuild=True)


@operation("examine", owner=True, within_s=60.0)
def examine(memory: Visible, slow: bool = False) -> list[Finding]:
    """Return what each check finds, in the order of `doctor`; a check without a fault is "good", a slow one may be left out."""
    from ..checks.table import examine as examine_all

    return examine_all(Look(memory.ws, memory.caller.clock(), slow=slow))


# ── what the next run would do ───────────────────────────────────────────────


class _Filed(MemoryFolder):
    """The memory as it will be once these *days* are filed."""

    def __init__(self, ws: Workspace, days: Sequence[DayFile], now: datetime) -> None:
        super().__init__(ws.files, ws.paths)
        zone = ws.config.archive.timezone
        self._planned = {day.name: render_dated(day.day, zone, ws.zone, now, day.blocks, ws.config.language) for day in days}
        paths = [(day.day, self.path_of(day.name)) for day in days]
        self._new = [memory_file(self._planned[path.name], path, day, "", original=False) for day, path in paths]

    def dated(self) -> tuple[MemoryFile, ...]:
        return (*super().dated(), *self._new)

    def parsed(self, name: str) -> DatedFile | None:
        data = self._planned.get(name)
        return parse_dated(data, self.path_of(name)) if data else super().parsed(name)


@operation("plan", owner=True)
def plan(memory: Visible) -> dict[str, Any]:
    """Return what a run would do now: why it is due, its dated files, and the summaries in their order, also of these."""
    from ..checks.table import next_run_of, paused_until

    ws, now = memory.ws, memory.caller.clock()
    look = Look(ws, now)
    if look.no_history:
        raise look.no_history
    summaries, archive, waiting = ws.memory.summaries(), ws.config.archive, look.waiting
    chosen = without_open_questions(waiting, now, archive.exchange_wait)
    days = plan_days(chosen, ws.zone, taken_names(ws.memory, ws.journal), ws.journal.has_written, ws.slugs)
    filed = _Filed(ws, days, now)
    summarised = not_pruned(filed.dated(), summaries, ws.journal.pruned)
    work = due_summaries(summarised, summaries, ws.today(now), archive.recent_days, summary_writer(filed, ws.model_use))
    failures, active = ws.failures(), ws.task_queue.active_groups()
    model = configured_state(ws.task_queue, ws.endpoint)
    return {
        "at": to_wire(now),
        "today": ws.today(now).isoformat(),
        # a due run leaves open questions for later, and may find nothing else
        "due": why_due(ws, now) if days else None,
        "nextRun": next_run_of(look),
        "unwritten": len(waiting),
        "dated": [{"file": day.name, "messages": len(day.blocks)} for day in days],
        "providerPausedUntil": paused_until(model, now),
        "providerPausedBecause": model.reason or None,
        "summaries": [
            _planned(ws, filed, job, summaries.get(job.period), failures.get(job.period.group), now, active) for job in work
        ],
    }


def _planned(
    ws: Workspace,
    memory: MemoryFolder,
    job: SummaryJob,
    existing: Summary | None,
    failure: Failure | None,
    now: datetime,
    active: Collection[str],
) -> dict[str, Any]:
    """Return what a summary that is due will take; nothing of a model where its extract stands."""
    from ..summaries.meanwhile import waits_for_no_model  # imported here, since `status` does not need it

    # an extract that waits was found to need a model
    may_stay = not ws.extracting and (existing is None or (existing.extract and not existing.waits))
    is_spared = may_stay and waits_for_no_model(job.period, job.sources, memory, ws.config)
    waits = failure is not None and not is_due(failure.failed_at, failure.next_at, now)
    return {
        "group": job.period.group,
        "files": len(job.sources),
        "messages": sum(source.count for source in job.sources),
        "calls": 0 if is_spared else calls_needed(job.size, ws.config.llm),
        "tokens": 0 if ws.extracting or is_spared else job.size // BYTES_PER_TOKEN,
        "inFlight": job.period.group in active,
        "waitsUntil": to_wire(failure.next_at) if failure and waits else None,
    }
