"""
The pool on Redis as a courier sees it.

The queue in Redis is short: a host offers its share of what the workers can begin in the next seconds, since order and priority
are decided before. What happens at one stroke is in `scripts.py`.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ..pool import scripts
from .cargo import Answer, Cargo, PoolAway, Sign, Uid

if TYPE_CHECKING:
    from .connection import Broker

#: Seconds between two looks at who is there, and how full Redis is.
_LOOK_S: Final = 2.0
#: The most answers at once.
_MOST_ANSWERS: Final = 64


class RedisPool:
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
            threads = self._broker.run(scripts.THERE, "threads", "", 0)
            self._room = 0 if self._broker.is_full() else -(-2 * threads // max(1, hosts))
            self._looked_s = time.monotonic()
        return self._room

    def offer(self, cargo: Cargo) -> str:
        """Offer a "new" task. One that is "known" is left alone; the answer of one that is "done" comes again."""
        queue = scripts.QUEUES[not cargo.is_asked]
        return str(self._broker.run(scripts.OFFER, cargo.uid, self._host, queue, cargo.sealed).decode())

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
