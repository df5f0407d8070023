"""
Installing, removing and looking at the service, with a systemctl that says what it is told to.

The real one is in script/test-systemd, which boots a machine. What is asked for here is that nobody else's unit is changed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from recalld.supervisor.checks import systemd
from recalld.supervisor.checks.systemd import check_manager, install, installation, restart, state_of, uninstall
from recalld.supervisor.checks.units import BACKUP, BACKUP_TIMER, SERVICE, TIMER, Installation
from recalld.supervisor.interfaces.cli.call import Call
from recalld.supervisor.interfaces.cli.main import run_command
from recalld.supervisor.storage.errors import ForeignUnit, NoService, NoUnit, ServiceForbidden
from tests.kinds import OTHERS

HERE = Installation(Path("/home/我/记忆"))
#: The service of a command that names none.
BARE = Installation(Path())


@dataclass
class Machine:
    """A systemctl: what it was called with, what it refuses by the word, and the properties that it shows."""

    folder: Path
    refuses: dict[str, str] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=lambda: {"ActiveState": "active", "Result": "success"})
    journal: str = ""
    has_recalld: bool = True
    called: list[list[str]] = field(default_factory=list)

    def run(self, words: Iterable[str]) -> CompletedProcess[str]:
        self.called.append([*words])
        program, *rest = [word for word in self.called[-1] if not word.startswith("-")]
        if program == "journalctl":
            return CompletedProcess([], 0, self.journal, "")
        if program != "systemctl":
            return CompletedProcess([], 0 if self.has_recalld else 1, "", "")
        verb = rest[0]
        if verb in self.refuses:
            return CompletedProcess([], 1, "", self.refuses[verb])
        return CompletedProcess([], 0, "\n".join(f"{name}={value}" for name, value in self.properties.items()), "")

    def verbs(self) -> list[str]:
        called = [words for words in self.called if words[0] == "systemctl"]
        return [next(word for word in words[1:] if not word.startswith("-")) for words in called]

    def tree(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.folder.iterdir()} if self.folder.exists() else {}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "设置"))
    machine = Machine(tmp_path / "设置/systemd/user")
    monkeypatch.setattr(systemd, "run_program", machine.run)
    monkeypatch.setattr(systemd, "BOOTED", tmp_path)
    return machine


def test_install_writes_the_units_and_starts_them(machine):
    install(HERE)
    assert machine.tree() == HERE.units()
    assert [verb for verb in machine.verbs() if verb != "show"] == ["daemon-reload", "enable", "reset-failed", "restart"]
    assert {path.stat().st_mode & 0o777 for path in machine.folder.iterdir()} == {0o644}


@pytest.mark.parametrize("theirs", [b"[Service]\nExecStart=/bin/true\n", Installation(Path("/elsewhere")).units()[SERVICE]])
def test_install_leaves_a_unit_alone_that_it_did_not_make(machine, theirs):
    machine.folder.mkdir(parents=True)
    (machine.folder / SERVICE).write_bytes(theirs)
    with pytest.raises(ForeignUnit):
        install(HERE)
    assert machine.tree() == {SERVICE: theirs}
    assert machine.called == []


def test_install_of_a_service_that_does_not_start_says_why(machine):
    machine.refuses["restart"] = "Job for recalld.service failed."
    machine.properties |= failed("78") | {"InvocationID": "a1"}
    machine.journal = "recalld: recall.k1: 'x' is not allowed, give a number from 0 to 10.\n"
    with pytest.raises(NoService, match=r"recall.k1: 'x' is not allowed, give a number from 0 to 10; `recalld doctor`"):
        install(HERE)
    assert machine.tree() == HERE.units()


@pytest.mark.parametrize("kind", ["a folder", "a pipe", "a link to a device", "4 TB of zeros"])
def test_install_leaves_what_is_no_unit_alone(machine, kind):
    machine.folder.mkdir(parents=True)
    OTHERS[kind](machine.folder / SERVICE)
    with pytest.raises(ForeignUnit):
        install(HERE)
    with pytest.raises(ForeignUnit):
        uninstall(BARE)


def test_install_without_the_backups_of_before_removes_their_units(machine):
    with_backups = replace(HERE, backups=Path("/mnt/usb"))
    install(with_backups)
    assert machine.tree() == with_backups.units()
    assert state_of(installation(BARE))["nightlyBackup"] == "active"
    machine.called.clear()
    install(HERE)
    assert machine.tree() == HERE.units()
    assert ["systemctl", "--user", "--no-pager", "disable", "--now", BACKUP, BACKUP_TIMER] in machine.called
    assert state_of(installation(BARE))["nightlyBackup"] == "none"


def test_check_says_what_is_missing_of_systemd(machine, monkeypatch):
    check_manager(HERE)
    machine.refuses["show"] = "Failed to connect to bus"
    with pytest.raises(NoService, match="no session of systemd"):
        check_manager(HERE)
    monkeypatch.setattr(systemd, "BOOTED", machine.folder / "run")
    with pytest.raises(NoService, match="systemd does not run here"):
        check_manager(HERE)


def test_check_wants_root_for_units_of_the_system(machine, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ServiceForbidden, match="with `sudo`"):
        check_manager(replace(HERE, user="alice"))


def test_lingers_reads_what_logind_keeps(tmp_path, monkeypatch):
    monkeypatch.setattr(systemd, "_LINGERING", tmp_path)
    assert not systemd.lingers("我")
    (tmp_path / "我").touch()
    assert systemd.lingers("我")


def test_restart_starts_the_service_that_is_installed(machine):
    with pytest.raises(NoUnit):
        installation(BARE)
    install(HERE)
    assert installation(BARE) == HERE
    machine.called.clear()
    restart(HERE)
    assert machine.verbs() == ["daemon-reload", "reset-failed", "restart"]


def test_restart_lets_the_same_trouble_be_reported_again(machine, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "状态"))
    HERE.alarm.mkdir(parents=True)
    (HERE.alarm / "told").write_text("recalld.service is down\n")
    install(HERE)
    assert not (HERE.alarm / "told").exists()


def failed(code: str) -> dict[str, str]:
    return {"ActiveState": "failed", "Result": "exit-code", "ExecMainStatus": code}


@pytest.mark.parametrize(
    ("properties", "journal", "down"),
    [
        ({"ActiveState": "active"}, "", ""),
        ({"ActiveState": "activating", "Result": "signal"}, "", ""),
        ({"ActiveState": "activating", "SubState": "auto-restart", "Result": "signal"}, "", "a signal killed it"),
        (failed("226"), "", "systemd could not make its folders visible to it (226/NAMESPACE); a disk may not be mounted"),
        ({"ActiveState": "inactive", "Result": "success"}, "", "it was stopped"),
        (failed("243"), "", "its key file is not there, or can't be read"),
        (failed("75"), "recalld: 已在运行.\n", "已在运行"),
        (failed("1"), "", "it ended with exit code 1"),
        ({"ActiveState": "failed", "Result": "watchdog"}, "", "it hung, and the watchdog killed it"),
        ({"ActiveState": "failed", "Result": "timeout"}, "", "it did not start or stop in time"),
        ({"ActiveState": "failed", "Result": "protocol"}, "", "it failed, which systemd calls protocol"),
    ],
)
def test_state_of_says_why_the_service_is_down(machine, properties, journal, down):
    install(HERE)
    machine.properties, machine.journal = {"Result": "success", **properties}, journal
    found = state_of(installation(BARE))
    assert (found["unit"], found["workspace"], found["down"]) == (SERVICE, str(HERE.workspace), down)


@pytest.mark.parametrize(("code", "has_recalld"), [("203", True), ("1", False)])
def test_state_of_a_service_without_its_python_says_how_to_make_it_again(machine, code, has_recalld):
    install(replace(HERE, python="/opt/recalld/bin/python3"))
    machine.properties = failed(code)
    machine.has_recalld = has_recalld
    found = state_of(installation(BARE))["down"]
    assert found.startswith("its Python, /opt/recalld/bin/python3, is gone or has no recalld any more")


def test_services_of_two_workspaces_are_apart(machine):
    work = Installation(Path("/home/我/工作"), name="work")
    for service in (HERE, work):
        install(service)
    assert machine.tree() == {**HERE.units(), **work.units()}
    assert state_of(work)["workspace"] == "/home/我/工作"
    assert uninstall(BARE) == HERE
    assert machine.tree() == work.units()
    with pytest.raises(NoUnit):
        uninstall(BARE)
    assert installation(Installation(Path(), name="work")) == work


def test_service_uninstall_names_what_is_left(machine, tmp_path, monkeypatch, capsys):
    for name in ("DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    stamps, cache, edited = tmp_path / "DATA/systemd/timers", tmp_path / "CACHE/recalld", machine.folder / f"{SERVICE}.d"
    for left in ([], [cache, stamps / f"stamp-{TIMER}", edited]):
        install(HERE)
        for place in (*left, stamps / "stamp-other.timer"):
            place.mkdir(parents=True, exist_ok=True)
        assert run_command(Call(["service", "uninstall", "--json"], {"LANG": "C"})) == 0
        assert json.loads(capsys.readouterr().out) == {"workspace": str(HERE.workspace), "left": list(map(str, left))}
    install(HERE)
    assert run_command(Call(["service", "uninstall"], {"LANG": "C"})) == 0
    assert f"what is left may be deleted: {cache}, " in capsys.readouterr().out


def test_run_program_says_what_is_not_there_and_kills_what_does_not_end():
    assert systemd.run_program(["no-such-program-of-recalld"]).returncode == 127
    with pytest.raises(NoService, match="`sleep` did not end"):
        systemd.run_program(["sleep", "600"], most_s=0)
