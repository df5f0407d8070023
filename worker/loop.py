"""
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
from supervisor.protocol.layout import WORKERS
from supervisor.protocol.signals import on_signals
from supervisor.protocol.spool import Spool
from worker.lease import Lease
from worker.pieces import Pieces
from worker.providers.completion import Cancelled, Model, NoCall
from worker.summarise import summarise

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.protocol.clock import Clock
    from supervisor.protocol.config import Config
    from supervisor.protocol.files import Files
    from supervisor.protocol.layout import Layout
    from supervisor.protocol.task import Result
    from worker.providers.completion import Summariser

_POLL_S: Final = 0.2
_GRACE_S: Final = 2.0  # for a task that is nearly done when the worker is told to end


@dataclass(slots=True)
class Worker:
    """One worker process over one workspace."""

    files: Files
    layout: Layout
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
        spool = Spool(self.files, self.layout)
        task = spool.claim()
        if task is None:
            return None
        lease = Lease(self.files, spool, task)
        self._working.add(lease)
        try:
            result = summarise(
                task, self.provider, self.config, self.files, self.layout, self.clock, lambda: self.stop.is_set() or lease.lost
            )
            if not lease.held():
                return None
            spool.finish(result)
        except Cancelled:
            lease.give_back()
            return None
        except (BadConfig, Busy, NoCall, OSError):
            lease.give_back()
            raise
        finally:
            self._working.discard(lease)
        if result.status == "done" and isinstance(self.provider, Model):
            Pieces(self.files, self.layout, task.group).clear()
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
                held.enter_context(self.files.lock(self.layout.worker_lock(slot), wait_s=0))
                return held
        raise Busy(self.layout.worker_lock(0), timedelta())
