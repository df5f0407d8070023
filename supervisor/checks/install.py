"""
Install, restart and remove the units of a workspace (`recalld service`): faults are found before anything is changed.

After an installation either the service is ready, or everything is as it was before.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

from ..storage.catalogue import Text
from ..storage.errors import ForeignUnit, NoService, NoUnit
from .program_units import is_ours
from .systemd import RUNNING, why_down
from .units import SERVICE, STARTED, TEMPLATES, origin_of, workspace_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from pathlib import Path

    from ..storage.files import Files, FileVersion
    from .program_units import PoolWorker
    from .systemd import Systemd
    from .units import Installation

_UNIT_MODE: Final = 0o644


def install(wanted: Installation, systemd: Systemd, files: Files, now: datetime, *, force: bool = False) -> None:
    """
    Write the units, start them and wait until the service is ready; NoService if it fails, with everything as it was.

    A unit that is somebody else's, another workspace's, or edited by a person is left alone (ForeignUnit); with *force* it gets
    another name.
    """
    contents = wanted.units()
    names = wanted.started
    before, foreign = _units_there(wanted, systemd, files)
    if foreign and not force:
        raise ForeignUnit(foreign[0])
    all_names = [wanted.unit(template) for template in STARTED]
    with contextlib.ExitStack() as undo:  # the last step is undone first
        undo.callback(_start_again, systemd, {name: systemd.show(name) for name in all_names})
        files.make_folder(systemd.folder)
        if unwanted := [path.name for path, version in before.items() if version and path.name not in contents]:
            systemd.try_call("disable", "--now", *unwanted)
        edited = [path for path, version in before.items() if version and origin_of(version.data).edited]
        for path in [*foreign, *edited]:
            before[path] = None
            other = path.with_name(f"{path.name}.{now:%Y%m%dT%H%M%S}")
            files.move(path, other)
            undo.callback(files.move, other, path)
        for path, version in before.items():
            undo.callback(_put_back, files, path, version)
            if path.name in contents:
                files.replace(path, contents[path.name], version, mode=_UNIT_MODE)
            else:
                files.remove(path)
        undo.callback(systemd.try_call, "disable", "--now", *names)
        _start(systemd, names, wanted.python)
        undo.pop_all()


def _units_there(wanted: Installation, systemd: Systemd, files: Files) -> tuple[dict[Path, FileVersion | None], list[Path]]:
    """Return the contents of each unit of the workspace's service, None if missing, and the units that are not its own."""
    before: dict[Path, FileVersion | None] = {}
    foreign = []
    for template in TEMPLATES:
        path = systemd.folder / wanted.unit(template)
        before[path] = None
        try:
            _, version = systemd.read(files, template)
        except ForeignUnit:
            foreign.append(path)
            continue
        if version and workspace_of(version.data) != str(wanted.workspace):
            foreign.append(path)
        else:
            before[path] = version
    return before, foreign


def _start(systemd: Systemd, names: list[str], python: str) -> None:
    """Have the units started now and with the machine; NoService, with the reason that the service gives, if that fails."""
    try:
        systemd.call("daemon-reload")
        systemd.try_call("reset-failed", *names)
        systemd.call("enable", *names)
        systemd.call("restart", *names)
    except NoService as error:
        if systemd.show(names[0]).get("ActiveState") in ("failed", "activating"):
            raise NoService(why_down(systemd, names[0], python), Text("service.nothing_installed")) from error
        raise


def _put_back(files: Files, path: Path, version: FileVersion | None) -> None:
    if version is None:
        files.remove(path)
    else:
        files.replace(path, version.data, files.read_stable(path), mode=_UNIT_MODE)


def _start_again(systemd: Systemd, before: Mapping[str, Mapping[str, str]]) -> None:
    """Have systemd read the present units, and start those again that ran *before*, also somebody else's."""
    systemd.try_call("daemon-reload")
    systemd.try_call("reset-failed", *before)
    if enabled := [name for name, found in before.items() if found.get("UnitFileState") == "enabled"]:
        systemd.try_call("enable", *enabled)
    if running := [name for name, found in before.items() if found.get("ActiveState") in RUNNING]:
        systemd.try_call("restart", *running)


def restart(systemd: Systemd, what: Installation) -> None:
    """Restart the service with the installed code and unit; NoService, with the reason, if that fails."""
    unit = what.unit(SERVICE)
    try:
        systemd.call("daemon-reload")
        systemd.try_call("reset-failed", unit)
        systemd.call("restart", unit)
    except NoService as error:
        if systemd.show(unit).get("ActiveState") in ("failed", "activating"):
            raise NoService(why_down(systemd, unit, what.python), Text("service.see_doctor")) from error
        raise


def install_program(wanted: PoolWorker, systemd: Systemd, files: Files) -> None:
    """
    Write the unit of a worker of a pool, start it and wait until it is ready; NoService if it fails, with everything as it was.

    ForeignUnit for a unit of that name that is somebody else's.
    """
    data, path, before = wanted.text(), *_program_there(wanted.unit, systemd, files)
    with contextlib.ExitStack() as undo:
        undo.callback(_start_again, systemd, {wanted.unit: systemd.show(wanted.unit)})
        undo.callback(_put_back, files, path, before)
        files.make_folder(systemd.folder)
        files.replace(path, data, before, mode=_UNIT_MODE)
        undo.callback(systemd.try_call, "disable", "--now", wanted.unit)
        _start(systemd, [wanted.unit], wanted.python)
        undo.pop_all()


def remove_program(unit: str, systemd: Systemd, files: Files) -> None:
    """Stop a program and remove its unit; NoUnit if there is none, ForeignUnit for one that is somebody else's."""
    path, version = _program_there(unit, systemd, files)
    if version is None:
        raise NoUnit(path)
    systemd.try_call("disable", "--now", unit)
    files.remove(path)
    systemd.call("daemon-reload")
    systemd.try_call("reset-failed", unit)


def _program_there(unit: str, systemd: Systemd, files: Files) -> tuple[Path, FileVersion | None]:
    path = systemd.folder / unit
    version = systemd.unit_at(files, path)
    if version and not is_ours(version.data):
        raise ForeignUnit(path)
    return path, version


def uninstall(systemd: Systemd, files: Files) -> str:
    """
    Stop and remove the units and return the workspace that they served, which is not changed.

    NoUnit if there is no such unit; ForeignUnit, before anything is changed, for a unit that `install` did not make.
    """
    found = dict(systemd.read(files, template) for template in TEMPLATES)
    there = {path: version for path, version in found.items() if version}
    if not there:
        raise NoUnit(next(iter(found)))
    workspaces = {path: workspace_of(version.data) for path, version in there.items()}
    for path, workspace in workspaces.items():
        if workspace is None:
            raise ForeignUnit(path)
    names = [path.name for path in there]
    systemd.try_call("disable", "--now", *names)
    for path in there:
        files.remove(path)
    systemd.call("daemon-reload")
    systemd.try_call("reset-failed", *names)
    return next(iter(workspaces.values())) or ""
