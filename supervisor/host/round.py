"""
One round of the supervisor, which runs each step of the flow once; when the next is due; and rounds until nothing is due.

The functions at the top pass to each step of `archive` and `summaries` the stores and settings that it uses. A step that fails
is reported once and does not stop the others; the next round tries it again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from ..archive import run as archive_run
from ..archive.intake import intake, keep_damaged, unwritten
from ..archive.run import archive, next_run, tell_overflow, trim_history, why_due
from ..events import FaultScope
from ..storage.clock import local, within
from ..storage.control import UNLIMITED, Control, noting
from ..storage.errors import AlreadyRuns, BadFile, SupervisorError
from ..summaries.collect import collect_results
from ..summaries.llm_state import left_as_they_are, provider_state
from ..summaries.meanwhile import write_extracts
from ..summaries.submit import submit_due
from ..workspace import Workspace
from .lock import supervisor_lock, sweep_shared
from .workers import Workers

T = TypeVar("T")
#: The wait after a step that failed, and while a step is still due at the end of a round.
AGAIN: Final = timedelta(seconds=30)
#: The longest time between two rounds: a change that nothing announced is found by then.
LONGEST: Final = timedelta(hours=6)
#: Bytes that a disk has to take before a command that it refused counts as over.
_TRIAL_BYTES: Final = 65_536
#: Seconds to wait for a running supervisor.
_ARCHIVE_S: Final = 30.0
#: Seconds between two looks for results.
_POLL_S: Final = 0.03
#: How many workers in a row may end without a result.
_MAX_DEATHS: Final = 3


def reconcile_flags(ws: Workspace, now: datetime) -> None:
    """Set every flag in history.json to what the files show."""
    archive_run.reconcile_flags(ws, ws.today(now), partial(left_as_they_are, memory=ws.memory, use=ws.model_use))


def collect(ws: Workspace, now: datetime, control: Control = UNLIMITED) -> int:
    """Take in the results of the worker; returns how many summaries were written."""
    return collect_results(
        now,
        files=ws.files,
        memory=ws.memory,
        quarantine=ws.quarantine,
        tombstones=ws.journal.tombstones,
        use=ws.model_use,
        control=control,
    )


def forget(ws: Workspace, now: datetime) -> int:
    """Finish what a person asked to forget, and take out again what another program has brought back; 0 if nothing was."""
    if not ws.files.disk.stat(ws.paths.forgotten):
        return 0
    from ..forgetting.sweep import has_returned, sweep  # lazy: most workspaces have forgotten nothing

    ws.journal.refresh()
    return sweep(ws, now) if ws.journal.tombstones.unfinished() or has_returned(ws) else 0


def submit(ws: Workspace, now: datetime) -> int:
    """Submit the tasks of the summaries that are due; returns how many."""
    return submit_due(now, history=ws.history, journal=ws.journal, memory=ws.memory, use=ws.model_use)


@dataclass(slots=True)
class Round:
    """The counts of what one round did, and its errors by step."""

    seen: int = 0
    archived: int = 0
    summaries: int = 0
    begun: int = 0  # summaries whose task was submitted, or which stand as extracts
    trimmed: int = 0
    unfinished: int = 0
    errors: dict[str, SupervisorError] = field(default_factory=dict)

    @property
    def did(self) -> int:
        """The sum of the counts; 0 if nothing was due."""
        return self.seen + self.archived + self.summaries + self.begun + self.trimmed

    @property
    def may_leave_more(self) -> bool:
        """True if another round may find more to do at once; new and trimmed messages are no reason: they are done."""
        return bool(self.did - self.seen - self.trimmed)

    def found_damage(self, history: Path) -> bool:
        """Return whether a step reported that the file *history* is damaged."""
        return any(_is_damage(error, history) for error in self.errors.values())

    def add(self, other: Round) -> None:
        """Add the counts of a later round, and take over its errors."""
        self.seen += other.seen
        self.archived += other.archived
        self.summaries += other.summaries
        self.begun += other.begun
        self.trimmed += other.trimmed
        self.errors = other.errors


def run_round(
    ws: Workspace,
    now: datetime,
    *,
    everything: bool = False,
    ageing: bool = True,
    before: Iterable[SupervisorError] = (),
    control: Control = UNLIMITED,
) -> Round:
    """
    Run each step once at *now*.

    With *everything* every unwritten message is archived, else what is due. Without *ageing* no summary is submitted and no
    text deleted: the clock was set, and a day may only look as if it were over. *before* are errors since the last round; they
    are reported with those of this one.
    """
    past = ws.events.once()
    with ws.journal.held(), noting() as noted:
        done = _run_steps(ws, now, control, everything=everything, ageing=ageing)
        ws.events.attempt("diary", lambda: _keep(ws, noted, now), None)
    report_errors(ws, (*before, *done.errors.values()))
    if past:
        ws.events.attempt("disk", lambda: _end_if_writable(ws, past), None, once=False)
    return done


def _end_if_writable(ws: Workspace, faults: Mapping[str, tuple[SupervisorError, ...]]) -> None:
    """End the *faults* of `Events.once` if the disk takes a file; OSError if it does not."""
    with suppress(FileExistsError):
        ws.files.create(ws.paths.trial, bytes(_TRIAL_BYTES))
    ws.files.remove(ws.paths.trial)
    ws.events.end(faults)


def _keep(ws: Workspace, noted: list[dict[str, Any]], now: datetime) -> None:
    """Write down what was noted, and which dated files a person has edited since."""
    edited = [file for file in ws.memory.dated() if file.edited and file.ours]
    acts = [*noted, *(act.fields for act in ws.diary.acts().values())] if edited else []  # what is forgotten now, too
    known = {digest for fields in acts for digest in (fields.get("digest"), *fields.get("digests", ()))}
    new = [{"kind": "hand", "day": file.day.isoformat(), "digest": file.digest} for file in edited if file.digest not in known]
    ws.diary.keep([*noted, *new], now)


def _run_steps(ws: Workspace, now: datetime, control: Control, *, everything: bool, ageing: bool) -> Round:
    scope = FaultScope(ws.paths.root)
    done = Round(errors=scope.errors)

    def run_step(name: str, step: Callable[[], T], otherwise: T) -> T:
        return otherwise if control.should_stop() else scope.attempt(name, step, otherwise)

    run_step("forget", lambda: forget(ws, now), 0)
    done.seen = run_step("intake", lambda: intake(ws, now, control), 0)
    done.summaries = run_step("harvest", lambda: collect(ws, now, control), 0)
    done.archived = run_step("archive", lambda: _archive_due(ws, now, control, everything=everything), 0)
    run_step("groups", lambda: ws.groups.keep(now), None)
    if ageing:
        done.begun = run_step("extracts", lambda: write_extracts(now, memory=ws.memory, use=ws.model_use, control=control), 0)
        done.begun += run_step("roll-up", lambda: submit(ws, now), 0)
    run_step("settle", lambda: reconcile_flags(ws, now), None)
    run_step("deletions", ws.deletions.record, None)
    run_step("deletions", ws.deletions.drop_summaries, 0)
    done.trimmed = run_step("trim", lambda: trim_history(ws), 0)
    run_step("compact", lambda: ws.journal.compact() if ws.journal.is_bloated() else None, None)
    run_step("sweep", lambda: sweep_shared(ws, now), 0)
    if ageing:
        care = ws.config.care
        run_step("previous", lambda: ws.replaced_texts.drop(now, care.previous_age, care.previous_bytes), 0)
        run_step("trash", lambda: ws.trash.empty(now, care.trash_days), 0)
    if done.found_damage(ws.paths.history):
        run_step("quarantine", lambda: keep_damaged(ws.history, ws.quarantine), None)
    return done


def _archive_due(ws: Workspace, now: datetime, control: Control, *, everything: bool) -> int:
    if not everything:
        tell_overflow(ws)
    return archive(ws, now, control, everything=everything) if everything or why_due(ws, now) else 0


def _is_damage(error: SupervisorError, history: Path) -> bool:
    return isinstance(error, BadFile) and str(error.path) == str(history)


def report_errors(ws: Workspace, errors: Collection[SupervisorError]) -> None:
    """Report the present faults of the rounds; a damaged history.json has an event of its own."""
    damage = "; ".join(sorted({str(error) for error in errors if _is_damage(error, ws.paths.history)}))
    ws.events.transition("history_invalid", damage, why=damage)
    ws.events.report("rounds", [error for error in errors if not _is_damage(error, ws.paths.history)])


def until_settled(ws: Workspace, now: datetime, workers: Workers | None, control: Control = UNLIMITED) -> Round:
    """
    Do all that is due at *now*: archive every unwritten message, have summaries written; return the counts.

    Groups whose retry is not due are left for later. Ends early when *control* says stop; AlreadyRuns if a supervisor runs.
    """
    total = Round()
    with supervisor_lock(ws):
        while not control.should_stop():
            done = run_round(ws, now, everything=True, control=control)
            total.add(done)
            if done.did:
                continue
            active = ws.task_queue.active_groups()
            if not active or "harvest" in done.errors or workers is None or workers.failures >= _MAX_DEATHS:
                total.unfinished = len(active)
                break
            control.progress("summaries", total.summaries, total.summaries + len(active))
            _await_result(ws, workers, control)
        if workers:
            workers.stop()
    return total


def archive_now(ws: Workspace, now: datetime) -> tuple[dict[str, str], int]:
    """
    Write every unwritten message to a dated file; return these files by the messages' ids, and how many are still unwritten.

    A running supervisor is asked to do it, and this waits for it. The first error of a step is raised.
    """
    keys = [message.key for message in ws.unfiled.messages(now)]
    try:
        with supervisor_lock(ws):
            for error in run_round(ws, now, everything=True).errors.values():
                raise error
    except AlreadyRuns:
        with suppress(FileExistsError):
            ws.files.create(ws.paths.archive_request, b"")
        deadline = within(_ARCHIVE_S)
        while ws.files.disk.stat(ws.paths.archive_request) and not deadline.is_over:
            time.sleep(_POLL_S)
    ws.journal.refresh()
    places = [(identity, ws.journal.file_of((identity, digest))) for identity, digest in keys]
    return {identity: file for identity, file in places if file}, sum(file is None for _, file in places)


def _await_result(ws: Workspace, workers: Workers, control: Control) -> None:
    """Keep a worker running until a result has arrived, or none can be expected."""
    while not control.should_stop() and not ws.task_queue.finished():
        workers.start_if_needed()
        workers.watch_leases()
        if workers.failures >= _MAX_DEATHS or not ws.task_queue.active_groups():
            return
        time.sleep(_POLL_S)


# ── when time alone makes a round due, so that none is done just to find out ──


def next_due(ws: Workspace, now: datetime) -> datetime:
    """Return when a step of a round will be due, seen from the end of a round at *now*; nothing changes until then."""
    return min(moment if moment > now else now + AGAIN for moment in _moments(ws, now))


def quiet_until(ws: Workspace, now: datetime) -> datetime | None:
    """Return when the `care.quiet_hours` end that *now* is in; None where it is in none. "22:00-07:00" goes over midnight."""
    begin, _, end = ws.config.care.quiet_hours.partition("-")
    here = local(now, ws.zone)
    at = f"{here:%H:%M}"
    if not (begin <= at < end if begin <= end else at >= begin or at < end):
        return None
    day = here.date() + timedelta(days=at >= end)
    return datetime.fromisoformat(f"{day}T{end}").replace(tzinfo=ws.zone).astimezone(now.tzinfo)


def _moments(ws: Workspace, now: datetime) -> Iterator[datetime]:
    yield now + LONGEST
    midnight = datetime.combine(ws.today(now) + timedelta(days=1), datetime.min.time(), ws.zone)
    yield local(midnight, ws.zone)
    if quiet_end := quiet_until(ws, now):
        yield quiet_end
    retries = (provider_state(ws.task_queue).next_at, *(failure.next_at for failure in ws.failures().values()))
    yield from (retry for retry in retries if retry and retry > now)
    history = ws.history.read()
    if run := next_run(ws, history, unwritten(history, ws.journal), now):
        yield run[0]
