"""The unit of a worker of a pool; systemd's own tools read it where they are installed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from recalld.supervisor.checks.program_units import PoolWorker, is_ours
from recalld.supervisor.checks.systemd import Systemd, install_program, remove_program
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.errors import BadRequest, ForeignUnit, NoService, NoUnit
from recalld.supervisor.storage.files import Files

WORKER = PoolWorker(Path("/etc/我的 池/100% $HOME.toml"), Path("/etc/recalld/50% pool.env"), memory_max="2G")
OF_THE_SYSTEM = replace(WORKER, user="alice")
FILES = Files(RealDisk())


def values(worker: PoolWorker, name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", worker.text().decode(), re.MULTILINE)


def test_worker_unit_names_its_files_as_systemd_reads_them():
    assert values(WORKER, "ExecStart")[0].endswith(' --pool-file "/etc/我的 池/100%% $$HOME.toml"')
    assert values(WORKER, "EnvironmentFile") == ["/etc/recalld/50%% pool.env"]
    assert (values(WORKER, "Type"), values(WORKER, "MemoryMax")) == (["exec"], ["2G"])
    assert (values(OF_THE_SYSTEM, "User"), values(OF_THE_SYSTEM, "ReadWritePaths")) == (["alice"], [])


@pytest.mark.parametrize("wrong", [{"pool_file": Path("/a\nb")}, {"user": "a b"}, {"memory_max": "much"}])
def test_worker_unit_refuses_what_no_unit_can_hold(wrong):
    with pytest.raises(BadRequest):
        replace(WORKER, **wrong).text()


class Manager:
    """A service manager that notes what it is told, and refuses one verb."""

    def __init__(self, refuses: str = "") -> None:
        self.told: list[str] = []
        self.refuses = refuses

    def __call__(self, words: list[str]) -> CompletedProcess[str]:
        verb = next((one for one in words[1:] if not one.startswith("-")), "")
        self.told.append(verb)
        return CompletedProcess(words, int(verb == self.refuses), "", "no")


def test_worker_is_installed_again_and_removed_and_a_foreign_unit_is_left(tmp_path):
    systemd = Systemd(run=(manager := Manager()), folder=tmp_path)
    for _ in range(2):
        install_program(WORKER, systemd, FILES)
    path = tmp_path / "recalld-worker.service"
    assert is_ours(path.read_bytes())
    assert manager.told.count("restart") == 2
    remove_program(WORKER.unit, systemd, FILES)
    assert not path.exists()
    with pytest.raises(NoUnit):
        remove_program(WORKER.unit, systemd, FILES)
    path.write_text("[Service]\nExecStart=/bin/true\n")
    for act in (lambda: install_program(WORKER, systemd, FILES), lambda: remove_program(WORKER.unit, systemd, FILES)):
        with pytest.raises(ForeignUnit):
            act()
    assert path.read_text().startswith("[Service]")


def test_worker_that_does_not_start_is_an_error(tmp_path):
    with pytest.raises(NoService, match="systemctl restart"):
        install_program(WORKER, Systemd(run=Manager("restart"), folder=tmp_path), FILES)
