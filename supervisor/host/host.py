"""
The host of a workspace: looks at it, has a thread do what there is to do, and gives back what a supervisor at rest needs not.

A look costs a few stats; only a change that it finds, or a due time, wakes the job that does rounds. File events make a look
come sooner.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from ..host import watcher
from ..storage.clock import steady_s
from ..storage.control import Control
from ..storage.errors import Busy, SupervisorError
from ..storage.os_errors import as_supervisor_error
from ..storage.process import give_back_memory
from ..text.chinese import rest
from .jobs import NEVER_S, Job, end_all
from .lock import SupervisorLock

if TYPE_CHECKING:
    from typing import Self

    from ..workspace import Workspace
    from .daemon import Supervisor

#: Opens the workspace, or lets its supervisor go on with a changed configuration.
Opener: TypeAlias = "Callable[[Supervisor | None, Workspace | None], Supervisor]"
#: Seconds after which an index that nobody has used is closed. The next question opens it again in some milliseconds; open, a
#: thread of tantivy's reads a file twice a second, for as long as nothing happens.
INDEX_REST_S: Final = 300.0
#: Seconds until a workspace whose file changed during a step is looked at again.
_HINTED_S: Final = 1.0
#: Seconds after the last step until freed memory is given back to the system.
_TRIM_AFTER_S: Final = 10.0
#: Seconds to wait for all jobs together at the end.
_JOIN_S: Final = 4.0


class Host:
    """
    Looks after the workspace at *root* until it is stopped.

    *open_supervisor* opens it and returns its supervisor; after a change of the configuration it is called again, with this
    supervisor and the reopened workspace. It ends when the workspace can't be looked after any more.
    """

    supervisor: Supervisor
    _lock: SupervisorLock

    def __init__(self, root: Path, open_supervisor: Opener, *, now_s: Callable[[], float] = steady_s) -> None:
        self._root, self._open_supervisor, self._now_s = root, open_supervisor, now_s
        self._round = Job("round", self._step, self._report, now_s=now_s)
        self._has_threads = False
        self._stop_watching: Callable[[], None] | None = None
        self._look_at_s, self._trim_at_s = float("-inf"), NEVER_S
        #: Whether an event has said that a file may have changed, and whether it may be one of memory.
        self._is_hinted = self._is_memory_hinted = False
        self._stopping, self._wake = threading.Event(), threading.Event()
        self._ended_by: SupervisorError | None = None

    def __enter__(self) -> Self:
        """Open the workspace and take its lock; AlreadyRuns if another program has it."""
        try:
            self.supervisor = self._open_supervisor(None, None)
            self._lock = SupervisorLock(self.supervisor.ws)
        except OSError as error:
            raise as_supervisor_error(error, "open", self._root) from error
        self._begin()
        return self

    def __exit__(self, *_: object) -> None:
        """Release the lock."""
        self._end_watch()
        self._lock.release()

    @property
    def workspace(self) -> Workspace:
        """The open workspace; a changed configuration makes another."""
        return self.supervisor.ws

    @property
    def jobs(self) -> list[Job]:
        """The rounds, and the background jobs."""
        return [self._round, *(self.supervisor.background.jobs if self.supervisor.background else ())]

    def stop(self) -> None:
        """End after the current steps; may be called from a signal handler."""
        self._stopping.set()
        self._wake.set()

    @property
    def is_stopping(self) -> bool:
        """Whether `stop` was called."""
        return self._stopping.is_set()

    def run(self) -> None:
        """Look after the workspace until `stop` is called; raise the error that ended it."""
        self._has_threads = True
        for job in self.jobs:
            job.start()
        try:
            while not self._stopping.is_set():
                self._wake.wait(self.look())
                self._wake.clear()
        finally:
            self._end()
        if self._ended_by:
            raise self._ended_by

    # ── looking ──────────────────────────────────────────────────────────────

    def look(self) -> float:
        """Wake a thread if there is something to do, and return the seconds until the next look."""
        for job in self.jobs if self._has_threads else ():
            with suppress(RuntimeError):  # where the system starts no thread now, the next look tries it again
                job.start()
        now_s = self._now_s()
        if self._is_hinted or now_s >= self._look_at_s:
            if not self._round.is_running:
                self._look()
            self._look_at_s = now_s + self.supervisor.ws.config.care.poll.total_seconds()
        self._close_resting_index()
        if now_s >= self._trim_at_s:
            self._trim(now_s)
        next_s = max(0.0, self._look_at_s - self._now_s())
        return min(next_s, _HINTED_S) if self._is_hinted else next_s

    def _look(self) -> None:
        hinted, self._is_hinted = self._is_hinted, False
        memory_hinted, self._is_memory_hinted = self._is_memory_hinted, False
        try:
            if self.supervisor.poll(self._lock, hinted=hinted, memory_hinted=memory_hinted):
                self._round.wake()
        except SupervisorError as error:
            self._end_by(error)

    def _hint(self, name: str) -> None:
        """Look at the workspace now: a file of that *name* may have changed."""
        supervisor = self.supervisor
        if name.endswith(".md"):
            supervisor.ws.memory.tell()
        if supervisor.background:
            supervisor.background.hint(name)
        self._is_memory_hinted = self._is_memory_hinted or not name.endswith(".json")
        if not self._is_hinted and name != supervisor.ws.paths.inbox.name:
            self._is_hinted = True
            self._wake.set()

    # ── working ──────────────────────────────────────────────────────────────

    def _step(self, until_end: Control) -> float:
        try:
            reopened = self.supervisor.work(until_end)
            if reopened:
                self._go_on_with(reopened)
        except (SupervisorError, OSError) as error:
            self._end_by(as_supervisor_error(error, "round", self._root))
            return NEVER_S
        finally:
            self._trim_at_s = self._now_s() + _TRIM_AFTER_S
        return 0.0 if reopened or self.supervisor.wants_more else NEVER_S

    def _go_on_with(self, reopened: Workspace) -> None:
        """Let the supervisor go on with a changed configuration."""
        supervisor, before = self.supervisor, self.supervisor.ws
        self._end_parts()
        supervisor.end(reopens=True)
        self.supervisor = self._open_supervisor(supervisor, reopened)
        self._begin()
        self._wake.set()  # the look starts their threads
        before.index.close()

    def _report(self, name: str, errors: Iterable[SupervisorError]) -> None:
        self.supervisor.ws.events.report(name, errors)

    def _end_by(self, error: SupervisorError) -> None:
        """End, since the workspace can't be looked after: its lock is lost, or a newer recalld has written it."""
        self._ended_by = error
        self.stop()

    def _begin(self) -> None:
        """Begin to watch its files and start the background jobs; without file events the looks find every change."""
        ws, background = self.supervisor.ws, self.supervisor.background
        try:
            self._stop_watching = watcher.watch(ws.paths, self._hint)
        except (OSError, Busy) as error:
            ws.events.transition("watch_lost", True, why=str(error))
        else:
            ws.memory.told = object()
        if background:
            background.start()

    def _end_parts(self) -> None:
        """Stop watching its files, and end the background jobs."""
        self._end_watch()
        if self.supervisor.background:
            self.supervisor.background.end()

    def _end_watch(self) -> None:
        if self._stop_watching:
            self.supervisor.ws.memory.told = None
            self._stop_watching()
            self._stop_watching = None

    def _end(self) -> None:
        """End the jobs and the supervisor; what a reload has made meanwhile has no thread yet."""
        end_all(self.jobs, _JOIN_S)
        self._end_parts()
        self.supervisor.end()

    # ── at rest ──────────────────────────────────────────────────────────────

    def _close_resting_index(self) -> None:
        index = self.supervisor.ws.index
        if index.is_readable and index.used_s < time.monotonic() - INDEX_REST_S:
            index.close()

    def _trim(self, now_s: float) -> None:
        """Give freed memory back, or some seconds later if a step or a background job runs."""
        if any(job.is_running for job in self.jobs):
            self._trim_at_s = now_s + _TRIM_AFTER_S
        else:
            self._trim_at_s = NEVER_S
            give_back_memory()
            rest()
