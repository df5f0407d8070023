"""
The worker's loop: claim a task, do it, deliver the result, until there has been nothing to do for a while.

What somebody waits for is done first, and one thread does nothing else, so that no backlog of days delays it. Once nobody waits
for it any more it is given up.

The worker shares no memory with the supervisor, only the task queue. A worker that is killed leaves its task in running/,
and the supervisor requeues it; one that SIGTERM stops requeues its tasks itself. A worker that was suspended past
its lease finds its task requeued or claimed by another: it stops paying for it, and delivers nothing. Source:
docs/reference/protocol.md, 6.
"""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from recalld.supervisor.protocol.llm import endpoint_of
from recalld.supervisor.protocol.paths import WORKERS
from recalld.supervisor.protocol.queue import TaskQueue
from recalld.supervisor.protocol.task import AskedTask, Task
from recalld.supervisor.storage.errors import BadConfig, Busy
from recalld.supervisor.storage.signals import on_signals
from recalld.worker.answering import answer
from recalld.worker.providers import Cancelled, MeasuredModel, Model, NoCall
from recalld.worker.providers.server_pages import Capacity
from recalld.worker.summarize import summarise
from recalld.worker.writing import Pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from recalld.supervisor.protocol.config import Config
    from recalld.supervisor.protocol.paths import WorkspacePaths
    from recalld.supervisor.protocol.task import Result
    from recalld.supervisor.storage.clock import Clock
    from recalld.supervisor.storage.files import Files
    from recalld.worker.providers import Summariser


_POLL_S: Final = 0.2
_GRACE_S: Final = 2.0  # for a task that is nearly done when the worker is to end


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
        """Show that the worker is alive; False when the lease is lost."""
        with self._lock:
            if self._is_held():
                self._task_queue.heartbeat(self.task)
                self._touched = self._mtime()
            return self._is_held()

    def held(self) -> bool:
        """Return whether this worker still has the lease, by its file."""
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
                self._task_queue.withdraw(self.task)

    def requeue(self) -> None:
        """Put the task back into the queue, unless the lease is lost."""
        with self._lock:
            if self._is_held():
                self._task_queue.requeue(self._path.name)
                self._lost = True

    def _is_held(self) -> bool:
        # a claim touches the file: a time that this worker did not set was set by another
        self._lost = self._lost or self._touched is None or self._mtime() != self._touched
        return not self._lost

    def _mtime(self) -> int | None:
        stat = self._files.disk.stat(self._path)
        return stat.mtime_ns if stat else None


