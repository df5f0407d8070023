"""
A courier in the place of worker processes, where `[pool] url` is set: the workspace's tasks are done by a pool of workers.

The workspaces of one process share a courier, in a thread of its own. Nothing of it is loaded without a pool.
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
from recalld.supervisor.storage.errors import BadConfig

if TYPE_CHECKING:
    from pathlib import Path

    from recalld.supervisor.pool.courier import Courier
    from recalld.supervisor.pool.station import Station
    from recalld.supervisor.protocol.pool_keys import Pool
    from recalld.supervisor.storage.clock import Clock
    from recalld.supervisor.workspace import Workspace

#: Threads that write results down: each waits for its disk.
_CARRIERS: Final = 4
#: What `recalld[pool]` brings, without which there is no pool.
_NEEDED: Final = ("cryptography", "dramatiq", "redis")


def workers_of(ws: Workspace, clock: Clock, idle_s: float | None = None) -> Workers:
    """Return what sees to the tasks of the workspace: worker processes here, or a courier; BadConfig where that can't be."""
    return Couriers().workers_of(ws, clock) if ws.config.pool.url else Workers(ws, clock, idle_s)


def check_installed() -> None:
    """Raise BadConfig with what to install, where the extra is missing."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in _NEEDED):
        raise BadConfig("pool.url", Text("pool.not_installed"))


def name_of(root: Path) -> str:
    """Return the name of a workspace outside of it: that of its folder, and a digest of where it is."""
    digest = hashlib.sha256(f"{socket.gethostname()}\0{root}".encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return f"{re.sub(r'[^A-Za-z0-9_-]+', '-', root.name)[:24] or 'workspace'}-{digest}"


class Couriers:
    """The couriers of one process, which calls itself *host*: workspaces with the same pool share one."""

    def __init__(self, host: str = "") -> None:
        self._host = host
        self._mutex = threading.Lock()  # a host opens several workspaces at once
        self._shared: dict[tuple[str, ...], SharedCourier] = {}

    def workers_of(self, ws: Workspace, clock: Clock) -> CourierWorkers:
        """Return what brings the tasks of the workspace to its pool; BadConfig where that can't be."""
        check_installed()
        pool = ws.config.pool
        key = (pool.url, pool.prefix, str(pool.window))
        with self._mutex:
            if key not in self._shared:
                apart = hashlib.sha256("\0".join(key).encode()).hexdigest()[:6]  # two addresses may be of one Redis
                self._shared[key] = SharedCourier(pool, f"{self._host}-{apart}" if self._host else name_of(ws.paths.root))
            return CourierWorkers(ws, clock, self._shared[key])


class SharedCourier:
    """A courier to the pool that *keys* name, and its thread, which lives while a workspace has joined."""

    def __init__(self, keys: Pool, host: str) -> None:
        from recalld.supervisor.pool.connection import Broker

        self.broker, self.host, self._window = Broker(keys.url, keys.prefix), host, keys.window
        self._joined: set[Station] = set()
        self._courier: Courier | None = None
        self._ended = threading.Event()
        self._mutex = threading.Lock()

    def join(self, station: Station) -> Courier:
        """Carry its tasks from now on, and return what does."""
        with self._mutex:
            if self._courier is None:
                self._courier = self._begin()
            self._joined.add(station)
            self._courier.join(station)
            return self._courier

    def leave(self, station: Station) -> None:
        """Give its tasks back; the last one ends the thread."""
        with self._mutex:
            if self._courier is None or station not in self._joined:
                return
            self._joined.discard(station)
            self._courier.leave(station.name)
            if not self._joined:
                self._courier = None
                self._ended.set()

    def _begin(self) -> Courier:
        from recalld.supervisor.pool.courier import Courier
        from recalld.supervisor.pool.dramatiq_pool import DramatiqPool

        pool, carriers, ended = (
            DramatiqPool(self.broker, self.host),
            ThreadPoolExecutor(_CARRIERS, "courier"),
            threading.Event(),
        )
        courier = Courier(pool, carry=carriers.map, window=self._window)

        def run() -> None:
            courier.run(ended)
            pool.close()
            carriers.shutdown()

        self._ended = ended
        threading.Thread(target=run, name="courier", daemon=True).start()
        return courier


class CourierWorkers(Workers):
    """Has the tasks of one workspace done by its pool; the courier is asked for with the first task."""

    def __init__(self, ws: Workspace, clock: Clock, shared: SharedCourier) -> None:
        super().__init__(ws, clock)
        from recalld.supervisor.pool.sealing import Seal
        from recalld.supervisor.pool.station import Station

        self.shared = shared
        self._courier: Courier | None = None
        seal = Seal.of(ws.config.pool.key_env, ws.environ)  # a wrong key is reported now
        self._station = Station(name_of(ws.paths.root), shared.host, ws.files, ws.paths, ws.config, ws.events, seal, clock)

    def start_if_needed(self) -> None:
        """Carry the tasks that are queued."""
        if self._courier is None:
            if self._ws.task_queue.queued_count():
                self._courier = self.shared.join(self._station)
        else:
            self.failures = self._courier.missed
            self._courier.wake(self._station.name)

    def stop(self, wait_s: float = 0.0) -> None:  # noqa: ARG002 - a step of the courier ends by itself
        """Give every task back; what a worker has begun comes home to the next courier."""
        self.shared.leave(self._station)
        self._courier = None
