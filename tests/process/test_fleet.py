"""A fleet as it is started: commands find their workspace in it, and nothing acknowledged is lost when its processes are killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from recalld.supervisor.fleet.settings import FleetPaths
from recalld.supervisor.interfaces.fleet import ask_fleet
from tests.process.command import Command, Ended, ended, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.proof, pytest.mark.timeout(300)]
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
            process.wait(60)

    def status(self) -> dict[str, Any]:
        return ask_fleet(FleetPaths(self.folder)) or {"shards": []}

    def all_run(self) -> bool:
        shards = self.status()["shards"]
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
        assert json.loads(root.command("drain", "ben", "--json").out) == {"drained": ["ben"]}
        with root.of["ben"].supervised():
            refused = root.command("adopt", "ben")
            assert (refused.code, "a supervisor already runs" in refused.err) == (75, True)
        assert json.loads(root.command("adopt", "ben", "--json").out) == {"adopted": ["ben"]}
        assert root.status()["drained"] == []
        assert (root.command("drain", "nobody").code, root.command("drain").code) == (64, 0)
        assert root.status()["drained"] == sorted(NAMES)


def test_fleet_tells_who_was_let_go_and_runs_the_sick_alone(root):
    with root.fleet():
        (root.folder / "carla").rename(root.folder / "karla")
        until(lambda: [one["workspace"] for one in root.events("stopped") if "workspace" in one] == ["carla"])
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
        first.wait(60)
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


@contextlib.contextmanager
def gateway(root: Root) -> Iterator[str]:
    command = [sys.executable, "-m", "recalld", "gateway", "--root", str(root.folder), "--port", "0"]
    process = subprocess.Popen(command, env=root.environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.communicate(timeout=60)


def asked(address: str, path: str, token: str, **request: Any) -> tuple[int, Any, str]:
    head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    url = f"{address}/w/{urllib.parse.quote(path)}"
    wanted = urllib.request.Request(url, json.dumps(request).encode(), head)  # noqa: S310 - loopback
    try:
        with urllib.request.urlopen(wanted, timeout=60) as answer:  # noqa: S310 - loopback
            return answer.status, json.loads(answer.read()), ""
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read()), error.headers.get("Retry-After", "")


def test_gateway_passes_operations_on_with_the_token_of_the_workspace(root):
    with gateway(root) as address:
        with root.fleet():
            refused = [asked(address, f"{name}/api/append", "", messages=[]) for name in NAMES]
            assert refused == refused[:1] * 4, refused
            assert refused[0][0] == 401
            tokens = {name: (root.folder / name / ".recalld/token").read_text().strip() for name in NAMES}
            for name, token in tokens.items():
                status, added, _ = asked(
                    address, f"{name}/api/append", token, messages=[{"role": "user", "text": f"{name}对花生过敏。"}]
                )
                assert status == 200, added
            for name, token in tokens.items():
                status, found, _ = asked(address, f"{name}/api/search", token, query="花生")
                assert (status, len(found["hits"]), f"{name}对花生过敏。" in str(found)) == (200, 1, True)
            foreign = [asked(address, f"{name}/api/status", tokens["安娜"]) for name in ("ben", "carla")]
            assert foreign[0] == foreign[1]
            assert foreign[0][0] == 401
            unknown = [asked(address, f"{name}/api/status", tokens["ben"]) for name in ("nobody", "..", ".fleet", "很长" * 200)]
            assert [one[0] for one in unknown] == [404] * 4
            assert unknown == unknown[:1] * 4
            assert asked(address, "ben/api/nothing", tokens["ben"])[0] == 404
            assert asked(address, "ben/api/search", tokens["ben"], query=5)[0] == 400
        away = asked(address, "ben/api/append", tokens["ben"], messages=[{"role": "user", "text": "x"}])
        assert (away[0], away[1]["detail"], away[2]) == (
            503,
            "the owner of the workspace does not answer for now; try again soon",
            "5",
        )