@dataclass(slots=True)
class Worker:
    """The worker process of one workspace; a thread for each task at once."""

    files: Files
    paths: WorkspacePaths
    config: Config
    provider: Model | Summariser
    clock: Clock
    stop: threading.Event = field(default_factory=threading.Event)
    _leases: set[Lease] = field(default_factory=set)  # subtle: two of one task, when it was requeued and claimed again
    _config_error: BadConfig | None = None
    _capacity: Capacity | None = None

    def run_once(self, *, asked_only: bool = False) -> Result | None:
        """
        Do one task and return its result; None when there was no task, or when it was cancelled.

        With *asked_only* it is one that somebody waits for.
        NoCall when no call may be made now, BadConfig when a prompt of the workspace is wrong: the task is requeued.
        """
        task_queue = TaskQueue(self.files, self.paths)
        task = task_queue.claim(endpoint_of(self.config.llm, {}).server, asked_only=asked_only)
        if task is None:
            return None
        lease = Lease(self.files, task_queue, task)
        self._leases.add(lease)
        try:
            result = self._do(task, lease)
            if not lease.held():
                return None
            task_queue.finish(result)
        except Cancelled:
            lease.requeue()
            return None
        except (BadConfig, Busy, NoCall, OSError):
            lease.requeue()
            raise
        finally:
            self._leases.discard(lease)
        if result.status == "done" and isinstance(task, Task) and isinstance(self.provider, Model):
            Pieces(self.files, self.paths, task.group).clear()
        return result

    def _do(self, task: Task | AskedTask, lease: Lease) -> Result:
        stores = (self.provider, self.config, self.files, self.paths, self.clock)
        if isinstance(task, AskedTask):
            return answer(task, *stores, lambda: self.stop.is_set() or lease.lost)
        return summarise(task, *stores, lambda: self.stop.is_set() or lease.lost, self._server().window)

    def run(self, idle_s: float, report: Callable[[dict[str, str]], None], *, asked_only: bool = False) -> None:
        """
        Work until a signal, or until there was no task for *idle_s* seconds. BadConfig as in `run_once`.

        With *asked_only* no day and no month is done. *report* gets each result's group, status, reason and error; of a fault
        of this machine the error alone.
        """
        with self._worker_lock():
            on_signals(self.stop.set)
            count = 0 if asked_only else self._at_once()
            threads = [threading.Thread(target=self._work, args=(idle_s, report), daemon=True) for _ in range(count)]
            threads.append(threading.Thread(target=self._answer, args=(idle_s, report, tuple(threads)), daemon=True))
            for thread in threads:
                thread.start()
            beat_s = self.config.worker.beat.total_seconds()
            last_beat = time.monotonic()
            while any(thread.is_alive() for thread in threads) and not self.stop.wait(0.05):
                self._each_lease(Lease.give_up_if_abandoned, report)
                if time.monotonic() - last_beat >= beat_s:
                    last_beat = time.monotonic()
                    self._each_lease(Lease.heartbeat, report)  # a lease of several heartbeats outlives one that is refused
            self._wait_a_moment(threads)
            self._each_lease(Lease.requeue, report)  # else the supervisor requeues them, once no worker lives
        if self._config_error:
            raise self._config_error

    def _at_once(self) -> int:
        """Return how many tasks are done at once: no more than the server writes answers, since the others would only wait."""
        most = 1 if self.provider.extract else self.config.worker.concurrency
        return min(most, self._server().slots or most) if most > 1 else most

    def _server(self) -> Capacity:
        """Return what the server says that it can do, asked once."""
        if self._capacity is None:
            self._capacity = self.provider.capacity() if isinstance(self.provider, MeasuredModel) else Capacity()
        return self._capacity

    def _work(self, idle_s: float, report: Callable[[dict[str, str]], None]) -> None:
        """Do whatever is next, until nothing was for *idle_s* seconds or no call may be made."""
        last = time.monotonic()
        while not self.stop.is_set():
            try:
                result = self._next(report)
            except NoCall as error:
                report({"error": str(error)})
                return  # the supervisor cancels the queue, and submits again when calls may be made
            if result:
                last = time.monotonic()
                if result.reason == "provider":
                    return  # the supervisor decides when the provider is called again
            elif time.monotonic() - last >= idle_s:
                return
            else:
                self.stop.wait(min(_POLL_S, max(idle_s, 0.01)))

    def _answer(self, idle_s: float, report: Callable[[dict[str, str]], None], others: Collection[threading.Thread]) -> None:
        """Do what somebody waits for while one of the *others* works; without others until nobody did for *idle_s* seconds."""
        last = time.monotonic()
        while not self.stop.is_set():
            if self._next(report, asked_only=True):
                last = time.monotonic()
            elif not any(thread.is_alive() for thread in others) and (others or time.monotonic() - last >= idle_s):
                return
            else:
                self.stop.wait(_POLL_S / 4)

    def _next(self, report: Callable[[dict[str, str]], None], *, asked_only: bool = False) -> Result | None:
        """Do and report one task. NoCall as in `run_once`; a wrong configuration ends the worker."""
        try:
            result = self.run_once(asked_only=asked_only)
        except BadConfig as error:
            self._config_error = error
            self.stop.set()
            return None
        except (OSError, Busy) as error:  # a full disk: the claimed task was requeued, and is tried again
            report({"error": str(error)})
            return None
        if result:
            fields = {"group": result.group, "status": result.status, "reason": result.reason, "error": result.error}
            report({key: value for key, value in fields.items() if value})
        return result

    def _each_lease(self, act: Callable[[Lease], object], report: Callable[[dict[str, str]], None]) -> None:
        """Do this with each lease; a disk that refuses is reported, and stops nothing."""
        for lease in list(self._leases):
            try:
                act(lease)
            except OSError as error:
                report({"error": str(error)})

    def _wait_a_moment(self, threads: list[threading.Thread]) -> None:
        """Let tasks end that are nearly done."""
        self.stop.set()
        until = time.monotonic() + _GRACE_S
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _worker_lock(self) -> contextlib.ExitStack:
        """Hold one of the worker locks until the process ends: it shows the supervisor that a worker is alive."""
        lock = contextlib.ExitStack()
        for slot in range(WORKERS):
            with contextlib.suppress(Busy):
                lock.enter_context(self.files.lock_for_life(self.paths.worker_lock(slot), wait_s=0))
                return lock
        raise Busy(self.paths.worker_lock(0), timedelta())
