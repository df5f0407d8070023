"""
Installing, removing and looking at the service, with a systemctl that says what it is told to; and what is in its units, for any path.

The real one is in script/test-systemd, which boots a machine, and systemd's own tools read the units there. What is asked for
here is that nobody else's unit is changed.
"""

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from recalld.supervisor.checks import systemd
from recalld.supervisor.checks.systemd import AGAIN, BACKUP, BACKUP_TIMER, FSCK, SERVICE, TEMPLATES, TIMER, Installation
from recalld.supervisor.interfaces.cli.call import Call
from recalld.supervisor.interfaces.cli.main import run_command
from recalld.supervisor.interfaces.cli.service import check_key
from recalld.supervisor.storage.errors import BadConfig, BadRequest, ForeignUnit, NoPermission, NoService, NoUnit
from tests.kinds import OTHERS

HERE = Installation(Path("/home/我/记忆"))
#: The service of a command that names none.
BARE = Installation(Path())


@dataclass
class Machine:
    """A systemctl: what it was called with, what it refuses by the word, and the properties that it shows of each unit."""

    folder: Path
    refuses: dict[str, str] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=lambda: {"ActiveState": "active", "Result": "success"})
    others: dict[str, dict[str, str]] = field(default_factory=dict)
    called: list[list[str]] = field(default_factory=list)

    def run(self, words: Iterable[str]) -> CompletedProcess[str]:
        self.called.append([*words])
        verb, *units = [word for word in self.called[-1][1:] if not word.startswith("-")]
        if verb in self.refuses:
            return CompletedProcess([], 1, "", self.refuses[verb])
        shown = [{**self.properties, **self.others.get(unit, {})} for unit in units]
        blocks = ("".join(f"{name}={value}\n" for name, value in properties.items()) for properties in shown)
        return CompletedProcess([], 0, "\n".join(blocks), "")

    def verbs(self) -> list[str]:
        return [next(word for word in words[1:] if not word.startswith("-")) for words in self.called]

    def tree(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.folder.iterdir()} if self.folder.exists() else {}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    for name, folder in (("CONFIG", "设置"), ("STATE", "状态")):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / folder))
    machine = Machine(tmp_path / "设置/systemd/user")
    monkeypatch.setattr(systemd, "run_program", machine.run)
    monkeypatch.setattr(systemd, "BOOTED", tmp_path)
    return machine


def test_install_writes_the_units_and_starts_them(machine):
    systemd.install(HERE)
    assert machine.tree() == HERE.units()
    assert [verb for verb in machine.verbs() if verb != "show"] == ["enable", "daemon-reload", "reset-failed", "restart"]
    assert {path.stat().st_mode & 0o777 for path in machine.folder.iterdir()} == {0o644}


@pytest.mark.parametrize("theirs", [b"[Service]\nExecStart=/bin/true\n", Installation(Path("/elsewhere")).units()[SERVICE]])
def test_install_leaves_a_unit_alone_that_it_did_not_make(machine, theirs):
    machine.folder.mkdir(parents=True)
    (machine.folder / SERVICE).write_bytes(theirs)
    with pytest.raises(ForeignUnit):
        systemd.install(HERE)
    assert machine.tree() == {SERVICE: theirs}
    assert machine.called == []


def test_install_of_a_service_that_does_not_start_says_why(machine):
    machine.refuses["restart"] = "Job for recalld.service failed."
    machine.properties |= failed("78")
    say("recall.meaning: 'x' is not allowed, give a number from 0 to 10")
    with pytest.raises(NoService, match=r"recall.meaning: 'x' is not allowed, give a number from 0 to 10; `recalld doctor`"):
        systemd.install(HERE)
    assert machine.tree() == HERE.units()


@pytest.mark.parametrize("kind", sorted({*OTHERS} - {"a link to a file", "an empty file", "a foreign file"}))
def test_what_is_no_unit_is_no_service_and_is_left_alone(machine, kind):
    """A pipe in a user's folder of units hung `status`, and a link to /dev/zero took all memory of the machine."""
    machine.folder.mkdir(parents=True)
    OTHERS[kind](machine.folder / SERVICE)
    assert systemd.installed(HERE.workspace) == {}
    with pytest.raises(ForeignUnit):
        systemd.install(HERE)


