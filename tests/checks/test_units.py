"""What is in the units, for any path, and whose a unit is; systemd's own tools read them where they are installed."""

from __future__ import annotations

import re
import subprocess
from contextlib import nullcontext
from pathlib import Path

import pytest

from recalld.supervisor.checks.services import check_key
from recalld.supervisor.checks.units import (
    BACKUP,
    FSCK,
    SERVICE,
    TEMPLATES,
    TIMER,
    Installation,
    below_head,
    installed,
    parse_unit,
    unit_folder,
)
from recalld.supervisor.storage.errors import BadConfig, BadRequest
from tests.kinds import OTHERS

ROOT = Path(__file__).parents[2]
KEY = Path("/home/我/50% key")


def text_of(installation: Installation, template: str) -> str:
    return installation.units()[installation.unit(template)].decode()


def values(text: str, name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", text, re.MULTILINE)


@pytest.fixture
def units(tmp_path: Path) -> Path:
    folder = unit_folder({"XDG_CONFIG_HOME": str(tmp_path)})
    folder.mkdir(parents=True)
    return folder


def test_units_of_backups_are_there_where_they_are_asked_for(tmp_path):
    wanted = Installation(Path("/w"), "alice", backups=tmp_path / "备份 100%", keep=14)
    assert set(wanted.units()) - set(Installation(Path("/w"), "alice").units()) == {
        "recalld-backup@alice.service",
        "recalld-backup@alice.timer",
    }
    text = text_of(wanted, BACKUP)
    assert values(text, "ExecStart")[0].endswith(f' -w /w backup nightly "{tmp_path}/备份 100%%" --keep 14')
    assert values(text, "ReadWritePaths") == ['-"/w"', f'-"{tmp_path}/备份 100%%"']
    assert values(text, "OnFailure") == ["recalld-fsck@alice.service"]
    assert parse_unit(wanted.units()["recalld@alice.service"], "alice") == wanted
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
    assert (values(text, "LoadCredential"), values(text, "MemoryMax")) == ([], [])
    assert values(text, "User") == ([user] if user else [])
    assert "DynamicUser" not in text
    assert values(text, "WantedBy") == ["multi-user.target" if user else "default.target"]


def test_fsck_runs_at_night_when_nothing_else_does():
    text = text_of(Installation(Path("/w")), FSCK)
    assert values(text, "ExecStart")[0].endswith(" -w /w fsck --report")
    assert (values(text, "IOSchedulingClass"), values(text, "CPUSchedulingPolicy")) == (["idle"], ["idle"])
    assert values(text_of(Installation(Path("/w")), TIMER), "Persistent") == ["yes"]


def test_key_is_a_credential_and_never_a_variable():
    text = text_of(Installation(Path("/w"), "alice", KEY), SERVICE)
    assert values(text, "LoadCredential") == ["recalld-api-key:/home/我/50%% key"]
    assert [line for line in values(text, "Environment") if "key" in line.lower()] == []
    assert parse_unit(text.encode()).key == KEY
    assert parse_unit(text_of(Installation(Path("/w")), SERVICE).encode()).key is None


@pytest.mark.parametrize(("mode", "refused"), [(0o600, False), (0o400, False), (0o640, True), (0o644, True), (0o604, True)])
def test_check_key_refuses_a_file_that_others_can_read(tmp_path, mode, refused):
    key = tmp_path / "我的 密钥"
    key.write_text("sk-1")
    key.chmod(mode)
    with pytest.raises(BadConfig, match=r"others may read .*chmod 600 ") if refused else nullcontext():
        check_key(key)


def test_unit_tells_what_was_installed():
    wanted = Installation(Path("/home/我/记忆 100%"), "alice", KEY, "/opt/环境/bin/python3", name="work", memory_max="20%")
    assert parse_unit(wanted.units()["recalld@alice:work.service"], "alice") == wanted
    assert values(text_of(wanted, SERVICE), "MemoryMax") == ["20%"]
    assert parse_unit(b"[Unit]\n") is None


def test_unit_of_0_26_is_one_of_this_version():
    """Its head said which version had made it, and had a digest of the rest."""
    wanted = Installation(Path("/w"), python="/opt/recalld/bin/python3", name="work", memory_max="400M")
    unit = wanted.units()["recalld@work.service"].replace(b'{"python"', b'{"recalld": "0.26.0", "sha256": "0123", "python"', 1)
    assert parse_unit(unit) == wanted
    assert below_head(unit) == below_head(wanted.units()["recalld@work.service"])
    assert values(unit.decode(), "ExecStart") == ["/opt/recalld/bin/python3 -P -m recalld -w /w run"]


@pytest.mark.parametrize("made", ["", "Made with: {", '# Made with: {"keep": 7}'])
def test_unit_whose_head_is_broken_is_somebody_else_s(made):
    mark = Installation(Path("/w")).units()[SERVICE].partition(b"\n")[0].decode()
    assert parse_unit(f'{mark}\n# The workspace: "/w"\n{made}\n[Unit]\n'.encode()) is None


@pytest.mark.parametrize("said", ["/w\\u0000", "/w\\ud800", "/w\\n"])
def test_unit_that_another_user_wrote_breaks_no_reader(units, tmp_path, said):
    """Root reads the units of all users: a path that no file can have is none, and a nested line is no origin."""
    first, _, made = Installation(Path("/w")).units()[SERVICE].decode().split("\n")[:3]
    huge = made.replace("{", '{"keep": 1e999, "backups": "/b", ', 1)
    for workspace, other in ((said, made), ("/w", "# Made with: " + "[" * 100_000), ("/w", huge)):
        (units / SERVICE).write_text(f'{first}\n# The workspace: "{workspace}"\n{other}\n[Unit]\n', encoding="utf-8")
        assert installed(Path("/w"), {"XDG_CONFIG_HOME": str(tmp_path)}) == {}


@pytest.mark.parametrize("kind", sorted({*OTHERS} - {"a link to a file", "an empty file", "a foreign file"}))
def test_services_are_looked_for_in_regular_files_of_a_unit_s_size(units, tmp_path, kind):
    """A pipe in a user's folder of units hung `status`, and a link to /dev/zero took all memory of the machine."""
    OTHERS[kind](units / SERVICE)
    assert installed(Path("/w"), {"XDG_CONFIG_HOME": str(tmp_path)}) == {}


#: The option that is refused, its field, and values that no unit can hold.
REFUSED = (
    ("--workspace", "workspace", ["/home/a\nExecStart=/bin/sh", "/home/a\x7f", "/home/\udcff"]),
    ("--system", "user", ["a/b", "a b", "-x"]),
    ("--name", "name", ["a b", "工作", "-x", "a/b", "a:b", "a@b", "x" * 65]),
    ("--key-file", "key", [Path("/key\n"), Path("/key\\"), Path("/key ")]),
    ("--backup-to", "backups", [Path("/backups\n")]),
    ("--memory-max", "memory_max", ["much", "400M\nExecStart=/bin/sh", "120%", "-1"]),
    ("python", "python", ["/opt/a\nExecStart=/bin/sh", "/opt/\udcff/python3"]),
)


@pytest.mark.parametrize(("option", "field", "value"), [(*row, value) for *row, values in REFUSED for value in values])
def test_units_refuse_what_no_unit_can_hold(option, field, value):
    with pytest.raises(BadRequest, match=option):
        Installation(**{"workspace": Path("/w"), field: value})
