"""Jobs and the threads that run them: never twice at once, what is due first first, and no bug ends a thread."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

import pytest

from recalld.supervisor.host.jobs import NEVER_S, Job, Threads
from tests.patience import PATIENCE_S
from tests.world import EventList, at

if TYPE_CHECKING:
    from recalld.supervisor.storage.control import Control

#: Far above what anything here takes: reached only when something is broken.


@pytest.fixture
def events():
    return EventList(lambda: at("2026-01-31T10:00"))


class Steps:
    """A job that records its steps, and the threads that run it when a test says so."""

    def __init__(self, events, *waits: float, **more) -> None:
        self.now_s = 0.0
        self.threads = Threads(0, lambda: self.now_s)
        self.ran: list[float] = []
        self.waits = list(waits)
        self.job = Job("索引", self.step, events.report, **more)

    def step(self, _until_woken: Control, _until_end: Control) -> float:
        self.ran.append(self.now_s)
        return self.waits.pop(0) if self.waits else NEVER_S

    def at(self, now_s: float) -> int:
        self.now_s = now_s
        return self.threads.run_due()


def test_job_runs_when_woken_and_when_its_wait_is_over(events):
    one = Steps(events, 60.0)
    assert one.at(0) == 0
    one.threads.wake(one.job)
    assert one.at(0) == 1
    assert one.at(59) == 0
    assert one.at(60) == 1
    assert one.at(10_000) == 0
    assert one.ran == [0, 60]


def test_job_that_is_woken_before_it_is_due_runs_once(events):
    one = Steps(events, 60.0, NEVER_S)
    one.threads.wake(one.job)
    one.at(0)
    one.threads.wake(one.job)
    assert (one.at(10), one.at(60)) == (1, 0)


def test_job_gathers_what_comes_within_a_moment(events):
    one = Steps(events, gather_s=0.05)
    one.threads.wake(one.job)
    assert one.at(0) == 0
    one.threads.wake(one.job)
    assert (one.at(0.05), one.at(1)) == (1, 0)


def test_job_that_was_ended_runs_no_more(events):
    one = Steps(events)
    one.threads.wake(one.job)
    one.job.end()
    one.threads.wake(one.job)
    assert one.at(0) == 0


def test_job_is_told_to_stop_when_it_is_woken_and_when_it_is_ended(events):
    said: list[tuple[bool, bool]] = []

    def step(until_woken: Control, until_end: Control) -> float:
        said.append((until_woken.should_stop(), until_end.should_stop()))
        job.mark_woken()
        said.append((until_woken.should_stop(), until_end.should_stop()))
        job.end()
        said.append((until_woken.should_stop(), until_end.should_stop()))
        return NEVER_S

    job = Job("索引", step, events.report)
    job.run()
    assert said == [(False, False), (True, False), (True, True)]


def test_job_reports_a_bug_once_and_is_tried_again(events):
    faults = [KeyError("花生"), KeyError("花生"), None]

    def step(*_: Control) -> float:
        if fault := faults.pop(0):
            raise fault
        return NEVER_S

    job = Job("索引", step, events.report)
    assert [job.run() for _ in range(3)] == [60, 60, NEVER_S]
    assert [("花生" in fields["why"], "KeyError" in fields["why"]) for fields in events.of("error")] == [(False, True)]


def test_threads_run_a_job_again_that_is_woken_while_it_runs(events):
    runs, goes_on, ran = threading.Event(), threading.Event(), threading.Semaphore(0)
    at_once: list[int] = []
    running = []

    def step(*_: Control) -> float:
        running.append(1)
        at_once.append(len(running))
        runs.set()
        goes_on.wait(PATIENCE_S)
        running.pop()
        ran.release()
        return NEVER_S

    threads, job = Threads(3), Job("索引", step, events.report)
    threads.start()
    threads.wake(job)
    assert runs.wait(PATIENCE_S)
    threads.wake(job)
    goes_on.set()
    assert ran.acquire(timeout=PATIENCE_S)
    assert ran.acquire(timeout=PATIENCE_S)
    threads.stop(PATIENCE_S)
    assert at_once == [1, 1]
    assert not any(one.name.startswith("jobs ") for one in threading.enumerate())


def test_job_that_was_ended_lets_go_what_its_step_works_on():
    class Store:
        def step(self, *_: object) -> float:
            return 3600.0

    store = Store()
    kept, job, threads = weakref.ref(store), Job("索引", store.step, lambda *_: None), Threads(0)
    threads.wake(job)
    threads.run_due()
    job.end()
    del store
    assert kept() is None, "its next time is an hour away"
