"""Jobs and the threads that run them: never twice at once, what is due first first, and no bug ends a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from recalld.supervisor.host.jobs import NEVER_S, Job, Threads
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
