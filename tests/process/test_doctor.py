"""
`recalld doctor`: a table of broken set-ups, made for real; what is broken is found, nothing else, and nothing is changed.

What needs no process and no server is a fault of tests/checks/test_table.py, what a shell can make a line of the golden corpus.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from recalld.supervisor.checks.systemd import SERVICE, TIMER, Installation
from recalld.supervisor.interfaces.locate import at_socket
from tests.llm.server import ACTS, Server
from tests.process.command import Command, ended

pytestmark = pytest.mark.proof

NOW = "2026-01-31T10:00:00+08:00"
HERE = {"RECALLD_NOW": NOW, "TZ": "Asia/Shanghai", "LC_ALL": "C.UTF-8"}
NOBODY = 65534
KEY = "sk-test-4f9a8b7c6d5e4f3a"


@dataclass
class Broken:
    """A workspace that a set-up breaks, the variables that doctor gets, and what ends with the test."""

    recalld: Command
    server: Server
    ending: contextlib.ExitStack
    environ: dict[str, str] = field(default_factory=dict)
    before: tuple[str, ...] = ()  # the program that starts doctor

    @property
    def root(self) -> Path:
        return self.recalld.root

    def ask(self) -> None:
        self.environ |= {"RECALLD_LLM_BASE_URL": self.server.url, "RECALLD_LLM_MODEL": "qwen-test", "OPENAI_API_KEY": KEY}
        self.environ["RECALLD_SUMMARIZE_LEAST"] = "0"  # every day is asked for

    def supervised(self) -> subprocess.Popen[str]:
        return self.ending.enter_context(self.recalld.supervised())

    def installed(self, **how: Any) -> Path:
        """Have the units of a service of this user's, and return their folder."""
        folder = self.root.parent / "config" / "systemd" / "user"
        folder.mkdir(parents=True)
        for name, data in Installation(self.root, **how).units().items():
            (folder / name).write_bytes(data)
        self.environ["XDG_CONFIG_HOME"] = str(self.root.parent / "config")
        return folder

    def program(self, name: str, metadata: str) -> None:
        """Have another program installed beside recalld."""
        folder = self.root.parent / "site-packages"
        info = folder / f"{name}-9.9.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 9.9\n{metadata}", encoding="utf-8")
        self.environ["PYTHONPATH"] = str(folder)


def needs_root() -> None:
    if os.geteuid():
        pytest.skip("only root can do this")


