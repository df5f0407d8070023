"""
What `recalld doctor` says of the services that are installed for a workspace: their units, the key file, the version that runs.

The units are read where systemd reads them, and nothing asks systemd, so that it is told where that can't be reached, too.
"""

from __future__ import annotations

import os
import stat as modes
from shlex import quote
from typing import TYPE_CHECKING, Final

from recalld.supervisor.checks.machine import bad, odd
from recalld.supervisor.checks.troubles import down_service, is_running
from recalld.supervisor.checks.units import (
    Installed,
    installed,
    of_user,
    origin_of,
    read_unit,
)
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.errors import BadConfig, why_refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from pathlib import Path

    from recalld.supervisor.checks.machine import Found
    from recalld.supervisor.workspace import Workspace

#: What others must not do with the file of a key.
_OTHERS: Final = modes.S_IRWXG | modes.S_IRWXO


def check_key(key: Path) -> None:
    """Raise BadConfig where the file of a key is not there, or others can read it."""
    try:
        found = os.stat(key)
    except OSError as error:
        raise BadConfig("--key-file", Text("service.key_unreadable", path=key, why=why_refused(error))) from error
    if found.st_mode & _OTHERS:
        raise BadConfig("--key-file", Text("service.key_open", path=key, command=f"chmod 600 {quote(str(key))}"))


def units(ws: Workspace, _now: datetime, environ: Mapping[str, str]) -> Found:
    """Yield what is wrong with the services of the workspace or, with nothing else, that one is installed and none runs."""
    found = installed(ws.paths.root, environ)
    faults = [*_of_the_services(found)]
    yield from faults
    if not faults and (down := down_service(ws, environ)):
        yield odd(down)


def _of_the_services(found: list[Installed]) -> Found:
    """Yield that there are several services, and how the units of each differ from what this version makes."""
    if len(found) > 1:
        last, places = found[-1], ", ".join(str(one.unit) for one in found)
        command = f"recalld service uninstall{of_user(last.what.user)}"
        count = len(found)
        yield bad(
            Text("doctor.services_many_of", count=count, places=places, command=command, user=last.owner)
            if last.owner
            else Text("doctor.services_many", count=count, places=places, command=command)
        )
    for one in found:
        if not one.owner:
            yield from _of_the_units(one)
            yield from _of_the_key(one)


def _of_the_units(one: Installed) -> Found:
    """Yield the first unit that is not as this version makes it, and why."""
    again = f"recalld service install{of_user(one.what.user)}"
    if _is_gone(one.what.python):
        yield bad(Text("doctor.unit_without_python", unit=one.unit, python=one.what.python, command=again))
        return
    for path, wanted in ((one.folder / name, data) for name, data in one.what.units().items()):
        data = read_unit(path)
        origin, ours = origin_of(data), origin_of(wanted)
        if not data:
            yield odd(Text("doctor.unit_missing", unit=path, command=again))
        elif origin.edited:
            yield odd(Text("doctor.unit_edited", unit=path, command=again))
        elif origin.body != ours.body:
            yield odd(Text("doctor.unit_old", unit=path, old=origin.version, new=ours.version, command=again))
        else:
            continue
        return


def _is_gone(path: str) -> bool:
    """Return whether there is no such file; one in a folder that this user may not enter may be there."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _of_the_key(one: Installed) -> Found:
    """Yield what is wrong with the key file; what root alone may look at is not told."""
    try:
        if one.what.key:
            check_key(one.what.key)
    except BadConfig as error:
        if not isinstance(error.__cause__, PermissionError):
            yield bad(Text("doctor.key_file", unit=one.unit.name, why=error.why))


def supervisor(ask: Callable[[], str | None], version: str) -> Callable[[Workspace, datetime, Mapping[str, str]], Found]:
    """Return the check that a running supervisor responds, and is of this *version*; *ask* is `running_version`."""

    def look(ws: Workspace, _now: datetime, environ: Mapping[str, str]) -> Found:
        if not is_running(ws):
            return
        own = [one.what.user for one in installed(ws.paths.root, environ) if not one.owner]
        again = f"recalld service restart{of_user(own[0])}" if own else ""
        try:
            runs = ask()
        except TimeoutError:
            yield bad(Text("doctor.mute_service", command=again) if again else Text("doctor.mute"))
            return
        if runs in (None, version):
            return
        old = runs or Text("doctor.an_older_recalld")
        yield bad(
            Text("doctor.old_service", old=old, new=version, command=again)
            if again
            else Text("doctor.old_supervisor", old=old, new=version)
        )

    return look
