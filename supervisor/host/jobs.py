"""
The threads of a host, and the jobs that they run: a job is a step that runs when it is woken and when it is due.

A job is never run by two threads at once; one that is woken while it runs is run again.
"""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, Final, TypeAlias

from ..storage.clock import steady_s, within
from ..storage.control import Control
from ..storage.errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..storage.errors import SupervisorError

#: A step. Its first control says stop when the job is woken or has to end, its second only when the job has to end. It returns
#: the seconds until it is due again.
Step: TypeAlias = "Callable[[Control, Control], float]"
NEVER_S: Final = float("inf")
#: Seconds until a step that failed with an unexpected exception is tried again.
RETRY_AFTER_BUG_S: Final = 60.0


class Job:
    """
    A *step* under a *name*; a bug in it is passed to *report* (`Events.report`), and the step is tried again.

    All calls of `wake` within *gather_s* seconds lead to one step.
    """

    def __init__(
        self, name: str, step: Step, report: Callable[[str, Iterable[SupervisorError]], None], gather_s: float = 0.0
    ) -> None:
        self.name = name
        self.gather_s = gather_s
        #: When it is due, by the clock of its threads.
        self.at_s = NEVER_S
        self.is_running = False
        #: Whether it was ended.
        self.is_over = False
        self._step = step
        self._report = report
        self._is_woken = False

    def mark_woken(self) -> None:
        """Have the running step end early where it can."""
        self._is_woken = True

    def end(self) -> None:
        """Stop running it; the running step ends early where it can, and what it works on is let go at once."""
        self.is_over = True
        self._step = _nothing

    def run(self) -> float:
        """Run the step and return the seconds until it is due again."""
        self._is_woken = False
        try:
            wait_s = self._step(Control(self._is_interrupted), Control(lambda: self.is_over))
        except Exception as error:  # noqa: BLE001 - a bug in one step must end nothing else; it is reported
            self._report(self.name, [InternalError.of(self.name, error)])
            return RETRY_AFTER_BUG_S
        self._report(self.name, ())
        return wait_s

    def _is_interrupted(self) -> bool:
        return self._is_woken or self.is_over


def _nothing(*_: Control) -> float:
    return NEVER_S


class Threads:
    """Runs jobs in *count* threads, in the order in which they are due; with none, `run_due` runs them."""

    def __init__(self, count: int, now_s: Callable[[], float] = steady_s) -> None:
        self._now_s = now_s
        self._changed = threading.Condition()
        #: The jobs that are due some time: the handful of one workspace.
        self._jobs: list[Job] = []
        self._is_ending = False
        self._threads = [threading.Thread(target=self._serve, name=f"jobs {n + 1}", daemon=True) for n in range(count)]

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def stop(self, within_s: float) -> None:
        """
        End the threads after their current steps and wait at most *within_s* seconds: a step that hangs ends with the process.

        The jobs are ended by those who made them.
        """
        with self._changed:
            self._is_ending = True
            self._changed.notify_all()
        deadline = within(within_s)
        for thread in self._threads:
            if thread.ident:  # else the system has started none
                thread.join(deadline.left_s)

    def wake(self, job: Job, after_s: float = 0.0) -> None:
        """Run the job in *after_s* seconds, or when its running step ends; the earlier of two times counts."""
        with self._changed:
            job.mark_woken()
            self._put(job, self._now_s() + max(after_s, job.gather_s))

    def run_due(self) -> int:
        """Run what is due in the calling thread and return how many jobs ran."""
        for count in itertools.count():
            with self._changed:
                job = self._take()
            if job is None:
                return count
            self._run(job)
        raise AssertionError

    def _put(self, job: Job, at_s: float) -> None:
        if at_s < job.at_s and not job.is_over:
            if job.at_s == NEVER_S:
                self._jobs.append(job)
            job.at_s = at_s
            self._changed.notify()

    def _take(self) -> Job | None:
        """Take the job that is due first, and may run now, out of those that wait, and return it; None if there is none."""
        self._jobs = [job for job in self._jobs if not job.is_over]
        job = min((job for job in self._jobs if not job.is_running), key=lambda job: job.at_s, default=None)
        if job is None or job.at_s > self._now_s():
            return None
        self._jobs.remove(job)
        job.is_running, job.at_s = True, NEVER_S
        return job

    def _run(self, job: Job) -> None:
        wait_s = job.run()
        with self._changed:
            job.is_running = False
            self._put(job, self._now_s() + wait_s)
            self._changed.notify()  # it may have been woken while it ran

    def _serve(self) -> None:
        while True:
            with self._changed:
                job = None
                while not self._is_ending and (job := self._take()) is None:
                    self._changed.wait(self._wait_s())
                if job is None:
                    return
            self._run(job)

    def _wait_s(self) -> float | None:
        """Return the seconds until a job is due; None while each runs or has been ended."""
        times = [job.at_s for job in self._jobs if not job.is_running]
        return max(0.0, min(times) - self._now_s()) if times else None
