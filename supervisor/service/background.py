"""
A thread beside the supervisor's rounds, which does one thing again and again, and never brings the rounds down.

What the supervisor does beside its rounds, so that recall is ready when the assistant asks (design of recall, "Speed").

One thread brings the index up to date as files change, and asks canaries when there is nothing else to do; one has the context
of what waits in inbox.json ready; one shows memory to a backend that wants to see it beforehand. Why threads: decision 0012.
"""

from __future__ import annotations

import contextlib
import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from supervisor.context.prepared import Ready
from supervisor.protocol.clock import within
from supervisor.protocol.errors import Busy, InternalError, SupervisorError, as_ours
from supervisor.recall.canaries import probe
from supervisor.recall.rerank import precompute_vectors

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from supervisor.protocol.clock import Clock
    from supervisor.workspace import Workspace

#: Seconds until a step that failed in a way nobody foresaw is done again.
_AFTER_A_BUG_S: Final = 60.0


class PeriodicThread:
    """
    Does *step* when it is woken, and at the latest after as many seconds as the step before it returned.

    *ws* is this thread's own, and should stop (`ws.should_stop`) as soon as anything else is wanted; an update of the index
    only at the end. What wakes the thread within *gather_s* seconds is dealt with in one step.
    """

    def __init__(self, ws: Workspace, what: str, step: Callable[[], float], gather_s: float = 0.0) -> None:
        self._ws = ws
        self._what = what
        self._step = step
        self._gather_s = gather_s
        self._woken = threading.Event()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name=what, daemon=True)
        ws.should_stop, ws.index.should_stop = self._is_wanted, self._ending.is_set

    def start(self) -> None:
        """Begin, with a first step at once."""
        self._woken.set()
        self._thread.start()

    def wake(self) -> None:
        """Have the step done now."""
        self._woken.set()

    def stop(self) -> None:
        """End after what is being done, which looks from time to time whether it is to stop."""
        self._ending.set()
        self._woken.set()

    def join(self, within_s: float) -> None:
        """Wait until it has ended, for so many seconds at most: what hangs then ends with the process."""
        self._thread.join(within_s)

    def _is_wanted(self) -> bool:
        return self._woken.is_set() or self._ending.is_set()

    def _run(self) -> None:
        wait_s = 0.0
        while True:
            self._woken.wait(wait_s)
            self._ending.wait(self._gather_s)
            self._woken.clear()
            if self._ending.is_set():
                return
            wait_s = self._done()

    def _done(self) -> float:
        try:
            wait_s = self._step()
        except Exception as error:  # noqa: BLE001 - the rounds go on whatever happens here; it is told
            why = str(InternalError.of(self._what, error))
            self._ws.events.transition("error", why, why=why)
            return _AFTER_A_BUG_S
        self._ws.events.transition("error", "")
        return wait_s


#: Seconds between two checks of canaries; for what changes together, since a run writes a file a day.
_CHECK_S: Final = 60.0
_GATHER_S: Final = 0.05
#: Seconds until a backend that failed is shown again what it lacks.
_LEARN_S: Final = 300.0
#: How long all threads together are waited for in the end.
_END_S: Final = 4.0
#: How long another program's update is waited for.
_LOCK_WAIT: Final = timedelta(seconds=2)
#: Seconds until a failed update is tried again: the first, and the longest after doubling.
_AGAIN_S: Final = (0.5, 60.0)


