"""Jobs: a step runs when it is woken and when it is due, is told to stop, and no bug ends it."""

from __future__ import annotations

import threading

import pytest

from recalld.supervisor.host.jobs import NEVER_S, Job, end_all
from recalld.supervisor.storage.control import Control
from tests.patience import PATIENCE_S
from tests.world import EventList, at


@pytest.fixture
def events():
    return EventList(lambda: at("2026-01-31T10:00"))


class Steps:
    """A job that records its steps, and runs when a test says so."""

    def __init__(self, events, *waits: float, **more) -> None:
        self.now_s = 0.0
        self.ran: list[float] = []
        self.waits = list(waits)
        self.job = Job("索引", self.step, events.report, now_s=lambda: self.now_s, **more)

    def step(self, _until_end: Control) -> float:
        self.ran.append(self.now_s)
        return self.waits.pop(0) if self.waits else NEVER_S

    def at(self, now_s: float) -> bool:
        self.now_s = now_s
        return self.job.run_due()


def test_job_runs_when_woken_and_when_its_wait_is_over(events):
    one = Steps(events, 60.0)
    assert not one.at(0)
    one.job.wake()
    assert one.at(0)
    assert not one.at(59)
    assert one.at(60)
    assert not one.at(10_000)
    assert one.ran == [0, 60]


def test_job_is_told_to_stop_when_it_is_ended(events):
    stops: list[bool] = []

    def step(until_end: Control) -> float:
        stops.append(until_end.should_stop())
        job.wake()
        stops.append(until_end.should_stop())
        job.end()
        stops.append(until_end.should_stop())
        return NEVER_S

    job = Job("索引", step, events.report)
    job.wake()
    assert job.run_due()
    assert stops == [False, False, True]


def test_job_reports_a_bug_once_and_is_tried_again(events):
    faults = [KeyError("花生"), KeyError("花生"), None]

    def step(_until_end: Control) -> float:
        if fault := faults.pop(0):
            raise fault
        return NEVER_S

    times = iter((0.0, 0.0, 0.0, 59.0, 60.0, 60.0, 120.0, 120.0, 9_000.0))
    job = Job("索引", step, events.report, now_s=lambda: next(times))
    job.wake()
    assert [job.run_due() for _ in range(5)] == [True, False, True, True, False]
    assert [("花生" in fields["why"], "KeyError" in fields["why"]) for fields in events.of("error")] == [(False, True)]


def test_job_starts_once_and_again_after_the_system_refused_a_thread(events, monkeypatch):
    ran = threading.Semaphore(0)
    job = Job("索引", lambda _until_end: ran.release() or NEVER_S, events.report)

    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as full:
        full.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError):
            job.start()
    job.start()
    job.start()
    job.wake()
    assert ran.acquire(timeout=PATIENCE_S)
    end_all([job], PATIENCE_S)
