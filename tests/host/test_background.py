"""The background index: what fails is reported once, tried again, and stops nothing else."""

from __future__ import annotations

import os
import shutil
import threading

import pytest

from recalld.supervisor.host.background import BackgroundThreads, IndexUpdater, PeriodicThread
from recalld.supervisor.storage.control import Control
from tests.world import FaultyDisk, message

#: Far above what anything here takes: reached only when something is broken.
DEADLINE_S = 30.0


@pytest.fixture
def filled(world):
    world.write([message("猫-1", "2026-01-30T09:00", "猫的三联疫苗约在宠物医院，九月十二号。")])
    world.settle()
    return world


def found(world, word: str) -> bool:
    return any(word in hit.unit.text for hit in world.search(word).hits)


def test_background_index_step_builds_the_index_and_runs_canaries(filled):
    wait_s = filled.index_updater().step()
    assert wait_s > 1
    assert found(filled, "疫苗")
    assert filled.status()["canaries"]["found"] == 1


def test_background_index_step_skips_canaries_when_told_to_stop(filled):
    assert filled.index_updater().step(until_woken=Control(lambda: True)) == 0
    assert found(filled, "疫苗")
    assert filled.status()["canaries"]["kept"] == 0


def test_background_index_step_runs_canaries_at_most_once_a_minute(filled, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("recalld.supervisor.host.background.time.monotonic", lambda: now[0])
    updater = filled.index_updater()
    assert updater.step() == 60
    filled.paths.canaries.unlink()
    now[0] = 59
    assert updater.step() == 1
    assert not filled.paths.canaries.exists()
    now[0] = 60
    assert updater.step() == 60
    assert filled.paths.canaries.exists()


def test_background_index_step_reports_a_full_disk_once_and_backs_off(filled):
    disk = FaultyDisk("mkdir")
    updater = filled.reopen(disk=disk).index_updater()
    disk.refuses = lambda _call, path: path.name == "index"
    waits = [updater.step() for _ in range(10)]
    assert waits[:4] == [0.5, 1, 2, 4]
    assert waits[-1] == 60
    assert len(filled.events.of("index_stale")) == 1
    disk.heal()
    updater.step()
    assert (len(filled.events.of("index_stale")), len(filled.events.of("index_fresh"))) == (1, 1)
    assert found(filled, "疫苗")
    assert [name for name, _ in filled.events.all if name.startswith("index_")] == ["index_stale", "index_made", "index_fresh"]
    disk.refuses = lambda _call, path: path.name == "index"
    shutil.rmtree(filled.paths.state / "index")
    assert [updater.step() for _ in range(2)] == [0.5, 1]
    assert len(filled.events.of("index_stale")) == 2


def test_background_index_step_retries_and_reports_a_locked_index(filled, monkeypatch):
    monkeypatch.setattr("recalld.supervisor.host.background._LOCK_WAIT", type(filled.ws.config.care.poll)(0))
    updater = filled.index_updater()
    filled.files.make_folder(filled.paths.state / "index")
    with filled.files.lock(filled.paths.state / "index.lock"):
        assert updater.step() == 0.5
    (why,) = filled.events.of("index_stale")
    assert "index.lock" in why["why"]
    assert updater.step() > 1
    assert len(filled.events.of("index_fresh")) == 1


def test_background_index_step_stops_during_an_update_without_an_event(filled):
    ws = filled.ws
    asked = []

    def stop() -> bool:
        asked.append(1)
        return True

    IndexUpdater(ws, filled.clock).step(until_end=Control(stop))
    assert asked
    assert filled.events.of("index_stale") == []
    filled.reopen()
    filled.index_updater().step()
    assert found(filled, "疫苗")


# ── the threads ──────────────────────────────────────────────────────────────


def again(world):
    """One more workspace over the same files, as each thread has its own."""
    return world.another(world.events).ws


def test_periodic_thread_runs_its_step_when_woken_and_ends_when_stopped(world):
    done = threading.Semaphore(0)
    seen = []

    def step(*_: Control) -> float:
        seen.append(threading.current_thread().name)
        done.release()
        return 3600.0

    thread = PeriodicThread(again(world), "索引", step)
    thread.start()
    assert done.acquire(timeout=DEADLINE_S)
    thread.wake()
    assert done.acquire(timeout=DEADLINE_S)
    thread.stop()
    thread.join(DEADLINE_S)
    assert set(seen) == {"索引"}
    assert not any(one.name == "索引" for one in threading.enumerate())


def test_periodic_thread_reports_a_bug_once_and_keeps_running(world):
    done = threading.Semaphore(0)
    faults = [KeyError("花生"), KeyError("花生"), None]

    def step(*_: Control) -> float:
        done.release()
        fault = faults.pop(0)
        if fault:
            raise fault
        return 3600.0

    thread = PeriodicThread(again(world), "索引", step)
    thread.start()
    for _ in range(2):
        assert done.acquire(timeout=DEADLINE_S)
        thread.wake()
    assert done.acquire(timeout=DEADLINE_S)
    thread.stop()
    thread.join(DEADLINE_S)
    assert [("花生" in fields["why"], "KeyError" in fields["why"]) for fields in world.events.of("error")] == [(False, True)]


def test_background_hint_wakes_the_thread_for_the_file_name(world, monkeypatch):
    background = BackgroundThreads(lambda: again(world), world.clock)
    woken = []
    monkeypatch.setattr(background._indexing, "wake", lambda: woken.append("index"))
    monkeypatch.setattr(background._contexts, "wake", lambda: woken.append("context"))
    for name in ("inbox.json", "想法 2.md", "history.json", "2026-01-28-nas.md", "inbox.json.tmp"):
        background.hint(name)
    background.memory_changed()
    assert woken == ["context", "index", "index", "index"]


@pytest.mark.parametrize("harm", ["deleted", "written over", "made by another"])
def test_background_look_wakes_the_index_thread_once_per_replaced_index(filled, monkeypatch, harm):
    background = BackgroundThreads(lambda: again(filled), filled.clock)
    woken = []
    monkeypatch.setattr(background._indexing, "wake", lambda: woken.append("index"))
    index = filled.paths.state / "index"
    background._vectors._ws.searcher.refresh()  # another's, as is each thread's
    background.check_index()
    assert woken == ["index"]
    background._updater.step()
    for _ in range(3):
        background.check_index()
    assert woken == ["index"]
    match harm:
        case "deleted":
            shutil.rmtree(index)
        case "written over":
            (index / "meta.json").write_text("{", encoding="utf-8")
        case "made by another":
            again(filled).searcher.refresh(rebuild=True)
    for _ in range(3):
        background.check_index()
    assert woken == ["index", "index"]
    background._updater.step()
    background.check_index()
    assert (index / "meta.json").stat().st_size > 100
    assert len(filled.events.of("index_damaged")) == (0 if harm == "made by another" else 1)


def test_background_look_rebuilds_an_index_deleted_during_its_rebuild(filled, monkeypatch):
    background = BackgroundThreads(lambda: again(filled), filled.clock)
    background._updater.step()
    background.check_index()
    woken = []
    monkeypatch.setattr(background._indexing, "wake", lambda: woken.append("index"))
    shutil.rmtree(filled.paths.state / "index")
    background.check_index()
    background._updater.step()
    shutil.rmtree(filled.paths.state / "index")  # before the next look: nothing lay there then, and nothing lies there now
    background.check_index()
    assert woken == ["index", "index"]
    background._updater.step()
    background.check_index()
    assert woken == ["index", "index"]


def test_recall_reports_a_damaged_index_and_still_answers(filled):
    filled.refresh()
    assert found(filled, "疫苗")
    assert not filled.ws.index.is_lost
    for path in (filled.paths.state / "index").iterdir():
        if path.suffix != ".json":
            os.truncate(path, path.stat().st_size // 3)
    assert found(filled, "疫苗")
    assert filled.ws.index.is_lost


class Recorder:
    """Background threads that record their calls."""

    def __init__(self) -> None:
        self.hints: list[str] = []
        self.changes = 0

    def hint(self, name: str) -> None:
        self.hints.append(name)

    def memory_changed(self) -> None:
        self.changes += 1


def test_supervisor_poll_tells_background_threads_of_changed_memory(world):
    recorder = Recorder()
    supervisor = world.supervisor(recorder)
    supervisor._tree_changed()
    before = recorder.changes
    supervisor._tree_changed()
    assert recorder.changes == before
    (world.root / "memory" / "想法 2.md").write_text("换成 rsync", encoding="utf-8")
    supervisor._tree_changed()
    assert recorder.changes == before + 1


def test_supervisor_hint_starts_a_round_for_history_but_not_for_inbox(world):
    recorder = Recorder()
    supervisor = world.supervisor(recorder)
    supervisor.hint("inbox.json")
    assert not supervisor._wake.is_set()
    supervisor.hint("history.json")
    assert supervisor._wake.is_set()
    assert recorder.hints == ["inbox.json", "history.json"]
