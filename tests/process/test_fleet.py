"""`recalld fleet` as a thin parent: a process for each workspace, which is started again, and ends with its parent."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recalld.supervisor.interfaces.locate import socket_path
from recalld.supervisor.storage.disk import RealDisk
from tests.patience import PATIENCE_S
from tests.process.command import Command, until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.proof
NAMES = ("安娜", "ben", "carla")


class Root:
    """A folder with three workspaces, and the fleet that is started on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.of = {name: Command(folder / name, RECALLD_ARCHIVE_TIMEZONE="Asia/Shanghai") for name in NAMES}
        for command in self.of.values():
            assert command("init").code == 0
        self.log = folder.parent / "said"

    @contextlib.contextmanager
    def fleet(self, **environ: str) -> Iterator[subprocess.Popen[bytes]]:
        """A fleet as its unit starts it."""
        command = [sys.executable, "-P", "-m", "recalld", "fleet", "--root", str(self.folder)]
        with self.log.open("wb") as log:
            process = subprocess.Popen(command, env={**self.of["ben"].environ, **environ}, stdout=log, stderr=log)
        try:
            yield process
        finally:
            process.terminate()
            assert process.wait(PATIENCE_S) == 0

    def running(self) -> list[str]:
        """The workspaces that have a supervisor."""
        return [name for name in NAMES if RealDisk().is_locked(self.folder / name / ".recalld/supervisor.lock")]

    def answering(self) -> list[str]:
        """The workspaces whose supervisor answers."""
        return [name for name in self.running() if socket_path(str(self.folder / name))]

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")


@pytest.fixture
def root(tmp_path: Path) -> Root:
    folder = tmp_path / "所有"
    folder.mkdir()
    return Root(folder)


def pid_of(root: Root, name: str) -> int:
    """The process that runs the workspace."""
    path = str(root.folder / name)
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError):
            words = Path(f"/proc/{int(entry)}/cmdline").read_text(encoding="utf-8").split("\0")
            if path in words and "run" in words:
                return int(entry)
    return 0


def test_fleet_runs_each_workspace_in_a_process_and_starts_it_again(root):
    with root.fleet() as fleet:
        until(lambda: root.answering() == [*NAMES], fleet)
        for name, command in root.of.items():
            assert command("append", "--role", "user", "--text", f"{name}对花生过敏。").code == 0
            assert f"{name}对花生过敏" in command("search", "花生").out
        assert root.of["ben"]("run").code == 75
        assert "recalld service install" in root.said()
        killed = pid_of(root, "ben")
        os.kill(killed, signal.SIGKILL)
        until(lambda: pid_of(root, "ben") not in (0, killed) and "ben" in root.answering(), fleet)
        assert "ben: its process has ended with exit code -9" in root.said()
        before = {name: pid_of(root, name) for name in NAMES}
        fleet.send_signal(signal.SIGHUP)
        until(lambda: all(pid_of(root, name) not in (0, before[name]) for name in NAMES), fleet)
    assert root.running() == []
    for name, command in root.of.items():
        assert json.loads(command("fsck", "--json").out)["lost"] == [], name


def test_fleet_leaves_alone_what_was_drained_or_has_a_supervisor(root):
    (root.folder / ".fleet/drained").mkdir(parents=True, mode=0o700)
    (root.folder / ".fleet/drained/carla").touch()
    (root.folder / "fleet.toml").write_text("[fleet]\nshards = 2\n")
    with root.of["ben"].supervised(), root.fleet(RECALLD_FLEET_SHARDS="2", RECALLD_LANGUAGE="zh") as fleet:
        until(lambda: "安娜" in root.answering(), fleet)
        assert (pid_of(root, "carla"), "退出码" in root.said()) == (0, False)
        assert f"{root.folder / 'fleet.toml'} 不再读取" in root.said()
        (root.folder / ".fleet/drained/carla").unlink()
        until(lambda: "carla" in root.answering(), fleet)
        (root.folder / ".fleet/drained/安娜").touch()
        until(lambda: "安娜" not in root.running(), fleet)


@pytest.mark.parametrize(("words", "code"), [(["--root", "."], 64), (["--root", "无"], 64), ([], 64), (["status"], 64)])
def test_fleet_that_can_not_run_ends_so_that_its_unit_is_not_tried_again(tmp_path, words, code):
    command = Command(tmp_path)
    assert command("init").code == 0
    done = subprocess.run([sys.executable, "-m", "recalld", "fleet", *words], cwd=tmp_path, env=command.environ, check=False)
    assert done.returncode == code
