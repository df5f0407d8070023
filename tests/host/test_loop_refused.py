"""The supervisor's loop beside its rounds, each call of it refused once: it goes on, says so once, and does its work later."""

from __future__ import annotations

import errno
import os
import sys
from datetime import timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

from recalld.supervisor.host import workers
from recalld.supervisor.host.daemon import Supervisor
from recalld.supervisor.host.lock import supervisor_lock
from recalld.supervisor.host.watcher import ConfigWatch
from recalld.supervisor.host.workers import AskedWorker, Workers
from recalld.supervisor.protocol.config import Config
from recalld.supervisor.storage.errors import Busy, NoProcess, NoSummary, SupervisorError
from recalld.supervisor.workspace import Workspace, read_config
from tests.process.command import until
from tests.world import ASK, IN_SHANGHAI, FaultyDisk, World, at, message_on

#: The modules, and the functions of others, whose calls are refused, but for what they do in a round.
LOOP = ("host/daemon.py", "host/workers.py")
LOOP_FUNCTIONS = {"ConfigWatch.is_changed", "_moments"}
ROUND = "run_round"
TESTS = str(Path(__file__).parents[1])
TOML = f'[archive]\n{IN_SHANGHAI}\ninterval = "1s"\n{ASK}[llm]\nmodel = "qwen-test"\n'
#: Passes of the loop in one life, half a minute each: a round each.
PASSES = 18
WAITS = timedelta(seconds=31)
#: Events that say that something was refused.
TOLD = {"degraded", "error"}

#: The functions of the loop that call something.
CALLERS = (
    *("poll", "_tree_changed", "is_changed", "tick", "_moments", "work", "_restore_when_quiet"),
    *("start_if_needed", "_start", "watch_leases", "stop"),
)
#: What keeps the error of a call, for those who called it.
KEEPS = {"attempt", "_attempt"}


class Call(NamedTuple):
    """A call of the loop: by which function, through which, and of the disk what."""

    by: str
    through: str
    name: str


class Gate:
    """Every call of the loop comes past it, and the first that is like *refused* is refused."""

    def __init__(self, refused: tuple[Call, str] | None = None) -> None:
        self.calls: dict[Call, None] = {}
        self.is_shut = True
        self._refused = refused

    def pass_through(self, name: str, path: Path | None = None) -> bool:
        """Note the call, and return False; OSError or Busy where it is to be refused."""
        if self.is_shut or (place := where()) is None:
            return False
        call = Call(place[0], place[1] or name, name)
        self.calls[call] = None
        if self._refused and self._refused[0] == call:
            how, self._refused = self._refused[1], None
            if how == "busy":
                raise Busy(path or Path(), 0)
            number = errno.EAGAIN if name == "fork" else errno.EIO
            raise OSError(number, os.strerror(number), str(path))
        return False


def where() -> tuple[str, str] | None:
    """The function of the loop that is calling, and what it calls; None within a round and from elsewhere."""
    frame, inner, place = sys._getframe(2), "", None
    while frame is not None:
        code, frame = frame.f_code, frame.f_back  # type: ignore[assignment]
        if code.co_name == ROUND:
            return None
        if code.co_name in KEEPS:
            continue
        is_loop = code.co_filename.endswith(LOOP) or code.co_qualname in LOOP_FUNCTIONS
        if place is None and is_loop and not code.co_name.startswith("<"):
            place = code.co_name, inner
        if not code.co_name.startswith(("<", "__")) and not code.co_filename.startswith(TESTS):
            inner = code.co_name
    return place


