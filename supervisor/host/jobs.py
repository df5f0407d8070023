"""
The jobs of a supervisor: a job is a step in a thread of its own, which runs when it is woken and when it is due.

Beside that of the rounds are those that keep recall ready (docs/explanation/recall.md): one updates the index when files
change; one prepares the context of the input that waits in inbox.json; one makes the vectors by which memories are found by
meaning. A job that fails never stops the others, and one that is woken while its step runs is run again.
"""

import contextlib
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from ..context.turns import InboxFile, PreparedContexts
from ..events import FaultScope
from ..storage.clock import NEVER, Clock, Deadline, steady_s, within
from ..storage.control import UNLIMITED, Control, Step
from ..storage.errors import Busy, InternalError, SupervisorError
from ..workspace import Workspace
from .answering import FileTurns
from .conversations import kept_summary
from .lock import check_there

NEVER_S: Final = float("inf")
#: Seconds until a step that failed with an unexpected exception is tried again.
RETRY_AFTER_BUG_S: Final = 60.0
#: Seconds between two looks for changed files that no event announced.
_LOOK_EVERY_S: Final = 3600.0
#: Seconds for which vectors are made at a time, and for how long there is rest then, as a multiple: a quarter of a core.
_MOMENT_S: Final = 0.5
_REST: Final = 3.0
#: Seconds until vectors that could not be made are tried again, and an update of the index that failed.
_VECTORS_RETRY_S: Final = 60.0
_RETRY_S: Final = 5.0
#: How long to wait for another program's update of the index.
LOCK_WAIT_S: Final = 2.0
#: How the names of results begin that the answers wait for.
REPLY_NAMES: Final = ("reply-", "lookup-")


class Job:
    """A *step* under a *name*; a bug in it is passed to *report* (`Events.report`), and the step is tried again."""

    def __init__(
        self,
        name: str,
        step: Step,
        report: Callable[[str, Iterable[SupervisorError]], None],
        now_s: Callable[[], float] = steady_s,
    ) -> None:
        self.name = name
        #: When it is due, by *now_s*.
        self.at_s = NEVER_S
        self.is_running = False
        self._step, self._report, self._now_s = step, report, now_s
        self._is_over = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)

    def start(self) -> None:
        """Start its thread, if it has not started; RuntimeError if the system starts no more."""
        if not self._thread.ident:
            self._thread.start()

    def wake(self, after_s: float = 0.0) -> None:
        """Run the step in *after_s* seconds, or when the running one ends; the earlier of two times counts."""
        with self._changed:
            self.at_s = min(self.at_s, self._now_s() + max(after_s, 0.0))
            self._changed.notify()

    def end(self) -> None:
        """Stop running it; the running step ends early where it can."""
        with self._changed:
            self._is_over = True
            self._changed.notify()

    def run_due(self) -> bool:
        """Run the step in the calling thread if it is due; return whether it was."""
        with self._changed:
            if self._is_over or self.at_s > self._now_s():
                return False
            self.is_running, self.at_s = True, NEVER_S
        wait_s = self._run()
        with self._changed:
            self.is_running = False
            self.at_s = min(self.at_s, self._now_s() + wait_s)
        return True

    def _run(self) -> float:
        try:
            wait_s = self._step(Control(lambda: self._is_over))
        except Exception as error:  # noqa: BLE001 - a bug in one step must end nothing else; it is reported
            self._report(self.name, [InternalError.of(self.name, error)])
            return RETRY_AFTER_BUG_S
        self._report(self.name, ())
        return wait_s

    def _serve(self) -> None:
        while not self._is_over:
            if not self.run_due():
                with self._changed:
                    left_s = None if self.at_s == NEVER_S else max(0.0, self.at_s - self._now_s())
                    if not self._is_over:
                        self._changed.wait(left_s)

    def join(self, left_s: float) -> None:
        """Wait at most *left_s* seconds for its thread."""
        if self._thread.ident:  # else the system has started none
            self._thread.join(left_s)


def end_all(jobs: Collection[Job], within_s: float) -> None:
    """End the jobs and wait at most *within_s* seconds for all together: a step that hangs ends with the process."""
    for job in jobs:
        job.end()
    deadline = within(within_s)
    for job in jobs:
        job.join(deadline.left_s)


# ── those that keep recall ready ─────────────────────────────────────────────


