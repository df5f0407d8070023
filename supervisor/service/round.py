"""
One round of the supervisor, in the order of the flow: meet, harvest, archive, roll up, settle, trim.

A step that fails is told once and does not stop the others; the next round tries it again.

`recalld run --until-settled`: round after round until nothing is due, with a worker for what was submitted.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from supervisor.archive.restore import keep_damaged
from supervisor.protocol.errors import BadConfig, BadFile, InternalError, NewerFormat, as_ours
from supervisor.service.lock import alone, sweep_shared
from supervisor.service.steps import archive, collect, intake, reconcile_flags, submit, trim_history, why_due

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path
    from threading import Event

    from supervisor.protocol.errors import SupervisorError
    from supervisor.service.workers import Workers
    from supervisor.workspace import Workspace

T = TypeVar("T")


@dataclass(slots=True)
class Round:
    """What one round did, in counts, and the errors it met by step."""

    seen: int = 0
    archived: int = 0
    summaries: int = 0
    submitted: int = 0
    trimmed: int = 0
    unfinished: int = 0
    ms: int = 0
    errors: dict[str, SupervisorError] = field(default_factory=dict)

    @property
    def did(self) -> int:
        """How much it did; 0 when everything was settled."""
        return self.seen + self.archived + self.summaries + self.submitted + self.trimmed

    def damage(self, history: Path) -> BadFile | None:
        """Return the error that says that *history* can't be read; another file's fault is no damage of it."""
        bad = (error for error in self.errors.values() if isinstance(error, BadFile))
        return next((error for error in bad if str(error.path) == str(history)), None)

    def add(self, other: Round) -> None:
        """Add the counts of a further round; its errors are the ones that last."""
        self.seen += other.seen
        self.archived += other.archived
        self.summaries += other.summaries
        self.submitted += other.submitted
        self.trimmed += other.trimmed
        self.ms += other.ms
        self.errors = other.errors


def run_round(ws: Workspace, now: datetime, runs: Literal["due", "all", "none"] = "due", *, ageing: bool = True) -> Round:
    """
    Do once all that is to be done at *now*.

    *runs*: archive what is due, or everything that is un-written, or hold back (a disk that refused a moment ago). Without
    *ageing* no day and no month counts as over: the clock can't be trusted yet.
    """
    began = time.monotonic()
    done = Round()

    def attempt(name: str, step: Callable[[], T], otherwise: T) -> T:
        if ws.should_stop():
            return otherwise
        try:
            return step()
        except (BadConfig, NewerFormat):
            raise
        except Exception as error:  # noqa: BLE001 - a bug in one step must not cost the others; it is told, and ends a one-shot
            done.errors[name] = as_ours(error, name, ws.paths.root)
        return otherwise

    def archive_if_due() -> int:
        if runs == "all":
            return archive(ws, now, everything=True)
        why = why_due(ws, now) if runs == "due" else None
        ws.events.transition("history_overflow", why == "overflow")
        return archive(ws, now) if why else 0

    done.seen = attempt("intake", lambda: intake(ws, now), 0)
    done.summaries = attempt("harvest", lambda: collect(ws, now), 0)
    done.archived = attempt("archive", archive_if_due, 0)
    done.submitted = attempt("roll-up", lambda: submit(ws, now), 0) if ageing else 0
    attempt("settle", lambda: reconcile_flags(ws, now), None)
    done.trimmed = attempt("trim", lambda: trim_history(ws), 0)
    attempt("compact", lambda: ws.journal.compact() if ws.journal.is_bloated() else None, None)
    attempt("sweep", lambda: sweep_shared(ws, now), 0)
    if done.damage(ws.paths.history):
        attempt("quarantine", lambda: keep_damaged(ws.history, ws.quarantine), None)
    _tell(ws, done)
    done.ms = round((time.monotonic() - began) * 1000)
    return done


def _tell(ws: Workspace, done: Round) -> None:
    """Emit what lasts, when it begins."""
    damage = done.damage(ws.paths.history)
    invalid = str(damage or "")
    ws.events.transition("history_invalid", invalid, why=invalid)
    bugs = "; ".join(str(error) for error in done.errors.values() if isinstance(error, InternalError))
    ws.events.transition("error", bugs, why=bugs)
    others = "; ".join(sorted({str(e) for e in done.errors.values() if not isinstance(e, InternalError)} - {invalid}))
    ws.events.transition("degraded", others, cleared="recovered", why=others)


#: How often to look for results, in seconds, and how many times a worker may die.
_LOOK_S: Final = 0.03
_DEATHS: Final = 3


def until_settled(ws: Workspace, now: datetime, workers: Workers | None, stop: Event) -> Round:
    """
    Do all that is due at *now*: archive every un-written message, summarise, roll up; return the counts.

    Groups that wait for a retry are counted by others, not awaited. Ends early once *stop* is set; AlreadyRuns when another
    supervisor runs.
    """
    ws.should_stop = stop.is_set
    total = Round()
    with alone(ws):
        while not stop.is_set():
            done = run_round(ws, now, "all")
            total.add(done)
            if done.did:
                continue
            flying = ws.task_queue.active_groups()
            if not flying or "harvest" in done.errors or workers is None or workers.failures >= _DEATHS:
                total.unfinished = len(flying)
                break
            ws.progress("summaries", total.summaries, total.summaries + len(flying))
            _await_result(ws, workers, stop)
        if workers:
            workers.stop()
    return total


def _await_result(ws: Workspace, workers: Workers, stop: Event) -> None:
    """Keep a worker going until a result is there."""
    while not stop.is_set() and not ws.task_queue.finished():
        workers.start_if_needed()
        workers.watch_leases()
        if workers.failures >= _DEATHS or not ws.task_queue.active_groups():
            return
        stop.wait(_LOOK_S)