def test_install_without_the_backups_of_before_removes_their_units(machine):
    with_backups = replace(HERE, backups=Path("/mnt/usb"))
    systemd.install(with_backups)
    assert machine.tree() == with_backups.units()
    assert systemd.state_of(systemd.installation(BARE))["nightlyBackup"] == "active"
    machine.called.clear()
    systemd.install(HERE)
    assert machine.tree() == HERE.units()
    assert ["systemctl", "--user", "--no-pager", "disable", "--now", BACKUP, BACKUP_TIMER] in machine.called
    assert systemd.state_of(systemd.installation(BARE))["nightlyBackup"] == "none"


def test_check_says_what_is_missing_of_systemd(machine, monkeypatch):
    systemd.check_manager(HERE)
    machine.refuses["show"] = "Failed to connect to bus"
    with pytest.raises(NoService, match="no session of systemd"):
        systemd.check_manager(HERE)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(NoPermission, match="with `sudo`"):
        systemd.check_manager(replace(HERE, user="alice"))
    monkeypatch.setattr(systemd, "BOOTED", machine.folder / "run")
    with pytest.raises(NoService, match="systemd does not run here"):
        systemd.check_manager(HERE)


def test_restart_starts_what_is_installed_whose_trouble_is_reported_again(machine):
    with pytest.raises(NoUnit):
        systemd.installation(BARE)
    systemd.install(HERE)
    assert systemd.installation(BARE) == HERE
    HERE.alarm.mkdir(parents=True)
    (HERE.alarm / "told").write_text("recalld.service is down\n")
    machine.called.clear()
    systemd.restart(HERE)
    assert machine.verbs() == ["daemon-reload", "reset-failed", "restart"]
    assert not (HERE.alarm / "told").exists()


def failed(code: str) -> dict[str, str]:
    return {"ActiveState": "failed", "Result": "exit-code", "ExecMainStatus": code}


def say(sentence: str) -> None:
    """Let the service end with the sentence."""
    HERE.alarm.mkdir(parents=True)
    (HERE.alarm / "said").write_text(f"{sentence}\n")


@pytest.mark.parametrize(
    ("properties", "sentence", "down"),
    [
        ({"ActiveState": "active"}, "", ""),
        ({"ActiveState": "activating", "Result": "signal"}, "", ""),
        ({"ActiveState": "inactive", "Result": "success"}, "的", "it was stopped"),
        (failed("75"), "已在运行", "已在运行"),
        (failed("243"), "", "it failed, which systemd calls exit-code 243"),
        ({"SubState": "auto-restart", **failed("9"), "Result": "signal"}, "", "it failed, which systemd calls signal 9"),
    ],
)
def test_state_of_says_why_the_service_is_down(machine, properties, sentence, down):
    systemd.install(HERE)
    machine.properties = {"Result": "success", **properties}
    say(sentence)
    found = systemd.state_of(systemd.installation(BARE))
    assert (found["unit"], found["workspace"], found["down"]) == (SERVICE, str(HERE.workspace), down)
    assert found["retries"] == ("SubState" in properties)


def test_state_of_tells_apart_the_units_that_it_reads_at_once(machine):
    systemd.install(replace(HERE, backups=Path("/mnt/usb")))
    machine.others = {SERVICE: failed("78"), AGAIN: {"ActiveState": "active"}, TIMER: {"ActiveState": "inactive"}}
    found = systemd.state_of(systemd.installation(BARE))
    keys = ("state", "retries", "nightlyFsck", "nightlyBackup")
    assert [found[key] for key in keys] == ["failed", True, "inactive", "active"]
    machine.others = {FSCK: {"Result": "exit-code"}, AGAIN: {"ActiveState": "inactive"}, BACKUP: {"Result": "timeout"}}
    found = systemd.state_of(systemd.installation(BARE))
    assert [found[key] for key in keys] == ["active", False, "failed", "failed"]


def test_services_of_two_workspaces_are_apart(machine):
    work = Installation(Path("/home/我/工作"), name="work")
    for service in (HERE, work):
        systemd.install(service)
    assert machine.tree() == {**HERE.units(), **work.units()}
    assert systemd.state_of(work)["workspace"] == "/home/我/工作"
    systemd.uninstall(HERE)
    assert machine.tree() == work.units()
    with pytest.raises(NoUnit):
        systemd.installation(BARE)
    assert systemd.installation(Installation(Path(), name="work")) == work


