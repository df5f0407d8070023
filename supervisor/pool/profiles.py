"""
pool.toml, beside a worker of the pool: the process itself in [pool], and in [providers.NAME] each model that it may ask.

A cargo names a profile and nothing more, so that no workspace can have the pool call a server of its own choosing.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from ..protocol.config import PREFIX, tables
from ..protocol.pool_keys import Crew, OneProvider, PoolFile
from ..protocol.settings import applied, gather
from ..storage.disk import read_outside
from ..storage.errors import BadConfig
from ..storage.os_errors import from_os_error
from ..storage.texts import Text
from ..text.record import record

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta
    from pathlib import Path


@record
class Profile:
    """One model of the pool, and what all workers may ask of it together."""

    name: str
    base_url: str
    model: str
    api_key_env: str
    requests_per_minute: int
    tokens_per_minute: int
    calls_per_day: int
    money_per_day: float
    price_in: float
    price_out: float
    rate_wait: timedelta


def read_profiles(path: Path, environ: Mapping[str, str]) -> tuple[Crew, dict[str, Profile]]:
    """Return the process and its profiles; BadConfig with one sentence where the file is not there, or wrong."""
    try:
        data = read_outside(path)
    except FileNotFoundError:
        raise BadConfig(
            path.name,
            Text(
                "{path} is not there; it names the models of the pool, a section [providers.NAME] each, as docs/how-to/a-pool-of-workers.md shows",
                path=path,
            ),
        ) from None
    except OSError as error:
        raise from_os_error(error, path) from error
    given = tables(data, path.name)
    providers = given.pop("providers", {})
    crew = applied(PoolFile(), gather(PoolFile(), given, environ, PREFIX)).pool
    if not isinstance(providers, dict) or not providers or not all(isinstance(one, dict) for one in providers.values()):
        raise BadConfig(path.name, Text("it names no model: give a section [providers.default] with base_url and model"))
    found = {}
    for name, table in providers.items():
        one = applied(OneProvider(), gather(OneProvider(), {"provider": table}, {}, PREFIX)).provider
        if not one.model:
            raise BadConfig(
                f"providers.{name}.model", Text('no model is named; give the name that the server knows, such as "qwen3:8b"')
            )
        values = {key.name: getattr(one, key.name) for key in fields(Profile) if hasattr(one, key.name)}
        found[name] = Profile(name=name, rate_wait=crew.rate_wait, **values)
    return crew, found
