"""
The worker processes as the supervisor sees them: started on demand, and their leases watched.

A task whose worker is silent for the lease, by this process's own monotonic clock, goes back to the queue: a file's times
may lie, and a suspended machine must not cost a task (docs/protocol.md, 6; durability.md H21).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from supervisor.protocol.clock import to_wire
from supervisor.protocol.errors import Busy
from supervisor.service.lock import reclaim

if TYPE_CHECKING:
    from supervisor.protocol.clock import Clock
    from supervisor.workspace import Workspace

#: The longest wait before a worker that does nothing but end is started again.
_LONGEST_S: Final = 60.0
_WORKER: Final = Path(__file__).resolve().parents[2] / "worker" / "__main__.py"


def worker_command(root: Path) -> list[str]:
    """
    The command that starts a worker for the workspace at *root*; options of the worker can follow.

    It names the worker's file, so that no other package `worker`, on PYTHONPATH or in the working folder, is started instead.
    """
    return [sys.executable, "-P", str(_WORKER), "--workspace", str(root)]


class Workers:
    """The one worker that this supervisor starts, and the leases of all."""

    def __init__(self, ws: Workspace, clock: Clock, idle_s: float | None = None) -> None:
        self._ws = ws
        self._clock = clock
        self._idle_s = idle_s
        self._child: subprocess.Popen[bytes] | None = None
        self._beats: dict[str, tuple[int, float]] = {}
        self._not_before = 0.0
        #: How often in a row a worker ended and left its work undone.
        self.failures = 0

    def start_if_needed(self) -> None:
        """Start a worker when the queue holds something and ours does not live."""
        if self._child and self._child.poll() is not None:
            self._child = None
            with suppress(OSError, Busy):  # a disk that refuses: what is left running is put back when its lease is over
                reclaim(self._ws)
            self.failures = self.failures + 1 if self._ws.task_queue.queued_count() else 0
            self._not_before = time.monotonic() + min(2.0**self.failures, _LONGEST_S) if self.failures > 1 else 0.0
        if self._child is None and self._ws.task_queue.queued_count() and time.monotonic() >= self._not_before:
            command = worker_command(self._ws.paths.root)
            if self._idle_s is not None:
                command += ["--idle", str(self._idle_s)]
            environ = {**os.environ, "RECALLD_NOW": to_wire(self._clock())} if "RECALLD_NOW" in os.environ else None
            self._child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environ)

    def watch_leases(self) -> None:
        """Put back every running task that nobody has touched for the lease."""
        lease_s = self._ws.config.worker.lease.total_seconds()
        now = time.monotonic()
        claimed = self._ws.task_queue.claimed()
        self._beats = {name: self._beats.get(name, (0, now)) for name in claimed}
        for name, beat in claimed.items():
            last, since = self._beats[name]
            if beat != last:
                self._beats[name] = (beat, now)
            elif now - since > lease_s:
                with suppress(OSError):  # the next look tries again
                    self._ws.task_queue.requeue(name)
                    self._ws.events.emit("task_put_back", tasks=1)

    def stop(self, wait_s: float = 3.0) -> None:
        """Tell our worker to end; it puts its task back itself, or is killed after *wait_s* seconds."""
        if self._child is None:
            return
        self._child.terminate()
        try:
            self._child.wait(wait_s)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._child = None
        reclaim(self._ws)