class BackgroundThreads:
    """The threads, each with a workspace of its own, which *another* opens."""

    def __init__(self, another: Callable[[], Workspace], clock: Clock) -> None:
        learning, fresh, ready = another(), another(), another()
        self._inbox = ready.paths.inbox.name
        self._learning = PeriodicThread(learning, "learning", lambda: _learn(learning))
        self._index, self._commits = fresh.index, (fresh.index.current_commit, fresh.index.current_commit)
        self._fresh = PeriodicThread(fresh, "index", Freshness(fresh, clock, self._learning.wake).step, _GATHER_S)
        self._ready = PeriodicThread(ready, "ready context", _context_step(ready, clock))

    def hint(self, name: str) -> None:
        """Somebody says that a file of this *name* has changed."""
        if name == self._inbox:
            self._ready.wake()
        if name.endswith(".md"):
            self._fresh.wake()

    def memory_changed(self) -> None:
        """The files of memory are others than they were."""
        self._fresh.wake()

    def look(self) -> None:
        """Have the index made anew where somebody has deleted it or written over it: one stat."""
        with contextlib.suppress(OSError):  # it may not be looked at: an update tells of that
            # both, since what was made anew may have been deleted again while it was made
            before, self._commits = self._commits, (self._index.commit_on_disk(), self._index.current_commit)
            if self._commits != before and self._commits[0] != self._commits[1]:
                self._fresh.wake()

    def __enter__(self) -> None:
        """Begin; the inbox and the index are looked at at once."""
        for thread in (self._ready, self._fresh, self._learning):
            thread.start()

    def __exit__(self, *_: object) -> None:
        """End after what is being done."""
        deadline = within(_END_S)
        for thread in (self._ready, self._fresh, self._learning):
            thread.stop()
        for thread in (self._ready, self._fresh, self._learning):
            thread.join(deadline.left_s)


def _learn(ws: Workspace) -> float:
    prepare_backend(ws)
    return _LEARN_S


def prepare_backend(ws: Workspace) -> int:
    """Have the backend of recall prepare the files that it has not prepared yet, and return how many."""
    return precompute_vectors(
        reranker=ws.reranker,
        name=ws.config.recall.backend,
        index=ws.index,
        files=ws.files,
        paths=ws.paths,
        zone=ws.zone,
        events=ws.events,
        should_stop=ws.should_stop,
        progress=ws.progress,
    )


def _context_step(ws: Workspace, clock: Clock) -> Callable[[], float]:
    ready = Ready(ws, clock)

    def step() -> float:
        ready.look()
        return ws.config.care.poll.total_seconds()

    return step


def ask_canaries(ws: Workspace, now: datetime) -> int:
    """Ask the recall canaries that are due, and return how many."""
    return probe(
        files=ws.files,
        paths=ws.paths,
        memory=ws.memory,
        searcher=ws.searcher,
        events=ws.events,
        now=now,
        should_stop=ws.should_stop,
    )


class Freshness:
    """
    The index, brought up to date; what fails is told once and tried again, ever later.

    *changed* is called when it holds something new.
    """

    def __init__(self, ws: Workspace, clock: Clock, changed: Callable[[], None] = lambda: None) -> None:
        self._ws = ws
        self._clock = clock
        self._changed = changed
        self._again_s = _AGAIN_S[0]
        self._checked = float("-inf")

    def step(self) -> float:
        """Bring the index up to date and, when nothing else is wanted, ask some canaries; seconds until the next step."""
        why = self._fault_of(self._update)
        if self._ws.index.should_stop():
            return 0.0
        self._ws.events.transition("index_stale", bool(why), cleared="index_fresh", why=why)
        if why:
            wait_s, self._again_s = self._again_s, min(2 * self._again_s, _AGAIN_S[1])
            return wait_s
        self._again_s = _AGAIN_S[0]
        left_s = self._checked + _CHECK_S - time.monotonic()
        if left_s > 0 or self._ws.should_stop():
            return max(left_s, 0.0)
        why = self._fault_of(lambda: ask_canaries(self._ws, self._clock()))
        self._ws.events.transition("degraded", bool(why), cleared="recovered", why=why)
        self._checked = time.monotonic()
        return _CHECK_S

    def _update(self) -> None:
        found = self._ws.searcher.refresh(_LOCK_WAIT.total_seconds())
        if found.read:
            self._changed()
        if found.shared:
            raise Busy(self._ws.paths.state / "index.lock", _LOCK_WAIT)

    def _fault_of(self, step: Callable[[], object]) -> str:
        """Return what went wrong in the step, "" when nothing did."""
        try:
            step()
        except (SupervisorError, OSError) as error:
            return str(as_ours(error, "index", self._ws.paths.state))
        return ""
