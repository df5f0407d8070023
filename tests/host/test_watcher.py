"""What file events tell, and what a poll notices without them: history, drop-box, results, files of memory, and recalld.toml."""

import json
import os
import shutil
import socket
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue

import pytest

from recalld.supervisor.host.watcher import ChangeDetector, ConfigWatch, watch
from recalld.supervisor.workspace import read_config
from tests.patience import PATIENCE_S
from tests.process.command import Command, until
from tests.world import IN_SHANGHAI, Diarist, World, at, patient


@pytest.fixture
def look(world):
    world.put("memory.md", "2026-01-20|聊天|用户对花生过敏\n")
    for name in ("项目/部署.md", "项目/.部署.md.swp", "读书/.swp", "2026-01-28-nas.md", "originals/2025-12/2025-12-01-cat.md"):
        path = world.note(name, "备份在 nas 上。")
        os.utime(path, (1_700_000_000, 1_700_000_000))  # a clock with coarse ticks could hide a quick edit
    found = ChangeDetector(world.files.disk, world.paths, world.ws.task_queue)
    assert (found.tree_changed(), found.near_changed()) == (True, True)
    assert (found.tree_changed(), found.near_changed()) == (False, False)
    return found


#: What is written; the one of a day has as many bytes as before.
WRITTEN = {
    "a new note of any name": "memory/想法 2.md",
    "a note in a new folder": "memory/读书/三体.md",
    "an edit": "memory/2026-01-28-nas.md",
    "the long-term file": "memory.md",
    "the other spelling of it": "MEMORY.md",
    "a summary": "memory/summary/2026-01-15.md",
}
CHANGES = {
    **{
        name: lambda root, path=path: (root / path).write_text("备份在 nbs 上。", encoding="utf-8")
        for name, path in WRITTEN.items()
    },
    "a save by rename": lambda root: os.replace(root / "memory/项目/.部署.md.swp", root / "memory/项目/部署.md"),
    "another name": lambda root: os.rename(root / "memory/项目/部署.md", root / "memory/项目/上线.md"),
    "a folder of another name": lambda root: os.rename(root / "memory/项目", root / "memory/工作"),
    "a deleted file": lambda root: (root / "memory/originals/2025-12/2025-12-01-cat.md").unlink(),
    "a deleted folder": lambda root: shutil.rmtree(root / "memory/项目"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_change_detector_reports_each_memory_change_once(world, look, change):
    CHANGES[change](world.root)
    assert look.tree_changed()
    assert not look.tree_changed()
    assert not look.near_changed()


@pytest.mark.parametrize("name", ["memory/.git", "memory/部署.md~", "memory/.部署.md.swp", "memory/图.png", "turns"])
def test_change_detector_ignores_files_that_are_not_memory(world, look, name):
    path = world.root / name
    path.write_bytes(b"x")
    assert not look.tree_changed()


def test_change_detector_reports_the_end_of_a_models_pause(world, look):
    world.ws.task_queue.record("provider", {"failures": 0})
    assert look.near_changed()
    assert not look.near_changed()


def test_watch_tells_of_messages_and_requests(world):
    heard: SimpleQueue[str] = SimpleQueue()
    with ExitStack() as ended:
        ended.callback(watch(world.paths, heard.put))
        for path in (world.paths.archive_request, world.paths.drop_box / "1.json", world.paths.root / "inbox.json"):
            path.write_bytes(b"{}")
            while heard.get(timeout=PATIENCE_S) != path.name:
                pass


# ── recalld.toml ─────────────────────────────────────────────────────────────


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
    assert watched.world.events.all == [("config_taken", {})]
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
    assert watched.world.events.all[1:] == [("config_taken", {})]


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
    before += f"[serve]\nport = {port}\n"
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
