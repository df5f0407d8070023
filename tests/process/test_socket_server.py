"""The supervisor's socket: after any request the next one is served, and a silent supervisor delays a turn only briefly."""

import contextlib
import errno
import json
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import pytest

from recalld.supervisor.host.jobs import Step
from recalld.supervisor.interfaces import entry
from recalld.supervisor.interfaces.locate import ask_supervisor, folder_id, running_version, version
from recalld.supervisor.interfaces.serve import Answers
from recalld.supervisor.interfaces.socket_server import Answering, Request, serve_socket
from tests.patience import PATIENCE_S
from tests.process.command import Command, ended
from tests.world import World, at, message

pytestmark = pytest.mark.proof
GOOD = {"version": 4, "op": "search", "request": {"query": "花生"}, "caller": {}, "folder": [7, 8]}
LINE = json.dumps(GOOD).encode() + b"\n"
#: What is no request, and what is said of it ("": nothing, since nothing is wrong with who asks so).
REFUSED = {
    "no keys": (b'{"version":4}\n', "op"),
    "op is a list": (json.dumps({**GOOD, "op": ["search"]}).encode() + b"\n", "op"),
    "caller is a list": (json.dumps({**GOOD, "caller": []}).encode() + b"\n", "caller"),
    "deep": (b"[" * 100_000 + b"\n", "no JSON"),
    "huge": (b'"' + b"x" * (2 << 20) + b'"\n', "no JSON"),
    "a list": (b"[1]\n", "object"),
    "half a line": ('{"version":4,"op":"花'.encode(), "no JSON"),
    "two lines": (LINE + b"{}\n", "no JSON"),
    "nothing": (b"", ""),
    "another version": (b'{"version":2,"argv":["search"],"env":{}}\n', ""),
    "what is refused": (json.dumps({**GOOD, "op": "another"}).encode() + b"\n", ""),
    "a bug": (json.dumps({**GOOD, "op": "bug"}).encode() + b"\n", "KeyError"),
}


def answer(request: Request) -> dict[str, Any]:
    if request.name == "another":
        raise ValueError("another workspace")
    if request.name == "bug":
        raise KeyError("花生")
    return {"answer": request.request}


@contextlib.contextmanager
def connected(world: World) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(PATIENCE_S)
        line.connect(str(world.paths.state / "socket"))
        yield line


def served(world: World, answer: Callable[[Request], dict[str, Any]], told: list[str]) -> AbstractContextManager[Step]:
    return serve_socket(world.paths.state, world.files, Answering(answer, told.append))


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture(autouse=True)
def patient(monkeypatch) -> None:
    """A busy machine may stop either side between any two steps."""
    for name in ("_READ_S", "_SEND_S", "_JOIN_S"):
        monkeypatch.setattr(f"recalld.supervisor.interfaces.socket_server.{name}", PATIENCE_S)


@pytest.fixture
def patient_client(monkeypatch) -> None:
    monkeypatch.setattr(entry, "ask_supervisor", partial(ask_supervisor, take_s=PATIENCE_S))


@pytest.fixture
def door(world, told) -> Iterator[Callable[[], socket.socket]]:
    """Connects to a door that is open."""
    with served(world, answer, told), contextlib.ExitStack() as stack:
        yield lambda: stack.enter_context(connected(world))


def said(line: socket.socket, data: bytes) -> bytes:
    """All that comes back for *data*."""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        line.sendall(data)
        line.shutdown(socket.SHUT_WR)
    with contextlib.suppress(ConnectionResetError):
        return b"".join(iter(lambda: line.recv(1 << 16), b""))
    return b""


def answered(line: socket.socket, data: bytes) -> bytes:
    """What comes back for *data* after the line that acknowledges it."""
    found = said(line, data)
    return found.partition(b"\n")[2] if found.startswith(b'{"within"') else found


def is_served(line: socket.socket) -> bool:
    return json.loads(answered(line, LINE)) == {"answer": {"query": "花生"}}


