"""
The keys of a pool of workers: [pool] of recalld.toml on a host, and a worker's pool.toml, which names the models.

They are read as those of recalld.toml are (config_keys.py). Source: docs/reference/protocol.md, 6.11.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..storage.texts import Text
from ..text.record import record
from .config_keys import ONE_LINE, VARIABLE, name_of_the_key
from .settings import duration, text, url, whole

if TYPE_CHECKING:
    from datetime import timedelta

_NAME: Final = r"[a-z][a-z0-9_-]{0,31}"


def _prefix() -> str:
    return text(
        "recalld",
        "What the names of its keys in Redis begin with; workers and hosts of one pool have the same.",
        pattern=_NAME,
        allowed=Text("a short name of small letters, digits, - and _"),
    )


def _key_env() -> str:
    return text(
        "RECALLD_POOL_KEY",
        "The name of the variable with the key that seals what leaves this host, 32 bytes in base64; two with a comma between "
        "while it is changed.",
        pattern=VARIABLE,
        allowed=Text("the name of an environment variable, never the key itself"),
        secret=True,
    )


@record
class Pool:
    """A pool of workers elsewhere that does the tasks (`recalld[pool]`)."""

    url: str = text(
        "",
        Text(
            "The Redis or Valkey of a pool of workers, which then do every task, such as rediss://redis.example:6379/0; a password belongs in the variable RECALLD_POOL_URL. Empty: workers are started here."
        ),
        pattern=r"|rediss?://[^\s\x00-\x1f\x7f\ud800-\udfff]+",
        allowed=Text('an address such as "rediss://redis.example:6379/0", or ""'),
        secret=True,
    )
    prefix: str = _prefix()
    key_env: str = _key_env()
    profile: str = text(
        "default",
        "Which model of the pool writes: the name of a section of the workers' pool.toml.",
        pattern=_NAME,
        allowed=Text("a short name of small letters, digits, - and _"),
    )
    window: int = whole(0, "The most tasks of this host in the pool at once; 0: twice its share of the workers' threads.")
    patience: timedelta = duration("10m", "A task of which the pool shows no sign for this long is offered again.", least="30s")


@record
class Crew:
    """One worker process of the pool."""

    prefix: str = _prefix()
    key_env: str = _key_env()
    threads: int = whole(16, "Tasks done at once by this process.", least=1, most=256)
    heartbeat: timedelta = duration(
        "20s", "A worker that gives no sign for this long is dead: others do its tasks.", least="5s"
    )
    grace: timedelta = duration("25s", "For how long a worker that is stopped lets its calls end.")


@record
class Provider:
    """A model that the pool asks."""

    base_url: str = url(Text("The address of an OpenAI-compatible server (Ollama listens on port 11434)."))
    model: str = text("", Text("The model's name on that server."), pattern=ONE_LINE, allowed=Text("a name on one line"))
    api_key_env: str = name_of_the_key()


@record
class PoolFile:
    """What pool.toml has beside its providers."""

    pool: Crew = Crew()


@record
class OneProvider:
    """One section of its providers."""

    provider: Provider = Provider()
