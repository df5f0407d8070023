"""A running supervisor and its recalld.toml: a changed one is used, a wrong one is told and not used."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from recalld.supervisor.host.watcher import ConfigWatch
from recalld.supervisor.workspace import read_config
from tests.process.command import Command, until
from tests.world import IN_SHANGHAI, Diarist, World, at, patient

RIGHT = f"[archive]\n{IN_SHANGHAI}\nunarchived_limit = 1\n"


class Watched:
    """The watch of a workspace, which looks every second."""

    def __init__(self, root: Path) -> None:
        self.world: World = Diarist(root, at("2026-01-31T10:00"), f"[archive]\n{IN_SHANGHAI}\n")
        self.write(self.world.toml)
        self.watch = ConfigWatch(self.world.ws, lambda: patient(read_config(self.world.files, self.world.paths, {})))

    def write(self, toml: str) -> None:
        self.world.put("recalld.toml", toml)

    def look(self, times: int = 2) -> bool:
        """Whether the watch says that the configuration has changed; it looks once a second."""
        return any(self.watch.is_changed(self.world.forward(seconds=1).clock.seconds) for _ in range(times))


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    made = Watched(tmp_path)
    assert not made.look(5)
    return made


def test_config_watch_waits_until_nobody_writes_the_file(watched):
    watched.write("")  # an editor that empties it first: it would be a workspace in UTC
    assert not watched.look(1)
    watched.write(RIGHT)
    assert not watched.look(1)
    assert watched.look(1)
    assert watched.world.events.all == [("config_taken", {"keys": ["archive.unarchived_limit"]})]
    watched.write("[archive]\nunarchived_limit = -1\n")
    assert not watched.look(5)
    assert watched.watch.valid.archive.unarchived_limit == 1, "what is opened next: the file is wrong meanwhile"


def test_config_watch_tells_a_wrong_file_once_and_keeps_the_one_before(watched):
    for _ in range(3):
        watched.write("[archive]\nunarchived_limit = -1\n")
        assert not watched.look(5)
    why = "archive.unarchived_limit: -1 is not allowed, give a whole number from 0 up."
    assert watched.world.events.all == [("config_refused", {"why": why})]
    watched.write(watched.world.toml)
    assert not watched.look(), "it is what the supervisor runs with"
    assert watched.world.events.all[1:] == [("config_taken", {"keys": []})]


def test_config_watch_does_not_take_a_file_that_is_gone(watched):
    (watched.world.root / "recalld.toml").unlink()
    assert not watched.look(5)
    (refused,) = watched.world.events.of("config_refused")
    assert refused["why"].startswith("recalld.toml: it is gone; ")
    watched.write(RIGHT)
    assert watched.look()


# ── the supervisor ───────────────────────────────────────────────────────────


@pytest.mark.proof
def test_run_uses_a_changed_configuration_and_keeps_it_when_wrong(tmp_path):
    recalld = Command.made(tmp_path / "工作区")
    toml = recalld.root / "recalld.toml"
    before = toml.read_text(encoding="utf-8").replace("[archive]\n", '[archive]\nexchange_wait = "0s"\n')
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    before = before.replace("[serve]\n", f"[serve]\nport = {port}\n")
    toml.write_text(before, encoding="utf-8")

    def logged(event: str) -> int:
        lines = (recalld.root / "log.jsonl").read_text(encoding="utf-8").splitlines()
        return sum(json.loads(line)["event"] == event for line in lines)

    with recalld.supervised() as process:
        until(lambda: logged("port_open") == 1, process)
        with socket.create_connection(("127.0.0.1", port)) as line:
            line.sendall(f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n".encode())  # a request that is not whole yet
            toml.write_text(before.replace("[archive]\n", "[archive]\nunarchived_limit = 1\n"), encoding="utf-8")
            until(lambda: logged("config_taken") == 1, process)
            for text in ("我对花生过敏。", "点外卖要备注。"):
                assert recalld("append", "--role", "user", "--text", text).code == 0
            line.sendall(b"\r\n")
            assert line.recv(100).startswith(b"HTTP/1.1 200")
        until(lambda: logged("archived") == 1, process)
        assert recalld("run", "--until-settled").code == 75, "the lock is held all the time"
        toml.write_text("[archive]\nunarchived_limit = 'one'\n", encoding="utf-8")
        until(lambda: logged("config_refused") == 1, process)
        # a supervisor that is too busy to answer leaves the work to the command, which refuses the file
        until(lambda: bool(recalld("search", "花生").out), process)
        assert logged("stopped") == 0
    assert logged("stopped") == logged("started") == 1
