"""A fleet as it is started: commands find their workspace in it, and nothing acknowledged is lost when its processes are killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import urllib.parse
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from recalld.supervisor.fleet.parent import SILENT_S, Parent
from recalld.supervisor.fleet.settings import FleetPaths
from recalld.supervisor.interfaces.cli.fleet import _let_go
from recalld.supervisor.interfaces.fleet import _own_command, _route, _shard_command, ask_fleet
from recalld.supervisor.interfaces.socket_server import Connections, read_request, serve_socket
from recalld.supervisor.storage.catalogue import Text, stored
from recalld.supervisor.storage.clock import utc_now
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.files import Files
from tests.patience import PATIENCE_S
from tests.process.command import Command, Ended, ended, until
from tests.world import EventList

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.proof
NAMES = ("安娜", "ben", "carla", "dora")


class Root:
    """A folder with four workspaces, and the fleets that are started on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.of = {name: Command(folder / name, RECALLD_ARCHIVE_TIMEZONE="Asia/Shanghai") for name in NAMES}
        for command in self.of.values():
            assert command("init").code == 0
        environ = dict(self.of["ben"].environ)
        del environ["RECALLD_RECALL_TIMEOUT_MS"]
        self.environ = {**environ, "RECALLD_FLEET_SHARDS": "2", "RECALLD_RECALL_TIMEOUT_MS": "60000"}

    def command(self, *words: str) -> Ended:
        return ended(self.start(*words))

    def start(self, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "recalld", "fleet", *words, "--root", str(self.folder)]
        return subprocess.Popen(
            command, env=self.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder
        )

    @contextlib.contextmanager
    def fleet(self) -> Iterator[subprocess.Popen[str]]:
        process = subprocess.Popen(
            [sys.executable, "-m", "recalld", "fleet", "--root", str(self.folder)],
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            cwd=self.folder,
        )
        try:
            until(self.all_run, process)
            yield process
        finally:
            process.terminate()
            process.wait(PATIENCE_S)

    def status(self) -> dict[str, Any]:
        return until(lambda: ask_fleet(FleetPaths(self.folder)))

    def all_run(self) -> bool:
        shards = (ask_fleet(FleetPaths(self.folder)) or {"shards": []})["shards"]
        return bool(shards) and all(one["pid"] for one in shards) and sum(one["workspaces"] for one in shards) == len(NAMES)

    def events(self, name: str) -> list[dict[str, Any]]:
        lines = (self.folder / ".fleet/log.jsonl").read_text(encoding="utf-8").splitlines()
        return [found for found in map(json.loads, lines) if found["event"] == name]


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return Root(tmp_path)


def test_fleet_answers_the_commands_of_each_workspace(root):
    with root.fleet():
        for name, command in root.of.items():
            assert command("append", "--role", "user", "--text", f"{name}对花生过敏。").code == 0
        for name, command in root.of.items():
            assert f"{name}对花生过敏" in command("search", "花生").out
        shards = root.status()["shards"]
        assert sum(one["open"] for one in shards) == len(NAMES), "a command that works alone would have opened none"
        refused = root.of["ben"]("run")
        assert (refused.code, "recalld fleet drain ben --root" in refused.err) == (75, True)
        second = root.command()
        assert (second.code, "a fleet already runs" in second.err) == (75, True)


def test_fleet_gives_a_workspace_free_for_run_and_takes_it_again(root):
    with root.fleet():
        assert root.command("adopt", "ben").code == 0, "it is the fleet's already, and may be dormant"
        assert json.loads(root.command("drain", "ben", "--json").out) == {"drained": ["ben"]}
        with root.of["ben"].supervised():
            refused = root.command("adopt", "ben")
            assert (refused.code, "a supervisor already runs" in refused.err) == (75, True)
        assert json.loads(root.command("adopt", "ben", "--json").out) == {"adopted": ["ben"]}
        assert root.status()["drained"] == []
        assert (root.command("drain", "nobody").code, root.command("drain").code) == (64, 0)
        assert root.status()["drained"] == sorted(NAMES)


def test_adopt_has_the_fleet_try_again_and_says_what_is_still_wrong(root):
    config = root.folder / "ben/recalld.toml"
    whole = config.read_bytes()
    with root.fleet():
        assert root.command("drain", "ben").code == 0
        config.write_bytes(b"archive = [")
        for _ in range(2):
            refused = root.command("adopt", "ben", "carla")
            assert (refused.code, refused.out) == (75, "the fleet looks after: carla.\n")
            assert "ben: recalld.toml: it is not valid TOML" in refused.err
        config.write_bytes(whole)
        assert root.command("adopt", "ben").code == 0
    later = root.command("adopt", "carla")
    assert (later.code, later.out) == (69, "the fleet's again, once one runs: carla.\n")


