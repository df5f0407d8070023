"""
`recalld fleet`: one `recalld run` for each workspace of a folder, for those who have a fleet of 0.28 or older.

It leaves in the next version. A service of its own for each workspace does the same (docs/how-to/run-as-a-service.md).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from ...checks.fleet_unit import UNIT, fleet_unit, replace_fleet, workspaces_of
from ...host.notify import ServiceManager
from ...protocol.config import OF_A_FLEET
from ...protocol.making import is_made
from ...protocol.paths import FLEET, WorkspacePaths
from ...storage.disk import RealDisk
from ...storage.errors import AlreadyRuns, BadRequest, Busy, NoService
from ...storage.files import Files
from ...storage.os_errors import why_refused
from ...storage.signals import on_signals
from ...storage.texts import Text
from .parser import Option, command

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...checks.systemd import Systemd
    from ...checks.units import Installation
    from .call import Call

#: Seconds between two looks at the folder and the processes, and the most processes that one look starts.
_LOOK_S: Final = 1.0
_STARTED_AT_ONCE: Final = 4
#: Seconds after which a process has run well, and the most seconds until one that keeps ending is started again.
_WELL_S: Final = 60.0
_LONGEST_S: Final = 600.0
#: Seconds in which all must have ended; a unit of systemd allows 60.
_END_S: Final = 45.0


@dataclass
class Child:
    """The process of a workspace, and how often in a row it has ended soon after its start."""

    process: subprocess.Popen[bytes] | None = None
    started_s: float = 0.0
    ends: int = 0
    not_before_s: float = float("-inf")

    def take_end(self, now_s: float) -> int:
        """Return the exit code if the process has ended since the last call, else 0."""
        if self.process is None or (code := self.process.poll()) is None:
            return 0
        self.process = None
        self.ends = self.ends + 1 if now_s - self.started_s < _WELL_S else 0
        self.not_before_s = now_s + min(2.0**self.ends - 1, _LONGEST_S)
        return code


class Fleet:
    """Runs each workspace directly below *root* in a process of its own; *say* prints what a person should know."""

    def __init__(self, root: Path, say: Callable[[Text], object], *, json: bool = False) -> None:
        self.root, self._say, self._json = root, say, json
        self.children: dict[str, Child] = {}
        own = ("NOTIFY_SOCKET", OF_A_FLEET)
        self._environ = {name: value for name, value in os.environ.items() if not name.startswith(own)}

    def look(self) -> None:
        """Start what does not run, a few at a time, and end what is no longer there."""
        try:
            names = workspaces_of(self.root)
        except OSError:  # its disk is away for a moment
            names = [*self.children]
        for name in names:
            self.children.setdefault(name, Child())
        left, now_s = _STARTED_AT_ONCE, time.monotonic()
        for name, child in list(self.children.items()):
            if code := child.take_end(now_s):
                self._say(
                    Text(
                        "{name}: its process has ended with exit code {code}; it is started again in {seconds} s.",
                        name=name,
                        code=code,
                        seconds=round(child.not_before_s - now_s),
                    )
                )
            if name not in names:
                if child.process:
                    child.process.terminate()
                else:
                    del self.children[name]
            elif left and child.process is None and now_s >= child.not_before_s:
                left -= 1
                self._start(name, child)

    def _start(self, name: str, child: Child) -> None:
        """Start the process of a workspace, unless another supervisor has it, such as a service of its own."""
        if RealDisk().is_locked(WorkspacePaths(self.root / name).supervisor_lock):
            return
        command = [sys.executable, "-P", "-m", "recalld", "--workspace", str(self.root / name), "run"]
        child.started_s = time.monotonic()
        try:
            child.process = subprocess.Popen(
                [*command, *(["--json"] if self._json else [])], stdin=subprocess.DEVNULL, env=self._environ
            )
        except OSError as error:
            child.not_before_s = child.started_s + _LONGEST_S
            self._say(
                Text(
                    "{name}: the system starts no process for it: {why}; it is tried again in ten minutes.",
                    name=name,
                    why=why_refused(error),
                )
            )

    def restart(self) -> None:
        """Have every process end; the next looks start them again, with the installed code."""
        for child in list(self.children.values()):
            if child.process:
                child.process.terminate()

    def end(self) -> None:
        """End every process, and kill what takes too long."""
        self.restart()
        ends_s = time.monotonic() + _END_S
        for process in [child.process for child in self.children.values() if child.process]:
            try:
                process.wait(max(0.0, ends_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@command("fleet", common=("json",))
def fleet(
    call: Call,
    root: Annotated[
        Path | None,
        Option("--root", metavar="DIR", meaning="the folder of the workspaces (RECALLD_FLEET_ROOT)"),
    ] = None,
) -> None:
    """Run every workspace in a folder, each in a process of its own; it leaves in the next version."""
    folder = _root(root)
    files, stopping = Files(RealDisk()), threading.Event()
    files.make_folder(folder / FLEET)
    parent = Fleet(folder, lambda sentence: call.say(sentence, 0), json=call.json)
    manager = ServiceManager(os.environ.get("NOTIFY_SOCKET", ""))
    try:
        with files.lock_for_life(folder / FLEET / "lock", wait_s=1.0):
            on_signals(stopping.set)
            signal.signal(signal.SIGHUP, lambda *_: parent.restart())
            call.say(
                Text(
                    "each workspace in {root} runs in a process of its own now, and `recalld fleet` leaves in the next version; `recalld service install` puts a service for each workspace, recalld@NAME.service, in the place of the unit of a fleet (docs/how-to/run-as-a-service.md).",
                    root=folder,
                ),
                0,
            )
            if (file := folder / "fleet.toml").exists():
                call.say(Text("{file} is no longer read; you may delete it.", file=file), 0)
            while not stopping.is_set():
                parent.look()
                manager.round_done(f"{len(parent.children)} workspaces", has_index=True)
                stopping.wait(_LOOK_S)
            manager.stopping()
            parent.end()
    except Busy:
        raise AlreadyRuns(folder, Text("a fleet")) from None


def _root(given: Path | None) -> Path:
    """Return the folder of the workspaces; BadRequest if none is named, or what is none."""
    named = given or os.environ.get(f"{OF_A_FLEET}ROOT")
    if not named:
        raise BadRequest("--root", Text("no folder is named; give `--root DIR`, or set RECALLD_FLEET_ROOT"))
    folder = Path(os.path.realpath(Path(named).expanduser()))
    if not folder.is_dir():
        raise BadRequest("--root", Text("{root} is no folder; make it first", root=folder))
    if is_made(folder) and not (folder / FLEET).exists():
        raise BadRequest("--root", Text("{root} is a workspace itself; give the folder above it", root=folder))
    return folder


def replaces_fleet(call: Call, systemd: Systemd, files: Files, *, dry_run: bool) -> bool:
    """
    Install a service for each workspace of an old fleet, by this command with a name, and remove the unit of the fleet.

    False, and nothing is done, where a workspace is named or there is no such unit.
    """
    is_named = call.given_workspace or os.environ.get("RECALLD_WORKSPACE")
    fleet = None if is_named else fleet_unit(systemd, files)
    if fleet is None:
        return False
    services = fleet.services(systemd.user)

    def install_one(service: Installation) -> bool:
        words = ["-w", str(service.workspace), *call.argv, "--name", service.name]
        return subprocess.run([sys.executable, "-P", "-m", "recalld", *words], check=False).returncode == 0

    if dry_run:
        for service in services:
            install_one(service)
        return True
    systemd.check()
    if left := replace_fleet(fleet, systemd, files, install_one):
        raise NoService(
            Text("{unit} goes on with these workspaces, which got no service: {names}", unit=UNIT, names=left),
            Text("mend what is said above, and give the command again"),
        )
    call.say(
        Text(
            "each workspace in {root} has a service of its own, recalld@NAME.service ({count}); {unit} is gone.",
            root=fleet.root,
            count=len(services),
            unit=UNIT,
        ),
        0,
    )
    return True
