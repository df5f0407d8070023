"""
The connection to Redis or Valkey: its errors as sentences, and whether it can carry a pool.

It may lose everything at any moment, but it may not drop keys by itself: the policy must be noeviction. Whoever may
read it sees uids and counters, and sealed bytes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from ..protocol.llm import is_local, without_credentials
from ..storage.texts import Text, msgid
from .cargo import PoolAway

_TIMEOUT_S: Final = 5.0
#: LMOVE came with this version.
_LEAST: Final = (6, 2)
#: Redis may hold so much of its memory before nothing more is offered.
FULL: Final = 0.7


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
        self._scripts: dict[str, Any] = {}
        self._mutex = threading.Lock()

    @property
    def name(self) -> str:
        """The address without path, user and password."""
        return without_credentials(self.url)

    def key(self, kind: str, name: str = "") -> str:
        """Return the name of a key."""
        return f"{self.prefix}:{kind}:{name}" if name else f"{self.prefix}:{kind}"

    def run(self, script: str, *args: Any) -> Any:
        """Run the script with the prefix as its key; PoolAway where that fails."""
        with self._mutex:
            loaded = self._scripts.get(script) or self._scripts.setdefault(script, self.client.register_script(script))
        try:
            return loaded(keys=[self.prefix], args=args)
        except (redis.RedisError, OSError) as error:
            raise self._away(error) from error

    def call(self, command: str, *args: Any, **named: Any) -> Any:
        """Call a command of Redis; PoolAway where that fails."""
        try:
            return getattr(self.client, command)(*args, **named)
        except (redis.RedisError, OSError) as error:
            raise self._away(error) from error

    def _away(self, error: Exception) -> PoolAway:
        words = str(error)
        forbids = (redis.AuthenticationError, redis.exceptions.NoPermissionError)
        if isinstance(error, forbids) or "NOAUTH" in words or "WRONGPASS" in words:
            why = msgid(
                "Redis at {server} refuses the user or the password, or what a pool does; docs/how-to/a-pool-of-workers.md has its address and its rights"
            )
        elif isinstance(error, redis.exceptions.OutOfMemoryError) or "OOM" in words:
            why = msgid("Redis at {server} has no memory left; give it more with maxmemory")
        elif any(word in words for word in ("SSL", "certificate", "closed", "reset")) or (
            self.url.startswith("rediss:") and not any(word in words for word in ("refused", "resolve"))
        ):
            why = msgid(
                "Redis at {server} can't be spoken with: TLS needs a rediss:// address, and a certificate that this machine trusts; one of your own is named with ?ssl_ca_certs=PATH"
            )
        else:
            why = msgid("Redis at {server} can't be reached ({kind}); start it, or mend its address")
        return PoolAway(Text(why, server=self.name, kind=type(error).__name__))

    def is_full(self) -> bool:
        """Return whether Redis holds so much that nothing more should be offered."""
        memory = self.call("info", "memory")
        most = int(memory.get("maxmemory", 0))
        return bool(most) and int(memory.get("used_memory", 0)) > FULL * most

    def unfit(self) -> Iterator[Text]:
        """Yield why this Redis can't carry the pool, a sentence each; PoolAway where it can't be asked."""
        server, memory = self.call("info", "server"), self.call("info", "memory")
        version = str(server.get("redis_version", "0"))
        if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < _LEAST:
            yield Text("it is Redis {version}, and a pool needs 6.2 or newer, or Valkey", version=version)
        if (policy := str(memory.get("maxmemory_policy", "noeviction"))) != "noeviction":
            yield Text("its maxmemory-policy is {policy}, which drops tasks; set it to noeviction", policy=policy)
        if urlsplit(self.url).scheme == "redis" and not is_local(self.url):
            yield Text("{server} is another machine and the address has no TLS; use rediss://", server=self.name)
