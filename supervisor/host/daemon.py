"""
The supervisor of one open workspace: does a round when something has changed or is due, and watches its workers.

`poll` checks with a few stats whether there is anything to do; `work` does it. `host` decides when and in which thread they
are called. A step that fails ends nothing: its error is reported with those of the next round, which tries the step again.

Between two rounds everything is in the files, except two waits: after the disk refused a write, and after the clock was set. A
clock that is set ahead makes days look old and waits look over: days that have not ended would be summarised and paid for, and
nothing can undo that. So for a while after a jump of the clock no step begins that depends on age.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, time, timedelta
from functools import partial
from typing import Any, Final, TypeVar

from ..archive.intake import restore_history, unwritten
from ..archive.run import next_run
from ..events import FaultScope
from ..protocol.config import FILE, Config
from ..protocol.paths import check_inside, quiet_until
from ..protocol.settings import Place, dotted, keys
from ..storage.clock import LARGE, SMALL, Clock, local, steady_s
from ..storage.control import UNLIMITED, Control
from ..storage.disk import Stat
from ..storage.errors import BadConfig, BadFile, SupervisorError
from ..storage.texts import Text
from ..summaries.llm_state import provider_state
from ..workspace import Workspace
from .background import Background
from .lock import SupervisorLock, check_there
from .notify import ServiceManager
from .round import Round, collect, report_errors, run_round
from .watcher import ChangeDetector
from .workers import Workers

T = TypeVar("T")
#: The pause after a large move of the clock, and after a very large one (`pause_after`).
WAIT: Final = timedelta(minutes=1)
LONG_WAIT: Final = timedelta(minutes=10)
#: Seconds between two signs of life for the service manager while nothing is to be done.
_SIGN_EVERY_S: Final = 30.0
#: A look at memory may come so many seconds early: the one after it may be as far away as the time between two.
_EARLY_S: Final = 0.5
#: After a look at memory there is rest for so many times as long as it took, but never for longer than so many seconds: a disk
#: that stood still, or a machine that slept, makes one look long.
_TREE_REST: Final = 500
_TREE_REST_MOST_S: Final = 60.0
_NOW: Final = datetime.min.replace(tzinfo=UTC)
#: The wait after a step that failed, and while a step is still due at the end of a round.
AGAIN: Final = timedelta(seconds=30)
#: The longest time between two rounds: a change that nothing announced is found by then.
LONGEST: Final = timedelta(hours=6)


def pause_after(moved: timedelta) -> timedelta:
    """
    Return how long no step that depends on age may begin after the wall clock was *moved*; zero after a small move.

    >>> pause_after(timedelta(minutes=-5)), pause_after(timedelta(hours=2)), pause_after(timedelta(days=3650))
    (datetime.timedelta(0), datetime.timedelta(seconds=60), datetime.timedelta(seconds=600))
    """
    size = abs(moved)
    return timedelta() if size <= SMALL else WAIT if size <= LARGE else LONG_WAIT


class ConfigWatch:
    """
    Compares the configuration of *ws* with what *read* returns, which raises BadConfig for a recalld.toml that is wrong.

    A wrong file is reported once, and not used.
    """

    def __init__(self, ws: Workspace, read: Callable[[], Config]) -> None:
        self._ws, self._read = ws, read
        #: The stat of the file, and when it was first seen, by a monotonic clock.
        self._seen: tuple[Stat | object | None, float] = (object(), 0.0)
        #: The stat of the file that was compared last: it may have changed since the workspace was opened.
        self._compared: Stat | object | None = object()
        self._refused = ""
        #: The configuration that was read last and is valid.
        self.valid = ws.config

    def is_changed(self, now_s: float) -> bool:
        """
        True if the configuration has another value; costs a stat while the file is the same.

        A file counts once it has not changed for `care.poll`: an editor may empty it before writing, and without the time zone
        messages would be filed under other days.
        """
        ws = self._ws
        stat = ws.files.disk.stat(ws.paths.config)
        if stat != self._seen[0]:
            self._seen = stat, now_s
        if stat == self._compared or now_s - self._seen[1] < ws.config.care.poll.total_seconds():
            return False
        names, why = [], ""
        try:
            config = self._read()
            names = [dotted(place) for place in keys(config) if _value(config, place) != _value(ws.config, place)]
            if names and stat is None:  # a program that synchronizes files may put the file back soon
                raise BadConfig(FILE, Text("it is gone; put it back, or start the supervisor again to use the defaults"))
            self.valid = config
        except BadConfig as error:
            names, why = [], error.sentence
        self._compared = stat  # not earlier: a file that the disk refused to read is read again
        if why and why != self._refused:
            ws.events.emit("config_refused", why=why)
        elif names or (self._refused and not why):
            ws.events.emit("config_taken", keys=names)
        self._refused = why
        return bool(names)


def _value(config: Config, place: Place) -> Any:
    section, name = place
    return getattr(getattr(config, section) if section else config, name)


class Supervisor:
    """
    The one supervisor of a workspace.

    Without *workers* it starts no worker, without *background* no background jobs, and without *config* it takes no changed
    configuration. It reports to *manager* that it is ready, works, and ends.
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
    ) -> None:
        self._clock = clock
        self._manager = manager or ServiceManager()
        self._steady_s = steady
        self._config = config
        self._no_archive_until = float("-inf")
        #: The error of the last archive run, as long as no other run may begin.
        self._refused: SupervisorError | None = None
        #: When the monotonic clock began, by the wall clock of the last round; it moves as far as the wall clock is set.
        self._began: datetime | None = None
        self._no_ageing_until = float("-inf")
        self._damaged: tuple[Stat | None, float] | None = None
        self._control = UNLIMITED
        self.ws = ws
        self._workers = workers
        self.background = background
        self._changes = ChangeDetector(ws.files.disk, ws.paths, ws.task_queue)
        #: What failed since the last round, by step.
        self._scope = FaultScope(ws.paths.root)
        #: When time alone makes a round due, by the wall clock.
        self._due_at = _NOW
        self._wants_round = True
        self._has_tasks = True
        self._tree_look_s = float("-inf")
        self._signed_s = float("-inf")
        #: The first error of the last round, or that there is none; "" before a round.
        self._status = ""
        #: Whether the configuration has changed: what is open has to be opened again.
        self.is_outdated = False

    @property
    def due_at(self) -> datetime:
        """When a round is due by time alone."""
        return self._due_at

    # ── looking ──────────────────────────────────────────────────────────────

    def poll(self, lock: SupervisorLock, *, hinted: bool = False, memory_hinted: bool = False) -> bool:
        """
        Return whether there is something to do: a file has changed, something is due, or workers have to be watched.

        *hinted*: an event says that some file has changed, *memory_hinted*: maybe one of memory. Each look checks the *lock*
        first, with one stat: LockLost if it is no longer held, since a round would write beside another supervisor.
        """
        now_s = self._steady_s()
        self._attempt("lock", lock.check, None)
        changed = self._attempt("poll", self._changes.near_changed, False)
        if self.background and self._attempt("poll of inbox.json", self._changes.inbox_changed, True):
            self.background.hint(self.ws.paths.inbox.name)
        is_whole = memory_hinted or now_s >= self._tree_look_s
        if hinted or is_whole:
            changed = self._attempt("poll of tasks", self._changes.tasks_changed, False) or changed
        if is_whole:
            if self.background:
                self.background.check_index()
            began_s = self._steady_s()
            changed = self._attempt("poll of memory", self._tree_changed, False) or changed
            rest_s = min((self._steady_s() - began_s) * _TREE_REST, _TREE_REST_MOST_S)
            self._tree_look_s = now_s + max(self.ws.config.care.tree_poll.total_seconds() - _EARLY_S, rest_s)
        now = self._clock()
        jumped = pause_after(now - timedelta(seconds=now_s) - self._began) if self._began else timedelta()
        if self._scope.errors:
            self._due_at = min(self._due_at, now + AGAIN)
        self._wants_round = bool(self._wants_round or changed or jumped or now >= self._due_at)
        self._give_sign(now_s)
        if self._config and not self.is_outdated:
            self.is_outdated = self._attempt("poll of the configuration", partial(self._config.is_changed, now_s), False)
        return self._wants_round or self._has_tasks

    def _tree_changed(self) -> bool:
        has_changed = self._changes.tree_changed()
        if has_changed:
            self.ws.memory.tell()
        if has_changed and self.background:
            self.background.memory_changed()
        return has_changed

    def _give_sign(self, now_s: float) -> None:
        """Report the state to the service manager from time to time; a poll that gets here shows that no round hangs."""
        if self._status and (now_s - self._signed_s >= _SIGN_EVERY_S or self._manager.awaits_index):
            self._signed_s = self._steady_s()
            has_index = self.background is None or self.background.has_index
            self._manager.round_done(self._status, has_index=has_index)

    # ── working ──────────────────────────────────────────────────────────────

    def work(self, until_end: Control = UNLIMITED) -> None:
        """Do a round if one is wanted, and what workers need; when *until_end* says stop, the step that runs is the last."""
        self._control = Control(until_end.should_stop, lambda _what, _done, _total: self._manager.work_done())
        if self._wants_round:
            self._wants_round = False
            self._attempt("poll", self._changes.near_changed, False)  # this round sees it: no look takes it for a change
            with self.ws.journal.held():  # for the due time, too, which asks for the same
                done = self.tick(self._clock())
            self._status = min(map(str, done.errors.values()), default="running")
            self._give_sign(float("inf"))
            changed = self._attempt("poll", self._changes.near_changed, False)
            # what failed is tried again when it is due
            self._wants_round = not done.errors and (done.may_leave_more or changed)
        if self._workers:
            if self._quiet_until(self._clock()) is None:
                self._attempt("worker", self._workers.start_if_needed, None)
            self._attempt("leases", self._workers.watch_leases, None)
            self._has_tasks = self._attempt("tasks", lambda: bool(self.ws.task_queue.active_groups()), True)
        else:
            self._has_tasks = False

    @property
    def wants_more(self) -> bool:
        """Whether the last round did something, so that another one may find more to do at once."""
        return self._wants_round

    def end(self) -> None:
        """End the worker and report what failed since the last round."""
        if not self.is_outdated:
            self._manager.stopping()
        if self._workers:
            self._attempt("worker", self._workers.stop, None)
        if self.is_outdated:  # the results of the worker are by the old model
            self._attempt("harvest", lambda: collect(self.ws, self._clock(), self._control), 0)
        if self._scope.errors:
            report_errors(self.ws, self._scope.errors.values())

    def tick(self, now: datetime) -> Round:
        """
        Do one round at *now*.

        For a while after the disk has refused an archive run no other begins, and after a jump of the clock no step that
        depends on age. A damaged history is restored. BadConfig if a folder leads out of the workspace since it was opened,
        LockLost if the workspace is no longer there.
        """
        self._attempt("workspace", partial(check_there, self.ws), None)
        check_inside(self.ws.paths)
        is_paused = self._steady_s() < self._no_archive_until
        before, self._scope = self._scope.errors, FaultScope(self.ws.paths.root)
        request = self.ws.paths.archive_request
        is_asked = not is_paused and self._attempt("request", lambda: self.ws.files.disk.stat(request) is not None, False)
        ageing = not self._has_jumped(now) and self._quiet_until(now) is None
        # a run that was left out does not end the fault of the run before
        lasting = {"archive": self._refused} if is_paused and self._refused else {}
        faults = [*before.values(), *lasting.values()]
        archives = {"archiving": not is_paused, "everything": is_asked}
        done = run_round(self.ws, now, **archives, ageing=ageing, before=faults, control=self._control)
        if is_asked:  # the request was served, or its error reported
            self._attempt("request", lambda: self.ws.files.remove(request), None)
        if not is_paused:
            self._note_refusal(done.errors.get("archive"))
        if done.found_damage(self.ws.paths.history):
            self._attempt("restore", lambda: self._restore_when_quiet(now), None)
        self._due_at = self._attempt("due time", lambda: next_due(self.ws, now), now + AGAIN)
        if before or done.errors:  # so that a file that can't be read stays a fault
            self._due_at = min(self._due_at, now + AGAIN)
        for end in (self._no_archive_until, self._no_ageing_until):
            if (left_s := end - self._steady_s()) > 0:
                self._due_at = min(self._due_at, now + timedelta(seconds=left_s))
        done.errors |= lasting
        return done

    def _note_refusal(self, error: SupervisorError | None) -> None:
        self._refused = error if error and not isinstance(error, BadFile) else None
        self._no_archive_until = self._steady_s() + AGAIN.total_seconds() if self._refused else float("-inf")

    def _attempt(self, name: str, step: Callable[[], T], otherwise: T) -> T:
        return self._scope.attempt(name, step, otherwise)

    def _quiet_until(self, now: datetime) -> datetime | None:
        return quiet_until(self.ws.config.care.quiet_hours, now, self.ws.zone)

    def _has_jumped(self, now: datetime) -> bool:
        """Return whether the clock was set a short while ago; each jump is reported once."""
        now_s = self._steady_s()
        began = now - timedelta(seconds=now_s)
        moved, self._began = began - (self._began or began), began
        if wait := pause_after(moved):
            self._no_ageing_until = now_s + wait.total_seconds()
            self.ws.events.emit("clock_jump", seconds=round(moved.total_seconds()), waits_s=round(wait.total_seconds()))
        return now_s < self._no_ageing_until

    def _restore_when_quiet(self, now: datetime) -> None:
        """Restore a damaged history.json once it has not changed for a while: a person may be editing it."""
        stat = self.ws.files.disk.stat(self.ws.paths.history)
        if self._damaged is None or self._damaged[0] != stat:
            self._damaged = (stat, self._steady_s())
        quiet_s = self.ws.config.archive.quiet.total_seconds()
        if stat is None or self._steady_s() - self._damaged[1] >= quiet_s:
            restore_history(self.ws, now)
            self._damaged = None


