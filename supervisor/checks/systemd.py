"""
systemd, as far as `recalld service` needs it: units written, started and removed, and the state of a service.

A unit of somebody else is seen before anything is changed. A service that does not start stays installed.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, CompletedProcess
from typing import Any, Final

from ..host.service import SAID, SCRIPT, TOLD, systemd_says
from ..storage.disk import RealDisk, read_outside
from ..storage.errors import ForeignUnit, NoPermission, NoService, NoUnit
from ..storage.files import Files
from ..storage.texts import Text
from .units import AGAIN, BACKUP, BACKUP_TIMER, FSCK, SERVICE, TEMPLATES, TIMER, Installation, read_unit

#: The folder that exists where systemd runs.
BOOTED: Final = Path("/run/systemd/system")
#: The folder with a file for each user whose services go on when that user is not logged in.
_LINGERING: Final = Path("/var/lib/systemd/linger")
#: The units whose state is read, and the properties of each.
_SHOWN: Final = (SERVICE, AGAIN, FSCK, TIMER, BACKUP, BACKUP_TIMER)
_PROPERTIES: Final = "ActiveState,SubState,Result,ExecMainStatus,NRestarts,StatusText,ActiveEnterTimestamp"
#: The states of a unit that runs, or will in a moment.
_RUNS: Final = ("active", "activating", "reloading")
_UNIT_MODE: Final = 0o644
_FILES: Final = Files(RealDisk())


def run_program(words: Sequence[str]) -> CompletedProcess[str]:
    """Run the program to its end; the exit code is 127 if there is no such program."""
    environ = {**os.environ, "LC_ALL": "C.UTF-8", "SYSTEMD_PAGER": ""}
    runtime = f"/run/user/{os.getuid()}"
    if os.path.isdir(runtime):  # `su` and `ssh HOST COMMAND` may not set the variable
        environ.setdefault("XDG_RUNTIME_DIR", runtime)
    try:
        return subprocess.run(words, env=environ, capture_output=True, text=True, check=False, stdin=DEVNULL)
    except OSError:
        return CompletedProcess([*words], 127, "", "")


def systemctl(what: Installation, *words: str) -> list[str]:
    """Return the command of systemctl with these *words*, for the service manager of the installation."""
    return ["systemctl", *([] if what.user else ["--user"]), "--no-pager", *words]


def check_manager(what: Installation) -> None:
    """Raise NoService or NoPermission if its units can't be managed; the error says what to do."""
    if not BOOTED.is_dir():
        raise NoService(
            Text("systemd does not run here"),
            Text("start `recalld run` another way, such as by cron at each start, or as the program of a container"),
        )
    if what.user and os.geteuid() != 0:
        raise NoPermission(what.folder, Text("units of the system are root's"), Text("give the same command with `sudo`"))
    if run_program(systemctl(what, "show", "--property=Version")).returncode:
        raise NoService(
            Text("this user has no session of systemd"),
            Text("log in again, not by su or sudo, or have root give `recalld service install --system USER`"),
        )


def lingers(user: str) -> bool:
    """True if the services of the user go on when that user is not logged in."""
    return (_LINGERING / user).exists()


# ── installed and removed ────────────────────────────────────────────────────


def installation(what: Installation) -> Installation:
    """Return the installation with the user and name of *what*, as its unit tells it; NoUnit, or ForeignUnit for another's."""
    unit = what.folder / what.unit(SERVICE)
    if present := read_unit(unit, what.user):
        return present
    raise ForeignUnit(unit) if os.path.lexists(unit) else NoUnit(unit)


def install(wanted: Installation) -> None:
    """
    Write the units, start them and wait until the service is ready; NoService, with the reason, if it does not start.

    ForeignUnit, before anything is changed, for a unit of another service.
    """
    contents = wanted.units()
    with suppress(NoUnit):
        if installation(wanted).workspace != wanted.workspace:
            raise ForeignUnit(wanted.folder / wanted.unit(SERVICE))
    _remove(wanted, [name for name in _present(wanted) if name not in contents])
    _FILES.make_folder(wanted.folder)
    for name, data in contents.items():
        path = wanted.folder / name
        _FILES.replace(path, data, _FILES.read_stable(path), mode=_UNIT_MODE)
    _call(wanted, "enable", *wanted.started)
    restart(wanted, *wanted.started)


