"""
The host: looks after many workspaces in one process, most of which have nothing to do.

A workspace is *dormant* (its path, signature, due time and lock), *open* (its stores, its supervisor, its index), or
*running* a round or a background job. A heap holds the time of the next look at each. A look costs a few stats; only a change
that it finds, or a due time, opens the workspace and wakes a thread. File events only make a look come sooner. If more
workspaces are open than there is room for, the least recently used are closed. `recalld run` is a host of one
(docs/decisions/0030).
"""

from __future__ import annotations

import gc
import heapq
import itertools
import math
import threading
import time
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from recalld.supervisor.host.due import AGAIN
from recalld.supervisor.host.hosted import Hosted, signature
from recalld.supervisor.host.jobs import NEVER_S, Job
from recalld.supervisor.storage.clock import steady_s
from recalld.supervisor.storage.control import Control
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.errors import LockLost, SupervisorError, as_supervisor_error
from recalld.supervisor.storage.heap import give_back_memory
from recalld.supervisor.storage.own_process import end_own_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime
    from pathlib import Path
    from typing import Self

    from recalld.supervisor.host.hosted import Opener, Watch
    from recalld.supervisor.host.jobs import Threads
    from recalld.supervisor.storage.clock import Clock
    from recalld.supervisor.workspace import Workspace

#: Is called with a workspace that can't be looked after, and why.
Told: TypeAlias = "Callable[[Path, SupervisorError], None]"
#: Threads of a host: a long archive run, a first index and a backend's vectors leave one free.
THREADS: Final = 4
#: How many workspaces are open at once, and how many indexes.
OPEN: Final = 200
INDEXES: Final = 500
#: Seconds after which an index that nobody has used is closed. The next question opens it again in some milliseconds; open, a
#: thread of tantivy's reads a file twice a second, for as long as nothing happens.
INDEX_REST_S: Final = 300.0
#: Seconds between two looks at a dormant workspace.
DORMANT_LOOK_S: Final = 5.0
#: The most seconds for which a workspace that can't be looked after is left alone.
_LONGEST_REST_S: Final = 3600.0
#: Seconds for which looks may go on before the host does what else it has to do.
_SWEEP_S: Final = 1.0
#: The most looks a second at open workspaces that rest: one reads the stats of a hundred files, and while rounds are computed
#: each stat waits for them.
_RESTING_LOOKS: Final = 20
#: Seconds between two looks whether there is room, and until one whose step still runs is let go.
_ROOM_S: Final = 1.0
#: Opened workspaces after which Python's collector leaves alone what there is by then: to go through what 300 keep takes 0.6 s,
#: in which everything waits.
_FREEZE_AFTER: Final = 10
#: Closed workspaces after which their memory is freed, if no more are open, since the stores of one know each other; and
#: seconds until that is done where fewer were closed, when nothing runs.
_COLLECT_AFTER: Final = 50
_COLLECT_S: Final = 3600.0
_LEAVE_S: Final = 0.05
#: Seconds until a workspace whose file changed during a step is looked at again.
_HINTED_S: Final = 1.0
#: Seconds after the last step until freed memory is given back to the system.
_TRIM_AFTER_S: Final = 10.0
#: Seconds to wait for all threads together at the end.
_JOIN_S: Final = 4.0
_DISK: Final = RealDisk()


