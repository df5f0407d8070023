"""
The background threads of a supervisor, which keep recall ready between its rounds (docs/explanation/recall.md).

One thread updates the index when files change and runs canaries when it is idle; one prepares the context of the input that
waits in inbox.json; one computes vectors for a rerank backend that needs them. A failure in a thread never stops the rounds.
Why threads: docs/decisions/0012.
"""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from recalld.supervisor.context.prepared import PreparedContexts
from recalld.supervisor.host.conversations import kept_summary
from recalld.supervisor.protocol.quiet_hours import quiet_until
from recalld.supervisor.recall.canaries import probe
from recalld.supervisor.recall.rerank import precompute_vectors
from recalld.supervisor.storage.clock import within
from recalld.supervisor.storage.control import UNLIMITED, Control
from recalld.supervisor.storage.errors import Busy, InternalError, SupervisorError, as_supervisor_error

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from recalld.supervisor.storage.clock import Clock
    from recalld.supervisor.workspace import Workspace

#: Seconds until a step is tried again that failed with an unexpected exception.
_RETRY_AFTER_BUG_S: Final = 60.0
#: Seconds between two runs of canaries.
_CANARIES_EVERY_S: Final = 60.0
#: Seconds in which changed files are gathered for one update: a run writes a file a day.
_GATHER_S: Final = 0.05
#: Seconds until missing vectors are looked for again.
_VECTORS_EVERY_S: Final = 300.0
#: Seconds that all threads together are waited for at the end.
_JOIN_S: Final = 4.0
#: How long to wait for another program's update of the index.
_LOCK_WAIT: Final = timedelta(seconds=2)
#: Seconds until a failed update is tried again: the first wait, and the longest after doubling.
_RETRY_S: Final = (0.5, 60.0)

#: A step of a thread; it returns the seconds until the next one.
Step: TypeAlias = "Callable[[Control, Control], float]"


