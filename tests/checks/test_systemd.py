"""
Installing, removing and looking at the service, with a systemctl that says what it is told to.

The real one is in script/test-systemd, which boots a machine. What is asked for here is that nobody else's unit is changed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from subprocess import CompletedProcess
from typing import TYPE_CHECKING

import pytest

from recalld.supervisor.checks import systemd as service
from recalld.supervisor.checks.systemd import Systemd, installation, lingers, restart, run_program, state_of, uninstall
from recalld.supervisor.checks.units import BACKUP, BACKUP_TIMER, SERVICE, TIMER, Installation, remains
from recalld.supervisor.storage.errors import ForeignUnit, NoService, NoUnit, ServiceForbidden
from recalld.supervisor.storage.texts import Text
from tests.kinds import OTHERS

if TYPE_CHECKING:
    from collections.abc import Iterable

HERE = Installation(Path("/home/我/记忆"))


@dataclass
class Machine:
    """A systemctl: what it was called with, what it refuses by the word, and the properties that it shows."""

    folder: Path
    booted: Path
    refuses: dict[str, str] = field(default_factory=dict)
    properties: dict[str, str] = field(
        default_factory=lambda: {
            "LoadState": "loaded",
            "UnitFileState": "enabled",
            "ActiveState": "active",
            "Result": "success",
        }
    )
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

    def systemd(self, user: str = "", name: str = "") -> Systemd:
        return Systemd(user, self.run, self.booted, self.folder, name)

    def verbs(self) -> list[str]:
        called = [words for words in self.called if words[0] == "systemctl"]
        return [next(word for word in words[1:] if not word.startswith("-")) for words in called]

    def tree(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.folder.iterdir()} if self.folder.exists() else {}


def install(wanted: Installation, systemd: Systemd) -> list[str]:
    """Install the service, and return the copies of units that are named."""
    said: list[Text] = []
    service.install(wanted, systemd, said.append)
    return [copy for sentence in said for copy in sentence.fields["files"]]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "booted").mkdir()
    return Machine(tmp_path / "config" / "user", tmp_path / "booted")


def test_install_writes_the_units_and_starts_them(machine):
    install(HERE, machine.systemd())
    assert machine.tree() == HERE.units()
    assert [verb for verb in machine.verbs() if verb != "show"] == ["daemon-reload", "reset-failed", "enable", "restart"]
    assert {path.stat().st_mode & 0o777 for path in machine.folder.iterdir()} == {0o644}


def test_install_again_keeps_a_copy_of_a_unit_that_was_edited(machine):
    """Its first line says that it is made again; what is added with `systemctl edit` is in a file of its own."""
    assert install(HERE, machine.systemd()) == []
    edited = HERE.units()[SERVICE] + b"Nice=5\n"
    (machine.folder / SERVICE).write_bytes(edited)
    copy = machine.folder / f"{SERVICE}.bak"
    assert install(replace(HERE, key=Path("/key")), machine.systemd()) == [str(copy)]
    assert machine.tree() == {**replace(HERE, key=Path("/key")).units(), copy.name: edited}
    assert install(HERE, machine.systemd()) == []
    assert machine.tree() == {**HERE.units(), copy.name: edited}


def test_install_never_writes_over_a_copy_that_it_kept(machine):
    install(HERE, machine.systemd())
    copies = [machine.folder / f"{SERVICE}.bak{end}" for end in ("", "-2", "-3")]
    edits = [HERE.units()[SERVICE] + f"# 第 {n} 次修改\n".encode() for n in range(3)]
    for edit, copy in zip([*edits, *edits], [*copies, *copies], strict=True):  # the same bytes make no second copy
        (machine.folder / SERVICE).write_bytes(edit)
        assert [*service.copies_of(machine.systemd().units(), machine.systemd())] == [copy]
        assert install(HERE, machine.systemd()) == [str(copy)]
    kept = {copy.name: edit for copy, edit in zip(copies, edits, strict=True)}
    assert machine.tree() == {**HERE.units(), **kept}


def test_install_changes_nothing_where_no_copy_can_be_kept(machine):
    install(HERE, machine.systemd())
    (machine.folder / SERVICE).write_bytes(HERE.units()[SERVICE] + b"Nice=5\n")
    (machine.folder / f"{SERVICE}.bak").mkdir()
    before = {path.name: path.read_bytes() for path in machine.folder.iterdir() if path.is_file()}
    machine.called.clear()
    with pytest.raises(OSError, match="bak"):
        install(HERE, machine.systemd())
    assert {path.name: path.read_bytes() for path in machine.folder.iterdir() if path.is_file()} == before
    assert machine.called == []


@pytest.mark.parametrize("theirs", [b"[Service]\nExecStart=/bin/true\n", Installation(Path("/elsewhere")).units()[SERVICE]])
def test_install_leaves_a_unit_alone_that_it_did_not_make(machine, theirs):
    machine.folder.mkdir(parents=True)
    (machine.folder / SERVICE).write_bytes(theirs)
    with pytest.raises(ForeignUnit):
        install(HERE, machine.systemd())
    assert machine.tree() == {SERVICE: theirs}
    assert machine.called == []


def test_install_of_a_service_that_does_not_start_says_why(machine):
    machine.refuses["restart"] = "Job for recalld.service failed."
    machine.properties |= {"ActiveState": "failed", "Result": "exit-code", "ExecMainStatus": "78", "InvocationID": "a1"}
    machine.journal = "recalld: recall.k1: 'x' is not allowed, give a number from 0 to 10.\n"
    with pytest.raises(NoService, match=r"recall.k1: 'x' is not allowed, give a number from 0 to 10; `recalld doctor`"):
        install(HERE, machine.systemd())
    (machine.folder / SERVICE).write_bytes(HERE.units()[SERVICE] + b"Nice=5\n")
    said: list[Text] = []
    with pytest.raises(NoService):
        service.install(HERE, machine.systemd(), said.append)
    assert [f"{SERVICE}.bak" in sentence for sentence in said] == [True]


@pytest.mark.parametrize("kind", ["a folder", "a pipe", "a link to a device", "4 TB of zeros"])
def test_install_leaves_what_is_no_unit_alone(machine, kind):
    machine.folder.mkdir(parents=True)
    OTHERS[kind](machine.folder / SERVICE)
    with pytest.raises(ForeignUnit):
        install(HERE, machine.systemd())
    with pytest.raises(ForeignUnit):
        uninstall(machine.systemd())


def test_install_without_the_backups_of_before_removes_their_units(machine):
    with_backups = replace(HERE, backups=Path("/mnt/usb"))
    install(with_backups, machine.systemd())
    assert machine.tree() == with_backups.units()
    assert state_of(machine.systemd(), installation(machine.systemd()))["nightlyBackup"] == "active"
    machine.called.clear()
    edited = with_backups.units()[BACKUP_TIMER].replace(b"04:20", b"05:20")
    (machine.folder / BACKUP_TIMER).write_bytes(edited)
    assert install(HERE, machine.systemd()) == [str(machine.folder / f"{BACKUP_TIMER}.bak")]
    assert machine.tree() == {**HERE.units(), f"{BACKUP_TIMER}.bak": edited}
    assert ["systemctl", "--user", "--no-pager", "disable", "--now", BACKUP, BACKUP_TIMER] in machine.called
    assert state_of(machine.systemd(), installation(machine.systemd()))["nightlyBackup"] == "none"


def test_check_says_that_systemd_does_not_run(machine):
    machine.systemd().check()
    machine.booted.rmdir()
    with pytest.raises(NoService, match="systemd does not run here"):
        machine.systemd().check()


def test_check_says_that_systemd_cannot_be_reached(machine):
    refusing = Systemd("", lambda _: CompletedProcess([], 1, "", "Failed to connect to bus"), machine.booted, machine.folder)
    with pytest.raises(NoService, match="no session of systemd"):
        refusing.check()


def test_check_wants_root_for_units_of_the_system(machine, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ServiceForbidden, match="with `sudo`"):
        machine.systemd("alice").check()


def test_lingers_reads_what_logind_keeps(tmp_path):
    assert not lingers("我", tmp_path)
    (tmp_path / "我").touch()
    assert lingers("我", tmp_path)


def test_restart_starts_the_service_that_is_installed(machine):
    with pytest.raises(NoUnit):
        installation(machine.systemd())
    install(HERE, machine.systemd())
    assert installation(machine.systemd()) == HERE
    machine.called.clear()
    restart(machine.systemd(), HERE)
    assert machine.verbs() == ["daemon-reload", "reset-failed", "restart"]


def test_uninstall_removes_the_units_and_names_the_memory(machine):
    install(HERE, machine.systemd())
    (machine.folder / "other.service").write_bytes(b"[Unit]\n")
    assert uninstall(machine.systemd()) == HERE
    assert machine.tree() == {"other.service": b"[Unit]\n"}
    with pytest.raises(NoUnit):
        uninstall(machine.systemd())


def test_uninstall_leaves_a_unit_alone_that_is_not_ours(machine):
    install(HERE, machine.systemd())
    (machine.folder / SERVICE).write_bytes(b"[Unit]\n")
    before = machine.tree()
    with pytest.raises(ForeignUnit):
        uninstall(machine.systemd())
    assert machine.tree() == before


@pytest.mark.parametrize(
    ("properties", "journal", "down"),
    [
        ({"ActiveState": "active"}, "", ""),
        ({"ActiveState": "activating", "Result": "signal"}, "", ""),
        ({"ActiveState": "activating", "SubState": "auto-restart", "Result": "signal"}, "", "a signal killed it"),
        (
            {"ActiveState": "failed", "Result": "exit-code", "ExecMainStatus": "226"},
            "",
            "systemd could not make its folders visible to it (226/NAMESPACE); a disk may not be mounted",
        ),
        ({"ActiveState": "inactive", "Result": "success"}, "", "it was stopped"),
        (
            {"ActiveState": "failed", "Result": "exit-code", "ExecMainStatus": "243"},
            "",
            "its key file is not there, or can't be read",
        ),
        ({"ActiveState": "failed", "Result": "exit-code", "ExecMainStatus": "75"}, "recalld: 已在运行.\n", "已在运行"),
        ({"ActiveState": "failed", "Result": "exit-code", "ExecMainStatus": "1"}, "", "it ended with exit code 1"),
        ({"ActiveState": "failed", "Result": "watchdog"}, "", "it hung, and the watchdog killed it"),
        ({"ActiveState": "failed", "Result": "timeout"}, "", "it did not start or stop in time"),
        ({"ActiveState": "failed", "Result": "protocol"}, "", "it failed, which systemd calls protocol"),
    ],
)
def test_state_of_says_why_the_service_is_down(machine, properties, journal, down):
    install(HERE, machine.systemd())
    machine.properties, machine.journal = {"Result": "success", **properties}, journal
    found = state_of(machine.systemd(), installation(machine.systemd()))
    assert (found["unit"], found["workspace"], found["down"]) == (SERVICE, str(HERE.workspace), down)


@pytest.mark.parametrize(("code", "has_recalld"), [("203", True), ("1", False)])
def test_state_of_a_service_without_its_python_says_how_to_make_it_again(machine, code, has_recalld):
    install(replace(HERE, python="/opt/recalld/bin/python3"), machine.systemd())
    machine.properties = {"ActiveState": "failed", "Result": "exit-code", "ExecMainStatus": code}
    machine.has_recalld = has_recalld
    found = state_of(machine.systemd(), installation(machine.systemd()))["down"]
    assert found.startswith("its Python, /opt/recalld/bin/python3, is gone or has no recalld any more")
    assert "`python3 -m venv --clear /opt/recalld`" in found


def test_services_of_two_workspaces_are_apart(machine):
    work = Installation(Path("/home/我/工作"), name="work")
    for one in (HERE, work):
        install(one, machine.systemd(name=one.name))
    assert machine.tree() == {**HERE.units(), **work.units()}
    assert state_of(machine.systemd(name="work"), work)["workspace"] == "/home/我/工作"
    assert uninstall(machine.systemd()) == HERE
    assert machine.tree() == work.units()
    assert installation(machine.systemd(name="work")) == work


def test_remains_of_a_service_are_its_cache_stamps_and_copies(tmp_path):
    environ = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("DATA", "CACHE", "CONFIG")}
    stamps, cache, units = tmp_path / "DATA/systemd/timers", tmp_path / "CACHE/recalld", tmp_path / "CONFIG/systemd/user"
    for folder in (stamps, cache, units):
        folder.mkdir(parents=True)
    (cache / "dictionary").touch()
    for timer in ("recalld-fsck.timer", "other.timer"):
        (stamps / f"stamp-{timer}").touch()
    copies = [units / f"{TIMER}.bak", units / f"{TIMER}.bak-2"]
    for copy in (*copies, units / "other.timer.bak", units / f"{TIMER}.bak~"):
        copy.touch()
    assert remains(HERE, environ) == [cache, stamps / f"stamp-{TIMER}", *copies]


def test_run_program_that_is_not_there_is_no_fault():
    assert run_program(["no-such-program-of-recalld"]).returncode == 127
