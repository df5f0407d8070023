"""
The outcomes of the last nightly check and the last nightly backup, kept in `.recalld` for `status` and for the next night.

The check is the last `fsck` that found something wrong, or nothing any more; the backup is `backup nightly`, or the last
`backup create` where that never ran.
"""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from ..storage.lenient_json import parse_json, read_record, record_fields, render_json
from ..workspace import Workspace

T = TypeVar("T", "LastFsck", "LastBackup")


@dataclass(frozen=True, slots=True)
class LastFsck:
    """
    The outcome of a check: when it was (*at*), and how many messages were *lost* and things *damaged*.

    *told* are the troubles for which `care.on_trouble` was run; *failed* says why it could not be run, "" if it could.
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


@dataclass(frozen=True, slots=True)
class LastBackup:
    """
    The outcome of a backup *at* that time: the last *file* written into the folder, and how many backups the folder keeps.

    *failed* says why no file was written this time, "" if one was; *file* is then an earlier one, or "". Where no
    nightly backup ever was, *keep* is 0 and *file* that of the last `backup create`.
    """

    at: datetime
    folder: str
    keep: int
    file: str
    failed: str = ""


def read_last_fsck(ws: Workspace) -> LastFsck | None:
    """Return the outcome of the last check; None if there was none, or its file can't be read: the next writes it again."""
    return _read(ws, ws.paths.fsck, LastFsck)


def read_last_backup(ws: Workspace) -> LastBackup | None:
    """Return the outcome of the last backup; None if there was none, or its file can't be read: the next writes it again."""
    return _read(ws, ws.paths.backup, LastBackup)


def remember_backup(ws: Workspace, file: Path, now: datetime) -> None:
    """Keep that `backup create` made this file, unless there are nightly backups."""
    last = read_last_backup(ws)
    if last is None or not last.keep:
        keep_last(ws, LastBackup(now, str(file.parent), 0, str(file)))


def keep_last(ws: Workspace, last: LastFsck | LastBackup) -> None:
    """Store this outcome in place of the one before."""
    path = ws.paths.fsck if isinstance(last, LastFsck) else ws.paths.backup
    ws.files.make_folder(ws.paths.state)
    ws.files.replace(path, render_json(record_fields(last)) + b"\n", ws.files.read_stable(path))


def _read(ws: Workspace, path: Path, kind: type[T]) -> T | None:
    try:
        version = ws.files.read_stable(path)
        return read_record(kind, parse_json(version.data)) if version else None
    except (ValueError, OSError):
        return None
