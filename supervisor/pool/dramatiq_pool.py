"""
The pool on Dramatiq and Redis: as a courier sees it, and the threads of a worker.

The queue in Redis is short: a host offers its share of what the workers can begin in the next seconds, since order and priority
are decided before. What happens at one stroke is in `scripts.py`.

Of Dramatiq, which is imported here alone, its queues, consumers, heartbeat and threads are used; retries, results, time limits
and delays are not. A worker is embedded here and ended by our own signals: the command `dramatiq` ends all its processes when
one is killed. Clean-up runs in every command, since with the default a killed worker's tasks may wait for minutes
(docs/decisions).
"""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import uuid4

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import CurrentMessage

from ..pool import scripts
from .cargo import Answer, PoolAway

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from .cargo import Cargo, Sign, Uid
    from .connection import Broker


#: The queues, and their priority in a worker: what a person waits for is done first.
QUEUES: Final = {"asked": 0, "tasks": 10}
_ALWAYS: Final = 1_000_000
_MS: Final = 1_000
#: Seconds between two looks at who is there, and how full Redis is.
_LOOK_S: Final = 2.0
#: The most answers at once.
_MOST_ANSWERS: Final = 64


class DramatiqPool:
    """
    The pool of workers behind *broker*; results come back to *host*, which is alone in calling itself so.

    Every call may raise PoolAway, and may have been carried out all the same.
    """

    def __init__(self, broker: Broker, host: str) -> None:
        self._broker, self._host = broker, host
        self._room, self._looked_s = 0, float("-inf")
        self._is_fit = False

    def room(self) -> int:
        """Return this host's share of twice the threads that are there; 0 where Redis is nearly full."""
        if time.monotonic() >= self._looked_s + _LOOK_S:
            hosts = self._broker.run(scripts.THERE, "hosts", self._host, 1)
            slots = self._broker.run(scripts.THERE, "slots", "", 0)
            self._room = 0 if self._broker.is_full() else -(-2 * slots // max(1, hosts))
            self._looked_s = time.monotonic()
        return self._room

    def offer(self, cargo: Cargo) -> Literal["new", "known", "done"]:
        """Offer a task. One that is known is left alone; the answer of one that is done comes again."""
        queue = "asked" if cargo.is_asked else "tasks"
        identity, message = message_of(queue, cargo.uid, self._host)
        answer: Any = self._broker.run(scripts.OFFER, cargo.uid, self._host, queue, identity, message, cargo.sealed).decode()
        return answer  # type: ignore[no-any-return]

    def signs(self, uids: Collection[Uid]) -> Mapping[Uid, Sign]:
        """Return what is known of these tasks; one of which nothing is known is missing in it."""
        signs = self._broker.run(scripts.SIGNS, *uids) if uids else []
        return {uid: sign.decode() for uid, sign in zip(uids, signs, strict=True) if sign}

    def withdraw(self, uids: Collection[Uid]) -> None:
        """Take back what no worker has begun; who has begun stops."""
        if uids:
            self._broker.run(scripts.WITHDRAW, *uids)

    def take(self) -> Sequence[Answer]:
        """Return the answers that have come, each again until it was `taken`; PoolAway where this Redis can't carry a pool."""
        if not self._is_fit:
            for why in self._broker.unfit():
                raise PoolAway(why)
            self._is_fit = True
        answers = self._broker.run(scripts.TAKE, self._host, _MOST_ANSWERS)
        return [_answer(uid.decode(), data) for uid, data in zip(answers[::2], answers[1::2], strict=True)]

    def taken(self, answers: Sequence[Answer]) -> None:
        """Forget these answers, which are durable here."""
        if answers:
            self._broker.run(scripts.TAKEN, self._host, *(answer.uid for answer in answers))

    def close(self) -> None:
        """Leave room for the other hosts."""
        with suppress(PoolAway):
            self._broker.run(scripts.THERE, "hosts", self._host, 0)


def _answer(uid: Uid, data: bytes) -> Answer:
    return Answer(uid, b"", data[1:].decode("ascii", "replace")) if data[:1] == scripts.REFUSED else Answer(uid, data)


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
