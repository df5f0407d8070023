"""
The pool on Redis as a courier sees it, and as an operator does.

The queue in Redis is short: a host offers its share of what the workers can begin in the next seconds, since order and priority
are decided before. What happens at one stroke is in `scripts.py`.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final

from ..pool import scripts
from ..protocol.task import AskedTask
from ..storage.clock import steady_s, to_wire, utc_now
from ..storage.texts import Text
from ..text.record import record
from .cargo import Answer, Cargo, Contents, PoolAway, Reserve, Seal, Sign, Uid, packed, read, refusal

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


# ── what an operator sees ─────────────────────────────────────────────────────


#: Seconds that a sealed echo may take.
ECHO_S: Final = 10.0
_POLL_S: Final = 0.05


@record
class Standing:
    """A pool at one moment."""

    server: str
    version: str
    slots: int  # threads of workers that are there
    hosts: int
    waiting: int
    working: int


def standing_of(broker: Broker) -> Standing:
    """Return how the pool stands; PoolAway where its Redis can't be asked."""
    return Standing(
        server=broker.name,
        version=str(broker.call("info", "server").get("redis_version", "")),
        slots=broker.run(scripts.THERE, "threads", "", 0),
        hosts=broker.run(scripts.THERE, "hosts", "", 0),
        waiting=sum(broker.call("llen", broker.key(queue)) for queue in scripts.QUEUES),
        working=sum(1 for _ in broker.call("scan_iter", match=broker.key("run", "*"))),
    )


def echo(broker: Broker, seal: Seal) -> int | Text:
    """Return the milliseconds in which a sealed task comes back from a worker, or why it does not."""
    host = f"doctor-{token_hex(6)}"
    pool, uid, began_s = RedisPool(broker, host), f"{host}.echo", steady_s()
    task = AskedTask(id="echo", kind="session-extract", messages=(_said(),))
    reserve = Reserve(calls=0, at=to_wire(utc_now()))
    contents = Contents(task=task, host=host, profile="", reserve=reserve)
    pool.offer(Cargo(uid, seal.seal("cargo", uid, packed(contents)), is_asked=True))
    while steady_s() < began_s + ECHO_S:
        for answer in pool.take():
            pool.taken([answer])
            if answer.refused:
                return Text("a worker could not open a task: {why}", why=refusal(answer.refused))
            read(seal.unseal("answer", uid, answer.sealed))
            return round((steady_s() - began_s) * 1000)
        time.sleep(_POLL_S)
    pool.withdraw([uid])
    return Text(
        "no worker answered within {seconds} s; start one with `recalld worker --broker URL`, the whole address of {server}",
        seconds=round(ECHO_S),
        server=broker.name,
    )


def _said() -> dict[str, Any]:
    return {"role": "user", "content": "The backup of the pool is on the NAS in the study.", "createdAt": to_wire(utc_now())}
