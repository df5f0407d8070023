"""
systemd, as far as `recalld service` needs it: units installed and removed, and the state of a service.

What is somebody else's is seen before anything is changed, and of a unit that was edited by hand a copy is kept. A service that
does not start stays installed.
"""

from __future__ import annotations

import itertools
import os
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, Final

from ..host.alarm import REASONS, python_gone
from ..storage.disk import MOST_OUTSIDE, RealDisk
from ..storage.errors import ForeignUnit, NoService, NoUnit, ServiceForbidden
from ..storage.files import Files, FileVersion
from ..storage.texts import Text
from .units import (
    AGAIN,
    BACKUP,
    BACKUP_TIMER,
    COPY,
    FSCK,
    SERVICE,
    SYSTEM_FOLDER,
    TEMPLATES,
    TIMER,
    Installation,
    below_head,
    parse_unit,
    unit_folder,
)

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

_UNIT_MODE: Final = 0o644


def run_program(words: Iterable[str]) -> CompletedProcess[str]:
    """Run the program to its end; the exit code is 127 if there is no such program."""
    environ = {**os.environ, "LC_ALL": "C.UTF-8", "SYSTEMD_PAGER": ""}
    runtime = f"/run/user/{os.getuid()}"
    if os.path.isdir(runtime):  # `su` and `ssh HOST COMMAND` may not set the variable
        environ.setdefault("XDG_RUNTIME_DIR", runtime)
    try:
        return subprocess.run([*words], env=environ, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return CompletedProcess([*words], 127, "", "")


class Systemd:
    """
    The caller's own service manager or, for the units of *user*, the system's; *run* runs a program.

    *name* is the name of one of several services; *booted* exists where systemd runs; *folder* has the units.
    """

    def __init__(
        self,
        user: str = "",
        run: Callable[[Iterable[str]], CompletedProcess[str]] = run_program,
        booted: Path = BOOTED,
        folder: Path | None = None,
        name: str = "",
    ) -> None:
        self.user = user
        self._names = [Installation(Path(), user, name=name).unit(template) for template in TEMPLATES]
        self.folder = folder or (SYSTEM_FOLDER if user else unit_folder())
        self.files = Files(RealDisk())
        self.run = run
        self._booted = booted

    @property
    def path(self) -> Path:
        """The unit of the service itself."""
        return self.folder / self._names[0]

    def command(self, *words: str) -> list[str]:
        """Return the command of systemctl with these *words*."""
        return ["systemctl", *([] if self.user else ["--user"]), "--no-pager", *words]

    def check(self) -> None:
        """Raise NoService or ServiceForbidden if units can't be managed; the error says what to do."""
        if not self._booted.is_dir():
            raise NoService(
                Text("systemd does not run here"), Text("keep it running another way, such as in a container of its own")
            )
        if self.user and os.geteuid() != 0:
            raise ServiceForbidden(Text("units of the system are root's"), Text("give the same command with `sudo`"))
        if self.run(self.command("show", "--property=Version")).returncode:
            raise NoService(
                Text("this user has no session of systemd"),
                Text("log in again, not by su or sudo, or have root give `recalld service install --system USER`"),
            )

    def call(self, *words: str, may_fail: bool = False) -> None:
        """Run systemctl; NoService with its message if it fails, unless it *may_fail*: systemd may not know the unit."""
        done = self.run(self.command(*words))
        if done.returncode and not may_fail:
            sentence = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[0].rstrip(".")
            raise NoService(
                Text("`systemctl {verb}` says: {said}", verb=words[0], said=sentence),
                Text("`recalld service logs` may say more"),
            )

    def show(self, unit: str) -> dict[str, str]:
        """Return the properties of the unit by name."""
        done = self.run(self.command("show", unit, f"--property={_PROPERTIES}"))
        return dict(line.partition("=")[::2] for line in done.stdout.splitlines())

    def runs(self, unit: str) -> bool:
        """True if the unit runs, starts or ends."""
        return self.show(unit).get("ActiveState") in ("active", "activating", "deactivating", "reloading")

    def units(self) -> dict[str, tuple[FileVersion, Installation]]:
        """Return the units of this service that exist, by name; ForeignUnit for one that `install` did not make."""
        units = {}
        for name in self._names:
            try:
                version = self.files.read_stable(self.folder / name, most=MOST_OUTSIDE)
            except OSError as error:  # a folder, a pipe, a link to a device
                raise ForeignUnit(self.folder / name) from error
            if version:
                if (what := parse_unit(version.data, self.user)) is None:
                    raise ForeignUnit(self.folder / name)
                units[name] = version, what
        return units


def lingers(user: str, folder: Path = _LINGERING) -> bool:
    """True if the services of the user go on when that user is not logged in."""
    return (folder / user).exists()


def installation(systemd: Systemd) -> Installation:
    """Return the installation; NoUnit if there is none, ForeignUnit for a unit that `install` did not make."""
    units = systemd.units()
    if systemd.path.name not in units:
        raise NoUnit(systemd.path)
    return units[systemd.path.name][1]


# ── installed and removed ────────────────────────────────────────────────────


def install(wanted: Installation, systemd: Systemd, say: Callable[[Text], object]) -> None:
    """
    Write the units, start them and wait until the service is ready; NoService, with the reason, if it does not start.

    Copies of units that are not as this recalld makes them are kept first, and *say* is called with a sentence that names them:
    a person, or another version, wrote them so. ForeignUnit, before anything is changed, for a unit of another service.
    """
    contents, before = wanted.units(), systemd.units()
    for name, (_, what) in before.items():
        if what.workspace != wanted.workspace:
            raise ForeignUnit(systemd.folder / name)
    copies = copies_of(before, systemd)
    for copy, data in copies.items():
        systemd.files.replace(copy, data, systemd.files.read_stable(copy), mode=_UNIT_MODE)
    if copies:
        say(copies_kept(copies))
    _remove([name for name in before if name not in contents], systemd)
    systemd.files.make_folder(systemd.folder)
    for name, data in contents.items():
        systemd.files.replace(systemd.folder / name, data, before[name][0] if name in before else None, mode=_UNIT_MODE)
    _start(systemd, wanted, wanted.started, enable=True)


def copies_of(units: Mapping[str, tuple[FileVersion, Installation]], systemd: Systemd) -> dict[Path, bytes]:
    """Return the copies that are kept of *units*, those that are not as this recalld makes them; none replaces another."""
    copies = {}
    for name, (version, what) in units.items():
        if below_head(version.data) != below_head(what.units().get(name, b"")):
            places = (systemd.folder / f"{name}{COPY}{f'-{n}' if n > 1 else ''}" for n in itertools.count(1))
            of_places = ((place, systemd.files.read_stable(place)) for place in places)
            copies[next(place for place, old in of_places if old is None or old.data == version.data)] = version.data
    return copies


def copies_kept(copies: Iterable[Path]) -> Text:
    """Return the sentence that names the copies."""
    files = list(map(str, copies))
    return Text("units that were edited, or of another version, are written again; copies are kept: {files}.", files=files)


def restart(systemd: Systemd, what: Installation) -> None:
    """Restart the service with the installed code and unit; NoService, with the reason, if that fails."""
    _start(systemd, what, [what.unit(SERVICE)], enable=False)


def _start(systemd: Systemd, what: Installation, names: list[str], *, enable: bool) -> None:
    try:
        systemd.call("daemon-reload")
        systemd.call("reset-failed", *names, may_fail=True)
        if enable:
            systemd.call("enable", *names)
        systemd.call("restart", *names)
    except NoService as error:
        if systemd.show(names[0]).get("ActiveState") in ("failed", "activating"):
            raise NoService(_why_down(systemd, what), Text("`recalld doctor` may say more")) from error
        raise


def uninstall(systemd: Systemd) -> Installation:
    """
    Stop and remove the units and return what they were; the workspace that they served is not changed.

    NoUnit if there is no such unit; ForeignUnit, before anything is changed, for a unit that `install` did not make.
    """
    units = systemd.units()
    if not units:
        raise NoUnit(systemd.path)
    _remove([*units], systemd)
    systemd.call("daemon-reload")
    return next(what for _, what in units.values())


def _remove(names: list[str], systemd: Systemd) -> None:
    if names:
        systemd.call("disable", "--now", *names, may_fail=True)
        systemd.call("reset-failed", *names, may_fail=True)
    for name in names:
        systemd.files.remove(systemd.folder / name)


# ── how it is ────────────────────────────────────────────────────────────────


def state_of(systemd: Systemd, what: Installation) -> dict[str, Any]:
    """Return the state of the service: `down` is why it does not run, "" if it does; `retries`, if systemd will start it."""
    unit = what.unit(SERVICE)
    shown = systemd.show(unit)
    state = shown.get("ActiveState", "")
    waits = shown.get("SubState") == _WAITING
    down = "" if state in ("active", "activating", "reloading") and not waits else _why_down(systemd, what)
    return {
        "unit": unit,
        "workspace": str(what.workspace),
        "state": state,
        "since": shown.get("ActiveEnterTimestamp", ""),
        "statusText": shown.get("StatusText", ""),
        "restarts": int(shown.get("NRestarts") or 0),
        "nightlyFsck": _state_at_night(systemd, what.unit(TIMER), what.unit(FSCK)),
        "nightlyBackup": _state_at_night(systemd, what.unit(BACKUP_TIMER), what.unit(BACKUP)) if what.backups else "none",
        "down": down,
        "retries": bool(down) and (waits or systemd.runs(what.unit(AGAIN))),
    }


def _state_at_night(systemd: Systemd, timer: str, started: str) -> str:
    """Return the state of the timer; "failed" if the service that it starts failed the last time."""
    if systemd.show(started).get("Result") not in ("success", None):
        return "failed"
    return systemd.show(timer).get("ActiveState", "")


def _why_down(systemd: Systemd, what: Installation) -> str:
    """Return why the service does not run: what systemd says of it, or its last error, if the journal has one."""
    unit = what.unit(SERVICE)
    state = systemd.show(unit)
    result, code = state.get("Result", ""), state.get("ExecMainStatus", "")
    has_ended = result == "exit-code"
    if reason := REASONS.get(code if has_ended else result):
        return reason
    if has_ended and (code == _NO_PROGRAM or systemd.run([what.python, "-P", "-c", "import recalld"]).returncode):
        return python_gone(what.python)
    run = state.get("InvocationID")
    match = f"_SYSTEMD_INVOCATION_ID={run}" if run else f"{'--unit' if systemd.user else '--user-unit'}={unit}"
    done = systemd.run(["journalctl", "--no-pager", "--quiet", "--priority=err", "--lines=1", "--output=cat", match])
    if sentence := done.stdout.strip().removeprefix("recalld: ").rstrip("."):
        return sentence
    if has_ended:
        return Text("it ended with exit code {code}", code=code)
    return Text("it was stopped") if result == "success" else Text("it failed, which systemd calls {result}", result=result)
