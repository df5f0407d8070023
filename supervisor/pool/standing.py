"""What an operator sees of a pool, and does to it: who is there, and what waits; and an echo."""

from __future__ import annotations

import time
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final

from ..pool import scripts
from ..protocol.task import AskedTask
from ..storage.clock import steady_s, to_wire, utc_now
from ..storage.texts import Text
from ..text.record import record
from .cargo import Cargo, Contents, Reserve, Seal, packed, read, refusal
from .redis_pool import RedisPool

if TYPE_CHECKING:
    from .connection import Broker

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
