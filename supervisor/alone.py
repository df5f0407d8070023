"""Being the one supervisor of a workspace: its lock, and what the one before left is tidied up."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

from supervisor.protocol.errors import AlreadyRuns, Busy, LockLost
from supervisor.recover import reclaim, sweep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from supervisor.protocol.disk import Stat
    from supervisor.workspace import Workspace

#: How long to wait for the lock: `status` holds it for a moment, to see whether a supervisor runs. In seconds.
_LOCK_WAIT_S: Final = 1.0


class Alone:
    """The supervisor's lock, held."""

    def __init__(self, ws: Workspace) -> None:
        self._ws = ws
        self._lock = self._stat()

    def check(self) -> None:
        """Raise LockLost when the lock that is held is no longer the one at its place: the state was deleted or moved away."""
        now = self._stat()
        if self._lock is None or now is None or now.inode != self._lock.inode:
            raise LockLost(self._ws.layout.root)

    def _stat(self) -> Stat | None:
        return self._ws.files.disk.stat(self._ws.layout.supervisor_lock)


@contextlib.contextmanager
def alone(ws: Workspace) -> Iterator[Alone]:
    """Hold the supervisor's lock, and tidy up what a crash left; AlreadyRuns when another holds it."""
    ws.prepare()
    try:
        held = contextlib.ExitStack()
        held.enter_context(ws.files.lock(ws.layout.supervisor_lock, wait_s=_LOCK_WAIT_S))
    except Busy:
        raise AlreadyRuns(ws.layout.root) from None
    with held:
        mine = Alone(ws)
        sweep(ws)
        reclaim(ws)
        ws.events.emit("started")
        try:
            yield mine
        finally:
            ws.events.emit("stopped")