class PeriodicThread:
    """
    A thread that runs *step* when it is woken, and at the latest after the number of seconds that the last step returned.

    *ws* is this thread's own. The step gets two controls: the first says stop when the thread is woken or is to end, the other
    only when it is to end. All calls of `wake` within *gather_s* seconds lead to one step.
    """

    def __init__(self, ws: Workspace, name: str, step: Step, gather_s: float = 0.0) -> None:
        self._ws = ws
        self._name = name
        self._step = step
        self._gather_s = gather_s
        self._woken = threading.Event()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread; its first step begins at once."""
        self._woken.set()
        self._thread.start()

    def wake(self) -> None:
        """Run the step now."""
        self._woken.set()

    def stop(self) -> None:
        """End the thread after the current step, which asks from time to time whether to end."""
        self._ending.set()
        self._woken.set()

    def join(self, within_s: float) -> None:
        """Wait for the end of the thread, at most so many seconds: a step that hangs ends with the process."""
        self._thread.join(within_s)

    def _is_interrupted(self) -> bool:
        return self._woken.is_set() or self._ending.is_set()

    def _run(self) -> None:
        wait_s = 0.0
        while True:
            self._woken.wait(wait_s)
            self._ending.wait(self._gather_s)
            self._woken.clear()
            if self._ending.is_set():
                return
            wait_s = self._run_step()

    def _run_step(self) -> float:
        try:
            wait_s = self._step(Control(self._is_interrupted), Control(self._ending.is_set))
        except Exception as error:  # noqa: BLE001 - the rounds go on whatever happens here; it is reported
            why = str(InternalError.of(self._name, error))
            self._ws.events.transition("error", why, why=why)
            return _RETRY_AFTER_BUG_S
        self._ws.events.transition("error", "")
        return wait_s


class BackgroundThreads:
    """The background threads; *open_another* opens a workspace for each, *index_grown* is called while an index is made."""

    def __init__(
        self, open_another: Callable[[], Workspace], clock: Clock, index_grown: Callable[[], None] = lambda: None
    ) -> None:
        vectors_ws, index_ws, contexts_ws = open_another(), open_another(), open_another()
        self._inbox, self._history = contexts_ws.paths.inbox.name, contexts_ws.paths.history.name
        self._vectors = PeriodicThread(vectors_ws, "vectors", _vectors_step(vectors_ws, clock), _GATHER_S)
        self._index, self._commits = index_ws.index, (index_ws.index.current_commit, index_ws.index.current_commit)
        self._updater = IndexUpdater(index_ws, clock, self._vectors.wake, index_grown)
        self._indexing = PeriodicThread(index_ws, "index", self._updater.step, _GATHER_S)
        self._contexts = PeriodicThread(contexts_ws, "ready context", _context_step(contexts_ws, clock))

    def hint(self, name: str) -> None:
        """Wake the thread that handles files of this *name*: such a file may have changed."""
        if name == self._inbox:
            self._contexts.wake()
        if name.endswith(".md"):
            self._indexing.wake()
        if name == self._history:
            self._vectors.wake()

    @property
    def has_index(self) -> bool:
        """Whether the index was brought up to date once, or could not be."""
        return self._updater.has_tried

    def memory_changed(self) -> None:
        """Update the index: files of memory have changed, or the index is damaged."""
        self._indexing.wake()

    def check_index(self) -> None:
        """Wake the index thread if somebody has deleted or replaced the index on disk; costs one stat."""
        with contextlib.suppress(OSError):  # an update reports that the index can't be read
            # both, since a rebuilt index may have been deleted again while it was being built
            before, self._commits = self._commits, (self._index.commit_on_disk(), self._index.current_commit)
            if self._index.is_lost or (self._commits != before and self._commits[0] != self._commits[1]):
                self._indexing.wake()

    def __enter__(self) -> None:
        """Start the threads; inbox and index are checked at once."""
        for thread in (self._contexts, self._indexing, self._vectors):
            thread.start()

    def __exit__(self, *_: object) -> None:
        """End the threads after their current steps."""
        deadline = within(_JOIN_S)
        for thread in (self._contexts, self._indexing, self._vectors):
            thread.stop()
        for thread in (self._contexts, self._indexing, self._vectors):
            thread.join(deadline.left_s)


def prepare_backend(ws: Workspace, clock: Clock, control: Control = UNLIMITED) -> tuple[int, str]:
    """Have the backend of recall prepare what it has not prepared yet; return how many files, and why it failed, or ""."""
    return precompute_vectors(
        reranker=ws.reranker,
        name=ws.config.recall.backend,
        index=ws.index,
        files=ws.files,
        paths=ws.paths,
        zone=ws.zone,
        unfiled=lambda: ws.unfiled.passages(clock()).passages,
        events=ws.events,
        control=control,
    )


def ask_canaries(ws: Workspace, now: datetime, control: Control = UNLIMITED) -> int:
    """Ask the recall canaries that are due, and return how many."""
    return probe(
        files=ws.files,
        paths=ws.paths,
        memory=ws.memory,
        searcher=ws.searcher,
        events=ws.events,
        now=now,
        control=control,
    )


class IndexUpdater:
    """
    Keeps the index up to date; a failure is reported once and tried again after a growing wait.

    *changed* is called when the index holds something new, *grown* while it is made.
    """

    def __init__(
        self,
        ws: Workspace,
        clock: Clock,
        changed: Callable[[], None] = lambda: None,
        grown: Callable[[], None] = lambda: None,
    ) -> None:
        self._ws = ws
        self._clock = clock
        self._changed = changed
        self._grown = grown
        self._retry_s = _RETRY_S[0]
        self._canaries_at = float("-inf")
        #: Whether an update is over, with an index or with a reason why there is none.
        self.has_tried = False

    def step(self, until_woken: Control = UNLIMITED, until_end: Control = UNLIMITED) -> float:
        """Update the index until the end and, until woken, run some canaries; return the seconds until the next step."""
        try:
            why = self._fault_of(lambda: self._update(until_end))
        finally:
            self.has_tried = True
        if until_end.should_stop():
            return 0.0
        self._ws.events.transition("index_stale", bool(why), cleared="index_fresh", why=why)
        if why:
            wait_s, self._retry_s = self._retry_s, min(2 * self._retry_s, _RETRY_S[1])
            return wait_s
        self._retry_s = _RETRY_S[0]
        left_s = self._canaries_at + _CANARIES_EVERY_S - time.monotonic()
        if left_s > 0 or until_woken.should_stop():
            return max(left_s, 0.0)
        if quiet_until(self._ws.config.care.quiet_hours, self._clock(), self._ws.zone):
            return _CANARIES_EVERY_S
        why = self._fault_of(lambda: ask_canaries(self._ws, self._clock(), until_woken))
        self._ws.events.transition("degraded", bool(why), cleared="recovered", why=why)
        self._canaries_at = time.monotonic()
        return _CANARIES_EVERY_S

    def _update(self, until_end: Control) -> None:
        control = replace(until_end, progress=lambda _what, _done, _total: self._grown())
        changes = self._ws.searcher.refresh(_LOCK_WAIT.total_seconds(), control)
        if changes.read:
            self._changed()
        if changes.shared:
            raise Busy(self._ws.paths.state / "index.lock", _LOCK_WAIT)

    def _fault_of(self, step: Callable[[], object]) -> str:
        """Run the step and return its error sentence, "" if it succeeded."""
        try:
            step()
        except (SupervisorError, OSError) as error:
            return str(as_supervisor_error(error, "index", self._ws.paths.state))
        return ""


def _vectors_step(ws: Workspace, clock: Clock) -> Step:
    retry_s = _RETRY_S[0]

    def step(until_woken: Control, _until_end: Control) -> float:
        nonlocal retry_s
        _, why = prepare_backend(ws, clock, until_woken)
        wait_s, retry_s = (retry_s, min(2 * retry_s, _VECTORS_EVERY_S)) if why else (_VECTORS_EVERY_S, _RETRY_S[0])
        return wait_s

    return step


def _context_step(ws: Workspace, clock: Clock) -> Step:
    prepared = PreparedContexts(
        history=ws.history,
        files=ws.files,
        paths=ws.paths,
        config=ws.config,
        events=ws.events,
        clock=clock,
        recall=partial(ws.searcher.search, is_input=True),
        summary_of=partial(kept_summary, ws),
    )

    def step(_until_woken: Control, _until_end: Control) -> float:
        prepared.update()
        return ws.config.care.poll.total_seconds()

    return step
