"""
The supervisor: polls the workspace and does a round when something has changed or is due.

A call that fails ends nothing: its error is reported with those of the next round, and the next pass tries it again.

File events only make the next poll come sooner, so that everything works without them. Between two rounds nothing is remembered
that the files do not say, except waits: after a disk has refused, and after the clock was set. A clock that is set ahead makes
days look old and waits look over; days that are not over would be summarised and paid for, which nothing can undo. So after a
jump no step that goes by age begins for a while.
"""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from recalld.supervisor.archive.intake import unwritten
from recalld.supervisor.host.last_night import read_last_fsck
from recalld.supervisor.host.notify import ServiceManager
from recalld.supervisor.host.round import Round, attempt, collect, report_errors, restore_history, run_round
from recalld.supervisor.host.watcher import ChangeDetector
from recalld.supervisor.protocol.paths import check_inside
from recalld.supervisor.protocol.quiet_hours import quiet_until
from recalld.supervisor.storage.clock import local, steady_s
from recalld.supervisor.storage.control import Control
from recalld.supervisor.storage.errors import BadFile, Busy
from recalld.supervisor.summaries.llm_state import provider_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from recalld.supervisor.host.background import BackgroundThreads
    from recalld.supervisor.host.config_watch import ConfigWatch
    from recalld.supervisor.host.lock import SupervisorLock
    from recalld.supervisor.host.workers import Workers
    from recalld.supervisor.storage.clock import Clock
    from recalld.supervisor.storage.disk import Stat
    from recalld.supervisor.storage.errors import SupervisorError
    from recalld.supervisor.workspace import Workspace

T = TypeVar("T")
#: A clock that moves no more than this was only corrected.
SMALL: Final = timedelta(hours=1)
LARGE: Final = timedelta(days=1)
#: The pause after a move of more than SMALL, and of more than LARGE.
WAIT: Final = timedelta(minutes=1)
LONG_WAIT: Final = timedelta(minutes=10)
#: Seconds between two rounds at most, for what comes due by time alone: six hours, a retry, a new day.
ROUND_S: Final = 30.0
_NEVER: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Reading:
    """The wall clock and the monotonic clock at one moment."""

    wall: datetime
    steady_s: float


def jump(before: Reading, after: Reading) -> timedelta:
    """Return how far the wall clock was set between two readings; negative: it was set back."""
    return (after.wall - before.wall) - timedelta(seconds=after.steady_s - before.steady_s)


def pause_after(moved: timedelta) -> timedelta:
    """
    Return how long no step that goes by age may begin after the wall clock was *moved*; zero after a small move.

    >>> pause_after(timedelta(minutes=-5)), pause_after(timedelta(hours=2)), pause_after(timedelta(days=3650))
    (datetime.timedelta(0), datetime.timedelta(seconds=60), datetime.timedelta(seconds=600))
    """
    size = abs(moved)
    return timedelta() if size <= SMALL else WAIT if size <= LARGE else LONG_WAIT


