"""
The parent of a fleet: it starts the shards, and a process for each workspace in the sick bay, and starts them again.

It holds no state. What it passes on it passes by the names of folders; which workspaces have a process of their own, notes in
files say. A shard ends with its parent: the line between them is closed, whatever ended it.
"""

from __future__ import annotations

import signal
import subprocess
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from recalld.supervisor.fleet.listing import Listing
from recalld.supervisor.fleet.passing import Passer
from recalld.supervisor.fleet.settings import shard_of
from recalld.supervisor.storage.catalogue import Text

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from recalld.supervisor.events import Events
    from recalld.supervisor.fleet.settings import FleetPaths
    from recalld.supervisor.storage.disk import Disk

#: Seconds between two looks at the processes, and until one that keeps ending is started again: at first, and at most.
LOOK_S: Final = 0.25
_AGAIN_S: Final = 1.0
_LONGEST_S: Final = 60.0
#: Seconds after which an end is no longer one of a row, and within which a process must end.
_WELL_S: Final = 60.0
_END_S: Final = 15.0
#: Seconds without a sign of life from the loop of a shard, which gives one a second, after which it is killed. A start waits
#: at most 20 s for the shard before it.
SILENT_S: Final = 60.0


@dataclass
class Child:
    """A process that is started again when it ends: its *command*, and the line to it if it is a shard."""

    command: list[str]
    process: subprocess.Popen[bytes] | None = None
    passer: Passer | None = None
    started_s: float = 0.0
    #: When it gave its last sign of life, and whether it was killed because there was none.
    sign_s: float = 0.0
    is_silent: bool = False
    #: How often in a row it has ended soon, and when it is started again.
    ends: int = 0
    #: Whether its last end was none that it was told to.
    has_failed: bool = False
    not_before_s: float = field(default=float("-inf"))

    def start(self, environ: Mapping[str, str], *, has_line: bool) -> None:
        """Start it; OSError if the system refuses."""
        self.passer = Passer() if has_line else None
        stdin = self.passer.theirs.fileno() if self.passer else subprocess.DEVNULL
        self.process = subprocess.Popen(self.command, stdin=stdin, env=environ)
        self.started_s = self.sign_s = time.monotonic()
        self.is_silent = False
        if self.passer:
            self.passer.theirs.close()

    def has_ended(self) -> bool:
        """Return whether it has ended since it was started, and note when it may be started again."""
        if self.process is None or self.process.poll() is None:
            return False
        self.has_failed, self.process = self.process.returncode != 0, None
        self.close()
        now_s = time.monotonic()
        self.ends = 1 if now_s - self.started_s > _WELL_S else self.ends + 1
        self.not_before_s = now_s + (min(_AGAIN_S * 2.0 ** (self.ends - 2), _LONGEST_S) if self.ends > 1 else 0.0)
        return True

    def falls_silent(self, most_s: float) -> bool:
        """Return whether it has now given no sign of life for *most_s* seconds; it is killed then."""
        if self.process is None or self.is_silent:
            return False
        if self.passer and self.passer.has_sign():
            self.sign_s = time.monotonic()
        if time.monotonic() - self.sign_s > most_s:
            self.is_silent = True
            self.process.kill()
        return self.is_silent

    def close(self) -> None:
        """Close the line to it, at which a shard ends."""
        if self.passer:
            self.passer.close()
            self.passer = None

    def end(self) -> None:
        """Have it end; `wait` waits for that."""
        self.close()
        if self.process:
            self.process.send_signal(signal.SIGTERM)

    def wait(self) -> None:
        """Wait until it has ended, and kill it if that takes too long."""
        if self.process:
            try:
                self.process.wait(_END_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None


class Parent:
    """Runs *count* shards by the commands of *shard_command*, and a workspace in the sick bay by that of *own_command*."""

    def __init__(
        self,
        paths: FleetPaths,
        count: int,
        shard_command: Callable[[int], list[str]],
        own_command: Callable[[Path], list[str]],
        environ: Mapping[str, str],
        disk: Disk,
        events: Events,
        silent_s: float = SILENT_S,
    ) -> None:
        self.root, self._paths, self._own_command, self._environ = paths.root, paths, own_command, environ
        self._disk, self._events = disk, events
        self.silent_s = silent_s
        self._listing = Listing(paths.root)
        self._names: dict[tuple[int, int], str] = {}
        self._listed_s = float("-inf")
        self.shards = [Child(shard_command(n)) for n in range(count)]
        self.sick: dict[str, Child] = {}
        #: The shards that are still to be replaced, and when the first of them was told to end.
        self._replacing: list[int] = []
        self._asked_s = float("-inf")

    def look(self) -> None:
        """Start what has ended, what gave no sign of life, and what is new in the sick bay."""
        for n, shard in enumerate(self.shards):
            if shard.falls_silent(self.silent_s):
                self._events.emit("degraded", why=str(Text("fleet.shard_silent", shard=n, seconds=round(self.silent_s))))
            elif shard.has_ended() and shard.has_failed and not shard.is_silent:
                self._events.emit("degraded", why=str(Text("fleet.shard_ended", shard=n)))
            self._start(shard, has_line=True)
        if self._replacing and self.shards[self._replacing[0]].started_s > self._asked_s:
            self._replacing.pop(0)
            self._replace_next()
        wanted = set(self._disk.names(self._paths.sick)) - set(self._disk.names(self._paths.drained))
        for name in self.sick.keys() - wanted:
            child = self.sick.pop(name)
            child.end()
            child.wait()
        for name in wanted:
            child = self.sick.setdefault(name, Child(self._own_command(self._paths.root / name)))
            child.has_ended()
            if self._disk.stat(self._paths.root / name):
                self._start(child, has_line=False)

    def replace_all(self) -> None:
        """Replace one shard after another, as after an update."""
        is_idle, self._replacing = not self._replacing, list(range(len(self.shards)))
        if is_idle:
            self._replace_next()

    def _replace_next(self) -> None:
        if self._replacing:
            self._asked_s = time.monotonic()
            self.shards[self._replacing[0]].end()

    def _start(self, child: Child, *, has_line: bool) -> None:
        if child.process is None and time.monotonic() >= child.not_before_s:
            try:
                child.start(self._environ, has_line=has_line)
            except OSError as error:
                child.close()
                child.not_before_s = time.monotonic() + _LONGEST_S
                self._events.emit("degraded", why=str(error))

    def drained(self) -> list[str]:
        """Return the names of the workspaces that were given free."""
        return self._disk.names(self._paths.drained)

    def end(self) -> None:
        """End all processes; shards and workspaces end after their current steps."""
        children = [*self.shards, *self.sick.values()]
        for child in children:
            child.end()
        for child in children:
            child.wait()

    # ── requests ─────────────────────────────────────────────────────────────

    def pass_on(self, connection: socket.socket, data: bytes, folder: tuple[int, int]) -> None:
        """Have the shard of the workspace in that folder answer; OSError or ValueError if there is none now."""
        name = self._name_of(folder)
        if name is None:
            raise ValueError("no workspace of this fleet")
        self.pass_to(shard_of(name, len(self.shards)), connection, data)

    def pass_to(self, number: int, connection: socket.socket, data: bytes) -> None:
        """Have the shard of that number answer; ConnectionError if it does not run now."""
        passer = self.shards[number].passer
        if passer is None:
            raise ConnectionError("the shard is being started")
        passer.pass_on(connection, data)

    def _name_of(self, folder: tuple[int, int]) -> str | None:
        """Return the name of the workspace in the folder; the root is listed again for one that is not known, once a second."""
        found = self._names.get(folder)
        if found is not None and not self._disk.stat(self._paths.root / found):
            found = None
        if found is None and time.monotonic() > self._listed_s + 1.0:
            self._listed_s = time.monotonic()
            self._names = self._listing.look().names
            found = self._names.get(folder)
        return found