def test_service_uninstall_names_what_is_left(machine, capsys):
    edited = machine.folder / f"{SERVICE}.d"
    for left in ([], [edited]):
        systemd.install(HERE)
        for place in left:
            place.mkdir()
        assert run_command(Call(["service", "uninstall", "--json"], {"LANG": "C"})) == 0
        assert json.loads(capsys.readouterr().out) == {"workspace": str(HERE.workspace), "left": list(map(str, left))}
    assert machine.verbs()[-4:] == ["disable", "reset-failed", "clean", "daemon-reload"]


@pytest.mark.parametrize("names", [["trouble.sh", "said"], ["trouble.sh", "history.json"]])
def test_service_uninstall_deletes_its_alarm_and_no_memory_beside_it(machine, names):
    systemd.install(HERE)
    HERE.alarm.mkdir(parents=True)
    for name in names:
        (HERE.alarm / name).write_text("花生")
    assert run_command(Call(["service", "uninstall"])) == 0
    assert [path.name for path in HERE.alarm.parent.rglob("*.*")] == [name for name in names if name == "history.json"]
    assert "--what=cache" in machine.called[-2]


def test_run_program_says_what_is_not_there():
    assert systemd.run_program(["no-such-program-of-recalld"]).returncode == 127


# ── what is in the units, and whose a unit is ────────────────────────────────────

ROOT = Path(__file__).parents[2]
KEY = Path("/home/我/50% key")


@pytest.fixture
def parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """What is read of these bytes as a unit of the system."""
    monkeypatch.setattr(systemd, "SYSTEM_FOLDER", tmp_path)
    return lambda data, name=SERVICE: (tmp_path / name).write_bytes(data) and systemd.read_unit(tmp_path / name)


def text_of(installation: Installation, template: str) -> str:
    return installation.units()[installation.unit(template)].decode()