class Background:
    """
    The background jobs of *ws*, due by *now_s*.

    *turns* answers what waits in inbox.json, in place of making its context ready for an assistant. *steps* are those of other
    jobs, by their names.
    """

    def __init__(
        self,
        ws: Workspace,
        clock: Clock,
        turns: FileTurns | None = None,
        steps: Mapping[str, Step] = MappingProxyType({}),
        now_s: Callable[[], float] = steady_s,
    ) -> None:
        self._ws = ws
        self._turns = turns
        self._inbox, self._history = ws.paths.inbox.name, ws.paths.history.name
        self._vectors = Job("vectors", VectorMaker(ws, clock).step, ws.events.report, now_s)
        self._indexing = Job("index", IndexUpdater(ws, self._vectors.wake).step, ws.events.report, now_s)
        if ws.meaning:
            ws.meaning.wake = self._vectors.wake
            ws.meaning.is_wanted = True  # the first question of a supervisor is by meaning, too
        name, step = ("answers", turns.step) if turns else ("ready context", _context_step(ws, clock))
        self._contexts = Job(name, step, ws.events.report, now_s=now_s)
        self.jobs = [self._contexts, self._indexing, self._vectors]
        self.jobs += [Job(name, step, ws.events.report, now_s=now_s) for name, step in steps.items()]

    def end(self) -> None:
        """End the worker that was started for answers; its jobs have ended."""
        if self._turns:
            self._turns.end()

    def hint(self, name: str) -> None:
        """Run the job that handles files of this *name*: such a file may have changed."""
        if name == self._inbox or (self._turns and name.startswith(REPLY_NAMES)):
            self._contexts.wake()
        if name.endswith(".md"):
            self._indexing.wake()
        if name == self._history:
            self._vectors.wake()

    def memory_changed(self) -> None:
        """Update the index: files of memory have changed."""
        self._indexing.wake()

    def check_index(self) -> None:
        """Update the index if a search has found it damaged, or somebody has deleted or replaced it on disk."""
        with contextlib.suppress(OSError):  # an update reports that the index can't be read
            index = self._ws.index
            commit = index.commit_on_disk()
            if index.damage or commit is None or commit != index.current_commit:
                self._indexing.wake()


def make_vectors(ws: Workspace, clock: Clock, control: Control = UNLIMITED, deadline: Deadline = NEVER) -> tuple[int, str]:
    """Make the vectors that memory lacks, until the *deadline*; return of how many groups, and why it failed, or ""."""
    if ws.meaning is None:
        return 0, ""
    return ws.meaning.make(ws.index, ws.zone, lambda: ws.unfiled.passages(clock()).passages, ws.events, control, deadline)


class IndexUpdater:
    """Keeps the index up to date, and calls *changed* when it has something new; an update that fails is tried again."""

    def __init__(self, ws: Workspace, changed: Callable[[], None] = lambda: None) -> None:
        self._ws, self._changed = ws, changed

    def step(self, until_end: Control = UNLIMITED) -> float:
        """Update the index; return the seconds until the next step."""
        scope = FaultScope(self._ws.paths.state, raises=())
        scope.attempt("index", lambda: self._update(until_end), None)
        if until_end.should_stop():
            return 0.0
        why = next((error.sentence for error in scope.errors.values()), "")
        self._ws.events.transition("index_stale", bool(why), cleared="index_fresh", why=why)
        return _RETRY_S if why else _LOOK_EVERY_S

    def _update(self, until_end: Control) -> None:
        check_there(self._ws)
        changes = self._ws.searcher.refresh_whole(LOCK_WAIT_S, until_end)
        if changes.read:
            self._changed()
        if changes.shared:
            raise Busy(self._ws.paths.state / "index.lock", LOCK_WAIT_S)


class VectorMaker:
    """Makes vectors at a quarter of a core, and gives the model back when nobody asks for it."""

    def __init__(self, ws: Workspace, clock: Clock, now: Callable[[], float] = steady_s) -> None:
        self._ws, self._clock, self._now = ws, clock, now
        self._rests_until_s = 0.0

    def step(self, until_end: Control) -> float:
        """Make vectors for a moment; return the seconds until the next step."""
        meaning, began_s = self._ws.meaning, self._now()
        if meaning is None:
            return NEVER_S
        if began_s < self._rests_until_s:
            return self._rests_until_s - began_s
        deadline = within(_MOMENT_S)
        _, why = make_vectors(self._ws, self._clock, until_end, deadline)
        if why:
            return _VECTORS_RETRY_S
        rest_s = _REST * ((ended_s := self._now()) - began_s)
        self._rests_until_s = ended_s + rest_s
        meaning.rest()
        return rest_s if deadline.is_over else meaning.idle_s


def _context_step(ws: Workspace, clock: Clock) -> Step:
    prepared = PreparedContexts(
        history=ws.shown_history,
        groups=ws.groups,
        inbox=InboxFile(ws.files, ws.paths, ws.config, ws.events),
        config=ws.config,
        events=ws.events,
        clock=clock,
        recall=ws.searcher.for_input,
        summary_of=partial(kept_summary, ws),
        receipts=ws.receipts,
    )

    def step(_until_end: Control) -> float:
        prepared.update()
        return ws.config.care.poll.total_seconds() if prepared.is_pending else NEVER_S

    return step
