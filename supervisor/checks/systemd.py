"""
systemd, as far as `recalld service` needs it: units written, started and removed, and the state of a service.

A unit of somebody else is seen before anything is changed. A service that does not start stays installed.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, CompletedProcess
from typing import Any, Final

from ..host.service import REASONS, TOLD, python_gone
from ..storage.disk import MOST_OUTSIDE, RealDisk
from ..storage.errors import ForeignUnit, NoService, NoUnit, ServiceForbidden
from ..storage.files import Files
from ..storage.texts import Text
from .units import AGAIN, BACKUP, BACKUP_TIMER, FSCK, SERVICE, TEMPLATES, TIMER, Installation, parse_unit

#: The folder that exists where systemd runs.
BOOTED: Final = Path("/run/systemd/system")
#: The folder with a file for each user whose services go on when that user is not logged in.
_LINGERING: Final = Path("/var/lib/systemd/linger")
#: The properties of a unit that are read.
_PROPERTIES: Final = "ActiveState,SubState,Result,ExecMainStatus,NRestarts,StatusText,ActiveEnterTimestamp,InvocationID"
#: systemd's exit code for a program that can't start.
_NO_PROGRAM: Final = "203"
#: The state of a unit that has failed and will be started again soon.
_WAITING: Final = "auto-restart"
#: Seconds until a program must have ended: a service that is started is ready once its first index is made.
_LONGEST_S: Final = 1800.0
_UNIT_MODE: Final = 0o644
_LOGS: Final = Text("`recalld service logs` may say more")
_FILES: Final = Files(RealDisk())


def run_program(words: Sequence[str], most_s: float = _LONGEST_S) -> CompletedProcess[str]:
    """Run the program to its end; the exit code is 127 if there is no such program. NoService for one that does not end."""
    environ = {**os.environ, "LC_ALL": "C.UTF-8", "SYSTEMD_PAGER": ""}
    runtime = f"/run/user/{os.getuid()}"
    if os.path.isdir(runtime):  # `su` and `ssh HOST COMMAND` may not set the variable
        environ.setdefault("XDG_RUNTIME_DIR", runtime)
    try:
        return subprocess.run(words, env=environ, capture_output=True, text=True, check=False, stdin=DEVNULL, timeout=most_s)
    except subprocess.TimeoutExpired:
        raise NoService(Text("`{program}` did not end", program=words[0]), _LOGS) from None
    except OSError:
        return CompletedProcess([*words], 127, "", "")


def systemctl(what: Installation, *words: str) -> list[str]:
    """Return the command of systemctl with these *words*, for the service manager of the installation."""
    return ["systemctl", *([] if what.user else ["--user"]), "--no-pager", *words]


def check_manager(what: Installation) -> None:
    """Raise NoService or ServiceForbidden if its units can't be managed; the error says what to do."""
    if not BOOTED.is_dir():
        raise NoService(
            Text("systemd does not run here"), Text("keep it running another way, such as in a container of its own")
        )
    if what.user and os.geteuid() != 0:
        raise ServiceForbidden(Text("units of the system are root's"), Text("give the same command with `sudo`"))
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
    """
    Return the installation with the user and the name of *what*, as its unit tells it.

    NoUnit if there is none, ForeignUnit for a unit that `install` did not make.
    """
    unit = what.unit(SERVICE)
    if unit not in (present := _present(what)):
        raise NoUnit(what.folder / unit)
    return present[unit]


def _present(what: Installation) -> dict[str, Installation]:
    """Return what each of its units that exist is of, by name; ForeignUnit for one that `install` did not make."""
    units = {}
    for name in map(what.unit, TEMPLATES):
        try:
            version = _FILES.read_stable(what.folder / name, most=MOST_OUTSIDE)
        except OSError as error:  # a folder, a pipe, a link to a device
            raise ForeignUnit(what.folder / name) from error
        if version:
            if (parsed := parse_unit(version.data, what.user)) is None:
                raise ForeignUnit(what.folder / name)
            units[name] = parsed
    return units


def install(wanted: Installation) -> None:
    """
    Write the units, start them and wait until the service is ready; NoService, with the reason, if it does not start.

    ForeignUnit, before anything is changed, for a unit of another service.
    """
    contents, present = wanted.units(), _present(wanted)
    for name, what in present.items():
        if what.workspace != wanted.workspace:
            raise ForeignUnit(wanted.folder / name)
    _remove(wanted, [name for name in present if name not in contents])
    _FILES.make_folder(wanted.folder)
    for name, data in contents.items():
        path = wanted.folder / name
        _FILES.replace(path, data, _FILES.read_stable(path), mode=_UNIT_MODE)
    _call(wanted, "daemon-reload")
    _call(wanted, "enable", *wanted.started)
    _restart(wanted, wanted.started)


