"""What is in the units, for any path, and whose a unit is; systemd's own tools read them where they are installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from contextlib import nullcontext
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest

from recalld.supervisor.checks.units import (
    BACKUP,
    FSCK,
    SERVICE,
    TEMPLATES,
    TIMER,
    TROUBLE,
    Backups,
    Installation,
    in_command,
    installation_of,
    key_of,
    origin_of,
    user_folder,
    workspace_of,
)
from recalld.supervisor.storage.errors import BadRequest

ROOT = Path(__file__).parents[2]
needs_systemd = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
#: Paths as people have them, and as nobody should.
PATHS = ("/root/memory", "/home/我/我的 记忆", "/srv/100%/$HOME/a\\b", '/home/a/say "hi"', "/x/@workspace@ @name@", "/y/end\\")
KEY = Path("/home/我/50% key")


def text_of(installation: Installation, template: str) -> str:
    return installation.units()[installation.unit(template)].decode()


def values(text: str, name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", text, re.MULTILINE)


def test_units_have_the_names_of_their_templates_and_of_the_user():
    assert set(Installation(Path("/w")).units()) == {
        "recalld.service",
        "recalld-fsck.service",
        "recalld-fsck.timer",
        "recalld-trouble.service",
    }
    assert set(Installation(Path("/w"), "alice").units()) == {
        "recalld@alice.service",
        "recalld-fsck@alice.service",
        "recalld-fsck@alice.timer",
        "recalld-trouble@alice.service",
    }


def test_units_of_backups_are_there_where_they_are_asked_for(tmp_path):
    wanted = Installation(Path("/w"), "alice", backups=Backups(tmp_path / "备份 100%", 14))
    assert set(wanted.units()) - set(Installation(Path("/w"), "alice").units()) == {
        "recalld-backup@alice.service",
        "recalld-backup@alice.timer",
    }
    text = text_of(wanted, BACKUP)
    assert values(text, "ExecStart")[0].endswith(f' -w /w backup nightly "{tmp_path}/备份 100%%" --keep 14')
    assert values(text, "ReadWritePaths") == ['"/w"', f'-"{tmp_path}/备份 100%%"']
    assert values(text, "OnFailure") == ["recalld-fsck@alice.service"]
    assert installation_of(wanted.units()["recalld@alice.service"], "alice") == wanted
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
    assert {"64", "75", "77", "78"} <= set(values(text, "RestartPreventExitStatus")[0].split())
    assert values(text, "StartLimitBurst") != []
    assert values(text, "WatchdogSec") == ["120"]
    assert values(text, "OnFailure") == ["recalld-trouble@alice.service" if user else "recalld-trouble.service"]
    assert values(text, "LoadCredential") == []
    assert values(text, "User") == (["%i"] if user else [])
    assert "DynamicUser" not in text
    assert values(text, "WantedBy") == ["multi-user.target" if user else "default.target"]


def test_fsck_runs_at_night_when_nothing_else_does():
    text = text_of(Installation(Path("/w")), FSCK)
    assert values(text, "ExecStart")[0].endswith(" -w /w fsck --report")
    assert (values(text, "IOSchedulingClass"), values(text, "CPUSchedulingPolicy")) == (["idle"], ["idle"])
    assert values(text_of(Installation(Path("/w")), TIMER), "Persistent") == ["yes"]


@pytest.mark.parametrize("user", ["", "alice"])
def test_service_that_is_down_is_told_by_a_unit_that_nothing_else_starts(user):
    wanted = Installation(Path("/w"), user, backups=Backups(Path("/b"), 7))
    assert values(text_of(wanted, TROUBLE), "ExecStart")[0].endswith(" -w /w fsck --report")
    name = wanted.unit(TROUBLE)
    assert [unit for unit, data in wanted.units().items() if name in data.decode()] == [wanted.unit(SERVICE)]
    assert name not in wanted.started


def test_key_is_a_credential_and_never_a_variable():
    text = text_of(Installation(Path("/w"), "alice", KEY), SERVICE)
    assert values(text, "LoadCredential") == ["recalld-api-key:/home/我/50%% key"]
    assert [line for line in values(text, "Environment") if "key" in line.lower()] == []
    assert key_of(text.encode()) == KEY
    assert key_of(text_of(Installation(Path("/w")), SERVICE).encode()) is None


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("user", ["", "alice"])
def test_unit_of_ours_is_known_with_its_workspace(path, user):
    assert {workspace_of(data) for data in Installation(Path(path), user).units().values()} == {path}


def test_unit_tells_what_was_installed_and_whether_it_was_edited():
    wanted = Installation(Path("/home/我/记忆 100%"), "alice", KEY, "/opt/环境/bin/python3")
    for unit in wanted.units().values():
        assert not origin_of(unit).edited
        assert origin_of(unit + b"Nice=5\n").edited
        assert origin_of(unit).version == version("recalld")
    assert installation_of(wanted.units()["recalld@alice.service"], "alice") == wanted
    assert origin_of(b"[Unit]\n").edited


@pytest.mark.parametrize("data", [b"", b"[Unit]\nDescription=mine\n", b"\xff", b"# Made by `recalld service install`\n"])
def test_unit_of_somebody_else_has_no_workspace_of_ours(data):
    assert workspace_of(data) is None


@pytest.mark.parametrize(
    ("workspace", "user", "key"),
    [
        ("/home/a\nExecStart=/bin/sh", "", None),
        ("/home/a\x7f", "", None),
        ("/home/\udcff", "", None),
        ("/w", "a/b", None),
        ("/w", "a b", None),
        ("/w", "-x", None),
        ("/w", "", "/key\n"),
        ("/w", "", "/key\\"),
        ("/w", "", "/key "),
        ("/w", "", Backups(Path("/backups\n"), 7)),
    ],
)
def test_units_refuse_what_no_unit_can_hold(workspace, user, key):
    given = {"backups": key} if isinstance(key, Backups) else {"key": key and Path(key)}
    with pytest.raises(BadRequest):
        Installation(Path(workspace), user, **given).units()


@pytest.mark.parametrize(
    ("workspace", "backups", "refused"),
    [
        ("/tmp/记忆", "/mnt/usb", "--workspace"),
        ("/var/tmp/a/b", "/mnt/usb", "--workspace"),
        ("/home/me/memory", "/tmp", "--backup-to"),
        ("/tmpfs/memory", "/srv/tmp/backups", ""),
    ],
)
def test_unit_of_the_system_is_not_given_what_is_in_a_tmp_folder(workspace, backups, refused):
    wanted = Installation(Path(workspace), backups=Backups(Path(backups), 7))
    wanted.check_places()
    with (
        pytest.raises(BadRequest, match=f"^{refused}: .*which a unit of the system does not see") if refused else nullcontext()
    ):
        replace(wanted, user="alice").check_places()


def test_user_folder_is_where_systemd_looks():
    assert user_folder({"XDG_CONFIG_HOME": "/c"}) == Path("/c/systemd/user")
    assert user_folder({}) == Path.home() / ".config/systemd/user"


def test_in_command_leaves_plain_words_and_doubles_what_systemd_reads():
    assert in_command("/usr/bin/python3.11") == "/usr/bin/python3.11"
    assert in_command("$HOME") == '"$$HOME"'


@needs_systemd
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("user", ["", "root"])
def test_systemd_reads_every_unit_without_a_complaint(path, user, tmp_path):
    wanted = Installation(Path(path), user, KEY, backups=Backups(Path(path).with_name("backups 1%"), 7))
    for name, data in wanted.units().items():
        (tmp_path / name).write_bytes(data)
    scope = [] if user else ["--user"]
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(tmp_path), "LC_ALL": "C.UTF-8"}
    units = [tmp_path / name for name in wanted.units()]
    done = subprocess.run(
        ["systemd-analyze", *scope, "--man=no", "verify", *units], capture_output=True, text=True, check=False, env=environ
    )
    own = [line for line in done.stderr.splitlines() if "recalld" in line]
    assert (own, done.returncode) == ([], 0), done.stderr


@needs_systemd
@pytest.mark.parametrize("template", [SERVICE, FSCK, TROUBLE, BACKUP])
def test_exposure_of_the_units_of_the_system_is_at_most_2_5(template, tmp_path):
    installation = Installation(Path("/home/alice/memory"), "alice", KEY, backups=Backups(Path("/mnt/usb"), 7))
    (tmp_path / installation.unit(template)).write_bytes(installation.units()[installation.unit(template)])
    done = subprocess.run(
        [
            "systemd-analyze",
            "security",
            "--offline=true",
            "--threshold=25",
            "--no-pager",
            tmp_path / installation.unit(template),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-200:] + done.stderr