class Supervisor:
    """
    The one supervisor of a workspace.

    Without *workers* it starts no worker, without *background* no background threads, and without *config* it takes no changed
    configuration. *manager* is told that it is ready, works, and ends.
    """

    def __init__(
        self,
        ws: Workspace,
        clock: Clock,
        workers: Workers | None = None,
        steady: Callable[[], float] = steady_s,
        background: BackgroundThreads | None = None,
        config: ConfigWatch | None = None,
        manager: ServiceManager | None = None,
    ) -> None:
        self._clock = clock
        self._manager = manager or ServiceManager()
        self._steady_s = steady
        self._config = config
        self._stop = threading.Event()
        self._control = Control(self._stop.is_set, lambda _what, _done, _total: self._manager.work_done())
        self._wake = threading.Event()
        self.use(ws, workers, background)
        self._write_wait = timedelta()
        self._no_archive_until = float("-inf")
        self._reading: Reading | None = None
        self._no_ageing_until = float("-inf")
        self._due_at = _NEVER
        self._damaged: tuple[Stat | None, float] | None = None
        #: What failed since the last round, by step.
        self._errors: dict[str, SupervisorError] = {}

    def use(self, ws: Workspace, workers: Workers | None, background: BackgroundThreads | None) -> None:
        """Use this workspace in the next `run`; waits after a refusing disk or a jump of the clock go on."""
        self._ws = ws
        self._workers = workers
        self._background = background
        self._changes = ChangeDetector(ws.files.disk, ws.paths, ws.task_queue)

    def stop(self) -> None:
        """End after the current step; may be called from a signal handler."""
        self._stop.set()
        self._wake.set()

    def hint(self, name: str) -> None:
        """Poll now: a file of that *name* may have changed."""
        if name != self._ws.paths.inbox.name:
            self._wake.set()
        if self._background:
            self._background.hint(name)

    # ── the service ──────────────────────────────────────────────────────────

    def run(self, lock: SupervisorLock) -> Workspace | None:
        """
        Watch the workspace until `stop` is called, the configuration has changed, or the *lock* is lost (LockLost).

        Return None when it was stopped, else the workspace with the changed configuration, for `use`.
        """
        reopened: Workspace | None = None
        with self._background or contextlib.nullcontext(), self._watch():
            poll_s = self._ws.config.care.poll.total_seconds()
            tree_s = self._ws.config.care.tree_poll.total_seconds()
            last_round = last_tree = float("-inf")
            while not self._stop.is_set() and reopened is None:
                now = self._steady_s()
                if self._background:
                    self._background.check_index()
                changed, hinted = self._attempt("poll", self._changes.near_changed, False), self._wake.is_set()
                self._wake.clear()
                if hinted or now - last_tree >= tree_s:
                    last_tree = now
                    changed = self._attempt("poll of memory", self._tree_changed, False) or changed
                    self._attempt("lock", lock.check, None)
                if changed or now - last_round >= ROUND_S or self._clock() >= self._due_at:
                    last_round = now
                    done = self.tick(self._clock())
                    self._tell_manager(done.errors.values())
                    if done.did and not done.errors:
                        last_round = float("-inf")
                elif self._manager.awaits_index:
                    self._tell_manager(())
                if self._workers:
                    if self._quiet_until(self._clock()) is None:
                        self._attempt("worker", self._workers.start_if_needed, None)
                    self._attempt("leases", self._workers.watch_leases, None)
                if self._config:
                    reopened = self._attempt("configuration", partial(self._config.changed, now), None)
                if last_round != float("-inf") and reopened is None:
                    self._wake.wait(poll_s)
            if reopened is None:
                self._manager.stopping()
            if self._workers:
                self._attempt("worker", self._workers.stop, None)
            if reopened:  # what the worker did belongs to the model before
                self._attempt("harvest", lambda: collect(self._ws, self._clock(), self._control), 0)
            if self._errors:
                report_errors(self._ws, self._errors.values())
        return None if self._stop.is_set() else reopened

    def tick(self, now: datetime) -> Round:
        """
        Do one round at *now*.

        No archive run begins for a while after the disk has refused one, and no step that goes by age after a jump of the
        clock. A damaged history is restored. BadConfig if a folder leads outside the workspace since it was opened.
        """
        check_inside(self._ws.paths)
        is_paused = self._steady_s() < self._no_archive_until
        before, self._errors = self._errors, {}
        is_asked = self._attempt("request", lambda: self._ws.files.disk.stat(self._ws.paths.archive_request) is not None, False)
        runs: Literal["due", "all", "none"] = "none" if is_paused else "all" if is_asked else "due"
        ageing = not self._has_jumped(now) and self._quiet_until(now) is None
        done = run_round(self._ws, now, runs, ageing=ageing, before=before.values(), control=self._control)
        if runs == "all":  # done, or told why not
            self._attempt("request", lambda: self._ws.files.remove(self._ws.paths.archive_request), None)
        if not is_paused:
            config = self._ws.config.archive
            refused = "archive" in done.errors and not isinstance(done.errors["archive"], BadFile)
            self._write_wait = min(max(self._write_wait * 2, config.write_wait), config.write_wait_limit)
            self._write_wait = self._write_wait if refused else timedelta()
            self._no_archive_until = self._steady_s() + self._write_wait.total_seconds()
        if done.found_damage(self._ws.paths.history):
            self._attempt("restore", lambda: self._restore_when_quiet(now), None)
        self._due_at = self._attempt("retries", lambda: self._next_retry(now), _NEVER)
        return done

    def _tell_manager(self, errors: Iterable[SupervisorError]) -> None:
        """Tell the service manager that a round is over, how things are and the first of its *errors*."""
        if not self._manager.is_there:
            return
        has_index = self._background is None or self._background.has_index
        what = self._attempt("status", lambda: status_line(self._ws, self._clock(), self._due_at), "")
        troubles = sorted(map(str, errors))
        self._manager.round_done(" · ".join([*troubles[:1], what]), has_index=has_index)

    def _attempt(self, name: str, step: Callable[[], T], otherwise: T) -> T:
        return attempt(self._errors, name, self._ws.paths.root, step, otherwise)

    def _quiet_until(self, now: datetime) -> datetime | None:
        return quiet_until(self._ws.config.care.quiet_hours, now, self._ws.zone)

    def _has_jumped(self, now: datetime) -> bool:
        """Return whether the clock was set a short while ago; each jump is reported once."""
        before, self._reading = self._reading, Reading(now, self._steady_s())
        moved = jump(before, self._reading) if before else timedelta()
        if wait := pause_after(moved):
            self._no_ageing_until = self._reading.steady_s + wait.total_seconds()
            self._ws.events.emit("clock_jump", seconds=round(moved.total_seconds()), waits_s=round(wait.total_seconds()))
        return self._reading.steady_s < self._no_ageing_until

    def _next_retry(self, now: datetime) -> datetime:
        """Return when the first wait after a failure is over; _NEVER if there is none."""
        provider = provider_state(self._ws.task_queue).next_at
        waits = [failure.next_at for failure in self._ws.failures().values()] + ([provider] if provider else [])
        return min((wait for wait in waits if wait > now), default=_NEVER)

    def _restore_when_quiet(self, now: datetime) -> None:
        """Restore a damaged history.json once it has not changed for a while: a person may be editing it."""
        stat = self._ws.files.disk.stat(self._ws.paths.history)
        if self._damaged is None or self._damaged[0] != stat:
            self._damaged = (stat, self._steady_s())
        quiet_s = self._ws.config.archive.quiet.total_seconds()
        if stat is None or self._steady_s() - self._damaged[1] >= quiet_s:
            restore_history(self._ws, now)
            self._damaged = None

    # ── changes ──────────────────────────────────────────────────────────────

    def _tree_changed(self) -> bool:
        has_changed = self._changes.tree_changed()
        if has_changed and self._background:
            self._background.memory_changed()
        return has_changed

    @contextlib.contextmanager
    def _watch(self) -> Iterator[None]:
        """Receive file events; where there are none, only the poll finds changes."""
        from recalld.supervisor.host.watcher import watch

        try:
            stop = watch(self._ws.paths, self.hint)
        except (OSError, Busy) as error:
            self._ws.events.transition("watch_lost", True, why=str(error))
            stop = _nothing_to_stop
        try:
            yield
        finally:
            stop()


