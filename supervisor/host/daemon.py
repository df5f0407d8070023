"""
The supervisor of one open workspace, which does a round when something has changed or is due.

`Supervisor.poll` checks with a few stats whether there is anything to do; `work` does it. A step that fails ends nothing: its
error is reported with those of the next round, which tries the step again. Both are called in the job of the rounds, sooner
after a file event. Each background job has a thread of its own.

Between two rounds everything is in the files, except the wait after the clock was set. A clock that is set ahead makes days
look old and waits look over: days that have not ended would be summarised and paid for, and nothing can undo that. So for a
while after a jump of the clock no step begins that depends on age.
"""

import contextlib
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final, Self, TypeVar

from ..archive.intake import restore_history
from ..events import FaultScope
from ..protocol.paths import check_inside
from ..storage.clock import SMALL, Clock, steady_s
from ..storage.control import UNLIMITED, Control
from ..storage.disk import Stat
from ..storage.errors import Busy, SupervisorError, as_supervisor_error
from ..workspace import Workspace
from . import watcher
from .jobs import NEVER_S, Background, Job, end_all
from .round import AGAIN, LONGEST, Round, next_due, quiet_until, report_errors, run_round
from .service import ServiceManager
from .watcher import ChangeDetector, ConfigWatch
from .workers import Workers

T = TypeVar("T")
#: How long no step that depends on age begins after the clock was set by more than SMALL.
PAUSE: Final = timedelta(minutes=10)
#: Seconds between two signs of life for the service manager while nothing is to be done.
_SIGN_EVERY_S: Final = 30.0
#: After a look at memory there is rest for so many times as long as it took, but never for longer than so many seconds: a disk
#: that stood still, or a machine that slept, makes one look long.
_TREE_REST: Final = 500
_TREE_REST_MOST_S: Final = 60.0
_QUIET_S: Final = 60.0  # without a write: then a damaged history.json is restored
_NOW: Final = datetime.min.replace(tzinfo=UTC)
#: Seconds in which, after the beginning of a round, changes are gathered for one look.
_GATHER_S: Final = 1.0
#: Seconds to wait for all jobs together at the end.
_JOIN_S: Final = 4.0
_WAIT_S: Final = 0.1