def restart(what: Installation) -> None:
    """Restart the service with the installed code and unit; NoService, with the reason, if that fails."""
    _call(what, "daemon-reload")
    _restart(what, [what.unit(SERVICE)])


def uninstall(what: Installation) -> Installation:
    """
    Stop and remove the units and return what they were; the workspace that they served is not changed.

    NoUnit if there is no such unit; ForeignUnit, before anything is changed, for a unit that `install` did not make.
    """
    present = _present(what)
    if not present:
        raise NoUnit(what.folder / what.unit(SERVICE))
    _remove(what, [*present])
    _call(what, "daemon-reload")
    return next(iter(present.values()))


def _restart(what: Installation, names: list[str]) -> None:
    _call(what, "reset-failed", *names, may_fail=True)
    with suppress(OSError):
        _FILES.remove(what.alarm / TOLD)  # trouble that comes back after this is reported again
    try:
        _call(what, "restart", *names)
    except NoService as error:
        shown = _show(what, SERVICE)
        if shown.get("ActiveState") == "failed" or shown.get("SubState") == _WAITING:
            raise NoService(_why_down(what, shown), Text("`recalld doctor` may say more")) from error
        raise


def _remove(what: Installation, names: list[str]) -> None:
    if names:
        _call(what, "disable", "--now", *names, may_fail=True)
        _call(what, "reset-failed", *names, may_fail=True)
    for name in names:
        _FILES.remove(what.folder / name)


def _call(what: Installation, *words: str, may_fail: bool = False) -> None:
    """Run systemctl; NoService with its message if it fails, unless it *may_fail*: systemd may not know the unit."""
    done = run_program(systemctl(what, *words))
    if done.returncode and not may_fail:
        sentence = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[0].rstrip(".")
        raise NoService(Text("`systemctl {verb}` says: {said}", verb=words[0], said=sentence), _LOGS)


# ── how it is ────────────────────────────────────────────────────────────────


def runs(what: Installation) -> bool:
    """True if the service runs, starts or ends."""
    return _is_active(_show(what, SERVICE))


def state_of(what: Installation) -> dict[str, Any]:
    """Return the state of the service: `down` is why it does not run, "" if it does; `retries`, if systemd will start it."""
    shown = _show(what, SERVICE)
    state = shown.get("ActiveState", "")
    waits = shown.get("SubState") == _WAITING
    down = "" if state in ("active", "activating", "reloading") and not waits else _why_down(what, shown)
    return {
        "unit": what.unit(SERVICE),
        "workspace": str(what.workspace),
        "state": state,
        "since": shown.get("ActiveEnterTimestamp", ""),
        "statusText": shown.get("StatusText", ""),
        "restarts": int(shown.get("NRestarts") or 0),
        "nightlyFsck": _state_at_night(what, TIMER, FSCK),
        "nightlyBackup": _state_at_night(what, BACKUP_TIMER, BACKUP) if what.backups else "none",
        "down": down,
        "retries": bool(down) and (waits or _is_active(_show(what, AGAIN))),
    }


def _state_at_night(what: Installation, timer: str, started: str) -> str:
    """Return the state of the timer; "failed" if the service that it starts failed the last time."""
    has_failed = _show(what, started).get("Result") not in ("success", None)
    return "failed" if has_failed else _show(what, timer).get("ActiveState", "")


def _show(what: Installation, template: str) -> dict[str, str]:
    """Return the properties of its unit of the *template*, by name."""
    done = run_program(systemctl(what, "show", what.unit(template), f"--property={_PROPERTIES}"))
    return dict(line.partition("=")[::2] for line in done.stdout.splitlines())


def _is_active(shown: dict[str, str]) -> bool:
    return shown.get("ActiveState") in ("active", "activating", "deactivating", "reloading")


def _why_down(what: Installation, shown: dict[str, str]) -> str:
    """Return why the service does not run: what systemd says of it, or its last error, if the journal has one."""
    result, code = shown.get("Result", ""), shown.get("ExecMainStatus", "")
    has_ended = result == "exit-code"
    if reason := REASONS.get(code if has_ended else result):
        return reason
    if has_ended and (code == _NO_PROGRAM or run_program([what.python, "-P", "-c", "import recalld"]).returncode):
        return python_gone(what.python)
    run = shown.get("InvocationID")
    match = f"_SYSTEMD_INVOCATION_ID={run}" if run else f"{'--unit' if what.user else '--user-unit'}={what.unit(SERVICE)}"
    done = run_program(["journalctl", "--no-pager", "--quiet", "--priority=err", "--lines=1", "--output=cat", match])
    if sentence := done.stdout.strip().removeprefix("recalld: ").rstrip("."):
        return sentence
    if has_ended:
        return Text("it ended with exit code {code}", code=code)
    return Text("it was stopped") if result == "success" else Text("it failed, which systemd calls {result}", result=result)
