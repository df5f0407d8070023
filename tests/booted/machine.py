"""A machine that script/machine has booted in a container: what root and its users do there."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from typing import Any

import pytest

from tests.process.command import Ended, until

#: The first process of the machine that script/machine has booted, by its number here; "" without one.
PID = os.environ.get("RECALLD_TEST_MACHINE", "")
#: Every text that anybody says here begins so; it must be in no journal.
WORDS = "暗号花生"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_DEADLINE_S = 240.0
#: An alarm that writes what it is told into a folder of the user's, that of the system into the one that systemd gives it.
ALARM = '[care]\non_trouble = \'echo "$RECALLD_TROUBLE" >> "${STATE_DIRECTORY:-$HOME}/heard"\'\n'


def booted(script: str, most_s: int = 600) -> list[pytest.MarkDecorator]:
    """The marks of tests that need the machine which *script* boots, and take so many seconds at most."""
    needs_it = pytest.mark.skipif(not PID, reason=f"needs a machine: {script}")
    return [pytest.mark.booted, needs_it, pytest.mark.timeout(most_s)]


@dataclass
class Machine:
    """The machine whose first process has the number *pid* here."""

    pid: str

    def command(self, *words: str) -> list[str]:
        """The command that here starts the program there, as root."""
        return ["nsenter", "--target", self.pid, "--all", "env", "-i", "HOME=/root", "LANG=C.UTF-8", f"PATH={_PATH}", *words]

    def run(self, *words: str, stdin: str = "") -> Ended:
        """Let root run the program to its end."""
        done = subprocess.run(
            self.command(*words), input=stdin, capture_output=True, encoding="utf-8", check=False, timeout=_DEADLINE_S
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def do(self, *words: str, stdin: str = "") -> str:
        """Let root run the program, which has to succeed, and return what it prints."""
        done = self.run(*words, stdin=stdin)
        assert done.code == 0, (words, done)
        return done.out

    def journal(self, *words: str) -> str:
        """What recalld has said since the machine was booted."""
        return self.do("journalctl", "--no-pager", "--quiet", "--boot", "--output=cat", *words)

    def person(self) -> Person:
        """A new user of the machine."""
        name = f"user{len(self.do('ls', '/home').split())}"
        self.do("useradd", "--create-home", "--shell", "/bin/bash", name)
        return Person(self, name)


@dataclass
class Unit:
    """A unit and who manages it: the system, or a *person* their own."""

    name: str
    machine: Machine
    person: Person | None = None

    def _systemctl(self, *words: str) -> Ended:
        return self.person.run("systemctl", "--user", *words) if self.person else self.machine.run("systemctl", *words)

    def systemctl(self, *words: str) -> Ended:
        return self._systemctl("--no-pager", *words, self.name)

    def show(self, name: str) -> str:
        """The property of that name."""
        return self.systemctl("show", f"--property={name}", "--value").out.strip()

    def becomes(self, state: str, most_s: float = 60.0) -> None:
        """Wait until it is in that state."""
        until(lambda: self.show("ActiveState") == state, most_s=most_s)

    def drop_in(self, text: str) -> None:
        """Add to what the unit says."""
        home = f"/home/{self.person.name}/.config/systemd/user" if self.person else "/etc/systemd/system"
        self.machine.do("mkdir", "-p", f"{home}/{self.name}.d")
        self.machine.do("tee", f"{home}/{self.name}.d/test.conf", stdin=text)
        assert self._systemctl("daemon-reload").code == 0

    def restarted(self, times: int, most_s: float) -> None:
        """Wait until it was started again so often, and is ready."""
        until(lambda: int(self.show("NRestarts") or 0) >= times and self.show("ActiveState") == "active", most_s=most_s)


@dataclass
class Person:
    """A user, who logs in for each command, as PAM does it, and out again."""

    machine: Machine
    name: str
    root: str = ""

    def __post_init__(self) -> None:
        self.root = f"/home/{self.name}/我的 100% memory"

    def session(self, *options: str) -> list[str]:
        """What root starts a program with, to run it in a session of this user."""
        its = ["--property=PAMName=login", f"--property=User={self.name}", f"--property=WorkingDirectory=/home/{self.name}"]
        return ["systemd-run", "--quiet", "--wait", "--pipe", "--collect", *its, *options, "--"]

    def run(self, *words: str, stdin: str = "") -> Ended:
        """Run the program in a session of this user."""
        return self.machine.run(*self.session(), *words, stdin=stdin)

    def recalld(self, *words: str, stdin: str = "") -> Ended:
        return self.run("recalld", "-w", self.root, *words, stdin=stdin)

    def ok(self, *words: str, stdin: str = "") -> str:
        """Run recalld, which has to succeed, and return what it prints."""
        done = self.recalld(*words, stdin=stdin)
        assert done.code == 0, (words, done)
        return done.out

    def json(self, *words: str) -> Any:
        return json.loads(self.recalld(*words, "--json").out)

    def wrong(self) -> dict[str, str | None]:
        """What doctor finds, and the command that mends it."""
        return {one["check"]: one["mend"] for one in self.json("doctor")["checks"] if one["state"] != "good"}

    def say(self, count: int, days: int = 1) -> None:
        """Add so many messages, spread over the days of the last month."""
        lines = [
            {
                "role": "user",
                "text": f"{WORDS} 第 {n} 条",
                "createdAt": f"2026-01-{1 + n % days:02}T09:{n // 60 % 60:02}:{n % 60:02}+08:00",
            }
            for n in range(count)
        ]
        self.ok("append", "--jsonl", stdin="\n".join(map(json.dumps, lines)))

    def installed(self, *options: str) -> Unit:
        """Make a workspace and install the service, which goes on without this user."""
        self.ok("init")
        assert self.run("loginctl", "enable-linger").code == 0
        self.ok("service", "install", *options)
        return Unit("recalld.service", self.machine, self)

    def unit(self, name: str) -> Unit:
        return Unit(name, self.machine, self)

    def write(self, path: str, text: str) -> None:
        """Write a file of this user's."""
        done = self.run("tee", path, stdin=text)
        assert done.code == 0, done
