"""
A courier in the place of worker processes, where `[pool] url` is set: the workspace's tasks are done by a pool of workers.

A supervisor of one workspace has a courier of its own, in a thread of its own. Nothing of it is loaded without a pool.
"""

from __future__ import annotations

import hashlib
import re
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from recalld.supervisor.host.workers import Workers
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.errors import BadConfig, SupervisorError

if TYPE_CHECKING:
    from pathlib import Path

    from recalld.supervisor.pool.courier import Courier
    from recalld.supervisor.storage.clock import Clock
    from recalld.supervisor.workspace import Workspace

#: Threads that write results down: each waits for its disk.
_CARRIERS: Final = 4
_STOP_S: Final = 10.0
#: What `recalld[pool]` brings, without which there is no pool.
_NEEDED: Final = ("cryptography", "dramatiq", "redis")


def workers_of(ws: Workspace, clock: Clock, idle_s: float | None = None) -> Workers:
    """Return what sees to the tasks of the workspace: worker processes here, or a courier; BadConfig where that can't be."""
    return CourierWorkers(ws, clock) if ws.config.pool.url else Workers(ws, clock, idle_s)


def check_installed() -> None:
    """Raise BadConfig with what to install, where the extra is missing."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in _NEEDED):
        raise BadConfig("pool.url", Text("pool.not_installed"))


def name_of(root: Path) -> str:
    """Return the name of a workspace outside of it: that of its folder, and a digest of where it is."""
    digest = hashlib.sha256(f"{socket.gethostname()}\0{root}".encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return f"{re.sub(r'[^A-Za-z0-9_-]+', '-', root.name)[:24] or 'workspace'}-{digest}"


class CourierWorkers(Workers):
    """Has the tasks of one workspace done by its pool, by a courier whose thread begins with the first task."""

    def __init__(self, ws: Workspace, clock: Clock) -> None:
        super().__init__(ws, clock)
        check_installed()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._courier: Courier | None = None
        self._made = self._make()  # a wrong key is reported now

    def start_if_needed(self) -> None:
        """Carry the tasks that are queued."""
        if self._thread is None:
            self._courier = self._made
            self._thread = threading.Thread(target=self._run, name="courier", daemon=True)
            self._thread.start()
        elif self._courier:
            self.failures = self._courier.missed
            self._courier.wake(name_of(self._ws.paths.root))

    def stop(self, wait_s: float = _STOP_S) -> None:
        """Give every task back; what a worker has begun comes home to the next courier."""
        self._stopping.set()
        if self._thread:
            self._thread.join(wait_s)

    def _make(self) -> Courier:
        from recalld.supervisor.pool.connection import Broker
        from recalld.supervisor.pool.courier import Courier
        from recalld.supervisor.pool.dramatiq_pool import DramatiqPool
        from recalld.supervisor.pool.sealing import Seal
        from recalld.supervisor.pool.station import Station

        ws, pool = self._ws, self._ws.config.pool
        name = name_of(ws.paths.root)
        self.broker = Broker(pool.url, pool.prefix)
        self._pool = DramatiqPool(self.broker, name)
        seal = Seal.of(pool.key_env, ws.environ)
        self._carriers = ThreadPoolExecutor(_CARRIERS, "courier")
        courier = Courier(self._pool, carry=self._carriers.map, window=pool.window)
        courier.join(Station(name, name, ws.files, ws.paths, ws.config, ws.events, seal, self._clock))
        return courier

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._made.run(self._stopping)
            except (SupervisorError, OSError) as error:
                self._ws.events.transition("pool_waits", str(error), "pool_goes_on", what="courier", why=str(error))
                self._stopping.wait(1.0)
        self._made.close()
        self._pool.close()
        self._carriers.shutdown()
