"""
Being the one supervisor of a workspace: its lock, and what the one before left is tidied up.

Settling, each round and after a crash: flags follow the evidence of the files, and what a crash left is tidied up.

No plan has to be remembered (docs/protocol.md, 3, Settling; holes.md A8 to A10, B9).
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

from supervisor.protocol.errors import AlreadyRuns, Busy, LockLost
from supervisor.protocol.paths import WORKERS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from supervisor.protocol.disk import Stat
    from supervisor.workspace import Workspace

#: How long to wait for the lock: `status` holds it for a moment, to see whether a supervisor runs. In seconds.
_LOCK_WAIT_S: Final = 1.0


class SupervisorLock:
    """The supervisor's lock, held."""

    def __init__(self, ws: Workspace) -> None:
        self._ws = ws
        self._lock = self._stat()

    def check(self) -> None:
        """Raise LockLost when the lock that is held is no longer the one at its place: the state was deleted or moved away."""
        now = self._stat()
        if self._lock is None or now is None or now.inode != self._lock.inode:
            raise LockLost(self._ws.paths.root)

    def _stat(self) -> Stat | None:
        return self._ws.files.disk.stat(self._ws.paths.supervisor_lock)


@contextlib.contextmanager
def alone(ws: Workspace) -> Iterator[SupervisorLock]:
    """Hold the supervisor's lock, and tidy up what a crash left; AlreadyRuns when another holds it."""
    ws.prepare()
    try:
        held = contextlib.ExitStack()
        held.enter_context(ws.files.lock(ws.paths.supervisor_lock, wait_s=_LOCK_WAIT_S))
    except Busy:
        raise AlreadyRuns(ws.paths.root) from None
    with held:
        mine = SupervisorLock(ws)
        sweep(ws)
        reclaim(ws)
        ws.events.emit("started")
        try:
            yield mine
        finally:
            ws.events.emit("stopped")


def sweep(ws: Workspace) -> int:
    """Delete the temporary files that a crash left where only the supervisor writes, and settle the spool; returns how many."""
    paths = ws.paths
    folders = [paths.memory, paths.summaries, paths.state, paths.previous, paths.quarantine]
    folders += ws.memory.month_folders()
    folders += [ws.task_queue.queue, ws.task_queue.failed]
    swept = sum(ws.files.sweep(folder) for folder in folders)
    ws.task_queue.sync_folders()
    with ws.files.lock(paths.history_lock):
        return swept + ws.files.sweep(paths.root)


def sweep_shared(ws: Workspace, now: datetime) -> int:
    """Delete the temporary files where any command or worker writes, if their writers must be dead; returns how many."""
    folders = (ws.paths.drop_box, ws.paths.turns, ws.paths.pieces, ws.task_queue.results)
    return sum(ws.files.sweep(folder, now=now) for folder in folders)


def reclaim(ws: Workspace) -> int:
    """Put running tasks back whose workers are all dead; returns how many. A living worker's lease is watched elsewhere."""
    running = list(ws.task_queue.claimed())  # before the look at the locks: who starts later can't have claimed these
    if any_worker(ws):
        return 0
    for folder in (ws.task_queue.results, ws.paths.pieces):
        ws.files.sweep(folder)  # what its worker did not finish writing
    for name in running:
        ws.task_queue.requeue(name)
    if running:
        ws.events.emit("task_put_back", tasks=len(running))
    return len(running)


def any_worker(ws: Workspace) -> bool:
    """Tell whether any worker lives: each holds one of the worker locks for life."""
    for slot in range(WORKERS):
        try:
            with ws.files.lock(ws.paths.worker_lock(slot), wait_s=0):
                pass
        except Busy:
            return True
    return False
