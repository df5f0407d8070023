"""
The lease of a running task: who has claimed it touches its file, and has lost it as soon as somebody else did.

A worker holds one, and so does what carries tasks to a pool of workers. Source: docs/reference/protocol.md, 6.
"""

from __future__ import annotations

import contextlib
import threading
from datetime import timedelta
from typing import TYPE_CHECKING

from ..storage.errors import Busy
from .paths import WORKERS, WorkspacePaths
from .task import AskedTask, Task

if TYPE_CHECKING:
    from ..storage.files import Files
    from .queue import TaskQueue


class Lease:
    """The lease of one running task, shown by the time of its file. Its methods may be called from any thread."""

    def __init__(self, files: Files, task_queue: TaskQueue, task: Task | AskedTask) -> None:
        self.task = task
        self._files = files
        self._task_queue = task_queue
        self._path = task_queue.running / f"{task.id}.json"
        self._lock = threading.Lock()
        self._touched = self._mtime()
        self._lost = self._touched is None

    def heartbeat(self) -> bool:
        """Show that its holder is alive; False when the lease is lost."""
        with self._lock:
            if self._is_held():
                self._task_queue.heartbeat(self.task)
                self._touched = self._mtime()
            return self._is_held()

    def held(self) -> bool:
        """Return whether this process still has the lease, by its file."""
        with self._lock:
            return self._is_held()

    @property
    def lost(self) -> bool:
        """Whether the lease was lost when the file was last checked; free of cost, for frequent calls."""
        return self._lost

    def give_up_if_abandoned(self) -> None:
        """Lose the lease of a task that nobody waits for any more, and delete the task."""
        if isinstance(self.task, AskedTask) and not self._task_queue.is_awaited(self.task):
            with self._lock:
                self._lost = True
                self._task_queue.withdraw(self.task.id)

    def requeue(self) -> None:
        """Put the task back into the queue, unless the lease is lost."""
        with self._lock:
            if self._is_held():
                self._task_queue.requeue(self._path.name)
                self._lost = True

    def _is_held(self) -> bool:
        # a claim touches the file: a time that this process did not set was set by another
        self._lost = self._lost or self._touched is None or self._mtime() != self._touched
        return not self._lost

    def _mtime(self) -> int | None:
        stat = self._files.disk.stat(self._path)
        return stat.mtime_ns if stat else None


def worker_lock(files: Files, paths: WorkspacePaths) -> contextlib.ExitStack:
    """Hold one of the worker locks until the stack is closed: it shows the supervisor that the claimed tasks have a worker."""
    lock = contextlib.ExitStack()
    for slot in range(WORKERS):
        with contextlib.suppress(Busy):
            lock.enter_context(files.lock_for_life(paths.worker_lock(slot), wait_s=0))
            return lock
    raise Busy(paths.worker_lock(0), timedelta())
