"""
A courier in the place of worker processes, where `[pool] url` is set: the workspace's tasks are done by a pool of workers.

It has a thread of its own. Nothing of it is loaded without a pool.
"""

from __future__ import annotations

import hashlib
import re
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from ..storage.errors import BadConfig
from ..storage.texts import Text
from .workers import Workers

if TYPE_CHECKING:
    from pathlib import Path

    from ..pool.courier import Courier
    from ..storage.clock import Clock
    from ..workspace import Workspace

#: Threads that write results down: each waits for its disk.
_CARRIERS: Final = 4
#: What `recalld[pool]` brings, without which there is no pool.
_NEEDED: Final = ("cryptography", "dramatiq", "redis")


def workers_of(ws: Workspace, clock: Clock, idle_s: float | None = None) -> Workers:
    """Return what sees to the tasks of the workspace: worker processes here, or a courier; BadConfig where that can't be."""
    if not ws.config.pool.url:
        return Workers(ws, clock, idle_s)
    check_installed()
    return CourierWorkers(ws, clock)


def check_installed() -> None:
    """Raise BadConfig with what to install, where the extra is missing."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in _NEEDED):
        raise BadConfig("pool.url", Text("a pool needs recalld[pool], which is not installed: `pip install 'recalld[pool]'`"))


def name_of(root: Path) -> str:
    """Return the name of a workspace outside of it: that of its folder, and a digest of where it is."""
    digest = hashlib.sha256(f"{socket.gethostname()}\0{root}".encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return f"{re.sub(r'[^A-Za-z0-9_-]+', '-', root.name)[:24] or 'workspace'}-{digest}"


class CourierWorkers(Workers):
    """Has the tasks of the workspace done by its pool; a courier carries them from the first on. BadConfig for a wrong key."""

    def __init__(self, ws: Workspace, clock: Clock) -> None:
        super().__init__(ws, clock)
        from ..pool.connection import Broker
        from ..pool.sealing import Seal
        from ..pool.station import Station

        self._broker, self._name = Broker(ws.config.pool.url, ws.config.pool.prefix), name_of(ws.paths.root)
        self._courier: Courier | None = None
        self._ended = threading.Event()
        seal = Seal.of(ws.config.pool.key_env, ws.environ)  # a wrong key is reported now
        self._station = Station(self._name, self._name, ws.files, ws.paths, ws.config, ws.events, seal, clock)

    def start_if_needed(self) -> None:
        """Carry the tasks that are queued."""
        if self._courier is None:
            if self._ws.task_queue.queued_count():
                self._courier = self._begun()
                self._courier.join(self._station)
        else:
            self.failures = self._courier.missed
            self._courier.wake(self._station.name)

    def stop(self, wait_s: float = 0.0) -> None:  # noqa: ARG002 - a step of the courier ends by itself
        """Give every task back; what a worker has begun comes home to the next courier."""
        if self._courier:
            self._courier.leave(self._station.name)
            self._ended.set()
        self._courier = None

    def _begun(self) -> Courier:
        """Return a courier, in a thread of its own."""
        from ..pool.courier import Courier
        from ..pool.dramatiq_pool import DramatiqPool

        pool, carriers = DramatiqPool(self._broker, self._name), ThreadPoolExecutor(_CARRIERS, "courier")
        courier, ended = Courier(pool, carry=carriers.map, window=self._ws.config.pool.window), threading.Event()

        def run() -> None:
            courier.run(ended)
            pool.close()
            carriers.shutdown()

        self._ended = ended
        threading.Thread(target=run, name="courier", daemon=True).start()
        return courier