def values(text: str, name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", text, re.MULTILINE)


@pytest.fixture
def units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder = HERE.folder
    folder.mkdir(parents=True)
    return folder


def test_units_of_backups_are_there_where_they_are_asked_for(parsed, tmp_path):
    wanted = Installation(Path("/w"), "alice", backups=tmp_path / "备份 100%", keep=14)
    assert set(wanted.units()) - set(Installation(Path("/w"), "alice").units()) == {
        "recalld-backup@alice.service",
        "recalld-backup@alice.timer",
    }
    text = text_of(wanted, BACKUP)
    assert values(text, "ExecStart")[0].endswith(f' -w /w backup nightly "{tmp_path}/备份 100%%" --keep 14')
    assert values(text, "ReadWritePaths") == ['-"/w"', f'-"{tmp_path}/备份 100%%"']
    assert values(text, "OnFailure") == ["recalld-fsck@alice.service"]
    assert parsed(wanted.units()["recalld@alice.service"], "recalld@alice.service") == wanted
    assert "recalld-backup@alice.timer" in wanted.started


def test_templates_are_part_of_the_package():
    folder = ROOT / "supervisor/checks/units"
    ignored = subprocess.run(["git", "-C", str(ROOT), "check-ignore", *folder.iterdir()], capture_output=True, check=False)
    assert ignored.stdout == b""
    assert {path.name for path in folder.iterdir()} >= set(TEMPLATES)
    assert '"supervisor"' in (ROOT / "pyproject.toml").read_text().partition("wheel]")[2].partition("]\n")[0]


@pytest.mark.parametrize("user", ["", "alice"])
def test_service_says_what_the_supervisor_promises(user):
    text = text_of(Installation(Path("/w"), user), SERVICE)
    assert values(text, "Type") == ["notify"]
    assert values(text, "Restart") == ["on-failure"]
    assert values(text, "RestartPreventExitStatus") == ["64 78 243"]
    assert values(text, "StartLimitBurst") != []
    assert values(text, "WatchdogSec") == ["120"]
    at = f"@{user}" if user else ""
    assert values(text, "OnFailure") == [f"recalld-trouble{at}.service recalld-again{at}.timer"]
    assert values(text, "RequiresMountsFor") == ['"/w"']
    assert values(text, "LoadCredential") == []
    assert values(text, "User") == ([user] if user else [])
    assert "DynamicUser" not in text
    assert values(text, "WantedBy") == ["multi-user.target" if user else "default.target"]


def test_key_is_a_credential_and_never_a_variable(parsed):
    text = text_of(Installation(Path("/w"), "alice", KEY), SERVICE)
    assert values(text, "LoadCredential") == ["recalld-api-key:/home/我/50%% key"]
    assert [line for line in values(text, "Environment") if "key" in line.lower()] == []
    assert parsed(text.encode()).key == KEY
    assert parsed(text_of(Installation(Path("/w")), SERVICE).encode()).key is None


@pytest.mark.parametrize(("mode", "refused"), [(0o600, False), (0o400, False), (0o640, True), (0o644, True), (0o604, True)])
def test_check_key_refuses_a_file_that_others_can_read(tmp_path, mode, refused):
    key = tmp_path / "我的 密钥"
    key.write_text("sk-1")
    key.chmod(mode)
    with pytest.raises(BadConfig, match=r"others may read .*chmod 600 ") if refused else nullcontext():
        check_key(key)


def test_unit_tells_what_was_installed(parsed):
    wanted = Installation(Path("/home/我/记忆 100%"), "alice", KEY, "/opt/环境/bin/python3", name="work")
    assert parsed(wanted.units()["recalld@alice:work.service"], "recalld@alice:work.service") == wanted
    assert parsed(b"[Unit]\n") is None


def test_unit_of_0_26_is_one_of_this_version(parsed):
    """Its head said which version had made it, had a digest of the rest, and a limit of its memory."""
    wanted = Installation(Path("/w"), python="/opt/recalld/bin/python3", name="work")
    head = b'{"recalld": "0.26.0", "sha256": "0123", "memoryMax": "400M", "python"'
    unit = wanted.units()["recalld@work.service"].replace(b'{"python"', head, 1)
    assert parsed(unit) == wanted
    assert values(unit.decode(), "ExecStart") == ["/opt/recalld/bin/python3 -P -m recalld -w /w run"]


@pytest.mark.parametrize("made", ["", "Made with: {", '# Made with: {"keep": 7}'])
def test_unit_whose_head_is_broken_is_somebody_else_s(parsed, made):
    mark = Installation(Path("/w")).units()[SERVICE].partition(b"\n")[0].decode()
    assert parsed(f'{mark}\n# The workspace: "/w"\n{made}\n[Unit]\n'.encode()) is None


@pytest.mark.parametrize("said", ["/w\\u0000", "/w\\ud800", "/w\\n"])
def test_unit_that_another_user_wrote_breaks_no_reader(units, said):
    """Root reads the units of all users: a path that no file can have is none, and a nested line is no origin."""
    first, _, made = Installation(Path("/w")).units()[SERVICE].decode().split("\n")[:3]
    huge = made.replace("{", '{"keep": 1e999, "backups": "/b", ', 1)
    for workspace, other in ((said, made), ("/w", "# Made with: " + "[" * 100_000), ("/w", huge)):
        (units / SERVICE).write_text(f'{first}\n# The workspace: "{workspace}"\n{other}\n[Unit]\n', encoding="utf-8")
        assert systemd.installed(Path("/w")) == {}


#: The option that is refused, its field, and values that no unit can hold.
REFUSED = (
    ("--workspace", "workspace", ["/home/a\nExecStart=/bin/sh", "/home/a\x7f", "/home/\udcff"]),
    ("--system", "user", ["a/b", "a b", "-x"]),
    ("--name", "name", ["a b", "工作", "-x", "a/b", "a:b", "x" * 65]),
    ("--key-file", "key", [Path("/key\n"), Path("/key\\"), Path("/key ")]),
    ("--backup-to", "backups", [Path("/backups\n")]),
    ("python", "python", ["/opt/a\nExecStart=/bin/sh", "/opt/\udcff/python3"]),
)


@pytest.mark.parametrize(("option", "field", "value"), [(*row, value) for *row, values in REFUSED for value in values])
def test_units_refuse_what_no_unit_can_hold(option, field, value):
    with pytest.raises(BadRequest, match=option):
        Installation(**{"workspace": Path("/w"), field: value})