class Host:
    """
    Looks after the workspaces *roots* until it is stopped, with jobs in *threads*; others are added and let go while it runs.

    A workspace that can't be looked after (another program has its lock, a newer recalld has written it) ends a host of one; a
    host of many leaves it alone for a while, or until its files change, and *told* is called. At most *open_most* workspaces
    and *indexes_most* indexes stay open; a dormant workspace is looked at every *dormant_s* seconds, and where there is a
    *watch* for many, at its events. A step is asked to end after *limit_s* seconds. *sign* is called after each look at a
    workspace: the loop goes round.
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
        dormant_s: float = DORMANT_LOOK_S,
        limit_s: float = NEVER_S,
        watch: Watch | None = None,
        told: Told | None = None,
        sign: Callable[[], None] = lambda: None,
    ) -> None:
        self._open_supervisor = open_supervisor
        self._clock = clock
        self._now_s = now_s
        self._threads = threads
        self._open_most, self._indexes_most = open_most, indexes_most
        self._dormant_s, self._limit_s = dormant_s, limit_s
        self._watch = watch
        self._told, self._sign = told, sign
        self._numbers = itertools.count()
        self._looks: list[tuple[float, int, Hosted]] = []
        self._hinted: deque[Hosted] = deque()
        self._room_at_s = float("-inf")
        self._trim_at_s = NEVER_S
        self._open_count = self._frozen_count = self._closed = 0
        self._collect_at_s = now_s() + _COLLECT_S
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._ended_by: SupervisorError | None = None
        self.hosted = {root: self._made(root) for root in roots}
        #: The workspaces that are let go once their step has ended.
        self.leaving: dict[Path, Hosted] = {}

    def __enter__(self) -> Self:
        """Take the locks; AlreadyRuns if another program has the lock of the only workspace."""
        for hosted in self.hosted.values():
            self._open(hosted)
            self._look_after(hosted, float("-inf"))
        if self._ended_by:
            self.__exit__()
            raise self._ended_by
        return self

    def __exit__(self, *_: object) -> None:
        """Release the locks."""
        for hosted in (*self.hosted.values(), *self.leaving.values()):
            hosted.release()

    def add(self, root: Path, after_s: float = 0.0) -> None:
        """Look after this workspace, too: its lock is taken in *after_s* seconds, or when it is asked for."""
        self.hosted[root] = self._made(root)
        self._look_after(self.hosted[root], self._now_s() + after_s)

    def let_go(self, root: Path, why: str | None) -> None:
        """Look after this workspace no more, and release its lock once its step has ended; its log has *why*, if it has one."""
        hosted = self.leaving[root] = self.hosted.pop(root)
        hosted.why_let_go = why
        hosted.end_jobs()
        self._wake.set()

    def workspace(self, root: Path) -> Workspace:
        """Return the open workspace at *root*, which is opened if it is dormant; KeyError or ValueError if it was let go."""
        hosted = self.hosted[root]
        hosted.used_s = self._now_s()
        return hosted.open(self._hint, self._watch).ws

    def stop(self) -> None:
        """End after the current steps; may be called from a signal handler."""
        self._stopping.set()
        self._wake.set()

    @property
    def is_stopping(self) -> bool:
        """Whether `stop` was called."""
        return self._stopping.is_set()

    def run(self, also: Callable[[], float] = lambda: NEVER_S) -> None:
        """
        Look after the workspaces until `stop` is called; raise the error that ends a host of one.

        Between looks *also* is called, which may add workspaces and let them go; it returns the seconds until the next call.
        """
        self._threads.start()
        try:
            while not self._stopping.is_set():
                wait_s = min(also(), self.look())
                self._wake.wait(wait_s)
                self._wake.clear()
        finally:
            self._end()
        if self._ended_by:
            raise self._ended_by

    def look(self) -> float:
        """
        Look at each workspace that is due for a look, and return the seconds until the next look.

        One that an event names comes first, also before those that are due already: a message may be waiting there.
        """
        now_s, now = self._now_s(), self._clock()
        running: list[Hosted] = []
        while self._now_s() <= now_s + _SWEEP_S and (hosted := self._first_to_look_at(now_s, now)):
            if not self._look_at(hosted, now_s, now):
                running.append(hosted)
            self._sign()
        is_late = self._now_s() > now_s + _SWEEP_S
        self._hinted.extend(running)
        if now_s >= self._room_at_s:
            self._room_at_s = now_s + _ROOM_S
            self._make_room()
        if now_s >= self._trim_at_s:
            self._trim(now_s)
        self._release_leaving()
        if is_late:
            return 0.0
        next_s = self._looks[0][0] - self._now_s() if self._looks else AGAIN.total_seconds()
        return max(0.0, min(next_s, _LEAVE_S if self.leaving else next_s, _HINTED_S if self._hinted else next_s))

    def overdue(self) -> list[Path]:
        """Return the workspaces whose step does not end although it was asked to: it has had twice its time."""
        since_s = self._now_s() - 2 * self._limit_s
        return [one.root for one in (*self.hosted.values(), *self.leaving.values()) if one.since_s < since_s]

    # ── one workspace ────────────────────────────────────────────────────────

    def _made(self, root: Path) -> Hosted:
        hosted = Hosted(root, self._open_supervisor)
        hosted.job = Job("round", partial(self._step, hosted), partial(self._report, hosted))
        return hosted

    def _look_after(self, hosted: Hosted, at_s: float) -> None:
        heapq.heappush(self._looks, (at_s, next(self._numbers), hosted))

    def _first_to_look_at(self, now_s: float, now: datetime) -> Hosted | None:
        """Take the next workspace that an event has named, else the next that is due for a look; None if there is none."""
        if self._hinted:
            return self._hinted.popleft()
        while self._looks and self._looks[0][0] <= now_s:
            _, _, hosted = heapq.heappop(self._looks)
            if self.hosted.get(hosted.root) is hosted:
                self._look_after(hosted, self._next_look_s(hosted, now_s, now))
                return hosted
        return None

    def _next_look_s(self, hosted: Hosted, now_s: float, now: datetime) -> float:
        if supervisor := hosted.supervisor:
            poll_s = supervisor.ws.config.care.poll.total_seconds()
            if supervisor.is_at_rest and hosted.is_told:
                rest_s = max(supervisor.ws.config.care.tree_poll.total_seconds(), self._open_count / _RESTING_LOOKS)
                poll_s = max(poll_s, min(rest_s, (supervisor.due_at - now).total_seconds()))
            return now_s + poll_s
        return math.ceil(now_s + self._dormant_s)  # at whole seconds, so that one waking is for many

    def _look_at(self, hosted: Hosted, now_s: float, now: datetime) -> bool:
        """Wake its job if there is something to do; return False if that can't be told while its step runs."""
        if hosted.job.is_running or hosted.job.is_over:
            return hosted.job.is_over or not hosted.is_hinted
        if not hosted.is_held:
            if now_s >= hosted.rests_until_s or hosted.refused_signature != signature(_DISK, hosted.root):
                self._threads.wake(hosted.job)
            return True
        try:
            if hosted.look(now):
                self._threads.wake(hosted.job)
        except SupervisorError as error:
            self._let_rest(hosted, error)
        return True

    def _open(self, hosted: Hosted) -> None:
        """Open a workspace and take its lock."""
        hosted.used_s = self._now_s()
        try:
            hosted.open(self._hint, self._watch)
        except (SupervisorError, OSError) as error:
            self._let_rest(hosted, as_supervisor_error(error, "open", hosted.root))

    def _step(self, hosted: Hosted, _until_woken: Control, until_end: Control) -> float:
        hosted.used_s = hosted.since_s = self._now_s()
        ends_s = hosted.since_s + self._limit_s
        control = Control(lambda: until_end.should_stop() or self._now_s() > ends_s)
        try:
            has_more = hosted.work(self._hint, self._watch, control)
        except (SupervisorError, OSError) as error:
            self._let_rest(hosted, as_supervisor_error(error, "round", hosted.root))
            return NEVER_S
        finally:
            hosted.since_s = NEVER_S
            self._trim_at_s = self._now_s() + _TRIM_AFTER_S
        hosted.failures = 0
        return 0.0 if has_more else NEVER_S

    def _report(self, hosted: Hosted, name: str, errors: Iterable[SupervisorError]) -> None:
        """Report the bugs of a step in the events of its workspace."""
        if hosted.supervisor:
            hosted.supervisor.ws.events.report(name, errors)

    def _let_rest(self, hosted: Hosted, error: SupervisorError) -> None:
        """Leave a workspace alone that can't be looked after, for a time that doubles; a host of one ends."""
        if self._told is None and len(self.hosted) == 1:
            self._ended_by = error
            self.stop()
            return
        hosted.rests_until_s = self._now_s() + min(AGAIN.total_seconds() * 2**hosted.failures, _LONGEST_REST_S)
        hosted.failures += 1
        if self._told:
            self._told(hosted.root, error)
        elif hosted.supervisor:
            hosted.supervisor.ws.events.report("host", [error])
        hosted.end()
        hosted.release(is_lost=isinstance(error, LockLost))
        hosted.refused_signature = signature(_DISK, hosted.root)

    def _hint(self, hosted: Hosted, name: str) -> None:
        """Look at the workspace now: a file of that *name* may have changed."""
        supervisor = hosted.supervisor
        if supervisor and name.endswith(".md"):
            supervisor.ws.memory.tell()
        if supervisor and supervisor.background:
            supervisor.background.hint(name)
        hosted.is_memory_hinted = hosted.is_memory_hinted or not name.endswith(".json")
        if not hosted.is_hinted and not (supervisor and name == supervisor.ws.paths.inbox.name):
            hosted.is_hinted = True
            self._hinted.append(hosted)
            self._wake.set()

    def _release_leaving(self) -> None:
        for root, hosted in list(self.leaving.items()):
            if not hosted.is_running:
                hosted.end()
                hosted.release(for_good=True)
                del self.leaving[root]
                self._closed += 1

    # ── room ─────────────────────────────────────────────────────────────────

    def _make_room(self) -> None:
        """Close the workspaces and indexes that were used longest ago where there are too many, and an index that rests."""
        opened = [one for one in self.hosted.values() if one.supervisor]
        self._open_count = len(opened)
        if len(opened) > self._open_most:
            still = [one for one in opened if not (one.is_running or one.is_hinted)]  # an event is looked at before
            idle = [one for one in still if one.supervisor and one.supervisor.is_at_rest]
            for hosted in sorted(idle, key=lambda one: one.used_s)[: len(opened) - self._open_most]:
                hosted.close(watched=self._watch is not None)
                if hosted.supervisor:
                    self._threads.wake(hosted.job)  # something came since the last look
                else:
                    self._closed += 1
        if self._closed >= max(_COLLECT_AFTER, self._open_most):
            self._collect()
        elif self._open_count >= self._frozen_count + _FREEZE_AFTER:
            self._freeze()
        indexes = [one.supervisor.ws.index for one in opened if one.supervisor and one.supervisor.ws.index.is_readable]
        indexes.sort(key=lambda index: index.used_s)
        surplus, unused_since_s = len(indexes) - self._indexes_most, time.monotonic() - INDEX_REST_S
        for n, index in enumerate(indexes):
            if n < surplus or index.used_s < unused_since_s:
                index.close()

    def _freeze(self) -> None:
        gc.freeze()
        self._frozen_count = self._open_count

    def _collect(self) -> None:
        """Free what closed workspaces have left, also of what was frozen while they were open."""
        self._closed, self._collect_at_s = 0, self._now_s() + _COLLECT_S
        gc.unfreeze()
        gc.collect()
        self._freeze()

    def _trim(self, now_s: float) -> None:
        """Give freed memory back, with the process for functions, or some seconds later if a step or a background job runs."""
        if any(one.is_running for one in self.hosted.values()):
            self._trim_at_s = now_s + _TRIM_AFTER_S
        else:
            self._trim_at_s = NEVER_S
            if self._frozen_count and now_s >= self._collect_at_s:
                self._collect()
            end_own_process()
            give_back_memory()

    def _end(self) -> None:
        """End the jobs, the threads and the supervisors."""
        for hosted in self.hosted.values():
            hosted.end_jobs()
        self._threads.stop(_JOIN_S)
        for hosted in (*self.hosted.values(), *self.leaving.values()):
            hosted.end()
        end_own_process()