# ── when time alone makes a round due, so that none is done just to find out ──


def next_due(ws: Workspace, now: datetime) -> datetime:
    """Return when a step of a round will be due, seen from the end of a round at *now*; nothing changes until then."""
    return min(moment if moment > now else now + AGAIN for moment in _moments(ws, now))


def next_retry(ws: Workspace, now: datetime) -> datetime | None:
    """Return when the first of the waits after failures ends; None if there is none."""
    provider = provider_state(ws.task_queue).next_at
    waits = [failure.next_at for failure in ws.failures().values()] + ([provider] if provider else [])
    return min((wait for wait in waits if wait > now), default=None)


def midnight(ws: Workspace, now: datetime) -> datetime:
    """Return when the next local day begins."""
    return local(datetime.combine(ws.today(now) + timedelta(days=1), time(), ws.zone), ws.zone)


def _moments(ws: Workspace, now: datetime) -> Iterator[datetime]:
    yield now + LONGEST
    yield midnight(ws, now)
    if quiet_end := quiet_until(ws.config.care.quiet_hours, now, ws.zone):
        yield quiet_end
    if retry := next_retry(ws, now):
        yield retry
    history = ws.history.read()
    if run := next_run(ws, history, unwritten(history, ws.journal), now):
        yield run[0]
