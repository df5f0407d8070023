"""
What the last check and the last backup of a night came to, kept in `.recalld` for `status` and for the next night.

The check is `fsck --report` or `fsck --repair`, the backup that of `backup nightly`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from recalld.supervisor.storage.clock import from_wire, to_wire

if TYPE_CHECKING:
    from datetime import datetime

    from recalld.supervisor.workspace import Workspace


@dataclass(frozen=True, slots=True)
class LastFsck:
    """
    How many messages were *lost* and things damaged *at* that time.

    *told* are the troubles that `care.on_trouble` was run for, *failed* says why it could not be run; "" if it could.
    """

    at: datetime
    lost: int
    damage: int
    told: tuple[str, ...] = ()
    failed: str = ""

    @property
    def is_sound(self) -> bool:
        """Whether nothing was lost and nothing damaged."""
        return not self.lost and not self.damage


def read_last_fsck(ws: Workspace) -> LastFsck | None:
    """Return what the last one found; None if there was none, or its file can't be read: the next one writes it again."""
    try:
        version = ws.files.read_stable(ws.paths.fsck)
        found: Any = json.loads(version.data) if version else {}
        told = tuple(str(one) for one in found.get("told", ()))
        return LastFsck(from_wire(found["at"]), int(found["lost"]), int(found["damage"]), told, str(found.get("failed", "")))
    except (ValueError, LookupError, TypeError, AttributeError, OSError):
        return None


@dataclass(frozen=True, slots=True)
class LastBackup:
    """
    What the one *at* that time came to: the last *file* that was written into the folder, and how many of them it keeps.

    *failed* says why this one was not, and *file* is then one before, or ""; "" if it was.
    """

    at: datetime
    folder: str
    keep: int
    file: str
    failed: str = ""


def read_last_backup(ws: Workspace) -> LastBackup | None:
    """Return what the last one came to; None if there was none, or its file can't be read: the next one writes it again."""
    try:
        version = ws.files.read_stable(ws.paths.backup)
        found: Any = json.loads(version.data) if version else {}
        folder, file, failed = (str(found[name]) for name in ("folder", "file", "failed"))
        return LastBackup(from_wire(found["at"]), folder, int(found["keep"]), file, failed)
    except (ValueError, LookupError, TypeError, AttributeError, OSError):
        return None


def write_last_backup(ws: Workspace, last: LastBackup) -> None:
    """Keep what it came to, in place of what the one before did."""
    fields = {**asdict(last), "at": to_wire(last.at)}
    seen = ws.files.read_stable(ws.paths.backup)
    ws.files.replace(ws.paths.backup, json.dumps(fields, ensure_ascii=False).encode() + b"\n", seen)


def write_last_fsck(ws: Workspace, last: LastFsck) -> None:
    """Keep what was found, in place of what was found before."""
    fields = {
        "at": to_wire(last.at),
        "lost": last.lost,
        "damage": last.damage,
        "told": list(last.told),
        "failed": last.failed,
    }
    seen = ws.files.read_stable(ws.paths.fsck)
    ws.files.replace(ws.paths.fsck, json.dumps(fields, ensure_ascii=False).encode() + b"\n", seen)
