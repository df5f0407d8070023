"""
The host: looks after many workspaces in one process, most of which have nothing to do.

A workspace is *dormant* (its path, signature, due time and lock), *open* (its stores, its supervisor, its index), or
*running* a round or a background job. A heap holds the time of the next look at each. A look costs a few stats; only a change
that it finds, or a due time, opens the workspace and wakes a thread. File events only make a look come sooner. If more
workspaces are open than there is room for, the least recently used are closed. `recalld run` is a host of one
(docs/decisions/0030).
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import threading
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from recalld.supervisor.host.due import AGAIN
from recalld.supervisor.host.jobs import NEVER_S, Job
from recalld.supervisor.host.lock import supervisor_lock
from recalld.supervisor.host.watcher import ChangeDetector
from recalld.supervisor.storage.clock import steady_s
from recalld.supervisor.storage.errors import Busy, SupervisorError, as_supervisor_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime
    from pathlib import Path
    from typing import Self

    from recalld.supervisor.host.daemon import Reading, Supervisor
    from recalld.supervisor.host.jobs import Threads
    from recalld.supervisor.host.lock import SupervisorLock
    from recalld.supervisor.storage.clock import Clock
    from recalld.supervisor.storage.control import Control
    from recalld.supervisor.workspace import Workspace

#: Opens the workspace at a path, or lets its supervisor go on with a changed configuration.
Opener: TypeAlias = "Callable[[Path, Supervisor | None, Workspace | None], Supervisor]"
#: Is called with a workspace and the name of a file that may have changed.
Hint: TypeAlias = "Callable[[Hosted, str], None]"
#: Threads of a host: a long archive run, a first index and a backend's vectors leave one free.
THREADS: Final = 4
#: How many workspaces are open at once, and how many indexes.
OPEN: Final = 200
INDEXES: Final = 500
#: Seconds after which an index that nobody has used is closed. The next question opens it again in some milliseconds; open, a
#: thread of tantivy's reads a file twice a second, for as long as nothing happens.
INDEX_REST_S: Final = 300.0
#: Seconds between two looks at a dormant workspace.
_DORMANT_LOOK_S: Final = 5.0
#: The most seconds for which a workspace that can't be looked after is left alone.
_LONGEST_REST_S: Final = 3600.0
#: Seconds to wait for all threads together at the end.
_JOIN_S: Final = 4.0


class Hosted:
    """
    One workspace of a host.

    *open_supervisor* opens it and returns its supervisor; after a change of the configuration it is called again, with this
    supervisor and the reopened workspace.
    """

    def __init__(self, root: Path, open_supervisor: Opener) -> None:
        self.root = root
        #: Set when an event says that a file may have changed.
        self.hinted = threading.Event()
        self.supervisor: Supervisor | None = None
        #: When it was last worked on, by the monotonic clock.
        self.used_s = float("-inf")
        #: How many times in a row it could not be looked after, and until when it is left alone.
        self.failures, self.rests_until_s = 0, float("-inf")
        self.job: Job | None = None
        self._open_supervisor = open_supervisor
        self._opening = threading.Lock()
        self._held = contextlib.ExitStack()
        self._lock: SupervisorLock | None = None
        self._dormant: _Dormant | None = None
        self._stop_watch: Callable[[], None] | None = None

    @property
    def is_held(self) -> bool:
        """Whether this process has the workspace's lock."""
        return self._lock is not None

    @property
    def is_running(self) -> bool:
        """Whether a thread works on it now."""
        background = self.supervisor.background if self.supervisor else None
        return bool((self.job and self.job.is_running) or (background and background.is_running))

    # ── dormant and open ─────────────────────────────────────────────────────

    def open(self, hint: Hint) -> Supervisor:
        """Open the workspace, take its lock the first time, and return its supervisor; *hint* is called by file events."""
        with self._opening:
            return self.supervisor or self._opened(hint)

    def _opened(self, hint: Hint) -> Supervisor:
        supervisor = self._open_supervisor(self.root, None, None)
        if self._lock is None:
            self._lock = self._held.enter_context(supervisor_lock(supervisor.ws))
        if self._dormant:
            supervisor.reading = self._dormant.reading
        self.supervisor, self._dormant = supervisor, None
        self._start(supervisor, hint)
        return supervisor

    def close(self) -> None:
        """Make the workspace dormant: only its signature, due time and lock are kept."""
        if self.supervisor:
            supervisor, self.supervisor = self.supervisor, None
            self._end_parts(supervisor)
            ws = supervisor.ws
            changes = ChangeDetector(ws.files.disk, ws.paths, ws.task_queue)
            with contextlib.suppress(OSError):
                changes.any_changed()
            self._dormant = _Dormant(changes, supervisor.due_at, supervisor.reading)
            ws.index.close()

    def end(self) -> None:
        """End the supervisor of the workspace; the lock is still held."""
        if self.supervisor:
            supervisor, self.supervisor = self.supervisor, None
            self._end_parts(supervisor)
            supervisor.end()

    def release(self) -> None:
        """Release the lock."""
        self._lock = self._dormant = None
        self._held.close()

    # ── looking and working ──────────────────────────────────────────────────

    def look(self, now: datetime) -> bool:
        """Return whether there is something to do; costs a few stats."""
        hinted = self.hinted.is_set()
        self.hinted.clear()
        if self.supervisor and self._lock:
            return self.supervisor.poll(self._lock, hinted=hinted)
        dormant = self._dormant
        try:
            return dormant is None or now >= dormant.due_at or dormant.changes.any_changed()
        except OSError:
            return True  # the round reports it

    def work(self, hint: Hint, until_end: Control) -> bool:
        """Do what there is to do, and return whether there may be more at once."""
        supervisor = self.open(hint)
        before = supervisor.ws
        reopened = supervisor.work(until_end)
        if reopened is None:
            return supervisor.wants_more
        self._end_parts(supervisor)
        supervisor.end(reopens=True)
        self.supervisor = self._open_supervisor(self.root, supervisor, reopened)
        self._start(self.supervisor, hint)
        before.index.close()
        return True

    def _start(self, supervisor: Supervisor, hint: Hint) -> None:
        """Begin to watch its files and start the background jobs; without file events the looks find every change."""
        from recalld.supervisor.host.watcher import watch

        try:
            self._stop_watch = watch(supervisor.ws.paths, partial(hint, self))
        except (OSError, Busy) as error:
            supervisor.ws.events.transition("watch_lost", True, why=str(error))
        else:
            supervisor.ws.memory.told = object()
        if supervisor.background:
            supervisor.background.start()

    def _end_parts(self, supervisor: Supervisor) -> None:
        """Stop watching its files and end the background jobs."""
        if self._stop_watch:
            supervisor.ws.memory.told = None
            self._stop_watch()
            self._stop_watch = None
        if supervisor.background:
            supervisor.background.end()