@pytest.fixture(scope="module")
def summarised(two_days: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory of two days, one of them summarised."""
    made = Command(shutil.copytree(two_days, tmp_path_factory.mktemp("doctor") / "工作区"), **HERE)
    assert made("run", "--until-settled").code == 0
    assert made("search", "花生").code == 0
    return made.root


@pytest.fixture
def broken(summarised: Path, tmp_path: Path) -> Iterator[Broken]:
    shutil.copytree(summarised, tmp_path / "工作区")
    with contextlib.ExitStack() as ending, Server() as server:
        yield Broken(Command(tmp_path / "工作区", **HERE), server, ending)


def examined(broken: Broken, *words: str, **environ: str) -> tuple[int, str]:
    process = broken.recalld.start(
        "-w", str(broken.root), "doctor", *words, before=broken.before, **{**broken.environ, **environ}
    )
    done = ended(process)
    assert done.err == ""
    return done.code, done.out


def findings(broken: Broken) -> set[tuple[str, str]]:
    code, out = examined(broken, "--json")
    found = json.loads(out)
    assert code == (65 if found["bad"] else 0)
    return {(one["check"], one["state"]) for one in found["checks"] if one["state"] != "good"}


def tree(root: Path) -> dict[str, tuple[int, int, int, str]]:
    """All that is in the workspace; of files the digest, for the sake of who reads a failure."""
    found = {}
    for folder, folders, names in os.walk(root):
        for name in [".", *folders, *names]:
            path = Path(folder) / name
            if path in (root / ".recalld", root / ".recalld" / "."):
                continue
            stat = path.lstat()
            data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            found[str(path)] = (stat.st_mtime_ns, stat.st_mode, stat.st_uid, hashlib.sha256(data).hexdigest())
    return found


# ── set-ups ──────────────────────────────────────────────────────────────────


def files_that_their_owner_may_not_read(it: Broken) -> None:
    by_another_user(it)
    (it.root / "history.json").chmod(0)


def folders_that_their_owner_may_not_write_to(it: Broken) -> None:
    by_another_user(it)
    subprocess.run(["chmod", "-R", "a-w", it.root], check=True)


def by_another_user(it: Broken) -> None:
    """Have the workspace owned and looked at by a user for whom rights hold."""
    needs_root()
    place = Path(tempfile.mkdtemp(prefix="recalld-doctor-"))
    it.ending.callback(shutil.rmtree, place)
    place.chmod(0o755)
    it.recalld.root = Path(shutil.move(it.root, place / "工作区"))
    subprocess.run(["chown", "-R", str(NOBODY), it.root], check=True)
    it.before = ("setpriv", f"--reuid={NOBODY}", "--clear-groups")
    if subprocess.run(
        [*it.before, sys.executable, "-c", "import recalld"], cwd="/", check=False, capture_output=True
    ).returncode:
        pytest.skip("another user can't run what is installed here")


def a_summary_that_failed(it: Broken) -> None:
    it.ask()
    said = {"role": "user", "text": "备份脚本改到凌晨 4:15，端口 8443。", "createdAt": "2026-01-10T10:00:00+08:00"}
    assert it.recalld("append", "--jsonl", stdin=json.dumps(said)).code == 0
    it.server.script = lambda _number, _prompt: ACTS["refusal"]
    it.recalld("run", "--until-settled", **it.environ)


def a_unit_that_was_edited(it: Broken) -> None:
    with (it.installed() / SERVICE).open("a", encoding="utf-8") as unit:
        unit.write("Restart=no\n")


BROKEN: dict[str, tuple[Callable[[Broken], object], set[tuple[str, str]]]] = {
    "files that their owner may not read": (files_that_their_owner_may_not_read, {("rights", "bad")}),
    "folders that their owner may not write to": (folders_that_their_owner_may_not_write_to, {("rights", "bad")}),
    "a summary that failed": (a_summary_that_failed, {("tasks", "odd")}),
    "a unit that was edited": (a_unit_that_was_edited, {("service", "odd")}),
    "a timer that is gone": (lambda it: (it.installed() / TIMER).unlink(), {("service", "odd")}),
    "a service of an environment that is gone": (lambda it: it.installed(python="/opt/没有/bin/python3"), {("service", "bad")}),
}


@pytest.mark.parametrize("setup", BROKEN)
def test_doctor_finds_what_is_broken_and_nothing_else_and_changes_nothing(setup, broken: Broken):
    harm, wrong = BROKEN[setup]
    harm(broken)
    before, calls = tree(broken.root), broken.server.seen.calls
    assert findings(broken) == wrong
    assert tree(broken.root) == before
    assert broken.server.seen.calls == calls, "a completion was asked for"


# ── what is well ─────────────────────────────────────────────────────────────


def test_doctor_says_one_line_of_a_healthy_workspace(broken: Broken):
    before = tree(broken.root)
    assert examined(broken) == (0, "17 checks, all well.\n")
    assert tree(broken.root) == before
    broken.ask()
    assert examined(broken) == (0, "17 checks, all well.\n")
    broken.installed()
    broken.supervised()
    assert examined(broken) == (0, "17 checks, all well.\n")
    assert [line.split()[0] for line in examined(broken, "--verbose")[1].splitlines()] == ["good"] * 17 + ["17"]


def test_doctor_says_nothing_ill_of_who_holds_the_lock_without_a_socket(broken: Broken):
    with (broken.root / ".recalld" / "supervisor.lock").open("a") as lock:  # as `run --until-settled` does
        fcntl.flock(lock, fcntl.LOCK_EX)
        with socket.socket(socket.AF_UNIX) as listener:  # a supervisor that was killed leaves this
            at_socket(listener.bind, str(broken.root / ".recalld" / "socket"))
        assert findings(broken) == set()


def test_doctor_says_nothing_ill_of_a_new_workspace(broken: Broken, tmp_path: Path):
    broken.recalld.root = tmp_path / "新的"
    assert broken.recalld("init").code == 0
    assert findings(broken) == set()


@pytest.mark.parametrize(
    ("has_service", "mend"), [(True, "`recalld service restart`"), (False, "stop it, and start it again with `recalld -w")]
)
def test_doctor_says_how_a_forgotten_restart_is_made_up_for(has_service, mend, broken: Broken):
    broken.supervised()
    broken.program("recalld", "")
    if has_service:
        broken.installed()
    code, out = examined(broken)
    assert (code, out.count("\n"), "recalld 9.9 is installed" in out, mend in out) == (65, 2, True, True)
