"""The units of a fleet, a gateway and a worker of a pool; systemd's own tools read them where they are installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from recalld.supervisor.checks.install import install_program, remove_program
from recalld.supervisor.checks.program_units import Program, is_ours
from recalld.supervisor.checks.systemd import Done, Systemd
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.errors import BadRequest, ForeignUnit, NoService, NoUnit
from recalld.supervisor.storage.files import Files

ROOTS = (Path("/srv/100% $HOME"), Path("/srv/我的 记忆"))
PROGRAMS = [
    Program("fleet", ROOTS[:1], memory_max="2G"),
    Program("gateway", ROOTS, ("--host", "127.0.0.1", "--port", "8378")),
    Program("worker", pool_file=Path("/etc/recalld/pool.toml"), env_file=Path("/etc/recalld/50% pool.env")),
]
OF_THE_SYSTEM = [Program(one.kind, one.roots, one.options, one.pool_file, one.env_file, "alice") for one in PROGRAMS]
FILES = Files(RealDisk())


def values(program: Program, name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", program.text().decode(), re.MULTILINE)


def test_program_unit_names_its_folders_and_files_as_systemd_reads_them():
    fleet, gateway, worker = PROGRAMS
    assert values(fleet, "ExecStart")[0].endswith(' -P -m recalld fleet --root "/srv/100%% $$HOME"')
    assert values(gateway, "ExecStart")[0].endswith('--root "/srv/我的 记忆" --host 127.0.0.1 --port 8378')
    assert values(worker, "EnvironmentFile") == ["/etc/recalld/50%% pool.env"]
    assert [values(one, "Type")[0] for one in PROGRAMS] == ["notify", "notify", "exec"]
    assert (values(fleet, "MemoryMax"), values(fleet, "ExecReload")) == (["2G"], ["/bin/kill -HUP $MAINPID"])
    writable = [values(one, "ReadWritePaths") for one in OF_THE_SYSTEM]
    assert writable == [['-"/srv/100%% $HOME"'], ['-"/srv/100%% $HOME" -"/srv/我的 记忆"'], []]


@pytest.mark.parametrize("wrong", [{"roots": (Path("/a\nb"),)}, {"user": "a b"}, {"memory_max": "much"}])
def test_program_unit_refuses_what_no_unit_can_hold(wrong):
    with pytest.raises(BadRequest):
        Program("fleet", **wrong).text()


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
@pytest.mark.parametrize("programs", [PROGRAMS, OF_THE_SYSTEM], ids=["user", "system"])
def test_program_units_are_accepted_by_systemd_and_hardened(programs, tmp_path):
    for one in programs:
        (tmp_path / one.unit).write_bytes(one.text())
    units = [tmp_path / one.unit for one in programs]
    scope = [] if programs[0].user else ["--user"]
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(tmp_path), "LC_ALL": "C.UTF-8"}
    verify = ["systemd-analyze", *scope, "--man=no", "verify", *units]
    done = subprocess.run(verify, capture_output=True, text=True, check=False, env=environ)
    assert ([line for line in done.stderr.splitlines() if "recalld" in line], done.returncode) == ([], 0), done.stderr
    for unit in units if programs[0].user else ():
        judge = ["systemd-analyze", "security", "--offline=true", "--threshold=25", "--no-pager", unit]
        done = subprocess.run(judge, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-200:] + done.stderr


class Manager:
    """A service manager that notes what it is told, and refuses one verb."""

    def __init__(self, refuses: str = "") -> None:
        self.told: list[str] = []
        self.refuses = refuses

    def __call__(self, words: list[str]) -> Done:
        verb = next((one for one in words[1:] if not one.startswith("-")), "")
        self.told.append(verb)
        return Done(int(verb == self.refuses), "", "no")


def test_program_is_installed_again_and_removed_and_a_foreign_unit_is_left(tmp_path):
    systemd, fleet = Systemd(run=(manager := Manager()), folder=tmp_path), PROGRAMS[0]
    for _ in range(2):
        install_program(fleet, systemd, FILES)
    path = tmp_path / "recalld-fleet.service"
    assert is_ours(path.read_bytes())
    assert manager.told.count("restart") == 2
    remove_program(fleet.unit, systemd, FILES)
    assert not path.exists()
    with pytest.raises(NoUnit):
        remove_program(fleet.unit, systemd, FILES)
    path.write_text("[Service]\nExecStart=/bin/true\n")
    for act in (lambda: install_program(fleet, systemd, FILES), lambda: remove_program(fleet.unit, systemd, FILES)):
        with pytest.raises(ForeignUnit):
            act()
    assert path.read_text().startswith("[Service]")


def test_program_that_does_not_start_leaves_everything_as_it_was(tmp_path):
    with pytest.raises(NoService):
        install_program(PROGRAMS[0], Systemd(run=Manager("restart"), folder=tmp_path), FILES)
    assert list(tmp_path.iterdir()) == []