def test_adopt_does_not_wait_for_what_the_fleet_opens_later(root):
    root.environ |= {"RECALLD_FLEET_SHARDS": "1", "RECALLD_FLEET_OPEN": "1", "RECALLD_FLEET_WARM_UP": "30d"}
    with root.fleet():
        until(lambda: [(one["held"], one["open"]) for one in root.status()["shards"]] == [(len(NAMES), 1)])
    with root.fleet():
        assert root.status()["shards"][0]["held"] < len(NAMES), "nothing has changed in the others"
        adopted = root.command("adopt", *NAMES, "--json")
        assert (adopted.code, json.loads(adopted.out or "{}")) == (0, {"adopted": sorted(NAMES)})
        assert root.status()["shards"][0]["held"] < len(NAMES)


def test_adopt_that_is_interrupted_leaves_nothing_given_free(root):
    paths, files, why = FleetPaths(root.folder), Files(RealDisk()), Text("fleet.link")
    for folder in (paths.folder, paths.drained, paths.sick):
        files.make_folder(folder)

    def refuse_ben(line: socket.socket) -> None:
        if read_request(line):
            refused = [{"name": "ben", "why": str(why), "said": stored(why)}]
            line.sendall(b'{"within": 5}\n' + json.dumps({"shards": [{"refused": refused}]}).encode())

    with files.lock_for_life(paths.lock, wait_s=0), serve_socket(paths.folder, files, Connections(refuse_ben, print)):
        adopts = root.start("adopt", "ben")
        until((paths.drained / "ben").exists, adopts)
        adopts.send_signal(signal.SIGINT)
        assert ended(adopts).code != 0
    assert files.disk.names(paths.drained) == []


def test_drain_takes_the_silence_of_a_shard_for_no_word_that_it_let_go(root):
    paths, files = FleetPaths(root.folder), Files(RealDisk())
    for folder in (paths.folder, paths.drained, paths.sick):
        files.make_folder(folder)
    silent = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    parent = Parent(paths, 1, lambda _: silent, _own_command, root.environ, RealDisk(), EventList(utc_now))
    connections = Connections(partial(_route, parent), print)
    with files.lock_for_life(paths.lock, wait_s=0), serve_socket(paths.folder, files, connections):
        assert until(lambda: _let_go(paths, ["ben"])) == {"ben"}, "the shard is still to be started"
        parent.look()
        try:
            assert _let_go(paths, ["ben"]) == set()
        finally:
            parent.end()


@pytest.mark.parametrize(
    ("language", "refusal", "note"),
    [
        (
            "en",
            "is the root of a fleet; make a workspace below it",
            "is a workspace as well, because of recalld.toml, history.json",
        ),
        ("zh", "是工作区群的根目录；请在它下面建工作区", "里有 recalld.toml、history.json，因此它本身也成了工作区"),
    ],
)
def test_root_of_a_fleet_is_made_no_workspace_and_works_on_as_one(root, language, refusal, note):
    assert root.command("drain", "ben").code == 0
    above = Command(root.folder, RECALLD_LANGUAGE=language)
    for words in (("init",), ("run", "--until-settled")):
        refused = above(*words)
        assert (refused.code, refusal in refused.err) == (64, True), refused
    assert not (root.folder / "history.json").exists()
    for name in ("recalld.toml", "history.json"):  # a copy to the wrong place
        (root.folder / name).write_bytes((root.folder / "ben" / name).read_bytes())
    root.environ["RECALLD_LANGUAGE"] = language
    for words, code in ((("status",), 69), (("drain", "carla"), 0), (("adopt",), 69)):
        done = root.command(*words)
        assert (done.code, note in done.err) == (code, True), done
    with root.fleet():
        assert root.status()["drained"] == []


def test_fleet_tells_who_was_let_go_and_runs_the_sick_alone(root):
    with root.fleet():
        (root.folder / "carla").rename(root.folder / "karla")
        until(lambda: [one["workspace"] for one in root.events("stopped") if "workspace" in one] == ["carla"])
        (root.folder / "link").symlink_to("ben")
        root.environ["RECALLD_LANGUAGE"] = "zh"
        until(lambda: "  link：它是一个链接；请把文件夹本身放在根目录下面\n" in root.command("status").out)
        (root.folder / ".fleet/sick/ben").write_text("it did not end\n")
        until(lambda: [one["name"] for one in root.status().get("sick", ()) if one["pid"]] == ["ben"])
        until((root.folder / "ben/.recalld/socket").exists)
        assert root.of["ben"]("append", "--role", "user", "--text", "早上好").code == 0
        assert json.loads(root.command("adopt", "ben", "--json").out) == {"adopted": ["ben"]}


def test_fleet_loses_nothing_acknowledged_when_its_processes_are_killed(root):
    acknowledged: dict[str, list[str]] = {name: [] for name in NAMES}
    turn = 0

    def say() -> None:
        nonlocal turn
        turn += 1
        for name, command in root.of.items():
            done = command("append", "--role", "user", "--text", f"第 {turn} 句，{name}说。")
            assert done.code == 0, done
            acknowledged[name].append(done.out.strip())

    with root.fleet() as first:
        for _ in range(3):
            say()
            for shard in root.status()["shards"]:
                if shard["pid"]:
                    os.kill(shard["pid"], signal.SIGKILL)
            say()
            until(root.all_run, first)
        first.kill()
        first.wait(PATIENCE_S)
        say()
    with root.fleet() as second:
        say()
        second.send_signal(signal.SIGHUP)
        say()
        until(root.all_run, second)
    for name, command in root.of.items():
        assert command("run", "--until-settled", "--no-worker").code == 0
        found = json.loads(command("fsck", "--json").out)
        assert (found["lost"], found["damage"]) == ([], [])
        files = "".join(path.read_text(encoding="utf-8") for path in (root.folder / name / "memory").glob("*.md"))
        assert [files.count(identity) for identity in acknowledged[name]] == [1] * turn


