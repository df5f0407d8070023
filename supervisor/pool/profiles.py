"""
The models of a pool of workers: pool.toml, beside a worker, the process itself in [pool] and each model in [providers.NAME].

A cargo names a profile and nothing more, so that no workspace can have the pool call a server of its own choosing. How often a
model is asked is a workspace's own limit (`llm.max_calls_per_day`), which is written down before a task leaves it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ..protocol.config import tables
from ..protocol.config_keys import Crew, Provider
from ..protocol.settings import read_section
from ..storage.disk import read_outside
from ..storage.errors import BadConfig, from_os_error
from ..storage.texts import Text
from ..text.record import record

#: Keys of 0.34 and before, which a file may still have. Without a limit of a day more may be paid: it is set elsewhere first.
_OF_A_DAY: Final = frozenset(("calls_per_day", "money_per_day"))
_LEFT: Final = _OF_A_DAY | {"heartbeat", "rate_wait", "requests_per_minute", "tokens_per_minute", "price_in", "price_out"}


@record
class Profiles:
    """What pool.toml says: the process, its models by name, and a *notice* of its keys that are not read any more."""

    crew: Crew
    models: Mapping[str, Provider]
    notice: Text | None = None


def read_profiles(path: Path, environ: Mapping[str, str]) -> Profiles:
    """Return what the file says; BadConfig with one sentence where it is not there, or wrong."""
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
    given: dict[str, Any] = tables(data, path.name)
    providers = given.pop("providers", {})
    models = providers.values() if isinstance(providers, dict) else ()
    if not models or not all(isinstance(model, dict) for model in models):
        raise BadConfig(path.name, Text("it names no model: give a section [providers.default] with base_url and model"))
    sections = [section for section in (given.get("pool"), *models) if isinstance(section, dict)]
    left = tuple(dict.fromkeys(key for section in sections for key in section if key in _LEFT))
    if limits := tuple(key for key in left if key in _OF_A_DAY):
        raise BadConfig(
            path.name,
            Text(
                "{keys} limited what a day costs, and a pool has no limits any more: set `llm.max_calls_per_day` in the recalld.toml of each workspace, then delete them",
                keys=limits,
            ),
        )
    for section in sections:
        for key in left:
            section.pop(key, None)
    crew = read_section("pool", Crew(), given, environ)
    profiles = {name: read_section("provider", Provider(), {"provider": table}, {}) for name, table in providers.items()}
    for name, profile in profiles.items():
        if not profile.model:
            raise BadConfig(
                f"providers.{name}.model", Text('no model is named; give the name that the server knows, such as "qwen3:8b"')
            )
    notice = Text("pool.toml has {keys}, which a pool does not regard any more; delete them", keys=left) if left else None
    return Profiles(crew, profiles, notice)
