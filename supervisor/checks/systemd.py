"""
Install, remove and look at the units of a workspace (`recalld service`): what is wrong is found before anything is changed.

An installation ends with a service that is ready, or with everything as it was before.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from recalld.supervisor.checks.units import (
    BACKUP,
    BACKUP_TIMER,
    FSCK,
    SERVICE,
    STARTED,
    SYSTEM_FOLDER,
    TEMPLATES,
    TIMER,
    Installation,
    installation_of,
    of_user,
    user_folder,
    workspace_of,
)
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.errors import ForeignUnit, NoService, NoUnit, ServiceForbidden, from_os_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

    from recalld.supervisor.storage.files import Files, FileVersion

#: systemd's own folder, which is there where it runs.
BOOTED: Final = Path("/run/systemd/system")
#: The users whose services go on when they are not logged in.
_LINGERING: Final = Path("/var/lib/systemd/linger")
_UNIT_MODE: Final = 0o644
#: The properties of a unit that are looked at.
_PROPERTIES: Final = "UnitFileState,ActiveState,Result,ExecMainStatus,NRestarts,StatusText,ActiveEnterTimestamp,InvocationID"
#: Why a service is down, by its property Result.
_RESULTS: Final = {
    "watchdog": Text("service.result_watchdog"),
    "timeout": Text("service.result_timeout"),
    "start-limit-hit": Text("service.result_start_limit"),
    "oom-kill": Text("service.result_oom"),
    "signal": Text("service.result_signal"),
    "core-dump": Text("service.result_signal"),
}
#: The states of a unit that runs, starts or ends.
_RUNNING: Final = ("active", "activating", "deactivating", "reloading")
#: The exit code of systemd where a credential can't be read.
_NO_CREDENTIAL: Final = 243


@dataclass(frozen=True, slots=True)
class Done:
    """What a program left: its exit code and what it printed."""

    code: int
    out: str
    err: str


def run_program(words: Iterable[str]) -> Done:
    """Run the program to its end; 127 where there is none."""
    environ = {**os.environ, "LC_ALL": "C.UTF-8", "SYSTEMD_PAGER": ""}
    runtime = f"/run/user/{os.getuid()}"
    if os.path.isdir(runtime):  # `su` and `ssh HOST COMMAND` may leave it out
        environ.setdefault("XDG_RUNTIME_DIR", runtime)
    try:
        done = subprocess.run([*words], env=environ, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        return Done(127, "", "")
    return Done(done.returncode, done.stdout, done.stderr)


class Systemd:
    """
    The caller's own service manager or, for the units of *user*, the system's; *run* runs a program.

    *booted* is the folder that systemd makes when the machine starts, *folder* the one of the units.
    """

    def __init__(
        self,
        user: str = "",
        run: Callable[[Iterable[str]], Done] = run_program,
        booted: Path = BOOTED,
        folder: Path | None = None,
    ) -> None:
        self.user = user
        self.folder = folder or (SYSTEM_FOLDER if user else user_folder())
        self._run = run
        self._booted = booted

    def command(self, *words: str) -> list[str]:
        """Return the command of systemctl with these *words*."""
        return ["systemctl", *([] if self.user else ["--user"]), "--no-pager", *words]

    def check(self) -> None:
        """Raise NoService or ServiceForbidden where units can't be managed, each with the way on."""
        if not self._booted.is_dir():
            raise NoService(Text("service.no_systemd"), Text("service.run_elsewhere"))
        if self.user and os.geteuid() != 0:
            raise ServiceForbidden(Text("service.roots_units"), Text("service.use_sudo"))
        done = self._run(self.command("show", "--property=Version"))
        if done.code and not self.user and not os.path.isdir(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"):
            raise NoService(
                Text("service.no_session"),
                Text("service.log_in_again"),
            )
        if done.code:
            raise NoService(Text("service.no_dbus"), Text("service.install_dbus"))

    def call(self, *words: str) -> None:
        """Run systemctl; NoService with what it says if it fails."""
        done = self._run(self.command(*words))
        if done.code:
            said = (done.err.strip() or f"exit code {done.code}").splitlines()[0].rstrip(".")
            raise NoService(Text("service.systemctl_reports", verb=words[0], said=said), Text("service.see_logs"))

    def try_call(self, *words: str) -> None:
        """Run systemctl; a failure is no matter: a unit may not be known any more, or not yet."""
        self._run(self.command(*words))

    def show(self, unit: str) -> dict[str, str]:
        """Return the properties of the unit by name."""
        done = self._run(self.command("show", unit, f"--property={_PROPERTIES}"))
        return dict(line.partition("=")[::2] for line in done.out.splitlines())

    def runs(self, unit: str) -> bool:
        """Return whether the unit runs, starts or ends."""
        return self.show(unit).get("ActiveState") in _RUNNING

    def last_error(self, unit: str, invocation: str) -> str:
        """Return the last error that the unit has written to the journal in that run; "" if none can be read."""
        option = "--unit" if self.user else "--user-unit"
        match = [f"_SYSTEMD_INVOCATION_ID={invocation}"] if invocation else [f"{option}={unit}"]
        done = self._run(["journalctl", "--no-pager", "--quiet", "--priority=err", "--lines=1", "--output=cat", *match])
        return done.out.strip().removeprefix("recalld: ").rstrip(".")

    def read(self, files: Files, template: str) -> tuple[Path, FileVersion | None]:
        """Return the path of the unit of that template, and what is in it now; ForeignUnit if it is a link."""
        path = self.folder / Installation(Path(), self.user).unit(template)
        try:
            return path, files.read_stable(path)
        except OSError as error:
            if os.path.islink(path):
                raise ForeignUnit(path) from None
            raise from_os_error(error, path) from error


def lingers(user: str, folder: Path = _LINGERING) -> bool:
    """Return whether the services of the user go on when they are not logged in."""
    return (folder / user).exists()


def linger(user: str, run: Callable[[Iterable[str]], Done] = run_program) -> None:
    """Let the services of the user, the caller, go on when they are not logged in; ServiceForbidden if that is refused."""
    if run(["loginctl", "enable-linger"]).code:
        raise ServiceForbidden(Text("service.linger_refused"), Text("service.enable_linger", user=user))


def install(wanted: Installation, systemd: Systemd, files: Files, now: datetime, *, force: bool = False) -> None:
    """
    Write the units, start them and wait until the service is ready; NoService if it fails, with everything as it was.

    A unit of somebody else or of another workspace is left alone (ForeignUnit); with *force* it gets another name.
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
        for path in foreign:
            other = path.with_name(f"{path.name}.{now:%Y%m%dT%H%M%S}")
            files.move(path, other)
            undo.callback(files.move, other, path)
        if unwanted := [path.name for path, version in before.items() if version and path.name not in contents]:
            systemd.try_call("disable", "--now", *unwanted)
        for path, version in before.items():
            undo.callback(_put_back, files, path, version)
            if path.name in contents:
                files.replace(path, contents[path.name], version, mode=_UNIT_MODE)
            else:
                files.remove(path)
        undo.callback(systemd.try_call, "disable", "--now", *names)
        _start(systemd, names)
        undo.pop_all()


def _units_there(wanted: Installation, systemd: Systemd, files: Files) -> tuple[dict[Path, FileVersion | None], list[Path]]:
    """Return what is in each unit of this workspace's service, None where there is none, and those that are not of it."""
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


def _start(systemd: Systemd, names: list[str]) -> None:
    """Have the units started now and with the machine; NoService, with the reason of the service itself, if it fails."""
    try:
        systemd.call("daemon-reload")
        systemd.try_call("reset-failed", *names)
        systemd.call("enable", *names)
        systemd.call("restart", *names)
    except NoService as error:
        if systemd.show(names[0]).get("ActiveState") in ("failed", "activating"):
            raise NoService(_why_down(systemd, names[0]), Text("service.nothing_installed")) from error
        raise


def _put_back(files: Files, path: Path, version: FileVersion | None) -> None:
    if version is None:
        files.remove(path)
    else:
        files.replace(path, version.data, files.read_stable(path), mode=_UNIT_MODE)


def _start_again(systemd: Systemd, before: Mapping[str, Mapping[str, str]]) -> None:
    """Have systemd read the units that are there now, and start those again that ran *before*, somebody else's too."""
    systemd.try_call("daemon-reload")
    systemd.try_call("reset-failed", *before)
    if enabled := [name for name, found in before.items() if found.get("UnitFileState") == "enabled"]:
        systemd.try_call("enable", *enabled)
    if running := [name for name, found in before.items() if found.get("ActiveState") in _RUNNING]:
        systemd.try_call("restart", *running)


def installation(systemd: Systemd, files: Files) -> Installation:
    """Return what is installed; NoUnit where there is none, ForeignUnit for a unit that `install` did not make."""
    path, version = systemd.read(files, SERVICE)
    if version is None:
        raise NoUnit(path)
    if workspace_of(version.data) is None:
        raise ForeignUnit(path)
    return installation_of(version.data, systemd.user)


def restart(systemd: Systemd, unit: str) -> None:
    """Start the service again, with the code and the unit that are installed now; NoService, with the reason, if it fails."""
    try:
        systemd.call("daemon-reload")
        systemd.try_call("reset-failed", unit)
        systemd.call("restart", unit)
    except NoService as error:
        if systemd.show(unit).get("ActiveState") in ("failed", "activating"):
            raise NoService(_why_down(systemd, unit), Text("service.see_doctor")) from error
        raise


def uninstall(systemd: Systemd, files: Files) -> str:
    """
    Stop and remove the units and return the workspace that they served, which is left as it is.

    NoUnit without such a unit; ForeignUnit, before anything is changed, for one that `install` did not make.
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


@dataclass(frozen=True, slots=True)
class ServiceState:
    """How the service is: its unit and workspace, *state* and *since* when, its status line, and why it is *down*, or ""."""

    unit: str
    workspace: str
    state: str
    since: str
    status_text: str
    restarts: int
    nightly_fsck: str
    nightly_backup: str
    down: str


def state_of(systemd: Systemd, files: Files) -> ServiceState:
    """Return how the service is; NoUnit where none is installed, ForeignUnit where the unit is not ours."""
    what = installation(systemd, files)
    unit = what.unit(SERVICE)
    found = systemd.show(unit)
    state = found.get("ActiveState", "")
    return ServiceState(
        unit=unit,
        workspace=str(what.workspace),
        state=state,
        since=found.get("ActiveEnterTimestamp", ""),
        status_text=found.get("StatusText", ""),
        restarts=int(found.get("NRestarts") or 0),
        nightly_fsck=_state_at_night(systemd, what.unit(TIMER), what.unit(FSCK)),
        nightly_backup=_state_at_night(systemd, what.unit(BACKUP_TIMER), what.unit(BACKUP)) if what.backups else "none",
        down="" if state in ("active", "activating", "reloading") else _why_down(systemd, unit),
    )


def _state_at_night(systemd: Systemd, timer: str, started: str) -> str:
    """Return the state of the timer; "failed" where what it starts has failed last time."""
    if systemd.show(started).get("Result") not in ("success", None):
        return "failed"
    return systemd.show(timer).get("ActiveState", "")


def failed_unit(environ: Mapping[str, str]) -> str:
    """
    Return the sentence about the service that stays down, for a check that systemd has started; "" if it does not.

    >>> failed_unit({"MONITOR_UNIT": "recalld.service", "MONITOR_SERVICE_RESULT": "exit-code", "MONITOR_EXIT_STATUS": "75"})
    'recalld.service does not run: it ended with exit code 75; `recalld service logs` shows what it said.'
    """
    unit, result = environ.get("MONITOR_UNIT", ""), environ.get("MONITOR_SERVICE_RESULT", "")
    if not unit or result in ("", "success"):  # systemd names the service also where the timer has started the check
        return ""
    if unit.startswith(BACKUP.removesuffix(".service")) and result == "exit-code":
        return ""  # it has kept why, and `status` says it
    user = unit.partition("@")[2].removesuffix(".service")
    why = _RESULTS.get(result) or Text("service.exit_code", code=environ.get("MONITOR_EXIT_STATUS", "1"))
    return Text("service.down", unit=unit, why=why, command=f"recalld service logs{of_user(user)}")


def _why_down(systemd: Systemd, unit: str) -> str:
    """Return why the service does not run: its last error where the journal has it."""
    found = systemd.show(unit)
    result, code = found.get("Result", ""), found.get("ExecMainStatus", "")
    if result == "exit-code" and code == str(_NO_CREDENTIAL):
        return Text("service.result_key_file")
    said = systemd.last_error(unit, found.get("InvocationID", ""))
    if said:
        return said
    if result in _RESULTS:
        return _RESULTS[result]
    return Text("service.exit_code", code=code) if result == "exit-code" else Text("service.stopped")
