"""Jobs: a step runs when it is woken and when it is due, is told to stop, and no bug ends it; the index is kept up to date by one."""

import shutil
import threading

import pytest

from recalld.supervisor.host.jobs import NEVER_S, Background, IndexUpdater, Job, end_all
from recalld.supervisor.storage.control import Control
from tests.patience import PATIENCE_S
from tests.world import EventList, FaultyDisk, at, message


@pytest.fixture
def events():
    return EventList(lambda: at("2026-01-31T10:00"))


def test_job_runs_when_woken_and_when_its_wait_is_over(events):
    now_s, ran, waits = [0.0], [], [60.0, NEVER_S]
    job = Job("索引", lambda _until_end: ran.append(now_s[0]) or waits.pop(0), events.report, now_s=lambda: now_s[0])
    assert not job.run_due()
    job.wake()
    for now_s[0] in (0.0, 59.0, 60.0, 10_000.0):
        job.run_due()
    assert ran == [0, 60]


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


# ── those that keep recall ready ─────────────────────────────────────────────


@pytest.fixture
def filled(world):
    world.write([message("猫-1", "2026-01-30T09:00", "猫的三联疫苗约在宠物医院，九月十二号。")])
    world.settle()
    return world


def found(world, word: str) -> bool:
    return any(word in hit.unit.text for hit in world.search(word).hits)


def test_background_index_step_reports_a_full_disk_once(filled):
    disk = FaultyDisk("mkdir")
    updater = filled.reopen(disk=disk).index_updater()
    disk.refuses = lambda _call, path: path.name == "index"
    assert {updater.step() for _ in range(10)} == {5}
    assert len(filled.events.of("index_stale")) == 1
    disk.heal()
    updater.step()
    assert (len(filled.events.of("index_stale")), len(filled.events.of("index_fresh"))) == (1, 1)
    assert found(filled, "疫苗")
    assert [name for name, _ in filled.events.all if name.startswith("index_")] == ["index_stale", "index_fresh"]
    disk.refuses = lambda _call, path: path.name == "index"
    shutil.rmtree(filled.paths.state / "index")
    assert {updater.step() for _ in range(2)} == {5}
    assert len(filled.events.of("index_stale")) == 2


def test_background_index_step_retries_and_reports_a_locked_index(filled, monkeypatch):
    monkeypatch.setattr("recalld.supervisor.host.jobs.LOCK_WAIT_S", 0)
    updater = filled.index_updater()
    filled.files.make_folder(filled.paths.state / "index")
    with filled.files.lock(filled.paths.state / "index.lock"):
        assert updater.step() == 5
    (why,) = filled.events.of("index_stale")
    assert "index.lock" in why["why"]
    assert updater.step() == 3600
    assert len(filled.events.of("index_fresh")) == 1


def test_background_index_step_stops_during_an_update_without_an_event(filled):
    ws = filled.ws
    asked = []

    def stop() -> bool:
        asked.append(1)
        return True

    IndexUpdater(ws).step(until_end=Control(stop))
    assert asked
    assert filled.events.of("index_stale") == []
    filled.reopen()
    filled.index_updater().step()
    assert found(filled, "疫苗")


# ── the jobs ─────────────────────────────────────────────────────────────────


def background_of(world) -> Background:
    """Its jobs, that run when a test says so."""
    return Background(world.ws, world.clock, now_s=world.clock.monotonic)


def test_background_reports_an_inbox_that_can_not_be_read_once(world):
    (world.root / "inbox.json").mkdir()
    background = background_of(world)
    for job in background.jobs:
        job.wake()
    for _ in range(5):
        for job in background.jobs:
            job.run_due()
        world.clock.forward(seconds=2)
    assert [len(world.events.of(event)) for event in ("degraded", "recovered")] == [1, 0]


@pytest.mark.parametrize("harm", ["deleted", "written over", "made by another"])
def test_background_look_wakes_the_index_job_for_a_replaced_index(filled, monkeypatch, harm):
    background = background_of(filled)
    woken = []
    monkeypatch.setattr("recalld.supervisor.host.jobs.Job.wake", lambda job: woken.append(job.name))
    index = filled.paths.state / "index"
    filled.another(filled.events).refresh()
    background.check_index()
    assert woken == ["index"]
    filled.index_updater().step()
    background.check_index()
    assert woken == ["index"]
    match harm:
        case "deleted":
            shutil.rmtree(index)
        case "written over":
            (index / "meta.json").write_text("{", encoding="utf-8")
        case "made by another":
            filled.another(filled.events).refresh(rebuild=True)
    background.check_index()
    assert woken == ["index", "index"]
    filled.index_updater().step()
    background.check_index()
    assert (index / "meta.json").stat().st_size > 100
    assert len(filled.events.of("index_damaged")) == (0 if harm == "made by another" else 1)
