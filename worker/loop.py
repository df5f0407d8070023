"""
A claimed task, held: its running file is touched to show that its worker lives, and looked at to see whether it is still ours.

A worker that was suspended past its lease finds its file gone, or touched by another: the task was put back. It then stops
paying, and delivers nothing. Source: protocol.md, 6; durability.md H20, H21.

The worker: claim, summarise, deliver, until there has been nothing to do for a while.

It shares no memory with the supervisor, only the spool. Killed, it leaves its task in running/, which the supervisor puts
back; told to end (SIGTERM), it closes its streams and puts its tasks back itself; where it has lost a task to another, it stops
paying for it. Source: docs/protocol.md, 6.
"""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from supervisor.protocol.errors import BadConfig, Busy
from supervisor.protocol.paths import WORKERS
from supervisor.protocol.queue import TaskQueue
from supervisor.protocol.signals import on_signals
from worker.providers import Cancelled, Model, NoCall
from worker.summarize import summarise
from worker.writing import Pieces

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.protocol.clock import Clock
    from supervisor.protocol.config import Config
    from supervisor.protocol.files import Files
    from supervisor.protocol.paths import WorkspacePaths
    from supervisor.protocol.task import Result, Task
    from worker.providers import Summariser


class Lease:
    """The hold on one running task. Its methods may be called from any thread."""

    def __init__(self, files: Files, task_queue: TaskQueue, task: Task) -> None:
        self.task = task
        self._files = files
        self._task_queue = task_queue
        self._path = task_queue.running / f"{task.id}.json"
        self._touching = threading.Lock()
        self._touched = self._mtime()
        self._lost = self._touched is None

    def beat(self) -> bool:
        """Show that the worker lives; False when the task is no longer ours."""
        with self._touching:
            if self._is_ours():
                self._task_queue.heartbeat(self.task)
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
                self._task_queue.requeue(self._path.name)
                self._lost = True

    def _is_ours(self) -> bool:
        # whoever claims a task touches it: another time than the one that we left means another worker
        self._lost = self._lost or self._touched is None or self._mtime() != self._touched
        return not self._lost

    def _mtime(self) -> int | None:
        stat = self._files.disk.stat(self._path)
        return stat.mtime_ns if stat else None


_POLL_S: Final = 0.2
_GRACE_S: Final = 2.0  # for a task that is nearly done when the worker is told to end


@dataclass(slots=True)
class Worker:
    """One worker process over one workspace."""

    files: Files
    paths: WorkspacePaths
    config: Config
    provider: Model | Summariser
    clock: Clock
    stop: threading.Event = field(default_factory=threading.Event)
    _working: set[Lease] = field(default_factory=set)  # subtle: two of one task, where it was put back and claimed again
    _wrong: BadConfig | None = None

    def run_once(self) -> Result | None:
        """
        Do one task; None when there was none, or when it was cancelled.

        NoCall when the model may not be asked now, BadConfig when the workspace's wording is wrong: the task goes back.
        """
        task_queue = TaskQueue(self.files, self.paths)
        task = task_queue.claim()
        if task is None:
            return None
        lease = Lease(self.files, task_queue, task)
        self._working.add(lease)
        try:
            result = summarise(
                task, self.provider, self.config, self.files, self.paths, self.clock, lambda: self.stop.is_set() or lease.lost
            )
            if not lease.held():
                return None
            task_queue.finish(result)
        except Cancelled:
            lease.give_back()
            return None
        except (BadConfig, Busy, NoCall, OSError):
            lease.give_back()
            raise
        finally:
            self._working.discard(lease)
        if result.status == "done" and isinstance(self.provider, Model):
            Pieces(self.files, self.paths, task.group).clear()
        return result

    def run(self, idle_s: float, tell: Callable[[dict[str, str]], None]) -> None:
        """
        Work until told to stop, or until nothing was there for *idle_s* seconds. BadConfig as in `run_once`.

        *tell* is given each result's group, status, reason and error; a fault of this machine's as an error alone.
        """
        with self._slot():
            on_signals(self.stop.set)
            threads = [
                threading.Thread(target=self._work, args=(idle_s, tell), daemon=True)
                for _ in range(1 if self.provider.extract else self.config.worker.concurrency)
            ]
            for thread in threads:
                thread.start()
            beat_s = self.config.worker.beat.total_seconds()
            last_beat = time.monotonic()
            while any(thread.is_alive() for thread in threads) and not self.stop.wait(0.05):
                if time.monotonic() - last_beat >= beat_s:
                    last_beat = time.monotonic()
                    self._beat()
            self._put_back_unfinished(threads)
        if self._wrong:
            raise self._wrong

    def _work(self, idle_s: float, tell: Callable[[dict[str, str]], None]) -> None:
        last = time.monotonic()
        while not self.stop.is_set():
            try:
                result = self.run_once()
            except BadConfig as error:
                self._wrong = error
                self.stop.set()
                return
            except NoCall as error:
                tell({"error": str(error)})
                return  # the supervisor takes back what waits, and asks again when it may
            except (OSError, Busy) as error:  # a full disk: what was claimed was put back, and is tried again
                tell({"error": str(error)})
                result = None
            if result:
                last = time.monotonic()
                told = {"group": result.group, "status": result.status, "reason": result.reason, "error": result.error}
                tell({key: value for key, value in told.items() if value})
                if result.reason == "provider":
                    return  # the supervisor decides when the provider is asked again
            elif time.monotonic() - last >= idle_s:
                return
            else:
                self.stop.wait(min(_POLL_S, max(idle_s, 0.01)))

    def _beat(self) -> None:
        for lease in list(self._working):
            lease.beat()

    def _put_back_unfinished(self, threads: list[threading.Thread]) -> None:
        """Give what is nearly done a moment, and put the rest back into the queue."""
        self.stop.set()
        until = time.monotonic() + _GRACE_S
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
        for lease in list(self._working):
            lease.give_back()

    def _slot(self) -> contextlib.ExitStack:
        """Hold one of the worker locks for life: it is how a supervisor knows that somebody lives."""
        held = contextlib.ExitStack()
        for slot in range(WORKERS):
            with contextlib.suppress(Busy):
                held.enter_context(self.files.lock(self.paths.worker_lock(slot), wait_s=0))
                return held
        raise Busy(self.paths.worker_lock(0), timedelta())
