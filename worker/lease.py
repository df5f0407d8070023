"""
A claimed task, held: its running file is touched to show that its worker lives, and looked at to see whether it is still ours.

A worker that was suspended past its lease finds its file gone, or touched by another: the task was put back. It then stops
paying, and delivers nothing. Source: protocol.md, 6; durability.md H20, H21.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from supervisor.protocol.files import Files
    from supervisor.protocol.spool import Spool
    from supervisor.protocol.task import Task


class Lease:
    """The hold on one running task. Its methods may be called from any thread."""

    def __init__(self, files: Files, spool: Spool, task: Task) -> None:
        self.task = task
        self._files = files
        self._spool = spool
        self._path = spool.running / f"{task.id}.json"
        self._touching = threading.Lock()
        self._touched = self._mtime()
        self._lost = self._touched is None

    def beat(self) -> bool:
        """Show that the worker lives; False when the task is no longer ours."""
        with self._touching:
            if self._is_ours():
                self._spool.beat(self.task)
                self._touched = self._mtime()
            return self._is_ours()

    def held(self) -> bool:
        """Tell whether the task is still ours."""
        with self._touching:
            return self._is_ours()

    @property
    def lost(self) -> bool:
        """What the last look at the file said: asked often, and costs nothing."""
        return self._lost

    def give_back(self) -> None:
        """Return the task to the queue, where it is still ours to return."""
        with self._touching:
            if self._is_ours():
                self._spool.put_back(self._path.name)
                self._lost = True

    def _is_ours(self) -> bool:
        # whoever claims a task touches it: another time than the one that we left means another worker
        self._lost = self._lost or self._touched is None or self._mtime() != self._touched
        return not self._lost

    def _mtime(self) -> int | None:
        stat = self._files.disk.stat(self._path)
        return stat.mtime_ns if stat else None
