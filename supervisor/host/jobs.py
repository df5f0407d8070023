"""
The threads of a host, and the jobs that they run: a job is a step that runs when it is woken and when it is due.

A few threads serve all workspaces. A job is never run by two threads at once; one that is woken while it runs is run again.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from typing import TYPE_CHECKING, Final, TypeAlias

from recalld.supervisor.storage.clock import steady_s, within
from recalld.supervisor.storage.control import Control
from recalld.supervisor.storage.errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from recalld.supervisor.storage.errors import SupervisorError

#: A step. Its first control says stop when the job is woken or has to end, its second only when the job has to end. It returns
#: the seconds until it is due again.
Step: TypeAlias = "Callable[[Control, Control], float]"
NEVER_S: Final = float("inf")
#: When a job is due, a number that no other entry has, and the job.
_Entry: TypeAlias = "tuple[float, int, Job]"
#: Seconds until a step that failed with an unexpected exception is tried again.
RETRY_AFTER_BUG_S: Final = 60.0


class Job:
    """
    A *step* of one workspace under a *name*; a bug in it is passed to *report* (`Events.report`), and the step is tried again.

    All calls of `wake` within *gather_s* seconds lead to one step. A *long* step may take minutes: one thread never runs one.
    """

    __slots__ = ("_is_woken", "_report", "_step", "at_s", "gather_s", "is_long", "is_over", "is_running", "name")

    def __init__(
        self,
        name: str,
        step: Step,
        report: Callable[[str, Iterable[SupervisorError]], None],
        gather_s: float = 0.0,
        *,
        is_long: bool = False,
    ) -> None:
        self.name = name
        self.gather_s = gather_s
        self.is_long = is_long
        #: When it is due, by the clock of its threads.
        self.at_s = NEVER_S
        self.is_running = False
        self._step = step
        self._report = report
        self._is_woken = False
        #: Whether it was ended.
        self.is_over = False

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
        #: The jobs that are due some time, by whether they are long: of thousands of long ones that wait none is in the way.
        self._heaps: dict[bool, list[_Entry]] = {False: [], True: []}
        self._numbers = itertools.count()
        self._long = 0
        self._most_long = max(1, count - 2)
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
            job.at_s = at_s
            heapq.heappush(self._heaps[job.is_long], (at_s, next(self._numbers), job))
            self._changed.notify()

    def _take(self) -> Job | None:
        """Take the first job that is due and may run now off its heap, and return it."""
        ready = sorted(entry for heap in self._open_heaps() if (entry := self._first(heap)))
        for entry in ready[1:]:
            heapq.heappush(self._heaps[entry[2].is_long], entry)
        if not ready:
            return None
        found = ready[0][2]
        found.is_running, found.at_s = True, NEVER_S
        self._long += found.is_long
        return found

    def _open_heaps(self) -> list[list[_Entry]]:
        """Return the heaps of which a job may begin now."""
        return [heap for is_long, heap in self._heaps.items() if not is_long or self._long < self._most_long]

    def _first(self, heap: list[_Entry]) -> _Entry | None:
        """Take the first entry off the heap whose job is due and does not run, and return it."""
        passed, found = [], None
        while heap and heap[0][0] <= self._now_s():
            entry = heapq.heappop(heap)
            at_s, _, job = entry
            if job.is_over or at_s != job.at_s:
                continue  # the job was ended, or ran because of an earlier entry
            if job.is_running:
                passed.append(entry)
                continue
            found = entry
            break
        for entry in passed:
            heapq.heappush(heap, entry)
        return found

    def _run(self, job: Job) -> None:
        wait_s = job.run()
        with self._changed:
            job.is_running = False
            self._long -= job.is_long
            self._put(job, self._now_s() + wait_s)
            self._changed.notify()  # a job may have had to wait for this one

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
        """Return the seconds until a job is due; None while every due job waits for another one to end."""
        now_s = self._now_s()
        later = [at_s for heap in self._open_heaps() if (at_s := _first_after(heap, now_s)) < NEVER_S]
        return min(later) - now_s if later else None


def _first_after(heap: list[_Entry], now_s: float) -> float:
    """
    Return the first time after now in the heap; looks only below the entries that are due, of which few wait.

    >>> _first_after([(1.0, 0, None), (3.0, 1, None), (2.0, 2, None)], 1.5), _first_after([], 1.5)  # type: ignore[list-item]
    (2.0, inf)
    """
    found, places = NEVER_S, [0]
    while places:
        place = places.pop()
        if place < len(heap):
            if heap[place][0] > now_s:
                found = min(found, heap[place][0])
            else:
                places += (2 * place + 1, 2 * place + 2)
    return found
