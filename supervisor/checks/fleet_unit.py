"""The unit of a fleet, as `recalld service add fleet` of 0.28 or older made it, and the services that take its place."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..host.workers import name_of
from ..protocol.making import is_made
from ..protocol.paths import FLEET
from ..storage.disk import RealDisk
from ..storage.errors import BadRequest
from ..storage.texts import Text
from ..text.record import record
from .program_units import is_ours, unit_of
from .systemd import remove_program
from .units import NAME, SERVICE, Installation

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..storage.files import Files
    from .systemd import Systemd

UNIT: Final = unit_of("fleet")
#: The drop-in of each service that has the variables of the fleet.
DROP_IN: Final = "fleet.conf"
#: The lines that give a service variables; those of a unit that `service add` made, and those that a person added.
_OF_THE_UNIT: Final = ("EnvironmentFile=",)
_OF_A_PERSON: Final = ("Environment=", "EnvironmentFile=", "LoadCredential=")


@record
class FleetUnit:
    """The unit of a fleet: the folder of its workspaces, and its lines that give variables."""

    root: Path
    variables: tuple[str, ...]

    def services(self, user: str) -> list[Installation]:
        """Return the service that each workspace gets; BadRequest if there is no workspace."""
        roots = [self.root / name for name in workspaces_of(self.root)]
        if not roots:
            raise BadRequest(
                "--root",
                Text(
                    "there is no workspace in {root} now; mount its disk first, or remove the unit with `recalld service remove fleet`",
                    root=self.root,
                ),
            )
        return [Installation(root, user, name=_service_name(root)) for root in roots]


def fleet_unit(systemd: Systemd, files: Files) -> FleetUnit | None:
    """Return the unit of the fleet of the caller or of the user of *systemd*; None if there is none that recalld made."""
    version = systemd.unit_at(files, systemd.folder / UNIT)
    if version is None or not is_ours(version.data):
        return None
    lines = version.data.decode("utf-8", "replace").splitlines()
    command = next((shlex.split(line.partition("=")[2]) for line in lines if line.startswith("ExecStart=")), [])
    if "--root" not in command or (systemd.user and f"User={systemd.user}" not in lines):
        return None
    root = command[command.index("--root") + 1].replace("%%", "%").replace("$$", "$")
    variables = [line for line in lines if line.startswith(_OF_THE_UNIT)]
    folder = systemd.folder / f"{UNIT}.d"
    for name in files.disk.names(folder):
        added = files.disk.read(folder / name).decode("utf-8", "replace").splitlines()
        variables += [line for line in added if line.startswith(_OF_A_PERSON)]
    return FleetUnit(Path(root), tuple(variables))


def replace_fleet(fleet: FleetUnit, systemd: Systemd, files: Files, install: Callable[[Installation], bool]) -> list[str]:
    """
    Have a service in the place of the fleet for each of its workspaces; return the names of those that got none.

    *install* returns whether a service was installed. As long as one is missing the fleet goes on: it leaves alone what a
    service of its own looks after.
    """
    services, left = fleet.services(systemd.user), [fleet.root.name]
    systemd.try_call("stop", UNIT)
    try:
        for service in services:
            _give_variables(fleet, service, systemd, files)
        left = [service.workspace.name for service in services if not install(service)]
    finally:
        if left:
            systemd.try_call("start", UNIT)
    if not left:
        remove_program(UNIT, systemd, files)
    return left


def _give_variables(fleet: FleetUnit, service: Installation, systemd: Systemd, files: Files) -> None:
    """Write the drop-in by which the service has the variables of the fleet."""
    if fleet.variables:
        folder = systemd.folder / f"{service.unit(SERVICE)}.d"
        files.make_folder(folder)
        path = folder / DROP_IN
        data = "\n".join(["# the variables of the fleet", "[Service]", *fleet.variables, ""]).encode()
        files.replace(path, data, files.read_stable(path))


def _service_name(root: Path) -> str:
    """Return the name of the folder, or one with a digest in place of a name that no unit can have."""
    return root.name if NAME.fullmatch(root.name) else f"workspace-{name_of(root).rpartition('-')[2]}"


def workspaces_of(root: Path) -> list[str]:
    """Return the names of the workspaces directly below *root*, without those that were given free; OSError for the root."""
    with os.scandir(root) as entries:
        found = sorted(entry.name for entry in entries if not entry.name.startswith(".") and _is_workspace(entry))
    free = RealDisk().names(root / FLEET / "drained")
    return [name for name in found if name not in free]


def _is_workspace(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False) and is_made(Path(entry.path))
    except OSError:  # this user may not look into it
        return False