class Supervisor:
    """
    The one supervisor of a workspace: it looks after it until it is stopped, or the configuration has changed.

    It ends, too, when the workspace can't be looked after any more. Without *workers* it starts no worker, without *background*
    no background jobs, and without *config* it takes no changed configuration. It reports to *manager* that it is ready, works,
    and ends. *check_lock* raises LockLost once the lock of the workspace is no longer held.
    """

    def __init__(
        self,
        ws: Workspace,
        clock: Clock,
        workers: Workers | None = None,
        steady: Callable[[], float] = steady_s,
        background: Background | None = None,
        config: ConfigWatch | None = None,
        manager: ServiceManager | None = None,
        check_lock: Callable[[], None] = lambda: None,
    ) -> None:
        self.ws, self._clock, self._workers, self._steady_s = ws, clock, workers, steady
        self._background, self._config, self._check_lock = background, config, check_lock
        self._manager = manager or ServiceManager()
        self._changes = ChangeDetector(ws.files.disk, ws.paths, ws.task_queue)
        #: What failed since the last round, by step.
        self._scope = FaultScope(ws.paths.root)
        #: When the monotonic clock began, by the wall clock of the last round; it moves as far as the wall clock is set.
        self._began: datetime | None = None
        self._no_ageing_until = float("-inf")
        self._damaged: tuple[Stat | None, float] | None = None
        #: When a round is due by time alone, by the wall clock.
        self.due_at = _NOW
        self._wants_round = self._has_tasks = True
        self._tree_look_s = self._signed_s = float("-inf")
        #: The first error of the last round, or that there is none; "" before a round.
        self._status = ""
        #: Whether the configuration has changed: what is open has to be opened again.
        self.is_outdated = False
        self._round = Job("round", self._step, ws.events.report, now_s=steady)
        #: The rounds, and the background jobs.
        self.jobs = [self._round, *(background.jobs if background else ())]
        #: What ends with it: file events, the index.
        self._held = contextlib.ExitStack()
        #: Whether an event has said that a file of memory may have changed.
        self._is_memory_hinted = False
        #: Until when changes are gathered.
        self._gathers_until_s = float("-inf")
        #: Whether `stop` was called; whether the jobs have to end for any reason.
        self._stopping, self._ending = threading.Event(), threading.Event()
        self._ended_by: SupervisorError | None = None

    # ── looking ──────────────────────────────────────────────────────────────

    def poll(self, *, memory_hinted: bool = False) -> bool:
        """
        Return whether there is something to do: a file has changed, something is due, or workers have to be watched.

        *memory_hinted*: an event says that maybe a file of memory has changed. Each look checks the lock first, with one stat:
        LockLost if it is no longer held, since a round would write beside another supervisor.
        """
        now_s = self._steady_s()
        self._attempt("lock", self._check_lock, None)
        changed = self._attempt("poll", self._changes.near_changed, False)
        if self._background and self._attempt("poll of inbox.json", self._changes.inbox_changed, True):
            self._background.hint(self.ws.paths.inbox.name)
        if memory_hinted or now_s >= self._tree_look_s:
            if self._background:
                self._background.check_index()
            began_s = self._steady_s()
            changed = self._attempt("poll of memory", self._tree_changed, False) or changed
            rest_s = min((self._steady_s() - began_s) * _TREE_REST, _TREE_REST_MOST_S)
            self._tree_look_s = now_s + max(self.ws.config.care.tree_poll.total_seconds(), rest_s)
        now = self._clock()
        if self._scope.errors or self.ws.events.once():
            self.due_at = min(self.due_at, now + AGAIN)
        is_due = not now < self.due_at <= now + LONGEST  # further away it is after the clock was set back
        self._wants_round = self._wants_round or changed or is_due
        self._give_sign(now_s)
        if self._config and not self.is_outdated:
            self.is_outdated = self._attempt("poll of the configuration", partial(self._config.is_changed, now_s), False)
        return self._wants_round or self._has_tasks

    def _tree_changed(self) -> bool:
        has_changed = self._changes.tree_changed()
        if has_changed:
            self.ws.memory.tell()
        if has_changed and self._background:
            self._background.memory_changed()
        return has_changed

    def _give_sign(self, now_s: float) -> None:
        """Report the state to the service manager from time to time; a poll that gets here shows that no round hangs."""
        if self._status and now_s - self._signed_s >= _SIGN_EVERY_S:
            self._signed_s = self._steady_s()
            self._manager.round_done(self._status)

    # ── working ──────────────────────────────────────────────────────────────

    def work(self, until_end: Control = UNLIMITED) -> None:
        """Do a round if one is wanted, and what workers need; when *until_end* says stop, the step that runs is the last."""
        control = Control(until_end.should_stop, lambda _what, _done, _total: self._manager.work_done())
        if self._wants_round:
            self._wants_round = False
            self._attempt("poll", self._changes.near_changed, False)  # this round sees it: no look takes it for a change
            with self.ws.journal.held():  # for the due time, too, which asks for the same
                done = self.tick(self._clock(), control)
            self._status = min(map(str, done.errors.values()), default="running")
            self._give_sign(float("inf"))
            changed = self._attempt("poll", self._changes.near_changed, False)
            # what failed is tried again when it is due
            self._wants_round = not done.errors and (done.may_leave_more or changed)
        if self._workers:
            is_quiet = quiet_until(self.ws, self._clock()) is not None
            self._attempt("worker", partial(self._workers.start_if_needed, is_quiet=is_quiet), None)
            self._attempt("leases", self._workers.watch_leases, None)
            self._has_tasks = self._attempt("tasks", lambda: bool(self.ws.task_queue.active_groups()), True)
        else:
            self._has_tasks = False

    def tick(self, now: datetime, control: Control = UNLIMITED) -> Round:
        """
        Do one round at *now*; for a while after a jump of the clock no step that depends on age.

        A damaged history is restored. BadConfig if a folder leads out of the workspace since it was opened.
        """
        check_inside(self.ws.paths)
        before, self._scope = self._scope.errors, FaultScope(self.ws.paths.root)
        request = self.ws.paths.archive_request
        is_asked = self._attempt("request", lambda: self.ws.files.disk.stat(request) is not None, False)
        ageing = not self._has_jumped(now) and quiet_until(self.ws, now) is None
        done = run_round(self.ws, now, everything=is_asked, ageing=ageing, before=before.values(), control=control)
        if is_asked:  # the request was served, or its error reported
            self._attempt("request", lambda: self.ws.files.remove(request), None)
        if done.found_damage(self.ws.paths.history):
            self._attempt("restore", lambda: self._restore_when_quiet(now), None)
        self.due_at = self._attempt("due time", lambda: next_due(self.ws, now), now + AGAIN)
        if before or done.errors:  # so that a file that can't be read stays a fault
            self.due_at = min(self.due_at, now + AGAIN)
        if (left_s := self._no_ageing_until - self._steady_s()) > 0:
            self.due_at = min(self.due_at, now + timedelta(seconds=left_s))
        return done

    def _attempt(self, name: str, step: Callable[[], T], otherwise: T) -> T:
        return self._scope.attempt(name, step, otherwise)

    def _has_jumped(self, now: datetime) -> bool:
        """Return whether the clock was set a short while ago; each jump is reported once, a mere correction is none."""
        now_s = self._steady_s()
        began = now - timedelta(seconds=now_s)
        moved, self._began = began - (self._began or began), began
        if abs(moved) > SMALL:
            self._no_ageing_until = now_s + PAUSE.total_seconds()
            self.ws.events.emit("clock_jump", seconds=round(moved.total_seconds()), waits_s=round(PAUSE.total_seconds()))
        return now_s < self._no_ageing_until

    def _restore_when_quiet(self, now: datetime) -> None:
        """Restore a damaged history.json once it has not changed for a while: a person may be editing it."""
        stat = self.ws.files.disk.stat(self.ws.paths.history)
        if self._damaged is None or self._damaged[0] != stat:
            self._damaged = (stat, self._steady_s())
        if stat is None or self._steady_s() - self._damaged[1] >= _QUIET_S:
            restore_history(self.ws, now)
            self._damaged = None

    # ── its threads ──────────────────────────────────────────────────────────

    def __enter__(self) -> Self:
        """Hear of changes, and have each job look once."""
        self._held.callback(self.ws.index.close)
        try:
            self._held.callback(watcher.watch(self.ws.paths, self._hint))
        except (OSError, Busy) as error:  # the looks find every change
            self.ws.events.transition("watch_lost", True, why=str(error))
        else:
            self.ws.memory.generation = object()
        for job in self.jobs:
            job.wake()
        return self

    def __exit__(self, *_: object) -> None:
        """Hear of changes no more, and close the index."""
        self.ws.memory.generation = None
        self._held.close()

    def stop(self) -> None:
        """End after the current steps; may be called from a signal handler."""
        self._stopping.set()
        self._ending.set()

    def run(self) -> None:
        """Look after the workspace until `stop` is called; raise the error that ended it."""
        for job in self.jobs:
            job.start()
        try:
            self._ending.wait()
        finally:
            end_all(self.jobs, _JOIN_S)
            while self.is_outdated and any(job.is_running for job in self.jobs) and not self._stopping.is_set():
                self._stopping.wait(_WAIT_S)  # no step may go on beside what is opened next
            self._end()
        if self._ended_by:
            raise self._ended_by

    def _end(self) -> None:
        """End the workers, and report what failed since the last round."""
        if self._background:
            self._background.end()
        if not self.is_outdated:
            self._manager.stopping()
        if self._workers:
            self._attempt("worker", self._workers.stop, None)
        if self._scope.errors:
            report_errors(self.ws, self._scope.errors.values())

    def _hint(self, name: str) -> None:
        """Look at the workspace now, or once changes are gathered: a file of that *name* may have changed."""
        if name.endswith(".md"):
            self.ws.memory.tell()
        if self._background:
            self._background.hint(name)
        self._is_memory_hinted = self._is_memory_hinted or not name.endswith(".json")
        if name != self.ws.paths.inbox.name:
            self._round.wake(self._gathers_until_s - self._steady_s())

    def _step(self, until_end: Control) -> float:
        """Look, work if there is something to do, and return the seconds until the next look."""
        memory_hinted, self._is_memory_hinted = self._is_memory_hinted, False
        try:
            has_work = self.poll(memory_hinted=memory_hinted)
            if self._wants_round:
                self._gathers_until_s = self._steady_s() + _GATHER_S
            if has_work and not self.is_outdated:
                self.work(until_end)
        except (SupervisorError, OSError) as error:  # its lock is lost, or a newer recalld has written the workspace
            self._ended_by = as_supervisor_error(error, "round", self.ws.paths.root)
            self.stop()
        if self.is_outdated:
            self._ending.set()
        if self._ending.is_set():
            return NEVER_S
        return 0.0 if self._wants_round else self.ws.config.care.poll.total_seconds()
