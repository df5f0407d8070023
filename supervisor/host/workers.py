"""
The worker processes: the supervisor starts one on demand and watches the leases of all (docs/reference/protocol.md, 6).

A task without a heartbeat for the length of the lease is requeued. The time is measured by this process's monotonic clock: the
times of files may be wrong, and a suspended machine must not cost a task.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..storage.clock import to_wire
from ..storage.control import ErrorCollector
from ..storage.errors import NoProcess
from ..storage.os_errors import why_refused
from .lock import reclaim

if TYPE_CHECKING:
    from ..storage.clock import Clock
    from ..workspace import Workspace

#: The most seconds until a worker that keeps ending is started again.
_LONGEST_S: Final = 60.0
#: Not resolved: in a checkout `recalld/supervisor` is a link, and the path must stay inside the package `recalld`.
_WORKER: Final = Path(__file__).absolute().parents[2] / "worker" / "__main__.py"


def worker_command(root: Path) -> list[str]:
    """
    Return the command that starts a worker for the workspace at *root*; options of the worker can follow.

    It names the worker's file, so that no other package `worker`, on PYTHONPATH or in the working folder, is started instead.
    """
    return [sys.executable, "-P", str(_WORKER), "--workspace", str(root)]


def crew_command(pool_file: Path) -> list[str]:
    """Return the command that starts a worker of a pool, whose address is in RECALLD_POOL_URL."""
    return [sys.executable, "-P", str(_WORKER), "--pool-file", str(pool_file.absolute())]


class Workers:
    """Starts one worker, and requeues the tasks of every worker whose lease has ended."""

    def __init__(self, ws: Workspace, clock: Clock, idle_s: float | None = None) -> None:
        self._ws = ws
        self._clock = clock
        self._idle_s = idle_s
        self._child: subprocess.Popen[bytes] | None = None
        self._beats: dict[str, tuple[int, float]] = {}
        self._not_before = 0.0
        #: How many workers in a row have ended while tasks were queued.
        self.failures = 0

    @property
    def is_running(self) -> bool:
        """Whether this supervisor's worker runs."""
        return self._child is not None and self._child.poll() is None

    def start_if_needed(self) -> None:
        """Start a worker if a task is queued and this supervisor's worker does not run; NoProcess if the system refuses."""
        if self._child and self._child.poll() is not None:
            self._child = None
            try:
                reclaim(self._ws)
            finally:  # also if the disk refuses: the tasks are then requeued when their lease ends
                self.failures = self.failures + 1 if self._ws.task_queue.queued_count() else 0
                self._not_before = time.monotonic() + min(2.0**self.failures, _LONGEST_S) if self.failures > 1 else 0.0
        if self._child is None and self._ws.task_queue.queued_count() and time.monotonic() >= self._not_before:
            command = worker_command(self._ws.paths.root)
            if self._idle_s is not None:
                command += ["--idle", str(self._idle_s)]
            environ = {**os.environ, "RECALLD_NOW": to_wire(self._clock())} if "RECALLD_NOW" in os.environ else None
            try:
                self._child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environ)
            except OSError as error:
                raise NoProcess(why_refused(error)) from error

    def watch_leases(self) -> None:
        """Requeue every claimed task that had no heartbeat for the length of the lease; raises the first error at the end."""
        lease_s = self._ws.config.worker.lease.total_seconds()
        now = time.monotonic()
        claimed = self._ws.task_queue.claimed()
        self._beats = {name: self._beats.get(name, (0, now)) for name in claimed}
        each = ErrorCollector()
        for name, beat in claimed.items():
            last, since = self._beats[name]
            if beat != last:
                self._beats[name] = (beat, now)
            elif now - since > lease_s:
                with each:  # the next call tries again
                    self._ws.task_queue.requeue(name)
                    self._ws.events.emit("task_put_back", tasks=1)
        each.raise_first()

    def stop(self, wait_s: float = 3.0) -> None:
        """End this supervisor's worker, which requeues its task; it is killed after *wait_s* seconds."""
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
