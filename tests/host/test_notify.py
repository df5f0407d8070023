"""What a supervisor tells the service manager: ready, working, how things are, ending; over a real socket."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from recalld.supervisor.host.daemon import Host
from recalld.supervisor.host.jobs import Background
from recalld.supervisor.host.lock import supervisor_lock
from recalld.supervisor.host.round import Round
from recalld.supervisor.host.service import ServiceManager
from tests.patience import PATIENCE_S
from tests.world import talk


class Listening:
    """A service manager's end of the socket at *address*."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._line.bind(f"\0{address[1:]}" if address.startswith("@") else address)
        self._line.settimeout(PATIENCE_S)

    def next(self) -> list[str]:
        """The lines of the next message, once it is there."""
        return self._line.recv(4096).decode().splitlines()

    def until(self, line: str) -> list[list[str]]:
        """All messages up to the one that has the line."""
        found = [self.next()]
        while line not in found[-1]:
            found.append(self.next())
        return found

    def is_empty(self) -> bool:
        self._line.setblocking(False)
        try:
            return not self._line.recv(4096)
        except BlockingIOError:
            return True
        finally:
            self._line.settimeout(PATIENCE_S)

    def close(self) -> None:
        self._line.close()


@pytest.fixture(params=["path", "abstract"])
def listening(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Listening]:
    address = str(tmp_path / "通知") if request.param == "path" else f"@recalld-test-{os.getpid()}"
    made = Listening(address)
    yield made
    made.close()


def test_manager_is_ready_when_the_index_is_done_with(listening):
    manager = ServiceManager(listening.address)
    manager.round_done("1 pending", has_index=False)
    assert listening.next() == ["WATCHDOG=1", "STATUS=1 pending"]
    assert manager.awaits_index
    manager.round_done("0 pending", has_index=True)
    assert listening.next() == ["READY=1", "WATCHDOG=1", "STATUS=0 pending"]
    manager.round_done("0 pending", has_index=True)
    assert listening.next() == ["WATCHDOG=1", "STATUS=0 pending"]


def test_manager_asks_for_more_time_until_it_is_ready_and_then_feeds(listening):
    now = [0.0]
    manager = ServiceManager(listening.address, lambda: now[0])
    for now[0] in (0.0, 0.5, 1.0):
        manager.work_done()
    assert [listening.next(), listening.next()] == [["EXTEND_TIMEOUT_USEC=60000000"]] * 2
    manager.round_done("", has_index=True)
    now[0] = 2.0
    manager.work_done()
    assert [listening.next()[0], listening.next()] == ["READY=1", ["WATCHDOG=1"]]


def test_manager_takes_no_update_of_the_index_for_a_round(listening):
    manager = ServiceManager(listening.address)
    manager.index_grown()
    assert listening.next() == ["EXTEND_TIMEOUT_USEC=60000000"]
    manager.round_done("", has_index=True)
    assert listening.next()[0] == "READY=1"
    manager.index_grown()
    assert listening.is_empty()


@pytest.mark.parametrize("address", ["", "/nowhere/notify", "@nobody-listens"])
def test_manager_that_is_not_there_stops_nothing(address):
    manager = ServiceManager(address)
    manager.work_done()
    manager.round_done("1 pending", has_index=True)
    manager.stopping()
    assert manager.is_there == bool(address)


def test_manager_that_does_not_read_is_not_waited_for(tmp_path):
    listening = Listening(str(tmp_path / "notify"))
    manager = ServiceManager(listening.address)
    for _ in range(2000):  # far more than the socket holds
        manager.round_done("x" * 200, has_index=True)
    listening.close()


@contextlib.contextmanager
def hosted(world, listening) -> Iterator[threading.Thread]:
    """A host of this workspace in a thread of its own, which has ended afterwards."""

    manager = ServiceManager(listening.address)
    supervisor = world.supervisor(background=Background(world.ws, world.clock), manager=manager)
    with Host(supervisor, now_s=time.monotonic) as host:
        running = threading.Thread(target=host.run)
        running.start()
        yield running
        host.stop()
        running.join(PATIENCE_S)


def test_supervisor_tells_that_it_is_ready_works_and_ends(world, listening):
    world.write(talk("2026-01-31T09:58", 3))
    with hosted(world, listening):
        first = listening.until("READY=1")
        assert [message for message in first[:-1] if "READY=1" in message] == []
        assert first[-1][1:] == ["WATCHDOG=1", "STATUS=running"]
    assert listening.until("STOPPING=1")


def test_supervisor_that_hangs_in_a_round_feeds_no_watchdog(world, listening, monkeypatch):
    goes_on, hangs = threading.Event(), threading.Event()

    def hang(*_given: object, **_more: object) -> Round:
        hangs.set()
        goes_on.wait(PATIENCE_S)
        return Round()

    monkeypatch.setattr("recalld.supervisor.host.daemon.run_round", hang)
    with hosted(world, listening):
        assert hangs.wait(PATIENCE_S)
        assert listening.is_empty()
        goes_on.set()


def test_supervisor_with_nothing_to_do_feeds_the_watchdog(world, listening):
    supervisor = world.supervisor(manager=ServiceManager(listening.address))
    with supervisor_lock(world.ws) as lock:
        while supervisor.poll(lock):
            supervisor.work()
        listening.until("READY=1")
        while not listening.is_empty():
            listening.next()
        world.forward(seconds=29)
        assert not supervisor.poll(lock)
        assert listening.is_empty()
        world.forward(seconds=1)
        assert not supervisor.poll(lock)
        assert listening.next()[0] == "WATCHDOG=1"
