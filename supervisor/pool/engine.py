"""
Dramatiq, as the pool uses it: its queues, consumers, heartbeat and threads. Imported nowhere else.

A worker is embedded here and ended by our own signals: the command `dramatiq` ends all its processes when one is killed. Its
retries, results, time limits and delays are not used; clean-up runs in every command, since with the default a killed worker's
tasks may wait for minutes (docs/decisions).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import CurrentMessage

if TYPE_CHECKING:
    from collections.abc import Callable

    from .connection import Broker

#: The queues, and their priority in a worker: what a person waits for is done first.
QUEUES: Final = {"asked": 0, "tasks": 10}
_ALWAYS: Final = 1_000_000
_MS: Final = 1_000


def message_of(queue: str, uid: str, host: str) -> tuple[str, bytes]:
    """Return the id and the bytes of the message that brings a task to a worker."""
    identity = str(uuid4())
    message: Any = dramatiq.Message(
        queue_name=queue, actor_name=queue, args=(uid, host), kwargs={}, options={"redis_message_id": identity}
    )
    return identity, message.encode()


class Engine:
    """Calls *work* with the uid and the host of each task, in *threads*; a process that is silent for *heartbeat_s* is dead."""

    def __init__(self, broker: Broker, work: Callable[[str, str], None], threads: int, heartbeat_s: float) -> None:
        logging.getLogger("dramatiq").setLevel(logging.CRITICAL + 1)  # its words may quote a task; `doctor --broker` says more
        self._broker: Any = RedisBroker(  # type: ignore[no-untyped-call]
            client=broker.client,
            namespace=broker.prefix,
            heartbeat_timeout=round(heartbeat_s * _MS),
            maintenance_chance=_ALWAYS,
            middleware=[CurrentMessage()],
        )
        for queue, priority in QUEUES.items():
            dramatiq.actor(broker=self._broker, actor_name=queue, queue_name=queue, priority=priority)(work)
        self._worker: Any = dramatiq.Worker(self._broker, queues=set(QUEUES), worker_threads=threads)

    def start(self) -> None:
        """Begin to take tasks."""
        self._worker.start()

    def fetched(self) -> list[str]:
        """Return the uids of the tasks that this process has fetched and not begun."""
        return [item.message.args[0] for item in list(self._worker.work_queue.queue)]

    def stop(self, wait_s: float) -> None:
        """Take no more, let what was begun end for *wait_s* at most, and give back what was not."""
        self._worker.stop(timeout=round(wait_s * _MS))
