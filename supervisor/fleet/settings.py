"""The settings of a fleet, from fleet.toml in its root and the variables RECALLD_FLEET_…; and where it keeps its own state."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final
from zlib import crc32

from recalld.supervisor.protocol.config import PREFIX, tables
from recalld.supervisor.protocol.config_keys import Section, section
from recalld.supervisor.protocol.paths import FLEET
from recalld.supervisor.protocol.settings import applied, duration, gather, refuse_unknown_variables, whole
from recalld.supervisor.text.record import record

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta
    from pathlib import Path

FILE: Final = "fleet.toml"
VARIABLES: Final = f"{PREFIX}FLEET_"


@section
class Fleet(Section):
    """How the workspaces of a fleet are looked after."""

    shards: int = whole(0, "The processes that look after workspaces; 0: one a core.", most=64)
    round_threads: int = whole(4, "Rounds and updates of indexes that run at once in a shard.", least=3, most=32)
    open: int = whole(200, "Workspaces of a shard that stay open; those used longest ago are closed.", least=1)
    indexes: int = whole(200, "Indexes of a shard that stay open.", least=1)
    workers: int = whole(4, "Worker processes of a shard that run at once.", least=1)
    poll: timedelta = duration("60s", "A closed workspace is looked at this often, whatever events say.", least="1s")
    spread: timedelta = duration("6h", "After midnight the day's work of the workspaces begins within this time.")
    round_limit: timedelta = duration(
        "60s",
        "A round is asked to end after this time; after twice as long its workspace gets a process of its own.",
        least="1s",
    )
    warm_up: timedelta = duration(
        "10m", "After a start the workspaces in which nothing has changed are opened within this time."
    )


@record
class Settings:
    """The file has one section."""

    fleet: Fleet = Fleet()


def load(toml: bytes | None, environ: Mapping[str, str]) -> Fleet:
    """Return the settings from the bytes of fleet.toml and the variables, which win; BadConfig for the first fault."""
    own = {name: value for name, value in environ.items() if name.startswith(VARIABLES)}
    settings = applied(Settings(), gather(Settings(), tables(toml, FILE), own, PREFIX))
    refuse_unknown_variables(settings, own, PREFIX, {f"{VARIABLES}ROOT"})
    return settings.fleet


def shards_of(fleet: Fleet) -> int:
    """Return how many shards the fleet has."""
    return fleet.shards or len(os.sched_getaffinity(0))


def shard_of(name: str, count: int) -> int:
    """
    Return which of *count* shards looks after the workspace of that name.

    >>> [shard_of(name, 4) for name in ("anna", "小明", "team-3")]
    [3, 2, 0]
    """
    return crc32(os.fsencode(name)) % count


def moment_of(name: str, within: timedelta) -> timedelta:
    """Return the moment of this workspace within the time over which work is spread."""
    return within * (crc32(os.fsencode(name)[::-1]) / 2**32)


class FleetPaths:
    """Where the fleet of *root* keeps its settings and its state."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.config = root / FILE
        self.folder = root / FLEET
        self.lock = self.folder / "lock"
        self.log = self.folder / "log.jsonl"
        #: A file in one of these, with the name of a workspace: it was given free, or gets a process of its own.
        self.drained = self.folder / "drained"
        self.sick = self.folder / "sick"

    def rest(self, number: int) -> Path:
        """Return the file with the signatures of the workspaces that were dormant when the shard of that number ended."""
        return self.folder / f"rest-{number}.json"

    def shard_lock(self, number: int) -> Path:
        """Return the lock that the shard of that number holds as long as it lives."""
        return self.folder / f"shard-{number}.lock"
