"""
The host of a workspace: looks at it, has a thread do what there is to do, and gives back what a supervisor at rest needs not.

A look costs a few stats; only a change that it finds, or a due time, wakes the job that does rounds. File events make a look
come sooner.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from ..host import watcher
from ..storage.clock import steady_s
from ..storage.control import Control
from ..storage.errors import Busy, SupervisorError
from ..storage.os_errors import as_supervisor_error
from ..storage.process import give_back_memory
from ..text.chinese import rest
from .jobs import NEVER_S, Job, end_all
from .lock import take_lock

if TYPE_CHECKING:
    from typing import Self

    from .daemon import Supervisor
    from .lock import SupervisorLock

#: Seconds after which an index that nobody has used is closed. The next question opens it again in some milliseconds; open, a
#: thread of tantivy's reads a file twice a second, for as long as nothing happens.
INDEX_REST_S: Final = 300.0
#: Seconds until a workspace whose file changed during a step is looked at again.
_HINTED_S: Final = 1.0
#: Seconds to wait for all jobs together at the end.
_JOIN_S: Final = 4.0
_WAIT_S: Final = 0.1


class Host:
    """
    Looks after the workspace of *supervisor* until it is stopped, or the configuration has changed.

    It ends, too, when the workspace can't be looked after any more. *lock* is the lock of the workspace where it is held
    already; it is not released then.
    """

    _lock: SupervisorLock

    def __init__(
        self, supervisor: Supervisor, lock: SupervisorLock | None = None, *, now_s: Callable[[], float] = steady_s
    ) -> None:
        self.supervisor, self._now_s, self._given = supervisor, now_s, lock
        background = supervisor.background
        self._round = Job("round", self._step, supervisor.ws.events.report, now_s=now_s)
        #: The rounds, and the background jobs.
        self.jobs = [self._round, *(background.jobs if background else ())]
        self._stop_watching: Callable[[], None] | None = None
        self._look_at_s = float("-inf")
        #: Whether an event has said that a file may have changed, and whether it may be one of memory.
        self._is_hinted = self._is_memory_hinted = False
        self._stopping, self._wake = threading.Event(), threading.Event()
        self._ended_by: SupervisorError | None = None

    def __enter__(self) -> Self:
        """Take the lock of the workspace; AlreadyRuns if another program has it."""
        ws, background = self.supervisor.ws, self.supervisor.background
        self._lock = self._given or take_lock(ws)
        try:
            self._stop_watching = watcher.watch(ws.paths, self._hint)
        except (OSError, Busy) as error:  # the looks find every change
            ws.events.transition("watch_lost", True, why=str(error))
        else:
            ws.memory.told = object()
        if background:
            background.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Release the lock that it has taken."""
        ws = self.supervisor.ws
        if self._stop_watching:
            ws.memory.told = None
            self._stop_watching()
        ws.index.close()
        if self._given is None:
            self._lock.release()

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
        for job in self.jobs:
            job.start()
        try:
            while not (self._stopping.is_set() or self.supervisor.is_outdated):
                self._wake.wait(self.look())
                self._wake.clear()
        finally:
            end_all(self.jobs, _JOIN_S)
            while self.supervisor.is_outdated and any(job.is_running for job in self.jobs) and not self._stopping.is_set():
                self._stopping.wait(_WAIT_S)  # no step may go on beside what is opened next
            if self.supervisor.background:
                self.supervisor.background.end()
            self.supervisor.end()
        if self._ended_by:
            raise self._ended_by

    # ── looking ──────────────────────────────────────────────────────────────

    def look(self) -> float:
        """Wake a thread if there is something to do, and return the seconds until the next look."""
        now_s = self._now_s()
        if self._is_hinted or now_s >= self._look_at_s:
            if not self._round.is_running:
                self._look()
            self._look_at_s = now_s + self.supervisor.ws.config.care.poll.total_seconds()
        self._rest()
        next_s = max(0.0, self._look_at_s - self._now_s())
        return min(next_s, _HINTED_S) if self._is_hinted else next_s

    def _look(self) -> None:
        hinted, self._is_hinted = self._is_hinted, False
        memory_hinted, self._is_memory_hinted = self._is_memory_hinted, False
        try:
            has_work = self.supervisor.poll(self._lock, hinted=hinted, memory_hinted=memory_hinted)
            if self.supervisor.is_outdated:
                self._wake.set()
            elif has_work:
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
            self.supervisor.work(until_end)
        except (SupervisorError, OSError) as error:
            self._end_by(as_supervisor_error(error, "round", self.supervisor.ws.paths.root))
            return NEVER_S
        return 0.0 if self.supervisor.wants_more else NEVER_S

    def _end_by(self, error: SupervisorError) -> None:
        """End, since the workspace can't be looked after: its lock is lost, or a newer recalld has written it."""
        self._ended_by = error
        self.stop()

    # ── at rest ──────────────────────────────────────────────────────────────

    def _rest(self) -> None:
        """Close an index that nobody has used for a while, and give freed memory back to the system."""
        index = self.supervisor.ws.index
        if index.is_readable and index.used_s < time.monotonic() - INDEX_REST_S:
            index.close()
            give_back_memory()
            rest()
