"""
The nightly backup: a file with the day in its name, in a folder that keeps the last few.

The oldest is deleted only after the new one was written and read back. A backup that would leave little room on the disk is not
begun. The outcome is kept for `status`, which reports a failed backup.
"""

from __future__ import annotations

import os
import re
import stat as modes
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from ..archive.places import place_of
from ..host.last_night import LastBackup, keep_last, read_last_backup
from ..protocol.paths import day_of_name
from ..storage.errors import BadBackup, BadRequest, StorageError, SupervisorError
from ..storage.os_errors import from_os_error
from ..storage.texts import Text
from ..text.record import record
from .backup import check, check_folder, create
from .machine import SCARCE_BYTES, walk

if TYPE_CHECKING:
    from datetime import datetime

    from ..protocol.backup_file import Contents
    from ..workspace import Workspace


@record
class NightlyBackup:
    """The backup of the day, its contents, and the older backups that were deleted."""

    file: Path
    contents: Contents
    deleted: tuple[Path, ...]


def nightly_backup(ws: Workspace, folder: Path, keep: int, now: datetime, made_by: str) -> NightlyBackup:
    """
    Write the backup of the day into the folder, read it back, and delete all nightly backups but the last *keep*.

    If there is one of the same day, it is only read back, also after a backup was restored. An error is kept for `status` and
    raised; then nothing was deleted.
    """
    file = folder / f"{ws.paths.root.name}-nightly-{ws.today(now)}.tar"
    made = before.made if (before := read_last_backup(ws)) else ()
    try:
        _write(ws, file, LastBackup(now, str(folder), keep, str(file), made=made), made_by)
        contents = check(file)
        # a wrong clock may have made a backup of a later day, after which this one is not the last by its name
        older = [path for path in nightly_backups(ws, folder)[:-keep] if path != file]
        for path in older:
            ws.files.remove(path)
    except (SupervisorError, OSError) as error:
        refused = from_os_error(error, error.filename or folder) if isinstance(error, OSError) else error
        last, why = read_last_backup(ws), getattr(refused, "why", "") or str(refused).rstrip(".")
        keep_last(ws, LastBackup(now, str(folder), keep, last.file if last and last.keep else "", why, made))
        raise refused from error
    return NightlyBackup(file, contents, tuple(older))


def _write(ws: Workspace, file: Path, done: LastBackup, made_by: str) -> None:
    """Write the backup and record it; a backup of the same day is not replaced."""
    if file.exists():
        last = read_last_backup(ws)
        if (last is None or last.file != done.file) and not _is_of(ws, file):
            raise BadRequest(
                "DIR",
                Text(
                    "{file} is not known to this workspace; move it away, or give each workspace a folder of its own", file=file
                ),
            )
    else:
        check_folder(ws.paths.root, file.parent, "DIR")
        _refuse_little_room(ws, file.parent)
        create(ws, file, done.at, made_by)
    keep_last(ws, done)


def _is_of(ws: Workspace, file: Path) -> bool:
    """Return whether the file is a sound backup of this memory, maybe restored since: it shares a dated file with memory."""
    try:
        dated = [entry for entry in check(file).files if day_of_name(PurePath(entry.path).name)]
    except (BadBackup, BadRequest):
        return False
    here = ((entry, ws.files.read_stable(ws.paths.root / entry.path)) for entry in dated)
    return any(found is not None and found.digest == entry.sha256 for entry, found in here)


def nightly_backups(ws: Workspace, folder: Path) -> list[Path]:
    """Return the nightly backups of this workspace, by their names, the oldest first."""
    name = re.compile(rf"{re.escape(ws.paths.root.name)}-nightly-\d{{4}}-\d\d-\d\d\.tar")
    found = ws.files.disk.stats(folder).items()
    return sorted(folder / one for one, stat in found if name.fullmatch(one) and modes.S_ISREG(stat.mode))


def _refuse_little_room(ws: Workspace, folder: Path) -> None:
    """Raise StorageError if the disk of the folder would be nearly full after a backup."""
    places = ((place_of(ws.paths.relative(path)), found.st_size) for path, found in walk(ws.paths.root))
    size = sum(size for place, size in places if place is None or place.in_backup)
    disk = os.statvfs(folder)
    if disk.f_bavail * disk.f_frsize - size < SCARCE_BYTES:
        raise StorageError(folder, Text("a backup would leave less than {count} MiB free", count=SCARCE_BYTES >> 20))
