"""
A shard: one process of a fleet, which looks after the workspaces that fall to it by their names.

Which they are is read from the folders: what is below the root, less what a person has drained, less what is in the sick bay. A
shard that has to be replaced notes why (`sick`), and ends; the fleet starts another. Nothing else is remembered.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, Any, Final

from recalld.supervisor.fleet.file_events import FileEvents
from recalld.supervisor.fleet.listing import Found, Listing
from recalld.supervisor.fleet.settings import FleetPaths, shard_of
from recalld.supervisor.host.host import Host
from recalld.supervisor.host.hosted import signature
from recalld.supervisor.host.workers import Workers
from recalld.supervisor.protocol.paths import WorkspacePaths
from recalld.supervisor.storage.catalogue import Text, stored
from recalld.supervisor.storage.clock import steady_s
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.errors import AlreadyRuns, LockLost, SupervisorError, as_supervisor_error, why_refused
from recalld.supervisor.storage.files import Files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from weakref import WeakSet

    from recalld.supervisor.events import Events
    from recalld.supervisor.fleet.settings import Fleet
    from recalld.supervisor.host.hosted import Opener
    from recalld.supervisor.host.jobs import Threads
    from recalld.supervisor.storage.clock import Clock
    from recalld.supervisor.workspace import Workspace

#: Seconds between two looks whether the root or a note has changed, between two whether a folder has become a workspace, and
#: until the root is listed whatever its stat says: a listing of 5,000 takes 33 ms.
_LOOK_S: Final = 1.0
_GROWN_S: Final = 10.0
_LIST_S: Final = 60.0
#: The largest file that a shard reads: a larger one takes the memory and the time of all others. A workspace whose messages or
#: journal are larger gets a process of its own, up to the second size: read, they take several times as much memory.
MOST_BYTES: Final = 256 << 20
MOST_ALONE: Final = 1 << 30
#: The disk of all workspaces of a shard.
DISK: Final = RealDisk(MOST_BYTES)


#: Seconds after which a worker without a task ends: others may be waiting for its place.
_IDLE_S: Final = 5.0


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
        self._listed_s = self._grown_s = self._look_s = self._sign_s = float("-inf")
        #: Whether it has taken its workspaces once.
        self._is_warm = False
        #: The signatures of the workspaces that were dormant when a shard ended, by name, until they are taken.
        self._rested: dict[str, set[int]] = {}
        #: Why a workspace can't be looked after, as it was told last, by its name.
        self.told: dict[str, Text] = {}
        #: Those of its workspaces that it has seen given free or in the sick bay, also where it has not let them go yet.
        self._away: set[str] = set()
        #: The folders of the workspaces, by device and inode: a request names its workspace so.
        self.roots: dict[tuple[int, int], Path] = {}
        self.has_sick = False
        #: Is called about once a second by the loop, also within a long look: whoever runs the shard sees that it goes on.
        self.sign: Callable[[], None] = _no_one
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
            sign=self._give_sign,
        )

    def run(self) -> None:
        """Look after the workspaces until the host is stopped, or one has to be given a process of its own."""
        with self.host:
            self.host.run(self.look)
            self.keep_signatures()

    # ── which workspaces ─────────────────────────────────────────────────────

    def look(self) -> float:
        """Take in, at most once a second, what has changed below the root, and whether a step hangs; return until when not."""
        now_s = self._now_s()
        if now_s < self._look_s:
            return self._look_s - now_s
        self._look_s = now_s + _LOOK_S
        self._give_sign()
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

    def _give_sign(self) -> None:
        now_s = self._now_s()
        if now_s >= self._sign_s:
            self._sign_s = now_s + _LOOK_S
            self.sign()

    def _take(self) -> None:
        """Take the workspaces that fall to this shard now, and let the others go."""
        if not self._is_to_list():
            return
        paths, found = self._paths, self._listing.look()
        for name, why in found.refused.items():
            if shard_of(name, self._count) == self._number:
                self._tell(paths.root / name, why)
        away = {*self._disk.names(paths.drained), *self._disk.names(paths.sick)}
        own = {folder: name for folder, name in found.names.items() if shard_of(name, self._count) == self._number}
        known = {root.name: root for root in self.host.hosted}
        wanted = {folder: known.get(name) or paths.root / name for folder, name in own.items() if name not in away}
        renamed = {root for folder, root in self.roots.items() if wanted.get(folder) != root}
        staying, before, self._found = set(wanted.values()) - renamed, self._found, found
        for root in self.host.hosted.keys() - staying:
            self._let_go(root, is_drained=root.name in away)
        if self.host.leaving:
            self._seen = ()  # a folder under another name is taken when its lock is free
            wanted = {folder: root for folder, root in wanted.items() if root in self.host.hosted}
            found.refused.update({name: why for name, why in before.refused.items() if name in own.values()})
        self._rested = {} if self._is_warm else self._kept_signatures()
        for root in set(wanted.values()) - self.host.hosted.keys():
            try:
                self._take_one(root)
            except OSError as error:
                self._refuse(root, Text("fleet.unreadable", why=why_refused(error)))
        self.roots, self._is_warm, self._away = wanted, True, away & set(own.values())

    def _is_to_list(self) -> bool:
        """Return whether what is below the root may be another than at the last listing."""
        now_s, paths = self._now_s(), self._paths
        before, self._seen = self._seen, tuple(self._disk.stat(folder) for folder in (paths.root, paths.drained, paths.sick))
        if before != self._seen:
            self._listed_s = float("-inf")  # once more at the next look: another may come in the same instant
            return True
        if now_s >= self._grown_s + _GROWN_S:
            self._grown_s = now_s
            if self._listing.has_grown():
                return True
        is_to_list = now_s >= self._listed_s + _LIST_S
        self._listed_s = now_s if is_to_list else self._listed_s
        return is_to_list

    def _take_one(self, root: Path) -> None:
        """Look after this workspace, too, unless it is too large; OSError if it can't be read."""
        largest, size = self._largest(root)
        if size > MOST_ALONE:
            self._refuse(root, Text("fleet.endless_file", file=largest, most=MOST_ALONE >> 20))
        elif size > MOST_BYTES:
            self._give_up(root.name, Text("fleet.huge", file=largest, most=MOST_BYTES >> 20))
        else:
            self.host.add(root, 0.0 if self._is_warm else self._warm_up(root))

    def _refuse(self, root: Path, why: Text) -> None:
        self._found.refused[root.name] = why
        self._tell(root, why)

    def _let_go(self, root: Path, *, is_drained: bool) -> None:
        self.host.let_go(root, Text("fleet.drained") if is_drained else None)
        self.told.pop(root.name, None)
        if not is_drained:
            self._events.emit("stopped", workspace=root.name, why=str(Text("fleet.gone")))

    def _warm_up(self, root: Path) -> float:
        """Return after how many seconds the workspace is opened first: at once, unless its last round has seen all there is."""
        if signature(self._disk, root) not in self._rested.get(root.name, ()):
            return 0.0
        return self._fleet.warm_up.total_seconds() * shard_of(root.name[::-1], 1 << 16) / (1 << 16)

    def keep_signatures(self) -> None:
        """Keep what the last rounds have seen: a shard after this one knows in which workspaces nothing has come since."""
        rested = {root.name: one.rest_signature for root, one in self.host.hosted.items() if one.rest_signature}
        path = self._paths.rest(self._number)
        with contextlib.suppress(OSError, SupervisorError):  # an older one is as true: it names files of a version
            self._files.replace(path, json.dumps(rested).encode(), self._files.read_stable(path))

    def _kept_signatures(self) -> dict[str, set[int]]:
        """Return the signatures that all shards have kept, also of another number of them."""
        found: dict[str, set[int]] = {}
        for name in self._disk.names(self._paths.folder):
            if name.startswith("rest-"):
                with contextlib.suppress(OSError, ValueError, AttributeError):
                    for workspace, number in json.loads(self._disk.read(self._paths.folder / name)).items():
                        found.setdefault(workspace, set()).add(number)
        return found

    def _largest(self, root: Path) -> tuple[str, int]:
        """Return the name and the bytes of the larger of the two files that a round reads as a whole."""
        paths = WorkspacePaths(root)
        stats = {path.name: self._disk.stat(path) for path in (paths.history, paths.seen)}
        return max(((name, stat.size if stat else 0) for name, stat in stats.items()), key=lambda one: one[1])

    # ── what goes wrong ──────────────────────────────────────────────────────

    def _tell(self, root: Path, why: SupervisorError | Text) -> None:
        """Report once why a workspace is not looked after."""
        if isinstance(why, LockLost):
            why = Text("fleet.lost")
        sentence = why if isinstance(why, Text) else (AlreadyRuns(root) if isinstance(why, AlreadyRuns) else why).sentence
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
        held = {root.name for root in (*self.host.hosted, *self.host.leaving)}
        return {
            "shard": self._number,
            "pid": os.getpid(),
            "workspaces": len(hosted),
            "held": sum(one.is_held for one in hosted),
            "open": sum(one.supervisor is not None for one in hosted),
            "running": sum(one.is_running for one in hosted),
            "memoryMb": round(_resident_bytes() / 1e6, 1),
            "drained": sorted(self._away - held),
            "refused": [{"name": name, "why": why, "said": stored(why)} for name, why in sorted(self.told.items())],
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


def _no_one() -> None:
    """Nobody looks at it."""


def _resident_bytes() -> int:
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0
