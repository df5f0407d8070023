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
from recalld.supervisor.storage.errors import BadConfig

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
        raise BadConfig("--key-file", f"{key} can't be read ({error.strerror}); write the key into it") from error
    if found.st_mode & _OTHERS:
        raise BadConfig("--key-file", f"others may read {key}; `chmod 600 {quote(str(key))}` takes that from them")


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
            f"this workspace has {count} services, and only one can run: {places}; `{command}`, given by {last.owner}, "
            f"removes the last."
            if last.owner
            else f"this workspace has {count} services, and only one can run: {places}; `{command}` removes the last."
        )
    for one in found:
        if not one.owner:
            yield from _of_the_units(one)
            yield from _of_the_key(one)


def _of_the_units(one: Installed) -> Found:
    """Yield the first unit that is not as this version makes it, and why."""
    again = f"recalld service install{of_user(one.what.user)}"
    if _is_gone(one.what.python):
        yield bad(f"{one.unit} starts {one.what.python}, which is not there; `{again}` makes it for this recalld.")
        return
    for path, wanted in ((one.folder / name, data) for name, data in one.what.units().items()):
        data = read_unit(path)
        origin, ours = origin_of(data), origin_of(wanted)
        if not data:
            yield odd(f"{path} is not there, which belongs to the service; `{again}` makes it again.")
        elif origin.edited:
            yield odd(
                f"{path} was edited, which the next installation undoes; `{again}` makes it as it was, "
                f"and `systemctl edit` keeps what you add beside it."
            )
        elif origin.body != ours.body:
            yield odd(
                f"{path} is as recalld {origin.version} made it, and not as {ours.version} does; `{again}` makes it again."
            )
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
            yield bad(f"the key file of {one.unit.name}: {error.why}.")


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
            yield bad(
                f"the supervisor does not respond at its socket, and commands are slower without it; `{again}` starts it again."
                if again
                else "the supervisor does not respond at its socket, and commands are slower without it; "
                "stop it, and start it again with `recalld run`."
            )
            return
        if runs in (None, version):
            return
        old = runs or "an older recalld"
        yield bad(
            f"the supervisor runs as {old}, and {version} is installed; `{again}` starts it again."
            if again
            else f"the supervisor runs as {old}, and {version} is installed; stop it, and start it again with `recalld run`."
        )

    return look