@pytest.mark.parametrize("name", REFUSED)
def test_socket_server_leaves_an_invalid_request_unanswered_and_goes_on(door, told, name):
    data, why = REFUSED[name]
    for _ in range(20):
        assert answered(door(), data) == b""
    assert is_served(door())
    assert len(told) == (20 if why else 0)
    assert all(why in one and "花生" not in one for one in told)


def test_socket_server_acknowledges_a_request_before_the_work(world, told):
    free = threading.Event()

    def slow(request: Request) -> dict[str, Any]:
        assert free.wait(PATIENCE_S)
        return answer(request)

    with served(world, slow, told), connected(world) as line:
        line.sendall(LINE)
        assert json.loads(line.recv(100))["within"] > 0
        free.set()
        assert json.loads(line.recv(1000)) == {"answer": {"query": "花生"}}
    assert told == []


def test_socket_server_disconnects_silent_clients_and_serves_the_next(door, monkeypatch):
    with monkeypatch.context() as hasty:
        hasty.setattr("recalld.supervisor.interfaces.socket_server._READ_S", 0.1)
        silent = [door() for _ in range(40)]  # more than it talks to at once
        assert [line.recv(1) for line in silent] == [b""] * 40
    assert is_served(door())


def test_socket_server_removes_its_socket_and_thread_on_close(world, told):
    before = set(threading.enumerate())
    with served(world, answer, told):
        assert (world.paths.state / "socket").stat().st_mode & 0o777 == 0o600
        started = set(threading.enumerate()) - before
        assert started
    assert not (world.paths.state / "socket").exists()
    assert not started & set(threading.enumerate())


def test_socket_server_says_that_the_disk_has_no_room_for_a_socket(world, told, monkeypatch):
    def bind(_line: socket.socket, _where: str) -> None:
        raise OSError(errno.ENOSPC, "磁盘满了")

    unable = type("Unable", (socket.socket,), {"bind": bind})
    monkeypatch.setattr("recalld.supervisor.interfaces.socket_server.socket.socket", unable)
    with served(world, answer, told):
        assert told == ["the socket can't be made: 磁盘满了"]
    assert not (world.paths.state / "socket").exists()


def test_socket_server_leaves_the_socket_of_another_supervisor(world, told):
    """Its folder was moved away and made again, and another supervisor runs in it."""
    path = world.paths.state / "socket"
    with socket.socket(socket.AF_UNIX) as other:
        with served(world, answer, told):
            path.rename(path.with_name("old"))
            other.bind(str(path))
        assert path.exists()


# ── who asks ─────────────────────────────────────────────────────────────────


@pytest.fixture
def listening(world) -> Iterator[socket.socket]:
    """A socket in the supervisor's place at which nobody accepts, as with one that is stopped."""
    with socket.socket(socket.AF_UNIX) as found:
        found.bind(str(world.paths.state / "socket"))
        found.listen(1)
        yield found


@pytest.fixture
def limits(monkeypatch) -> list[float]:
    """The limits that are set on sockets, in their order."""
    found: list[float] = []
    settimeout = socket.socket.settimeout

    def set_and_note(line: socket.socket, limit_s: float) -> None:
        found.append(limit_s)
        settimeout(line, limit_s)

    monkeypatch.setattr(socket.socket, "settimeout", set_and_note)
    return found


def test_version_of_who_answers_at_the_socket(world, told, listening):
    assert running_version(str(world.root.parent)) is None
    listening.close()
    assert running_version(str(world.root)) is None
    with served(world, Answers(lambda: world.ws).answer, told):
        assert running_version(str(world.root)) == version()
    assert told == []


def test_entry_waits_a_quarter_second_for_a_silent_supervisor(world, listening, limits):
    """By the limit that it sets on its socket; `bench/promises.py` measures the time."""
    assert entry._ask_supervisor(["-w", str(world.root), "inject", "--query", "花生"]) is None
    assert limits == [0.25]


def test_entry_gives_up_when_the_socket_backlog_is_full(world, listening):
    with contextlib.ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(socket.socket(socket.AF_UNIX)).connect(str(world.paths.state / "socket"))
        assert entry._ask_supervisor(["-w", str(world.root), "search", "花生"]) is None


