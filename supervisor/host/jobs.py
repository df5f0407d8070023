"""
The jobs of a supervisor: a job is a step in a thread of its own, which runs when it is woken and when it is due.

A job that is woken while its step runs is run again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from typing import Final, TypeAlias

from ..storage.clock import steady_s, within
from ..storage.control import Control
from ..storage.errors import InternalError, SupervisorError

#: A step, which its control tells to stop when the job has to end. It returns the seconds until it is due again.
Step: TypeAlias = "Callable[[Control], float]"
NEVER_S: Final = float("inf")
#: Seconds until a step that failed with an unexpected exception is tried again.
RETRY_AFTER_BUG_S: Final = 60.0


class Job:
    """
    A *step* under a *name*; a bug in it is passed to *report* (`Events.report`), and the step is tried again.

    All calls of `wake` within *gather_s* seconds lead to one step.
    """

    def __init__(
        self,
        name: str,
        step: Step,
        report: Callable[[str, Iterable[SupervisorError]], None],
        gather_s: float = 0.0,
        now_s: Callable[[], float] = steady_s,
    ) -> None:
        self.name = name
        #: When it is due, by *now_s*.
        self.at_s = NEVER_S
        self.is_running = False
        self._step, self._report, self._gather_s, self._now_s = step, report, gather_s, now_s
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
            self.at_s = min(self.at_s, self._now_s() + max(after_s, self._gather_s))
            self._changed.notify()

    def end(self) -> None:
        """Stop running it; the running step ends early where it can, and what it works on is let go at once."""
        with self._changed:
            self._is_over, self._step = True, _nothing
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


def _nothing(_until_end: Control) -> float:
    return NEVER_S