@dataclass(frozen=True, slots=True)
class _Dormant:
    """What is kept of a workspace that is closed: its signature, when a round is due, and the clocks at the last one."""

    changes: ChangeDetector
    due_at: datetime
    reading: Reading | None


class Host:
    """
    Looks after the workspaces *roots* until it is stopped, with jobs in *threads*.

    A workspace that can't be looked after (another program has its lock, a newer recalld has written it) ends a host of one; a
    host of many leaves it alone for a while. At most *open_most* workspaces and *indexes_most* indexes stay open.
    """

    def __init__(
        self,
        roots: Iterable[Path],
        open_supervisor: Opener,
        clock: Clock,
        threads: Threads,
        *,
        now_s: Callable[[], float] = steady_s,
        open_most: int = OPEN,
        indexes_most: int = INDEXES,
    ) -> None:
        self.hosted = {root: Hosted(root, open_supervisor) for root in roots}
        self._clock = clock
        self._now_s = now_s
        self._threads = threads
        self._open_most, self._indexes_most = open_most, indexes_most
        self._numbers = itertools.count()
        self._looks: list[tuple[float, int, Hosted]] = []
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._ended_by: SupervisorError | None = None

    def __enter__(self) -> Self:
        """Take the locks; AlreadyRuns if another program has the lock of the only workspace."""
        for hosted in self.hosted.values():
            self._open(hosted)
            heapq.heappush(self._looks, (float("-inf"), next(self._numbers), hosted))
        if self._ended_by:
            self.__exit__()
            raise self._ended_by
        return self

    def __exit__(self, *_: object) -> None:
        """Release the locks."""
        for hosted in self.hosted.values():
            hosted.release()

    def workspace(self, root: Path) -> Workspace:
        """Return the open workspace at *root*, which is opened if it is dormant."""
        hosted = self.hosted[root]
        hosted.used_s = self._now_s()
        return hosted.open(self._hint).ws

    def stop(self) -> None:
        """End after the current steps; may be called from a signal handler."""
        self._stopping.set()
        self._wake.set()

    @property
    def is_stopping(self) -> bool:
        """Whether `stop` was called."""
        return self._stopping.is_set()

    def run(self) -> None:
        """Look after the workspaces until `stop` is called; raise the error that ends a host of one."""
        self._threads.start()
        try:
            while not self._stopping.is_set():
                wait_s = self.look()
                self._wake.wait(wait_s)
                self._wake.clear()
        finally:
            self._end()
        if self._ended_by:
            raise self._ended_by

    def look(self) -> float:
        """Look at each workspace that is due for a look, and return the seconds until the next look."""
        now_s, now = self._now_s(), self._clock()
        looked_at = [one for one in self.hosted.values() if one.hinted.is_set()]
        while self._looks and self._looks[0][0] <= now_s:
            _, _, hosted = heapq.heappop(self._looks)
            heapq.heappush(self._looks, (now_s + _seconds_between_looks(hosted), next(self._numbers), hosted))
            looked_at.append(hosted)
        for hosted in dict.fromkeys(looked_at):
            self._look_at(hosted, now_s, now)
        self._make_room()
        return max(0.0, self._looks[0][0] - self._now_s()) if self._looks else AGAIN.total_seconds()

    # ── one workspace ────────────────────────────────────────────────────────

    def _look_at(self, hosted: Hosted, now_s: float, now: datetime) -> None:
        if hosted.is_held is False:
            if now_s < hosted.rests_until_s:
                return
            self._open(hosted)
        if hosted.job is None or hosted.job.is_running or not hosted.is_held:
            return
        try:
            if hosted.look(now):
                self._threads.wake(hosted.job)
        except SupervisorError as error:
            self._let_rest(hosted, error)

    def _open(self, hosted: Hosted) -> None:
        """Open a workspace and take its lock, in the thread that will release it."""
        hosted.used_s = self._now_s()
        try:
            ws = hosted.open(self._hint).ws
        except (SupervisorError, OSError) as error:
            self._let_rest(hosted, as_supervisor_error(error, "open", hosted.root))
            return
        hosted.job = Job("round", lambda _, until_end: self._work(hosted, until_end), ws.events.report)

    def _work(self, hosted: Hosted, until_end: Control) -> float:
        hosted.used_s = self._now_s()
        try:
            has_more = hosted.work(self._hint, until_end)
        except SupervisorError as error:
            self._let_rest(hosted, error)
            return NEVER_S
        hosted.failures = 0
        return 0.0 if has_more else NEVER_S

    def _let_rest(self, hosted: Hosted, error: SupervisorError) -> None:
        """Leave a workspace alone that can't be looked after, for a time that doubles; a host of one ends."""
        if len(self.hosted) == 1:
            self._ended_by = error
            self.stop()
            return
        hosted.rests_until_s = self._now_s() + min(AGAIN.total_seconds() * 2**hosted.failures, _LONGEST_REST_S)
        hosted.failures += 1
        if hosted.supervisor:
            hosted.supervisor.ws.events.report("host", [error])
        hosted.end()
        hosted.release()

    def _hint(self, hosted: Hosted, name: str) -> None:
        """Look at the workspace now: a file of that *name* may have changed."""
        supervisor = hosted.supervisor
        if supervisor and name.endswith(".md"):
            supervisor.ws.memory.tell()
        if supervisor and supervisor.background:
            supervisor.background.hint(name)
        if supervisor and name != supervisor.ws.paths.inbox.name:
            hosted.hinted.set()
            self._wake.set()

    # ── room ─────────────────────────────────────────────────────────────────

    def _make_room(self) -> None:
        """Close the workspaces and indexes that were used longest ago where there are too many, and an index that rests."""
        opened = [one for one in self.hosted.values() if one.supervisor]
        if len(opened) > self._open_most:
            idle = [one for one in opened if one.supervisor and one.supervisor.is_at_rest and not one.is_running]
            for hosted in sorted(idle, key=lambda one: one.used_s)[: len(opened) - self._open_most]:
                hosted.close()
        indexes = [one.supervisor.ws.index for one in opened if one.supervisor and one.supervisor.ws.index.is_readable]
        indexes.sort(key=lambda index: index.used_s)
        surplus, unused_since_s = len(indexes) - self._indexes_most, time.monotonic() - INDEX_REST_S
        for n, index in enumerate(indexes):
            if n < surplus or index.used_s < unused_since_s:
                index.close()

    def _end(self) -> None:
        """End the jobs, the threads and the supervisors."""
        for hosted in self.hosted.values():
            if hosted.job:
                hosted.job.end()
            if hosted.supervisor and hosted.supervisor.background:
                hosted.supervisor.background.end()
        self._threads.stop(_JOIN_S)
        for hosted in self.hosted.values():
            hosted.end()


def _seconds_between_looks(hosted: Hosted) -> float:
    return hosted.supervisor.ws.config.care.poll.total_seconds() if hosted.supervisor else _DORMANT_LOOK_S
