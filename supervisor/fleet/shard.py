"""
A shard: one process of a fleet, which looks after the workspaces that fall to it by their names.

Which they are is read from the folders: what is below the root, less what a person has drained, less what is in the sick bay. A
shard that has to be replaced notes why (`sick`), and ends; the fleet starts another. Nothing else is remembered.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any, Final, Protocol

from recalld.supervisor.fleet.file_events import FileEvents
from recalld.supervisor.fleet.listing import Found, Listing
from recalld.supervisor.fleet.settings import FleetPaths, shard_of
from recalld.supervisor.host.host import Host
from recalld.supervisor.host.jobs import Job
from recalld.supervisor.host.workers import Workers
from recalld.supervisor.protocol.paths import WorkspacePaths
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.clock import steady_s
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.errors import AlreadyRuns, as_supervisor_error
from recalld.supervisor.storage.files import Files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime
    from pathlib import Path
    from weakref import WeakSet

    from recalld.supervisor.events import Events
    from recalld.supervisor.fleet.settings import Fleet
    from recalld.supervisor.host.hosted import Opener
    from recalld.supervisor.host.jobs import Threads
    from recalld.supervisor.storage.clock import Clock
    from recalld.supervisor.storage.errors import SupervisorError
    from recalld.supervisor.workspace import Workspace

#: Seconds between two looks whether the root or a note has changed, and until the root is listed whatever its stat says: a
#: folder becomes a workspace when something is written into it.
_LOOK_S: Final = 1.0
_LIST_S: Final = 10.0
#: The largest history.json that a shard opens: reading a larger one takes the memory and the time of all others.
MOST_HISTORY: Final = 256 << 20


#: Seconds after which a worker without a task ends: others may be waiting for its place.
_IDLE_S: Final = 5.0


class Driven(Protocol):
    """What a shard does for all of its workspaces besides: a courier to a pool of workers."""

    def step(self, now: datetime) -> float:
        """Do what there is to do, and return the seconds until the next step."""


class Shard:
    """The shard at *place*, its number and how many there are, of the fleet of *paths*."""

    def __init__(
        self,
        paths: FleetPaths,
        fleet: Fleet,
        place: tuple[int, int],
        open_supervisor: Opener,
        clock: Clock,
        threads: Threads,
        events: Events,
        now_s: Callable[[], float] = steady_s,
    ) -> None:
        self._now_s = now_s
        self._paths, self._fleet, (self._number, self._count) = paths, fleet, place
        self._clock, self._threads, self._events = clock, threads, events
        self._disk, self._files = RealDisk(), Files(RealDisk())
        self._listing, self._found = Listing(paths.root), Found()
        self._seen: tuple[Any, ...] = ()
        self._listed_s = self._look_s = float("-inf")
        #: Whether it has taken its workspaces once.
        self._is_warm = False
        #: Why a workspace can't be looked after, as it was told last, by its name.
        self.told: dict[str, str] = {}
        #: The folders of the workspaces, by device and inode: a request names its workspace so.
        self.roots: dict[tuple[int, int], Path] = {}
        self.has_sick = False
        self.host = Host(
            (),
            open_supervisor,
            clock,
            threads,
            now_s=now_s,
            open_most=fleet.open,
            indexes_most=fleet.indexes,
            dormant_s=fleet.poll.total_seconds(),
            limit_s=fleet.round_limit.total_seconds(),
            watch=FileEvents().watch,
            told=self._tell,
        )

    def run(self, driven: Iterable[Driven] = ()) -> None:
        """
        Look after the workspaces until the host is stopped, or one has to be given a process of its own.

        Each of *driven* has its steps in the threads of the host.
        """
        for one in driven:
            self._threads.wake(Job("driven", _step_of(one, self._clock), self._events.report))
        with self.host:
            self.host.run(self.look)

    # ── which workspaces ─────────────────────────────────────────────────────

    def look(self) -> float:
        """Take in, at most once a second, what has changed below the root, and whether a step hangs; return until when not."""
        now_s = self._now_s()
        if now_s < self._look_s:
            return self._look_s - now_s
        self._look_s = now_s + _LOOK_S
        for root in self.host.overdue():
            self._give_up(root.name, Text("fleet.endless", seconds=round(2 * self._fleet.round_limit.total_seconds())))
        if self.has_sick:
            self.host.stop()
        elif not self.host.leaving:
            try:
                self._take()
                self._events.report("root", ())
            except OSError as error:  # its disk is away for a moment
                self._events.report("root", [as_supervisor_error(error, "root", self._paths.root)])
        for name in [name for name in self.told if self._is_well(name)]:
            del self.told[name]
        return _LOOK_S

    def _take(self) -> None:
        """Take the workspaces that fall to this shard now, and let the others go."""
        now_s, paths = self._now_s(), self._paths
        seen = tuple(self._disk.stat(folder) for folder in (paths.root, paths.drained, paths.sick))
        if seen == self._seen and now_s < self._listed_s + _LIST_S:
            return
        self._seen, self._listed_s = seen, now_s
        found = self._listing.look()
        for name, why in found.refused.items():
            if shard_of(name, self._count) == self._number:
                self._tell(paths.root / name, why)
        away = {*self._disk.names(paths.drained), *self._disk.names(paths.sick)}
        own = {folder: name for folder, name in found.names.items() if shard_of(name, self._count) == self._number}
        wanted = {folder: paths.root / name for folder, name in own.items() if name not in away}
        renamed = {root for folder, root in self.roots.items() if wanted.get(folder) != root}
        staying, self._found = set(wanted.values()) - renamed, found
        for root in self.host.hosted.keys() - staying:
            self._let_go(root, is_drained=root.name in away)
        if self.host.leaving:
            self._seen = ()  # a folder under another name is taken when its lock is free
            wanted = {folder: root for folder, root in wanted.items() if root in self.host.hosted}
        for root in set(wanted.values()) - self.host.hosted.keys():
            if self._is_huge(root):
                self._give_up(root.name, Text("fleet.huge", most=MOST_HISTORY >> 20))
            else:
                self.host.add(root, 0.0 if self._is_warm else self._warm_up(root))
        self.roots, self._is_warm = wanted, True

    def _let_go(self, root: Path, *, is_drained: bool) -> None:
        self.host.let_go(root)
        self.told.pop(root.name, None)
        self._events.emit("stopped", workspace=root.name, why=str(Text("fleet.drained" if is_drained else "fleet.gone")))

    def _warm_up(self, root: Path) -> float:
        """Return after how many seconds the workspace is opened first: at once where something came since its last round."""
        paths = WorkspacePaths(root)
        last, *news = (self._disk.stat(path) for path in (paths.log, paths.history, paths.drop_box, paths.worker / "results"))
        if last is None or any(stat and stat.mtime_ns > last.mtime_ns for stat in news):
            return 0.0
        return self._fleet.warm_up.total_seconds() * shard_of(root.name[::-1], 1 << 16) / (1 << 16)

    def _is_huge(self, root: Path) -> bool:
        stat = self._disk.stat(WorkspacePaths(root).history)
        return stat is not None and stat.size > MOST_HISTORY

    # ── what goes wrong ──────────────────────────────────────────────────────

    def _tell(self, root: Path, why: SupervisorError | Text) -> None:
        """Report once why a workspace is not looked after."""
        sentence = str(AlreadyRuns(root) if isinstance(why, AlreadyRuns) else why)
        if self.told.get(root.name) != sentence:
            self.told[root.name] = sentence
            self._events.emit("degraded", workspace=root.name, why=sentence)

    def _is_well(self, name: str) -> bool:
        hosted = self.host.hosted.get(self._paths.root / name)
        return hosted.is_held and not hosted.failures if hosted else name not in self._found.refused

    def _give_up(self, name: str, why: Text) -> None:
        """Have the workspace run by a process of its own, when this shard has been replaced."""
        self._files.replace(self._paths.sick / name, f"{why}\n".encode(), None)
        self._tell(self._paths.root / name, why)
        self.has_sick = self.has_sick or self._paths.root / name in self.host.hosted

    # ── what there is ────────────────────────────────────────────────────────

    def status(self) -> dict[str, Any]:
        """Return what `recalld fleet status` shows of this shard."""
        hosted = list(self.host.hosted.values())
        return {
            "shard": self._number,
            "pid": os.getpid(),
            "workspaces": len(hosted),
            "held": sum(one.is_held for one in hosted),
            "open": sum(one.supervisor is not None for one in hosted),
            "running": sum(one.is_running for one in hosted),
            "memoryMb": round(_resident_bytes() / 1e6, 1),
            "refused": [{"name": name, "why": why} for name, why in sorted(self.told.items())],
        }


class FewWorkers(Workers):
    """The worker of a workspace, which is not started while *most* of those in *shared* run."""

    def __init__(self, ws: Workspace, clock: Clock, shared: WeakSet[FewWorkers], most: int) -> None:
        super().__init__(ws, clock, _IDLE_S)
        self._shared, self._most = shared, most
        shared.add(self)

    def start_if_needed(self) -> None:
        """Start a worker if a task is queued, none of this workspace runs, and there is room for one."""
        if self.is_running or sum(one.is_running for one in list(self._shared)) < self._most:
            super().start_if_needed()


def _step_of(driven: Driven, clock: Clock) -> Callable[..., float]:
    return lambda *_: driven.step(clock())


def _resident_bytes() -> int:
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0