WHOLE = {"out": "慢慢来", "err": "", "code": 0}


@pytest.mark.usefixtures("patient_client")
@pytest.mark.parametrize(
    ("answer", "found"), [("", None), ('{"out": ""', None), (json.dumps(WHOLE), WHOLE)], ids=["none", "half", "whole"]
)
def test_entry_takes_a_whole_answer_within_the_time_that_is_announced(world, listening, limits, answer, found):
    def serve() -> None:
        with listening.accept()[0] as line:
            line.recv(10_000)
            if answer:
                line.sendall(json.dumps({"within": 2 * PATIENCE_S}).encode() + b"\n" + answer.encode())

    thread = threading.Thread(target=serve)
    thread.start()
    assert entry._ask_supervisor(["-w", str(world.root), "search", "花生"]) == found
    thread.join(PATIENCE_S)
    assert limits == ([PATIENCE_S, 2 * PATIENCE_S] if answer else [PATIENCE_S])


def test_entry_sends_nothing_to_a_socket_of_another_user(world, listening, monkeypatch):
    stat = os.lstat

    def strange(path: str) -> os.stat_result:
        found = list(stat(path))
        found[4] += 1
        return os.stat_result(found)

    monkeypatch.setattr("recalld.supervisor.interfaces.locate.os.lstat", strange)
    assert entry._ask_supervisor(["-w", str(world.root), "inject", "--query", "花生"]) is None


# ── the real ones ────────────────────────────────────────────────────────────


def test_inject_answers_beside_a_stopped_supervisor(tmp_path):
    recalld = Command.made(tmp_path / "workspace", RECALLD_ARCHIVE_TIMEZONE="Asia/Shanghai")
    (recalld.root / "memory.md").write_text("2026-01-20|聊天|用户对榛子过敏\n", encoding="utf-8")
    history = [message("猫-1", "2026-01-28T09:00", "猫的疫苗约在九月。")]
    (recalld.root / "history.json").write_text(json.dumps(history), encoding="utf-8")
    with recalld.supervised() as process:
        assert "榛子" in recalld("inject", "--query", "榛子过敏吗？").out
        process.send_signal(signal.SIGSTOP)
        try:
            words = ("-w", str(recalld.root), "inject", "--query", "榛子过敏吗？")
            found = ended(recalld.start(*words, before=["env"]))
        finally:
            process.send_signal(signal.SIGCONT)
        assert ("榛子" in found.out, found.code) == (True, 0)
        assert process.poll() is None
    assert process.returncode == 0


@pytest.mark.usefixtures("patient_client")
def test_socket_server_listens_in_a_folder_whose_path_is_long(tmp_path, told):
    world = World(tmp_path / ("很长的名字" * 7), at("2026-01-31T10:00"))
    with served(world, answer, told):
        assert ask_supervisor(str(world.root), {"op": "search", "request": 1, "caller": {}}, PATIENCE_S) == {"answer": 1}
    assert list(world.paths.state.glob("socket*")) == []
    assert told == []


def test_supervisor_answers_nothing_for_a_copy_of_its_workspace(world):
    request = Request("read", {}, {}, tuple(folder_id(str(world.root.parent))))
    with pytest.raises(ValueError, match="another workspace"):
        Answers(lambda: world.ws).answer(request)


@pytest.mark.parametrize("given", [{"argv": ["doctor"], "env": {}}, {"argv": "search", "env": {}}, {"argv": []}, None])
def test_supervisor_leaves_other_commands_to_the_client(world, given):
    with pytest.raises(ValueError, match=r"no command of a supervisor|its arguments are missing"):
        Answers(lambda: world.ws).answer(Request("command", given, {}, tuple(folder_id(str(world.root)))))


@pytest.mark.parametrize("is_replaced", [False, True])
def test_socket_that_somebody_deleted_or_replaced_is_made_again(world, told, is_replaced):
    path = world.paths.state / "socket"
    with served(world, answer, told) as step:
        path.unlink()
        if is_replaced:
            path.write_text("花生")
        step()
        with connected(world) as line:
            assert answered(line, LINE)
    assert (path.exists(), told) == (False, [])
