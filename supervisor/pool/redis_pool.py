"""
The pool on Redis or Valkey: the connection, and the pool as a courier and an operator see it.

Redis may lose everything at any moment, but it may not drop keys by itself: the policy must be noeviction. Whoever may read it
sees uids and counters, and sealed bytes. The queue in it is short: a host offers its share of what the workers can begin in the
next seconds, since order and priority are decided before. What happens at one stroke is in `scripts.py`.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from ..pool import scripts
from ..protocol.llm import is_local, without_credentials
from ..storage.texts import Text
from .cargo import Answer, Cargo, PoolAway, Sign, Uid

_TIMEOUT_S: Final = 5.0
#: LMOVE came with this version.
_LEAST: Final = (6, 2)
#: Redis may hold so much of its memory before nothing more is offered.
FULL: Final = 0.7
#: Seconds between two looks at who is there, and how full Redis is.
_LOOK_S: Final = 2.0
#: The most answers at once.
_MOST_ANSWERS: Final = 64


class Broker:
    """One Redis, by its *url*; every key begins with *prefix*. Threads may share it."""

    def __init__(self, url: str, prefix: str) -> None:
        self.url, self.prefix = url, prefix
        try:
            self.client: Any = redis.Redis.from_url(
                url, socket_timeout=_TIMEOUT_S, socket_connect_timeout=_TIMEOUT_S, retry=Retry(NoBackoff(), 1)
            )
        except ValueError:
            raise PoolAway(Text("the address of the pool is no redis:// or rediss:// one")) from None

    @property
    def name(self) -> str:
        """The address without path, user and password."""
        return without_credentials(self.url)

    def key(self, kind: str, name: str = "") -> str:
        """Return the name of a key."""
        return f"{self.prefix}:{kind}:{name}" if name else f"{self.prefix}:{kind}"

    def run(self, script: str, *args: Any) -> Any:
        """Run the script with the prefix as its key; PoolAway where that fails."""
        return self._reply(self.client.register_script(scripts.KEY + script), keys=[self.prefix], args=args)

    def call(self, command: str, *args: Any, **named: Any) -> Any:
        """Call a command of Redis; PoolAway where that fails."""
        return self._reply(getattr(self.client, command), *args, **named)

    def _reply(self, ask: Callable[..., Any], *args: Any, **named: Any) -> Any:
        try:
            return ask(*args, **named)
        except (redis.RedisError, OSError) as error:
            why = Text(
                "Redis at {server} can't be used ({why}); docs/how-to/a-pool-of-workers.md has its address and its rights",
                server=self.name,
                why=" ".join(str(error).split()) or type(error).__name__,
            )
            raise PoolAway(why) from error

    def is_full(self) -> bool:
        """Return whether Redis holds so much that nothing more should be offered."""
        memory = self.call("info", "memory")
        most = int(memory.get("maxmemory", 0))
        return bool(most) and int(memory.get("used_memory", 0)) > FULL * most

    def unfit(self) -> Iterator[Text]:
        """Yield why this Redis can't carry the pool, a sentence each; PoolAway where it can't be asked."""
        version = str(self.call("info", "server").get("redis_version", "0"))
        if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < _LEAST:
            yield Text("it is Redis {version}, and a pool needs 6.2 or newer, or Valkey", version=version)
        policy = str(self.call("info", "memory").get("maxmemory_policy", "noeviction"))
        if policy != "noeviction":
            yield Text("its maxmemory-policy is {policy}, which drops tasks; set it to noeviction", policy=policy)
        if urlsplit(self.url).scheme == "redis" and not is_local(self.url):
            yield Text("{server} is another machine and the address has no TLS; use rediss://", server=self.name)


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


@dataclass(frozen=True, slots=True)
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
