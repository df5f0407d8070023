"""What a service reports: to its manager over a real socket, and that it is down, with neither Python nor workspace."""

import contextlib
import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from recalld.supervisor.host.daemon import Supervisor
from recalld.supervisor.host.jobs import Background
from recalld.supervisor.host.lock import supervisor_lock
from recalld.supervisor.host.round import Round
from recalld.supervisor.host.service import VARIABLE, Alarm, ServiceManager
from recalld.supervisor.storage.errors import NoWorkspace
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


def test_manager_asks_for_more_time_until_it_is_ready_and_then_feeds(listening):
    now = [0.0]
    manager = ServiceManager(listening.address, lambda: now[0])
    for now[0] in (0.0, 0.5, 1.0):
        manager.work_done()
    assert [listening.next(), listening.next()] == [["EXTEND_TIMEOUT_USEC=60000000"]] * 2
    manager.round_done("running")
    now[0] = 2.0
    manager.work_done()
    assert listening.next() == ["READY=1", "WATCHDOG=1", "STATUS=running"]
    assert listening.next() == ["WATCHDOG=1"]


@pytest.mark.parametrize("address", ["", "/nowhere/notify", "@nobody-listens"])
def test_manager_that_is_not_there_stops_nothing(address):
    manager = ServiceManager(address)
    manager.work_done()
    manager.round_done("1 pending")
    manager.stopping()


def test_manager_that_does_not_read_is_not_waited_for(tmp_path):
    listening = Listening(str(tmp_path / "notify"))
    manager = ServiceManager(listening.address)
    for _ in range(2000):  # far more than the socket holds
        manager.round_done("x" * 200)
    listening.close()


@contextlib.contextmanager
def hosted(world, listening) -> Iterator[threading.Thread]:
    """A host of this workspace in a thread of its own, which has ended afterwards."""

    manager = ServiceManager(listening.address)
    supervisor = Supervisor(world.ws, world.clock, background=Background(world.ws, world.clock), manager=manager)
    with supervisor_lock(world.ws), supervisor:
        running = threading.Thread(target=supervisor.run)
        running.start()
        yield running
        supervisor.stop()
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
    while supervisor.poll():
        supervisor.work()
    listening.until("READY=1")
    while not listening.is_empty():
        listening.next()
    world.forward(seconds=29)
    assert not supervisor.poll()
    assert listening.is_empty()
    world.forward(seconds=1)
    assert not supervisor.poll()
    assert listening.next()[0] == "WATCHDOG=1"


# ── the alarm ────────────────────────────────────────────────────────────────


#: Writes what it is told where the test finds it; the words have what a shell would obey.
COMMAND = """printf '%s|%s\\n' "$RECALLD_TROUBLE" "$RECALLD_WORKSPACE" >> "$HOME/told 'it' 了" """


class Machine:
    """A machine on which the service of *world* is installed."""

    def __init__(self, world, place: Path, command: str = COMMAND, language: str = "en") -> None:
        self.home, self.folder = place / "home", place / "状态" / "recalld"
        self.home.mkdir(exist_ok=True)
        toml = f'language = "{language}"\n[archive]\ntimezone = "Asia/Shanghai"\n[care]\non_trouble = {json.dumps(command)}\n'
        world.reopen(toml)
        self.world = world
        self.alarm = Alarm({VARIABLE: str(self.folder)})
        self.alarm.keep(world.ws)

    def fails(self, result: str | None, code: str = "0") -> subprocess.CompletedProcess[str]:
        """Have systemd start the alarm."""
        why = {} if result is None else {"MONITOR_SERVICE_RESULT": result, "MONITOR_EXIT_STATUS": code}
        return subprocess.run(
            ["/bin/sh", self.folder / "trouble.sh", "recalld.service", ""],
            env={"HOME": str(self.home), "PATH": "/usr/bin:/bin", **why},
            capture_output=True,
            text=True,
            check=True,
        )

    @property
    def told(self) -> list[str]:
        path = self.home / "told 'it' 了"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


@pytest.fixture
def machine(world, tmp_path_factory):
    place = tmp_path_factory.mktemp("machine")
    return lambda **more: Machine(world, place, **more)


def test_alarm_speaks_chinese_where_the_workspace_does(machine):
    it = machine(language="zh")
    it.fails("exit-code", "226")
    (told,) = it.told
    assert told.startswith(
        "recalld.service 没有运行：它出错了，systemd 给出的原因是 exit-code 226；用 `journalctl --user-unit=recalld.service` 查看它的输出。|"
    )


def test_alarm_has_the_last_sentence_of_the_service(machine):
    it = machine()
    with pytest.raises(NoWorkspace), it.alarm.last_words(str):
        raise NoWorkspace("/srv/记忆 $HOME `x` 100%")
    it.fails("exit-code", "74")
    assert it.told[0].startswith(
        "recalld.service does not run: /srv/记忆 $HOME `x` 100% has no workspace, and none was made there"
    )
    with it.alarm.last_words(str):
        pass  # a later run ends without an error
    for result, code, word in (("exit-code", "1", "exit-code 1"), ("success", "0", "dependency"), (None, "", "failed")):
        it.fails(result, code)
        assert f"does not run: it failed, which systemd calls {word}; `" in it.told[-1]


def test_alarm_tells_the_same_once_a_day(machine):
    it = machine()
    for _ in range(3):
        it.fails("signal", "9")
    assert len(it.told) == 1
    it.fails("watchdog", "6")
    assert len(it.told) == 2
    yesterday = time.time() - 86_400 - 120
    os.utime(it.folder / "told", (yesterday, yesterday))
    it.fails("watchdog", "6")
    assert len(it.told) == 3


def test_alarm_of_a_supervisor_in_a_terminal_writes_nothing(world, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    alarm = Alarm({})
    alarm.keep(world.ws)
    with pytest.raises(NoWorkspace), alarm.last_words(str):
        raise NoWorkspace("/srv")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_alarm_that_cannot_be_kept_stops_no_service(world, tmp_path):
    tmp_path.chmod(0o500)
    Alarm({VARIABLE: str(tmp_path / "recalld")}).keep(world.ws)
