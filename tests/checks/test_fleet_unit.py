"""The unit of a fleet of 0.26 becomes a service for each workspace, and is left as it is while one of them has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from recalld.supervisor.checks.fleet_unit import UNIT, fleet_unit, replace_fleet, workspaces_of
from recalld.supervisor.checks.program_units import _MARK
from recalld.supervisor.checks.systemd import Systemd
from recalld.supervisor.protocol.making import make_workspace
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.errors import BadRequest
from recalld.supervisor.storage.files import Files
from tests.checks.test_program_units import Manager

if TYPE_CHECKING:
    from pathlib import Path

FILES = Files(RealDisk())
#: What `recalld service add fleet --system alice --env-file …` of 0.26 made, as far as it is read.
OLD = """{mark}
[Unit]
Description=recalld, the memories of {root}
StartLimitIntervalSec=0

[Service]
Type=notify
ExecStart=/opt/recalld/bin/python -P -m recalld fleet --root "{root}"
ExecReload=/bin/kill -HUP $MAINPID
WatchdogSec=120
EnvironmentFile=/etc/recalld/pool.env
Restart=on-failure
RestartSec=15
RestartPreventExitStatus=64 78
User=alice
Environment=XDG_CACHE_HOME=%C/recalld/+fleet
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with three workspaces, of which one was given free, and what is none."""
    root = tmp_path / "100% 我的 $记忆"
    for name in ("anna", "ben", "小明"):
        make_workspace(root / name, {"RECALLD_ARCHIVE_TIMEZONE": "Asia/Shanghai"})
    (root / "notes").mkdir()
    (root / "link").symlink_to("anna")
    (root / ".fleet/drained").mkdir(parents=True)
    (root / ".fleet/drained/ben").touch()
    return root


@pytest.fixture
def units(tmp_path: Path, root: Path) -> Path:
    """A folder of units, with that of the fleet and what a person has added to it."""
    units = tmp_path / "units"
    (units / f"{UNIT}.d").mkdir(parents=True)
    (units / f"{UNIT}.d/override.conf").write_text("[Service]\nEnvironment=OPENAI_API_KEY=sk-1\nNice=5\n")
    written = str(root).replace("%", "%%").replace("$", "$$")
    (units / UNIT).write_text(OLD.format(mark=_MARK, root=written))
    return units


def test_workspaces_of_a_fleet_are_those_that_were_not_given_free(root):
    assert workspaces_of(root) == ["anna", "小明"]
    with pytest.raises(OSError, match="无"):
        workspaces_of(root / "无")


def test_fleet_unit_becomes_a_service_for_each_workspace(root, units):
    systemd, installed = Systemd("alice", run=(manager := Manager()), folder=units), []
    fleet = fleet_unit(systemd, FILES)
    assert fleet.root == root
    assert replace_fleet(fleet, systemd, FILES, lambda service: installed.append(service) or True) == []
    assert [(one.workspace, one.user) for one in installed] == [(root / name, "alice") for name in ("anna", "小明")]
    assert (installed[0].name, installed[1].name.isascii()) == ("anna", True)
    for one in installed:
        one.units()
    given = (units / "recalld@alice:anna.service.d/fleet.conf").read_text()
    assert given.splitlines()[1:] == ["[Service]", "EnvironmentFile=/etc/recalld/pool.env", "Environment=OPENAI_API_KEY=sk-1"]
    assert (manager.told[0], (units / UNIT).exists()) == ("stop", False)


@pytest.mark.parametrize("fails", ["ends with an error", "is interrupted"])
def test_fleet_unit_goes_on_while_a_workspace_has_no_service(units, fails):
    systemd = Systemd("alice", run=(manager := Manager()), folder=units)

    def install(service):
        if fails == "is interrupted":
            raise KeyboardInterrupt
        return service.name == "anna"

    fleet, before = fleet_unit(systemd, FILES), (units / UNIT).read_bytes()
    if fails == "is interrupted":
        with pytest.raises(KeyboardInterrupt):
            replace_fleet(fleet, systemd, FILES, install)
    else:
        assert replace_fleet(fleet, systemd, FILES, install) == ["小明"]
    assert (manager.told, (units / UNIT).read_bytes()) == (["stop", "start"], before)


def test_fleet_unit_of_somebody_else_or_without_workspaces_is_left(root, units):
    assert fleet_unit(Systemd("bob", folder=units), FILES) is None
    fleet = fleet_unit(Systemd("alice", folder=units), FILES)
    root.rename(root.with_name("away"))
    root.mkdir()
    with pytest.raises(BadRequest, match="no workspace"):
        replace_fleet(fleet, Systemd("alice", folder=units), FILES, lambda _: True)
    (units / UNIT).write_text("[Service]\nExecStart=/bin/true --root /srv\n")
    assert fleet_unit(Systemd("alice", folder=units), FILES) is None
