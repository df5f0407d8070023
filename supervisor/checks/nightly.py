"""
What timers run each night: `recalld fsck --report` and `recalld backup nightly`; the outcome of each is kept for `status`.

The check accounts for every message, and reports each fault once: `care.on_trouble` is run for the faults in `status` for which
it was not run the night before; a fault that was mended and comes back is reported again.

The backup is a file with the day in its name, in a folder that keeps the last few. The oldest is deleted only after the new one
was written and read back. A backup that would leave little room on the disk is not begun.
"""

from __future__ import annotations

import os
import re
import signal
import stat as modes
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final

from ..archive.places import place_of
from ..host.last_night import LastBackup, LastFsck, keep_last, read_last_backup, read_last_fsck
from ..protocol.backup_file import Contents
from ..protocol.paths import quiet_until
from ..storage.clock import Clock
from ..storage.errors import BadRequest, StorageError, SupervisorError, from_os_error, why_refused
from ..storage.texts import Text
from ..text.lazy_re import lazy_re
from ..workspace import Workspace
from .backup import check, check_folder, create
from .check import Look
from .fsck import Ledger
from .machine import SCARCE_BYTES, walk
from .repair import bring_pictures_back
from .table import account, found_quickly

#: Seconds after which the user's command is killed.
_COMMAND_S: Final = 30.0
#: Seconds between two looks at the clock, which goes on while the machine is suspended.
_LOOK_S: Final = 60.0
_DIGITS: Final = lazy_re(r"[0-9]+")


# ── the check ────────────────────────────────────────────────────────────────


def await_quiet_end(ws: Workspace, clock: Clock, pause: Callable[[float], None]) -> None:
    """Wait until the present hour is not one of `care.quiet_hours`."""
    while end := quiet_until(ws.config.care.quiet_hours, clock(), ws.zone):
        pause(max(0.0, min((end - clock()).total_seconds(), _LOOK_S)))


def report(
    ws: Workspace, now: datetime, tell: Callable[[str], str] = str, wait_s: float = _COMMAND_S
) -> tuple[Ledger, list[str]]:
    """
    Account for every message and run `care.on_trouble` for new faults; return the account and all faults.

    Pictures that are gone are first put back. *tell* renders a text in the user's language; the command has *wait_s* seconds.
    """
    look = Look(ws, now, os.environ)
    # tonight, since history.json may no longer have their bytes tomorrow
    if look.ledger.damage and (pictures := bring_pictures_back(ws)):
        ws.events.emit("repaired", restored=0, saved=0, set_aside=0, doubles=0, pictures=len(pictures))
    if not look.ledger.is_sound:  # again, since a file that moves during the first pass is found in neither place
        look = Look(ws, now, os.environ)
    ledger = account(look)
    last = replace(read_last_fsck(ws) or LastFsck(now, 0, 0), at=now)
    keep_last(ws, replace(last, failed=""))  # it is run anew
    # a fault is not new because a time or count changed
    kinds = {sentence: _DIGITS.sub("0", sentence) for sentence in found_quickly(look)[0]}
    new = [sentence for sentence, kind in kinds.items() if kind not in last.told]
    command, failed = ws.config.care.on_trouble, ""
    if command and new:
        failed = _run(command, "\n".join(map(tell, new)), ws, wait_s)
        if failed and failed != last.failed:
            ws.events.emit("on_trouble_failed", why=failed)
    repeated = [kind for sentence, kind in kinds.items() if command and not (failed and sentence in new)]
    keep_last(ws, replace(last, told=tuple(repeated), failed=failed))
    return ledger, [*map(tell, kinds)]


def _run(command: str, sentences: str, ws: Workspace, wait_s: float) -> str:
    """Run the user's command; return why it failed, or ""."""
    environ = {**os.environ, "RECALLD_TROUBLE": sentences, "RECALLD_WORKSPACE": str(ws.paths.root)}
    try:
        child = subprocess.Popen(
            ["/bin/sh", "-c", command],
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # so that the processes it started can be killed with it
        )
    except OSError as error:
        return why_refused(error)
    try:
        code = child.wait(wait_s)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        return Text("it was killed after {seconds:g} s", seconds=wait_s)
    return Text("it ended with exit code {code}", code=code) if code else ""


# ── the backup ───────────────────────────────────────────────────────────────


def nightly_backup(ws: Workspace, folder: Path, keep: int, now: datetime, made_by: str) -> tuple[Path, Contents, list[Path]]:
    """
    Write the backup of the day into the folder, read it back, and delete all nightly backups but the last *keep*.

    Return the file, its contents, and the deleted ones. If there is one of the same day, it is only read back. An error is kept
    for `status` and raised; then nothing was deleted.
    """
    file = folder / f"{ws.paths.root.name}-nightly-{ws.today(now)}.tar"
    backups = before.made if (before := read_last_backup(ws)) else ()
    try:
        _write(ws, file, LastBackup(now, str(folder), keep, str(file), made=backups), made_by)
        contents = check(file)
        # a wrong clock may have made a backup of a later day, after which this one is not the last by its name
        older = [path for path in nightly_backups(ws, folder)[:-keep] if path != file]
        for path in older:
            ws.files.remove(path)
    except (SupervisorError, OSError) as error:
        refused = from_os_error(error, error.filename or folder) if isinstance(error, OSError) else error
        last, why = read_last_backup(ws), getattr(refused, "why", "") or str(refused).rstrip(".")
        keep_last(ws, LastBackup(now, str(folder), keep, last.file if last and last.keep else "", why, backups))
        raise refused from error
    return file, contents, older


def _write(ws: Workspace, file: Path, done: LastBackup, made_by: str) -> None:
    """Write the backup and record it; a backup of the same day is not replaced."""
    if file.exists():
        last = read_last_backup(ws)
        if last is None or last.file != done.file:
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


def nightly_backups(ws: Workspace, folder: Path) -> list[Path]:
    """Return the nightly backups of this workspace, by their names, the oldest first."""
    name = re.compile(rf"{re.escape(ws.paths.root.name)}-nightly-\d{{4}}-\d\d-\d\d\.tar")
    stats = ws.files.disk.stats(folder).items()
    return sorted(folder / entry for entry, stat in stats if name.fullmatch(entry) and modes.S_ISREG(stat.mode))


def _refuse_little_room(ws: Workspace, folder: Path) -> None:
    places = ((place_of(ws.paths.relative(path)), stat.st_size) for path, stat in walk(ws.paths.root))
    size = sum(size for place, size in places if place is None or place.in_backup)
    disk = os.statvfs(folder)
    if disk.f_bavail * disk.f_frsize - size < SCARCE_BYTES:
        raise StorageError(folder, Text("a backup would leave less than {count} MiB free", count=SCARCE_BYTES >> 20))