def test_parent_replaces_a_shard_that_hangs_and_tells_it_once(root):
    paths, events = FleetPaths(root.folder), EventList(utc_now)
    for folder in (paths.folder, paths.drained, paths.sick):
        folder.mkdir(mode=0o700)
    command = partial(_shard_command, root.folder, 1, json=False)
    parent = Parent(paths, 1, command, _own_command, root.environ, RealDisk(), events)
    shard = parent.shards[0]

    def runs() -> bool:
        parent.look()
        return shard.sign_s > shard.started_s > 0

    try:
        until(runs)
        hangs = shard.process
        os.kill(hangs.pid, signal.SIGSTOP)
        parent.silent_s = 3.0
        until(lambda: parent.look() or shard.is_silent)
        parent.silent_s = SILENT_S
        until(lambda: runs() and shard.process not in (None, hangs))
        ended = shard.process
        ended.terminate()  # as Ctrl-C and systemd end all at once
        until(lambda: runs() and shard.process not in (None, ended))
        assert [one["why"] for one in events.of("degraded")] == [
            "shard 0 gave no sign of life for 3 seconds; it is killed and started again"
        ]
    finally:
        parent.end()


@contextlib.contextmanager
def gateway(root: Root) -> Iterator[str]:
    command = [sys.executable, "-m", "recalld", "gateway", "--root", str(root.folder), "--port", "0"]
    process = subprocess.Popen(command, env=root.environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_S)


class Asked:
    """What programs ask of the gateway at *address*."""

    def __init__(self, root: Root, address: str) -> None:
        self.root, self.address = root, address

    def token(self, name: str) -> str:
        """The token of a workspace, which is made soon after its first request."""
        path = self.root.folder / name / ".recalld/token"
        self(f"{name}/api/status", "nobody's")
        until(path.exists)
        return path.read_text().strip()

    def __call__(self, path: str, token: str, **request: Any) -> tuple[int, Any, str]:
        head = {"Authorization": f"Bearer {token}"}
        found = httpx2.post(f"{self.address}/w/{urllib.parse.quote(path)}", headers=head, json=request, timeout=PATIENCE_S)
        return found.status_code, found.json(), found.headers.get("Retry-After", "")

    def tool(self, name: str, tool: str, **arguments: Any) -> str:
        """What a client of the SDK of MCP gets for a call at the workspace."""

        async def main() -> str:
            head = {"Authorization": f"Bearer {self.token(name)}"}
            async with httpx2.AsyncClient(headers=head, timeout=PATIENCE_S) as line:
                transport = streamable_http_client(f"{self.address}/w/{urllib.parse.quote(name)}/mcp", http_client=line)
                async with Client(transport) as client:
                    return str((await client.call_tool(tool, arguments)).content[0].text)  # type: ignore[union-attr]

        return anyio.run(main)


def test_gateway_passes_on_what_the_token_of_the_workspace_opens(root):
    with gateway(root) as address:
        asked = Asked(root, address)
        with root.fleet():
            tokens = {name: asked.token(name) for name in NAMES}
            for name, token in tokens.items():
                status, added, _ = asked(
                    f"{name}/api/append", token, messages=[{"role": "user", "text": f"{name}对花生过敏。"}]
                )
                assert status == 200, added
            for name, token in tokens.items():
                status, found, _ = asked(f"{name}/api/search", token, query="花生")
                assert (status, len(found["hits"]), f"{name}对花生过敏。" in str(found)) == (200, 1, True)
            assert asked("ben/api/memory/search", tokens["ben"], keywords="花生")[1] == {"results": "记忆为空", "total": 0}
            refused = {path: asked(f"ben/{path}", tokens["ben"], query=5)[0] for path in ("api/nothing", "api/search", "days")}
            assert refused == {"api/nothing": 404, "api/search": 400, "days": 404}
        away = asked("ben/api/append", tokens["ben"], messages=[{"role": "user", "text": "x"}])
        assert (away[0], away[1]["detail"], away[2]) == (
            503,
            "the owner of the workspace does not answer for now; try again soon",
            "5",
        )
        assert asked("ben/mcp", tokens["ben"]) == asked("carla/api/status", tokens["carla"]) == away


def test_gateway_serves_each_workspace_over_mcp(root):
    with gateway(root) as address, root.fleet():
        asked = Asked(root, address)
        for name in ("安娜", "ben"):
            asked.tool(name, "memory_write", content=f"{name}的护照在保险柜里")
        assert "ben的护照" in asked.tool("ben", "memory_search", query="护照")
        assert "安娜" not in asked.tool("ben", "memory_read")
