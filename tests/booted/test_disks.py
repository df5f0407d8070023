"""
A service without its disk, its workspace or its Python, and two services of one user, on the booted machine (test_service.py).

What is asked at each point is what an operator would look at: `status`, `service status`, the journal, and what the alarm told.
"""

import time

import pytest

from tests.booted.machine import ALARM, WORDS, Person, Unit, booted
from tests.process.command import Ended, until

pytestmark = booted("script/test-systemd")
#: What would take two minutes, and what would take ten.
HASTY = "[Unit]\nStartLimitIntervalSec=20\nStartLimitBurst=3\n[Service]\nRestartSec=1\n"
SOON = "[Timer]\nOnActiveSec=\nOnUnitInactiveSec=\nOnActiveSec=3\nOnUnitInactiveSec=3\nAccuracySec=1\n"
LATE_S = 75


class Service:
    """The service of a person's workspace, the user's own or the system's, whose alarm is heard."""

    def __init__(self, me: Person, *, of_system: bool = False) -> None:
        self.me, self.machine, self.of_system = me, me.machine, of_system
        self.option = ["--system", me.name] if of_system else []
        at = f"@{me.name}" if of_system else ""
        person = None if of_system else me
        self.unit, self.again = (Unit(f"recalld{at}.{kind}", me.machine, person) for kind in ("service", "timer"))
        self.again.name = self.again.name.replace("recalld", "recalld-again")

    def install(self, recalld: str = "recalld") -> None:
        self.me.ok("init")
        self.me.write(f"{self.me.root}/recalld.toml", ALARM)
        words = [*recalld.split(), "-w", self.me.root, "service", "install", *self.option]
        done = self.machine.run(*words) if self.of_system else self.me.run(*words)
        assert done.code == 0, done

    def status(self) -> Ended:
        return self.me.recalld("service", "status", *self.option)

    @property
    def heard(self) -> list[str]:
        folder = f"/var/lib/recalld/{self.me.name}" if self.of_system else f"/home/{self.me.name}"
        return self.machine.run("cat", f"{folder}/heard").out.splitlines()

    def hurry(self) -> None:
        """Let it wait less than it would, before and after it is told."""
        self.unit.drop_in(HASTY)
        self.again.drop_in(SOON)

    def is_heard(self, sentence: str, times: int = 1) -> None:
        until(lambda: sum(sentence in line for line in self.heard) == times, most_s=60)


class LateDisk:
    """A disk of a person's *folder*: a mount of another folder."""

    def __init__(self, me: Person, folder: str) -> None:
        self._machine, self.folder = me.machine, folder
        self._data = f"/srv/disk of {me.name}"
        self._machine.do("install", "-d", "-o", me.name, "-m", "700", self._data)
        me.run("mkdir", "-p", folder)

    def mount(self) -> None:
        self._machine.do("mount", "--bind", self._data, self.folder)

    def unmount(self) -> None:
        until(lambda: self._machine.run("umount", self.folder).code == 0)

    @property
    def below(self) -> str:
        """What is in the folder below the disk, seen without it."""
        return self._machine.do("unshare", "--mount", "sh", "-c", f"umount '{self.folder}'; ls -A '{self.folder}'")


def test_disk_that_comes_75_s_late_is_waited_for(machine):
    """At its place and above it, for both kinds of unit."""
    found: dict[str, tuple[Service, LateDisk]] = {}
    for way, of_system in {"at": False, "above": False, "system": True}.items():
        me = machine.person()
        folder = f"/home/{me.name}/disk"
        me.root = folder if way == "at" else f"{folder}/我的 100% memory"
        disk = LateDisk(me, folder)
        disk.mount()
        service = Service(me, of_system=of_system)
        service.install()
        me.ok("append", "--role", "user", "--text", WORDS)
        assert service.unit.systemctl("stop").code == 0
        disk.unmount()
        found[way] = service, disk
    began = time.monotonic()
    for service, _ in found.values():
        service.unit.systemctl("start", "--no-block")
    for service, _ in found.values():
        until(lambda it=service: "has no workspace, and none was made there" in it.status().err)
        assert "systemd tries it again by itself" in service.status().err
        assert service.me.recalld("status").code != 0
    until(lambda: time.monotonic() - began > LATE_S, most_s=LATE_S + 10)
    for _, disk in found.values():
        disk.mount()
    for service, disk in found.values():
        service.unit.becomes("active", most_s=60)
        assert service.status().code == 0
        assert service.me.recalld("search", "花生").out.count(WORDS) == 1
        assert (service.heard, disk.below) == ([], "")
        service.unit.systemctl("stop")


def test_disk_that_does_not_come_is_told_once_and_waited_for_patiently(me):
    service, disk = Service(me), LateDisk(me, me.root)
    disk.mount()
    service.install()
    service.hurry()
    assert service.unit.systemctl("stop").code == 0
    disk.unmount()
    service.unit.systemctl("start")
    service.is_heard("recalld.service does not run: ")
    assert "has no workspace, and none was made there" in service.heard[0]
    until(
        lambda: service.me.run("journalctl", "--user-unit=recalld-trouble.service", "-o", "cat").out.count("does not run") > 2
    )
    assert len(service.heard) == 1
    disk.mount()
    service.unit.becomes("active")
    assert service.status().code == 0
    assert disk.below == ""
    assert service.unit.systemctl("stop").code == 0
    assert (service.unit.show("ActiveState"), service.again.show("ActiveState")) == ("inactive", "inactive")


@pytest.mark.parametrize("of_system", [False, True], ids=["user", "system"])
def test_disk_that_is_mounted_over_the_workspace_ends_no_service(me, of_system):
    service = Service(me, of_system=of_system)
    service.install()
    service.hurry()
    service.unit.systemctl("restart")
    me.machine.do("mount", "-t", "tmpfs", "-o", f"mode=700,uid={me.name}", "none", me.root)
    until(lambda: "has no workspace" in service.status().err, most_s=60)
    until(lambda: me.machine.run("umount", me.root).code == 0)
    service.unit.becomes("active")


@pytest.mark.parametrize(("gone", "code"), [("bin", 203), ("lib/python3.11/site-packages", 1)])
def test_python_of_the_service_that_is_gone_is_told(me, machine, gone, code):
    service, environment = Service(me), f"/opt/of {me.name}"
    machine.do("cp", "-r", "/opt/recalld", environment)
    machine.do("ln", "-s", environment, f"/opt/{me.name}")
    service.install(f"/opt/{me.name}/bin/python -m recalld")
    service.hurry()
    machine.do("mv", f"{environment}/{gone}", f"{environment}/gone")
    service.unit.systemctl("kill", "--signal=KILL")
    service.is_heard(
        f"it failed, which systemd calls exit-code {code}; `journalctl --user-unit=recalld.service` shows its output"
    )
    done = service.status()
    assert (done.code, f"exit-code {code}" in done.err) == (65, True)
    assert "service" in me.wrong()
    me.ok("service", "install")
    assert (service.status().code, len(service.heard)) == (0, 1)