def _nothing_to_stop() -> None:
    pass


def status_line(ws: Workspace, now: datetime, retry_at: datetime) -> str:
    """
    Return what matters in one line: "3 pending · last archive 12 min ago · 0 lost · next roll-up 03:00".

    Lost is what the last fsck found so. The next roll-up is at *retry_at*, or when the next day begins, after the quiet hours.
    """
    made = [file.created for file in ws.memory.dated() if file.created]
    last = read_last_fsck(ws)
    tomorrow = datetime.combine(ws.today(now) + timedelta(days=1), time(), ws.zone)
    roll_up = min(tomorrow, retry_at)
    roll_up = local(quiet_until(ws.config.care.quiet_hours, roll_up, ws.zone) or roll_up, ws.zone)
    parts = [
        f"{len(unwritten(ws.history.read(), ws.journal))} pending",
        f"last archive {_age(now - max(made))} ago" if made else "nothing archived yet",
        f"{last.lost} lost" if last else "not checked yet",
        f"next roll-up {roll_up:%H:%M}",
    ]
    return " · ".join(parts)


def _age(span: timedelta) -> str:
    """
    Return about how long that is.

    >>> _age(timedelta(minutes=12, seconds=50)), _age(timedelta(hours=30)), _age(timedelta(days=9)), _age(timedelta(seconds=-3))
    ('12 min', '30 h', '9 days', '0 min')
    """
    minutes = max(0, int(span.total_seconds() // 60))
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // 1440} days"
