"""
One workspace of a host: dormant (its signature, due time and lock), open (its stores, its supervisor, its index), or running.

A dormant one costs about a kilobyte, so it holds no store, no event and no path but its own.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from recalld.supervisor.host.jobs import NEVER_S
from recalld.supervisor.host.lock import supervisor_lock
from recalld.supervisor.protocol.paths import WorkspacePaths
from recalld.supervisor.storage.errors import Busy

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from datetime import datetime
    from pathlib import Path
    from typing import Self

    from recalld.supervisor.host.daemon import Reading, Supervisor
    from recalld.supervisor.host.jobs import Job
    from recalld.supervisor.host.lock import SupervisorLock
    from recalld.supervisor.storage.control import Control
    from recalld.supervisor.storage.disk import Disk
    from recalld.supervisor.workspace import Workspace

#: Opens the workspace at a path, or lets its supervisor go on with a changed configuration.
Opener: TypeAlias = "Callable[[Path, Supervisor | None, Workspace | None], Supervisor]"
#: Is called with a workspace and the name of a file that may have changed.
Hint: TypeAlias = "Callable[[Hosted, str], None]"
#: Watches the files of a workspace and calls a function with the name of each that has changed; returns what ends it.
Watch: TypeAlias = "Callable[[WorkspacePaths, Callable[[str], None]], Callable[[], None]]"


class Hosted:
    """
    One workspace of a host.

    *open_supervisor* opens it and returns its supervisor; after a change of the configuration it is called again, with this
    supervisor and the reopened workspace.
    """

    __slots__ = (
        *("_dormant", "_held", "_is_over", "_lock", "_open_supervisor", "_opening", "_stop_watch", "failures", "is_hinted"),
        *("job", "rests_until_s", "root", "since_s", "supervisor", "used_s"),
    )

    def __init__(self, root: Path, open_supervisor: Opener) -> None:
        self.root = root
        #: Does what there is to do; the host sets it.
        self.job: Job
        #: Whether an event has said that a file may have changed.
        self.is_hinted = False
        self.supervisor: Supervisor | None = None
        #: When it was last worked on, and when the step began that runs now, by the monotonic clock.
        self.used_s, self.since_s = float("-inf"), NEVER_S
        #: How many times in a row it could not be looked after, and until when it is left alone.
        self.failures, self.rests_until_s = 0, float("-inf")
        self._open_supervisor = open_supervisor
        self._opening = threading.Lock()
        self._is_over = False
        self._held: AbstractContextManager[SupervisorLock] | None = None
        self._lock: SupervisorLock | None = None
        self._dormant: _Dormant | None = None
        self._stop_watch: Callable[[], None] | None = None

    @property
    def is_held(self) -> bool:
        """Whether this process has the workspace's lock."""
        return self._lock is not None

    @property
    def is_running(self) -> bool:
        """Whether a thread works on it now."""
        background = self.supervisor.background if self.supervisor else None
        return self.job.is_running or bool(background and background.is_running)

    # ── dormant and open ─────────────────────────────────────────────────────

    def open(self, hint: Hint, watch: Watch | None) -> Supervisor:
        """
        Open the workspace, take its lock the first time, and return its supervisor; ValueError once it was let go.

        *hint* is called by the events of *watch*, or of watchdog.
        """
        with self._opening:
            if self._is_over:
                raise ValueError("the workspace was let go")
            return self.supervisor or self._opened(hint, watch)

    def _opened(self, hint: Hint, watch: Watch | None) -> Supervisor:
        supervisor = self._open_supervisor(self.root, None, None)
        if self._lock is None:
            held = supervisor_lock(supervisor.ws)
            self._lock, self._held = held.__enter__(), held
        if self._dormant:
            supervisor.reading = self._dormant.reading
        self.supervisor, self._dormant = supervisor, None
        self._start(supervisor, hint, watch)
        return supervisor

    def close(self, *, watched: bool) -> None:
        """Make the workspace dormant: only its signature, due time and lock are kept, and the watch if it stays *watched*."""
        with self._opening:
            if self.supervisor:
                supervisor, self.supervisor = self.supervisor, None
                self._end_parts(supervisor, watched=watched)
                ws = supervisor.ws
                ws.index.close()
                self._dormant = _Dormant.of(ws.files.disk, ws.paths, supervisor)

    def end(self) -> None:
        """End the supervisor of the workspace; the lock is still held."""
        if self.supervisor:
            supervisor, self.supervisor = self.supervisor, None
            self._end_parts(supervisor)
            supervisor.end()

    def end_jobs(self) -> None:
        """End its jobs; a step that runs ends early where it can."""
        self.job.end()
        if self.supervisor and self.supervisor.background:
            self.supervisor.background.end()

    def release(self, *, for_good: bool = False) -> None:
        """Release the lock, which *for_good* is not taken again."""
        with self._opening:
            self._is_over = self._is_over or for_good
            if self.supervisor is None and self._stop_watch:
                self._stop_watch()
                self._stop_watch = None
            held, self._held, self._lock, self._dormant = self._held, None, None, None
            if held:
                held.__exit__(None, None, None)

    # ── looking and working ──────────────────────────────────────────────────

    def look(self, now: datetime) -> bool:
        """Return whether there is something to do; costs a few stats."""
        hinted, self.is_hinted = self.is_hinted, False
        if self.supervisor and self._lock:
            return self.supervisor.poll(self._lock, hinted=hinted)
        dormant = self._dormant
        return dormant is None or now >= dormant.due_at or dormant.has_changed(self.root)

    def work(self, hint: Hint, watch: Watch | None, until_end: Control) -> bool:
        """Do what there is to do, and return whether there may be more at once."""
        supervisor = self.open(hint, watch)
        before = supervisor.ws
        reopened = supervisor.work(until_end)
        if reopened is None:
            return supervisor.wants_more
        self._end_parts(supervisor)
        supervisor.end(reopens=True)
        self.supervisor = self._open_supervisor(self.root, supervisor, reopened)
        self._start(self.supervisor, hint, watch)
        before.index.close()
        return True

    def _start(self, supervisor: Supervisor, hint: Hint, watch: Watch | None) -> None:
        """Begin to watch its files and start the background jobs; without file events the looks find every change."""
        from recalld.supervisor.host import watcher

        if self._stop_watch is None:
            try:
                self._stop_watch = (watch or watcher.watch)(supervisor.ws.paths, partial(hint, self))
            except (OSError, Busy) as error:
                supervisor.ws.events.transition("watch_lost", True, why=str(error))
            else:
                supervisor.ws.memory.told = None if watch else object()  # a watch of many sees no edit within memory/
        if supervisor.background:
            supervisor.background.start()

    def _end_parts(self, supervisor: Supervisor, *, watched: bool = False) -> None:
        """Stop watching its files, unless they stay *watched*, and end the background jobs."""
        if self._stop_watch and not watched:
            supervisor.ws.memory.told = None
            self._stop_watch()
            self._stop_watch = None
        if supervisor.background:
            supervisor.background.end()


@dataclass(frozen=True, slots=True)
class _Dormant:
    """What is kept of a workspace that is closed: its signature, when a round is due, and the clocks at the last one."""

    disk: Disk
    signature: int
    due_at: datetime
    reading: Reading | None

    @classmethod
    def of(cls, disk: Disk, paths: WorkspacePaths, supervisor: Supervisor) -> Self:
        return cls(disk, signature(disk, paths), supervisor.due_at, supervisor.reading)

    def has_changed(self, root: Path) -> bool:
        """Return whether a message, a result, a request or a setting may have come; costs a few stats."""
        return signature(self.disk, WorkspacePaths(root)) != self.signature


def signature(disk: Disk, paths: WorkspacePaths) -> int:
    """Return a number that is another one when a file of the workspace is replaced, or a message, request or result comes."""
    places = (paths.root, paths.history, paths.inbox, paths.drop_box, paths.state, paths.worker / "results")
    try:
        return hash(tuple(stat and (stat.inode, stat.size, stat.mtime_ns) for stat in map(disk.stat, places)))
    except OSError:
        return 0  # the round reports it
