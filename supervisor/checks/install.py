"""
Install, restart and remove the units of a workspace (`recalld service`).

What is somebody else's is seen before anything is changed. A service that does not start stays installed.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..storage.errors import ForeignUnit, NoService, NoUnit
from ..storage.texts import Text
from .program_units import is_ours
from .systemd import why_down
from .units import SERVICE, TEMPLATES, origin_of, workspace_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..storage.files import Files, FileVersion
    from .program_units import PoolWorker
    from .systemd import Systemd
    from .units import Installation

_UNIT_MODE: Final = 0o644
#: Where systemd keeps the stamps of system timers, and the folders of system services.
_STAMPS: Final = Path("/var/lib/systemd/timers")
_FOLDERS: Final = (Path("/var/cache/recalld"), Path("/run/recalld"))


def install(wanted: Installation, systemd: Systemd, files: Files) -> None:
    """
    Write the units, start them and wait until the service is ready; NoService, with the reason, if it does not start.

    ForeignUnit, before anything is changed, for a unit that is not of this workspace's service, or that a person has edited.
    """
    contents = wanted.units()
    before = {}
    for template in TEMPLATES:
        path, version = systemd.read(files, template)
        if version and (workspace_of(version.data) != str(wanted.workspace) or origin_of(version.data).edited):
            raise ForeignUnit(path)
        before[path] = version
    if unwanted := [path.name for path, version in before.items() if version and path.name not in contents]:
        systemd.try_call("disable", "--now", *unwanted)
    files.make_folder(systemd.folder)
    for path, version in before.items():
        if path.name in contents:
            files.replace(path, contents[path.name], version, mode=_UNIT_MODE)
        else:
            files.remove(path)
    _start(systemd, wanted.started, wanted.python)


def install_program(wanted: PoolWorker, systemd: Systemd, files: Files) -> None:
    """Write the unit of a worker of a pool and start it; NoService if it does not start, ForeignUnit for somebody else's."""
    data, path, before = wanted.text(), *_program_version(wanted.unit, systemd, files)
    files.make_folder(systemd.folder)
    files.replace(path, data, before, mode=_UNIT_MODE)
    _start(systemd, [wanted.unit], wanted.python)


def restart(systemd: Systemd, what: Installation) -> None:
    """Restart the service with the installed code and unit; NoService, with the reason, if that fails."""
    _start(systemd, [what.unit(SERVICE)], what.python, enable=False)


def _start(systemd: Systemd, names: list[str], python: str, *, enable: bool = True) -> None:
    """Have the units started now and, with *enable*, with the machine; NoService, with the reason, if that fails."""
    try:
        systemd.call("daemon-reload")
        systemd.try_call("reset-failed", *names)
        if enable:
            systemd.call("enable", *names)
        systemd.call("restart", *names)
    except NoService as error:
        if systemd.show(names[0]).get("ActiveState") in ("failed", "activating"):
            raise NoService(why_down(systemd, names[0], python), Text("`recalld doctor` may say more")) from error
        raise


def uninstall(systemd: Systemd, files: Files) -> str:
    """
    Stop and remove the units and return the workspace that they served, which is not changed.

    NoUnit if there is no such unit; ForeignUnit, before anything is changed, for a unit that `install` did not make.
    """
    versions = dict(systemd.read(files, template) for template in TEMPLATES)
    workspaces = {path: workspace_of(version.data) for path, version in versions.items() if version}
    if not workspaces:
        raise NoUnit(next(iter(versions)))
    for path, workspace in workspaces.items():
        if workspace is None:
            raise ForeignUnit(path)
    _remove(systemd, files, workspaces)
    return next(iter(workspaces.values())) or ""


def remove_program(unit: str, systemd: Systemd, files: Files) -> None:
    """Stop a program and remove its unit; NoUnit if there is none, ForeignUnit for one that is somebody else's."""
    path, version = _program_version(unit, systemd, files)
    if version is None:
        raise NoUnit(path)
    _remove(systemd, files, [path])


def _program_version(unit: str, systemd: Systemd, files: Files) -> tuple[Path, FileVersion | None]:
    path = systemd.folder / unit
    version = systemd.unit_at(files, path)
    if version and not is_ours(version.data):
        raise ForeignUnit(path)
    return path, version


def _remove(systemd: Systemd, files: Files, units: Iterable[Path]) -> None:
    names = [path.name for path in units]
    systemd.try_call("disable", "--now", *names)
    for name in names:
        files.remove(systemd.folder / name)
    systemd.call("daemon-reload")
    systemd.try_call("reset-failed", *names)


def remains(what: Installation, environ: Mapping[str, str] = os.environ) -> list[Path]:
    """Return what a service leaves outside the workspace: caches, and systemd's stamps of its timers, as far as they exist."""
    if what.user:
        stamps, caches = _STAMPS, [folder / what.alarm.name for folder in _FOLDERS]
    else:
        stamps = Path(environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "systemd" / "timers"
        caches = [Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "recalld"]
    timers = (what.unit(template) for template in TEMPLATES if template.endswith(".timer"))
    return [path for path in (*caches, *(stamps / f"stamp-{name}" for name in timers)) if path.exists()]


def delete(paths: Iterable[Path]) -> None:
    """Delete these files and folders, as far as they exist and can be deleted."""
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
