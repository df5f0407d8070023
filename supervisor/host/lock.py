"""
The lock of a workspace's one supervisor, and the cleanup after a crash: temporary files, and tasks of dead workers.

The cleanup needs no record of what the dead process did (docs/reference/protocol.md, 3 and 6).
"""

import contextlib
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final

from ..archive.places import LEFT
from ..protocol.paths import WORKERS
from ..storage.errors import AlreadyRuns, Busy, LockLost, as_supervisor_error
from ..workspace import Workspace

#: Seconds to wait for the lock: `status` holds it for a moment, to find out whether a supervisor runs.
_LOCK_WAIT_S: Final = 1.0


@contextlib.contextmanager
def supervisor_lock(ws: Workspace) -> Iterator[Callable[[], None]]:
    """
    Hold the supervisor's lock of the workspace, and clean up what a crash has left.

    Yields what raises LockLost once the lock file is no longer the one that is held: it was moved, or a disk was mounted over
    it. AlreadyRuns if another process holds it, another SupervisorError if it can't be had.
    """

    def inode() -> int | None:
        stat = ws.files.disk.stat(ws.paths.supervisor_lock)
        return stat and stat.inode

    def check() -> None:
        if locked is None or inode() != locked:
            raise LockLost(ws.paths.root)

    with contextlib.ExitStack() as held:
        try:
            ws.prepare()
            try:
                held.enter_context(ws.files.disk.lock_for_life(ws.paths.supervisor_lock, _LOCK_WAIT_S))
            except Busy:
                raise AlreadyRuns(ws.paths.root) from None
            locked = inode()
            sweep(ws)
            reclaim(ws)
            ws.events.emit("started")
        except OSError as error:
            raise as_supervisor_error(error, "open", ws.paths.root) from error
        held.callback(ws.events.emit, "stopped")
        yield check


def check_there(ws: Workspace) -> None:
    """Raise LockLost if the state folder is gone, maybe with the workspace: a write now would begin a new workspace."""
    if ws.files.disk.stat(ws.paths.state) is None:
        raise LockLost(ws.paths.root)


def sweep(ws: Workspace) -> int:
    """Delete temporary files where only the supervisor writes, make the queue durable, and return how many were deleted."""
    paths = ws.paths
    folders = [paths.memory, paths.summaries, paths.previous, paths.quarantine]
    folders += [ws.task_queue.queue, ws.task_queue.failed]
    swept = 0
    with contextlib.suppress(PermissionError):  # the round reports a folder that can't be read
        folders += ws.memory.month_folders()
    for folder in folders:
        with contextlib.suppress(PermissionError):
            swept += ws.files.sweep(folder)
    ws.task_queue.sync_folders()
    with contextlib.suppress(OSError):  # the round reports a disk that can't be written
        for left in (path for name in LEFT if ws.files.disk.stat(path := paths.root / name)):
            ws.files.remove(left)
    with contextlib.suppress(OSError), ws.files.lock(paths.history_lock):  # the round reports whatever is in place of the lock
        swept += ws.files.sweep(paths.root)
    return swept


def sweep_shared(ws: Workspace, now: datetime) -> int:
    """Delete temporary files so old that their writer, a command or a worker, must be dead; return how many."""
    ws.files.check_folder(ws.paths.pieces)  # a worker that can't keep its pieces there can't report it
    paths = ws.paths
    folders = (paths.state, paths.drop_box, paths.attachments, paths.turns, paths.pieces, paths.sessions, ws.task_queue.results)
    return sum(ws.files.sweep(folder, now=now) for folder in folders)


def reclaim(ws: Workspace) -> int:
    """Requeue the claimed tasks if no worker is alive, and return how many; `Workers` watches the leases of live workers."""
    running = list(ws.task_queue.claimed())  # before the locks are checked: a worker that starts later can't have claimed these
    if any_worker(ws):
        return 0
    for folder in (ws.task_queue.results, ws.paths.pieces):
        ws.files.sweep(folder)  # files that a worker did not finish writing
    for name in running:
        ws.task_queue.requeue(name)
    if running:
        ws.events.emit("task_put_back", tasks=len(running))
    return len(running)


def any_worker(ws: Workspace) -> bool:
    """Return whether any worker is alive: each holds one of the worker locks until it ends."""
    return any(ws.files.disk.is_locked(ws.paths.worker_lock(slot)) for slot in range(WORKERS))
