"""
The outcomes of the last nightly check and the last nightly backup, kept in `.recalld` for `status` and for the next night.

The check is the last `fsck` that found something wrong, or nothing any more; the backup is `backup nightly`. The files that
`backup create` made are kept with it: forgetting names them, since they still have the words.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from ..storage.clock import to_wire
from ..storage.lenient_json import read_record
from ..storage.texts import restored, stored
from ..text.record import record
from ..workspace import Workspace

T = TypeVar("T", "LastFsck", "LastBackup")
#: How many files of `backup create` are remembered.
_MOST_MADE: Final = 20


@record
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


@record
class LastBackup:
    """
    The outcome of a backup *at* that time: the last *file* written into the folder, and how many backups the folder keeps.

    *failed* says why no file was written this time, "" if one was; *file* is then an earlier one, or "". *made* are the files
    of `backup create`, the newest last; where no nightly backup ever was, *keep* is 0 and *file* the newest of them.
    """

    at: datetime
    folder: str
    keep: int
    file: str
    failed: str = ""
    made: tuple[str, ...] = ()

    @property
    def left(self) -> tuple[str, ...]:
        """The files of `backup create` that nobody has deleted, as far as can be seen: their disk may be elsewhere."""
        return tuple(backup for backup in self.made if os.path.lexists(backup) or not os.path.isdir(os.path.dirname(backup)))


def read_last_fsck(ws: Workspace) -> LastFsck | None:
    """Return the outcome of the last check; None if there was none, or its file can't be read: the next writes it again."""
    return _read(ws, ws.paths.fsck, LastFsck)


def read_last_backup(ws: Workspace) -> LastBackup | None:
    """Return the outcome of the last backup; None if there was none, or its file can't be read: the next writes it again."""
    return _read(ws, ws.paths.backup, LastBackup)


def remember_backup(ws: Workspace, file: Path, now: datetime) -> None:
    """Keep that `backup create` made this file."""
    last = read_last_backup(ws)
    if last is None or not last.keep:
        last = LastBackup(now, str(file.parent), 0, str(file), made=last.left if last else ())
    others = (backup for backup in last.left if backup != str(file))
    keep_last(ws, replace(last, made=(*others, str(file))[-_MOST_MADE:]))


def keep_last(ws: Workspace, last: LastFsck | LastBackup) -> None:
    """Store this outcome in place of the one before."""
    path = ws.paths.fsck if isinstance(last, LastFsck) else ws.paths.backup
    fields = {**asdict(last), "at": to_wire(last.at)}
    if text := stored(last.failed):
        fields["failedText"] = text
    data = json.dumps(fields, ensure_ascii=False).encode() + b"\n"
    ws.files.make_folder(ws.paths.state)
    ws.files.replace(path, data, ws.files.read_stable(path))


def _read(ws: Workspace, path: Path, kind: type[T]) -> T | None:
    try:
        version = ws.files.read_stable(path)
        raw: Any = json.loads(version.data) if version else {}
        last = read_record(kind, raw)
        return replace(last, failed=restored(last.failed, raw.get("failedText")))
    except (ValueError, TypeError, AttributeError, OSError):
        return None
