"""
One workspace of a host: dormant (its signature, due time and lock), open (its stores, its supervisor, its index), or running.

A dormant one costs about a kilobyte, so it holds no store, no event and no path but its own.
"""

from __future__ import annotations

import os
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from recalld.supervisor.host.jobs import NEVER_S
from recalld.supervisor.host.lock import SupervisorLock
from recalld.supervisor.protocol.paths import WorkspacePaths
from recalld.supervisor.storage.errors import Busy
from recalld.supervisor.text.record import record

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from recalld.supervisor.host.daemon import Reading, Supervisor
    from recalld.supervisor.host.jobs import Job
    from recalld.supervisor.host.watcher import Watching
    from recalld.supervisor.storage.control import Control
    from recalld.supervisor.storage.disk import Disk
    from recalld.supervisor.workspace import Workspace

#: Opens the workspace at a path, or lets its supervisor go on with a changed configuration.
Opener: TypeAlias = "Callable[[Path, Supervisor | None, Workspace | None], Supervisor]"
#: Is called with a workspace and the name of a file that may have changed.
Hint: TypeAlias = "Callable[[Hosted, str], None]"
#: Watches the files of a workspace and calls a function with the name of each that has changed.
Watch: TypeAlias = "Callable[[WorkspacePaths, Callable[[str], None]], Watching]"
_PATHS: Final = WorkspacePaths(Path())
#: What a look at a dormant workspace takes the stats of. As strings: paths of their own would take as long as the stats.
_SIGNED: Final = (
    *map(os.fspath, (_PATHS.root, _PATHS.config, _PATHS.history, _PATHS.inbox, _PATHS.drop_box, _PATHS.state)),
    os.fspath(_PATHS.worker / "results"),
)


class Hosted:
    """
    One workspace of a host.

    *open_supervisor* opens it and returns its supervisor; after a change of the configuration it is called again, with this
    supervisor and the reopened workspace.
    """

    __slots__ = (
        *("_dormant", "_is_over", "_lock", "_open_supervisor", "_opening", "_watching", "failures", "is_hinted"),
        *(
            "is_memory_hinted",
            "job",
            "refused_signature",
            "rests_until_s",
            "root",
            "since_s",
            "supervisor",
            "used_s",
            "why_let_go",
        ),
    )

    def __init__(self, root: Path, open_supervisor: Opener) -> None:
        self.root = root
        #: Does what there is to do; the host sets it.
        self.job: Job
        #: Whether an event has said that a file may have changed, and whether it may be one of memory.
        self.is_hinted = self.is_memory_hinted = False
        self.supervisor: Supervisor | None = None
        #: When it was last worked on, and when the step began that runs now, by the monotonic clock.
        self.used_s, self.since_s = float("-inf"), NEVER_S
        #: How many times in a row it could not be looked after, and until when it is left alone.
        self.failures, self.rests_until_s = 0, float("-inf")
        #: The signature of its files when it could not be looked after: once a person has mended them, it is another.
        self.refused_signature = 0
        #: Why it is looked after no more; None if it is gone, and its log with it.
        self.why_let_go: str | None = ""
        self._open_supervisor = open_supervisor
        self._opening = threading.Lock()
        self._is_over = False
        self._lock: SupervisorLock | None = None
        self._dormant: _Dormant | None = None
        self._watching: Watching | None = None

    @property
    def is_held(self) -> bool:
        """Whether this process has the workspace's lock."""
        return self._lock is not None

    @property
    def is_told(self) -> bool:
        """Whether file events tell of every change that a person waits for, so that looks may be rare."""
        return self._watching is not None and self._watching.sees_all()

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
            self._lock = SupervisorLock(supervisor.ws)
        if self._dormant:
            supervisor.reading = self._dormant.reading
        supervisor.has_news()  # the first look: what its round and jobs are about to see is no change later
        self.supervisor, self._dormant = supervisor, None
        self._start(supervisor, hint, watch)
        return supervisor

    def close(self, *, watched: bool) -> None:
        """
        Make the workspace dormant, unless a last look finds something to do.

        Only its signature, due time and lock are kept, and the watch if it stays *watched*.
        """
        with self._opening:
            supervisor = self.supervisor
            if supervisor:
                disk = supervisor.ws.files.disk
                seen = signature(disk, self.root)  # before the look: what comes between them is found by it, or later by this
                if not supervisor.has_news() and supervisor.is_at_rest:
                    self.supervisor = None
                    self._end_parts(supervisor, watched=watched)
                    supervisor.ws.index.close()
                    supervisor.ws.events.forget()
                    self._dormant = _Dormant(disk, seen, supervisor.due_at, supervisor.reading)

    @property
    def rest_signature(self) -> int:
        """The signature of the files as the last look before its closing found them; 0 where it is not dormant."""
        dormant = self._dormant
        return dormant.signature if dormant else 0

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

    def release(self, *, for_good: bool = False, is_lost: bool = False) -> None:
        """Release the lock, which *for_good* is not taken again; where it *is_lost*, somebody may be deleting the folder."""
        with self._opening:
            self._is_over = self._is_over or for_good
            if self.supervisor is None and self._watching:
                self._watching.stop()
                self._watching = None
            lock, self._lock, self._dormant = self._lock, None, None
            if lock:
                lock.release(None if is_lost else self.why_let_go)

    # ── looking and working ──────────────────────────────────────────────────

    def look(self, now: datetime) -> bool:
        """Return whether there is something to do; costs a few stats."""
        hinted, self.is_hinted = self.is_hinted, False
        memory_hinted, self.is_memory_hinted = self.is_memory_hinted, False
        if self.supervisor and self._lock:
            return self.supervisor.poll(self._lock, hinted=hinted, memory_hinted=memory_hinted)
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

        if self._watching is None:
            try:
                self._watching = (watch or watcher.watch)(supervisor.ws.paths, partial(hint, self))
            except (OSError, Busy) as error:
                supervisor.ws.events.transition("watch_lost", True, why=str(error))
            else:
                supervisor.ws.memory.told = None if watch else object()  # a watch of many sees no edit within memory/
        if supervisor.background:
            supervisor.background.start()

    def _end_parts(self, supervisor: Supervisor, *, watched: bool = False) -> None:
        """Stop watching its files, unless they stay *watched*, and end the background jobs."""
        if self._watching and not watched:
            supervisor.ws.memory.told = None
            self._watching.stop()
            self._watching = None
        if supervisor.background:
            supervisor.background.end()


@record
class _Dormant:
    """What is kept of a workspace that is closed: its signature, when a round is due, and the clocks at the last one."""

    disk: Disk
    signature: int
    due_at: datetime
    reading: Reading | None

    def has_changed(self, root: Path) -> bool:
        """Return whether a message, a result, a request or a setting may have come; costs a few stats."""
        return signature(self.disk, root) != self.signature


def signature(disk: Disk, root: Path) -> int:
    """
    Return a number that is another one when a file there is replaced, or a message, request, result or setting comes.

    It is the same in each process: the hash of whole numbers.
    """
    folder = os.fspath(root)
    try:
        return hash(tuple(disk.stat(f"{folder}/{name}") or () for name in _SIGNED))
    except OSError:
        return 0  # the round reports it