def restart(what: Installation, *names: str) -> None:
    """Restart the service, or the units *names*, with the installed code; NoService, with the reason, if that fails."""
    names = names or (what.unit(SERVICE),)
    _call(what, "daemon-reload")
    _call(what, "reset-failed", *names, may_fail=True)
    with suppress(OSError):
        _FILES.remove(what.alarm / TOLD)  # trouble that comes back after this is reported again
    try:
        _call(what, "restart", *names)
    except NoService as error:
        if down := state_of(what)["down"]:
            raise NoService(down, Text("`recalld doctor` may say more")) from error
        raise


def uninstall(what: Installation) -> Installation:
    """Stop and remove the units and return what they were; the workspace is not changed. NoUnit and ForeignUnit as above."""
    was = installation(what)
    _remove(what, _present(what), ["clean", "--what=cache"])  # not its state: a memory may be in that folder
    _call(what, "daemon-reload")
    for name in (SCRIPT, SAID, TOLD):
        with suppress(OSError):
            _FILES.remove(what.alarm / name)
    return was


def _present(what: Installation) -> list[str]:
    return [name for name in map(what.unit, TEMPLATES) if (what.folder / name).exists()]


def _remove(what: Installation, names: list[str], *last: list[str]) -> None:
    for words in (["disable", "--now"], ["reset-failed"], *last) if names else ():
        _call(what, *words, *names, may_fail=True)
    for name in names:
        _FILES.remove(what.folder / name)


def _call(what: Installation, *words: str, may_fail: bool = False) -> None:
    """Run systemctl; NoService with its message if it fails, unless it *may_fail*: systemd may not know the unit."""
    done = run_program(systemctl(what, *words))
    if done.returncode and not may_fail:
        sentence = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[0].rstrip(".")
        raise NoService(
            Text("`systemctl {verb}` says: {said}", verb=words[0], said=sentence),
            Text("`{command}` may say more", command=what.logs),
        )


# ── how it is ────────────────────────────────────────────────────────────────


def state_of(what: Installation) -> dict[str, Any]:
    """Return the state of the service: `down` is why it does not run, "" if it does; `retries`, if systemd will start it."""
    done = run_program(systemctl(what, "show", *map(what.unit, _SHOWN), f"--property={_PROPERTIES}"))
    shown = [dict(line.partition("=")[::2] for line in block.splitlines()) for block in done.stdout.split("\n\n")]
    service, again, fsck, timer, backup, backup_timer = (shown + [{}] * len(_SHOWN))[: len(_SHOWN)]
    # a failed unit that waits is started again soon
    state, waits = service.get("ActiveState", ""), service.get("SubState") == "auto-restart"
    down = "" if state in _RUNS and not waits else _why_down(what, service)
    nights = [
        "failed" if started.get("Result", "success") != "success" else timer.get("ActiveState", "")
        for timer, started in ((timer, fsck), (backup_timer, backup))
    ]
    return {
        "unit": what.unit(SERVICE),
        "workspace": str(what.workspace),
        "state": state,
        "since": service.get("ActiveEnterTimestamp", ""),
        "statusText": service.get("StatusText", ""),
        "restarts": int(service.get("NRestarts") or 0),
        "nightlyFsck": nights[0],
        "nightlyBackup": nights[1] if what.backups else "none",
        "down": down,
        "retries": bool(down) and (waits or again.get("ActiveState") in _RUNS),
    }


def _why_down(what: Installation, service: Mapping[str, str]) -> str:
    """Return why the service does not run: its last sentence, or what systemd says of it."""
    if (result := service.get("Result", "")) == "success":
        return Text("it was stopped")
    with suppress(OSError):
        if sentence := read_outside(what.alarm / SAID).decode("utf-8", "replace").strip():
            return sentence
    return systemd_says(f"{result} {service.get('ExecMainStatus', '')}".strip())