class Life:
    """
    A supervisor over half an hour: archive, workers that end, hang and stay, a history.json that is damaged, a command that asks
    it to archive everything, and a changed configuration.
    """

    def __init__(self, root: Path, refused: tuple[Call, str] | None = None) -> None:
        self.gate = Gate(refused)
        self.world = World(root, at("2026-01-31T10:00"), TOML)
        self.world.put("recalld.toml", TOML)
        self.world.reopen(disk=FaultyDisk(*FaultyDisk._CALLS, refuses=self.gate.pass_through))
        self.children = 0
        self.passes = 0
        self.fault = ""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("recalld.supervisor.host.workers.time", self.world.clock)
            patch.setattr("recalld.supervisor.host.workers.subprocess.Popen", self.fork)
            patch.setattr("recalld.supervisor.host.watcher.watch", lambda _paths, _hint: lambda: None)
            try:
                while self.passes < PASSES:
                    self.run()
            except (OSError, SupervisorError) as error:
                self.fault = str(error)
        world = self.world
        self.told = [event for event, _ in world.events.all if event in TOLD]
        self.done = sorted(world.names()), world.summaries(), world.read("history.json"), world.events.of("config_taken")
        assert self.fault or not world.paths.archive_request.exists()

    def run(self) -> None:
        """Be open until the end, or until the configuration has changed."""
        world, clock = self.world, self.world.clock
        ws = Workspace(world.root, self.read(), world.files, world.events)
        watch = ConfigWatch(ws, self.read)
        with (
            supervisor_lock(ws) as check,
            Supervisor(ws, clock, Workers(ws, clock), clock.monotonic, self, watch, check_lock=check) as supervisor,
        ):
            self.gate.is_shut = False
            while self.passes < PASSES and not supervisor._ending.is_set():
                supervisor.jobs[0].wake()
                while supervisor.jobs[0].run_due():
                    pass
            supervisor.stop()
            supervisor.run()
            self.gate.is_shut = True

    def read(self) -> Config:
        """The configuration as it is now."""
        return read_config(self.world.files, self.world.paths, {})

    # ── the background jobs, which see each pass go by ──────────────────────

    jobs = ()

    def start(self) -> None: ...

    def end(self) -> None: ...

    def hint(self, name: str) -> None: ...

    def memory_changed(self) -> None: ...

    def check_index(self) -> None:
        """Half a minute later, something happens."""
        self.passes += 1
        self.world.clock.advance(WAITS)
        match self.passes:
            case 1:
                self.world.write([message_on("2026-01-10"), message_on("2026-01-30")])
                self.world.put("recalld.toml", f"{TOML}max_calls_per_day = 7\n")
            case 4:
                self.world.add(message_on("2026-01-11"))
            case 12:
                self.world.put("history.json", b"[{broken")
            case 15:
                self.world.put(".recalld/archive.now", b"")

    # ── workers ──────────────────────────────────────────────────────────────

    def fork(self, *_: object, **_more: object) -> Child:
        """Start a worker, which does its work at once: the second one hangs with a task, the others don't."""
        self.gate.pass_through("fork")
        self.children += 1
        return Child(self)


class Child:
    """A worker's process."""

    def __init__(self, life: Life) -> None:
        self.number = life.children
        self.life = life
        self.since = life.passes
        other = life.world.another()
        if self.number == 2:
            other.ws.task_queue.claim()
        else:
            other.model = life.world.model
            other.work()

    def poll(self) -> int | None:
        if self.number == 1:
            return 0
        return 1 if self.number == 2 and self.life.passes > self.since + 5 else None

    def terminate(self) -> None: ...

    def wait(self, _seconds: float | None = None) -> int:
        return 0


@cache
def life(refused: tuple[Call, str] | None = None) -> Life:
    """A life in which that call is refused once."""
    with TemporaryDirectory() as folder:
        return Life(Path(folder), refused)


def refusals(by: str) -> list[tuple[Call, str]]:
    """What can be refused there: each kind of call once, a lock by the disk and by another who holds it."""
    calls = [call for call in life().gate.calls if call.by == by]
    return [(call, how) for call in calls for how in (("error", "busy") if call.name == "lock" else ("error",))]


@pytest.mark.parametrize("by", CALLERS)
def test_loop_goes_on_tells_once_and_does_its_work_after_a_refusal(by: str) -> None:
    assert {call.by for call in life().gate.calls} == {*CALLERS}
    assert (life().fault, life().told) == ("", [])
    lives = {refused: life(refused) for refused in refusals(by)}
    assert {refused: one.fault for refused, one in lives.items() if one.fault} == {}
    assert {refused: one.told for refused, one in lives.items() if len(one.told) != 1} == {}
    assert [refused for refused, one in lives.items() if one.done != life().done] == []


@pytest.mark.parametrize("ends", ["exit 0", "kill -9 $$"])
def test_asked_worker_gives_up_after_three_that_claim_nothing(world: World, monkeypatch: pytest.MonkeyPatch, ends: str) -> None:
    monkeypatch.setattr(workers, "worker_command", lambda _root: ["sh", "-c", f"echo >> {world.root}/starts; {ends}"])
    worker, starts = AskedWorker(world.ws), world.root / "starts"
    with pytest.raises(NoSummary, match="the worker ended without a result"):
        until(lambda: worker.ensure(is_claimed=False))
    assert starts.read_text() == "\n" * 3


def test_workers_say_that_the_system_starts_no_process(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.write([message_on("2026-01-10")])
    world.round("all")
    monkeypatch.setattr(sys, "executable", "/没有")
    with pytest.raises(NoProcess, match="starts no more processes and threads: No such file or directory; end"):
        Workers(world.ws, world.clock).start_if_needed()
