"""The script that tells that the service is down: for each way to fail, in both languages, with neither Python nor workspace."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from recalld.supervisor.host.service import Alarm, python_gone
from recalld.supervisor.storage.errors import NoWorkspace

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
        self.alarm = Alarm(self.folder)
        self.alarm.keep(world.ws)

    def fails(self, result: str | None, code: str = "0", *, options: str = "") -> subprocess.CompletedProcess[str]:
        """Have systemd start the alarm."""
        why = {} if result is None else {"MONITOR_SERVICE_RESULT": result, "MONITOR_EXIT_STATUS": code}
        return subprocess.run(
            ["/bin/sh", self.folder / "trouble.sh", "recalld.service", options],
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
    assert told.startswith("recalld.service 没有运行：systemd 没能让它看到自己的目录（226/NAMESPACE），可能有磁盘没有挂载；用 ")


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
    it.fails("exit-code", "1")
    assert "it ended with exit code 1" in it.told[1]
    it.fails("protocol", "0")
    assert "does not run: it failed, which systemd calls protocol; `" in it.told[2]


def test_alarm_says_that_the_python_has_no_recalld_any_more(machine, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/opt/recalld/bin/python3")
    it = machine()
    it.fails("exit-code", "1")
    assert "its Python, /opt/recalld/bin/python3, is gone" in it.told[0]
    assert "`python3 -m venv --clear /opt/recalld`" in it.told[0]


@pytest.mark.parametrize(
    ("python", "command"),
    [
        ("/home/me/.local/share/pipx/venvs/recalld/bin/python", "pipx reinstall recalld"),
        ("/home/me/.local/share/uv/tools/recalld/bin/python3", "uv tool upgrade --reinstall recalld"),
        ("/home/me/my env/bin/python3", "python3 -m venv --clear '/home/me/my env'"),
    ],
)
def test_python_gone_names_what_makes_its_environment_again(python, command):
    assert f"`{command}`" in python_gone(python)


def test_alarm_tells_the_same_once_until_the_service_ran_well(machine):
    it = machine()
    for _ in range(3):
        it.fails("signal", "9")
    assert len(it.told) == 1
    it.fails("watchdog", "6")
    assert len(it.told) == 2
    it.alarm.forget()
    it.fails("watchdog", "6")
    assert len(it.told) == 3


def test_alarm_of_a_supervisor_in_a_terminal_writes_nothing(world, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    alarm = Alarm.of({})
    alarm.keep(world.ws)
    with pytest.raises(NoWorkspace), alarm.last_words(str):
        raise NoWorkspace("/srv")
    alarm.forget()
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_alarm_that_cannot_be_kept_stops_no_service(world, tmp_path):
    tmp_path.chmod(0o500)
    Alarm(tmp_path / "recalld").keep(world.ws)
