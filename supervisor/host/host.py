"""
The host of a workspace: each of its jobs has a thread, and what a supervisor at rest needs not is given back.

The job of the rounds looks at the workspace, with a few stats, and does a round where that finds a change or one is due. File
events make a look come sooner.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Final, Self

from ..host import watcher
from ..storage.clock import steady_s
from ..storage.control import Control
from ..storage.errors import Busy, SupervisorError, as_supervisor_error
from ..storage.process import give_back_memory
from ..text.chinese import rest
from .daemon import Supervisor
from .jobs import NEVER_S, Job, end_all
from .lock import SupervisorLock, supervisor_lock

#: Seconds after which an index that nobody has used is closed. The next question opens it again in some milliseconds; open, a
#: thread of tantivy's reads a file twice a second, for as long as nothing happens.
INDEX_REST_S: Final = 300.0
#: Seconds in which, after a change that led to a round, further changes are gathered for one look.
_GATHER_S: Final = 1.0
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
        self.supervisor, self._given, self._now_s = supervisor, lock, now_s
        background = supervisor.background
        self._round = Job("round", self._step, supervisor.ws.events.report, now_s=now_s)
        #: The rounds, and the background jobs.
        self.jobs = [self._round, *(background.jobs if background else ())]
        #: What ends with the host: file events, the index, the lock that it has taken.
        self._held = contextlib.ExitStack()
        #: Whether an event has said that a file may have changed, and whether it may be one of memory.
        self._is_hinted = self._is_memory_hinted = False
        #: Until when changes are gathered, by *now_s*.
        self._gathers_until_s = float("-inf")
        #: Whether `stop` was called; whether the jobs have to end for any reason.
        self._stopping, self._ending = threading.Event(), threading.Event()
        self._ended_by: SupervisorError | None = None

    def __enter__(self) -> Self:
        """Take the lock of the workspace; AlreadyRuns if another program has it."""
        ws = self.supervisor.ws
        self._lock = self._given or self._held.enter_context(supervisor_lock(ws))
        self._held.callback(ws.index.close)
        try:
            self._held.callback(watcher.watch(ws.paths, self._hint))
        except (OSError, Busy) as error:  # the looks find every change
            ws.events.transition("watch_lost", True, why=str(error))
        else:
            ws.memory.generation = object()
        for job in self.jobs:
            job.wake()
        return self

    def __exit__(self, *_: object) -> None:
        """Release the lock that it has taken."""
        self.supervisor.ws.memory.generation = None
        self._held.close()

    def stop(self) -> None:
        """End after the current steps; may be called from a signal handler."""
        self._stopping.set()
        self._ending.set()

    @property
    def is_stopping(self) -> bool:
        """Whether `stop` was called."""
        return self._stopping.is_set()

    def run(self) -> None:
        """Look after the workspace until `stop` is called; raise the error that ended it."""
        for job in self.jobs:
            job.start()
        try:
            self._ending.wait()
        finally:
            end_all(self.jobs, _JOIN_S)
            while self.supervisor.is_outdated and any(job.is_running for job in self.jobs) and not self._stopping.is_set():
                self._stopping.wait(_WAIT_S)  # no step may go on beside what is opened next
            if self.supervisor.background:
                self.supervisor.background.end()
            self.supervisor.end()
        if self._ended_by:
            raise self._ended_by

    # ── working ──────────────────────────────────────────────────────────────

    def _hint(self, name: str) -> None:
        """Look at the workspace now, or once changes are gathered: a file of that *name* may have changed."""
        supervisor = self.supervisor
        if name.endswith(".md"):
            supervisor.ws.memory.tell()
        if supervisor.background:
            supervisor.background.hint(name)
        self._is_memory_hinted = self._is_memory_hinted or not name.endswith(".json")
        if name != supervisor.ws.paths.inbox.name:
            self._is_hinted = True
            self._round.wake(self._gathers_until_s - self._now_s())

    def _step(self, until_end: Control) -> float:
        """Look, work if there is something to do, and return the seconds until the next look."""
        supervisor = self.supervisor
        hinted, self._is_hinted = self._is_hinted, False
        memory_hinted, self._is_memory_hinted = self._is_memory_hinted, False
        try:
            has_work = supervisor.poll(self._lock, hinted=hinted, memory_hinted=memory_hinted)
            if hinted and supervisor.wants_more:
                self._gathers_until_s = self._now_s() + _GATHER_S
            if has_work and not supervisor.is_outdated:
                supervisor.work(until_end)
        except (SupervisorError, OSError) as error:  # its lock is lost, or a newer recalld has written the workspace
            self._ended_by = as_supervisor_error(error, "round", supervisor.ws.paths.root)
            self.stop()
            return NEVER_S
        if supervisor.is_outdated:
            self._ending.set()
            return NEVER_S
        self._rest()
        return 0.0 if supervisor.wants_more else supervisor.ws.config.care.poll.total_seconds()

    # ── at rest ──────────────────────────────────────────────────────────────

    def _rest(self) -> None:
        """Close an index that nobody has used for a while, and give freed memory back to the system."""
        index = self.supervisor.ws.index
        if index.is_readable and index.used_s < time.monotonic() - INDEX_REST_S:
            index.close()
            give_back_memory()
            rest()
