"""
Backups: one file with a consistent state of the workspace, made while everything runs (docs/reference/protocol.md, 9).

Files that change are read under the lock of history.json: the conversation, the journal, the drop-box, tasks and summaries, and
the names of the dated files. Dated files, pictures and all else are read afterwards: recalld makes these once, and at most
moves them.
"""

import contextlib
import os
import re
import stat as modes
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Final

from ..archive.places import place_of
from ..events import Events
from ..host.last_night import LastBackup, keep_last, read_last_backup
from ..protocol.backup_file import LIST, BackupFile, Contents, Entry, entry_of, render_end, render_file
from ..protocol.paths import LOST_AND_FOUND, QUEUE_FOLDERS, WorkspacePaths, day_of_name
from ..storage.clock import Clock, to_wire
from ..storage.disk import RealDisk, is_below
from ..storage.errors import TEMPORARY, BadRequest, Busy, Conflict, StorageError, SupervisorError, from_os_error
from ..storage.files import FILE_MODE, RETRY_PAUSES_S, Files, FileVersion
from ..storage.texts import Text, msgid
from ..text.foreign_text import MOST_FOLDERS
from ..workspace import Workspace, read_config
from .fsck import Ledger, fsck
from .machine import SCARCE_BYTES, walk

#: How many times a backup is begun again after a file was written in place, or a dated file has vanished, meanwhile.
_TRIES: Final = 5
#: Seconds to wait for a file that is being written in place, while the lock is held.
_WAIT_LOCKED_S: Final = 0.2


@dataclass(frozen=True, slots=True)
class Backup:
    """
    A backup that was made: its file, its contents, and how long the lock of history.json was held for it.

    *left_out* are the paths of links and other things that are not regular files, and of folders that are nested too deeply.
    """

    file: Path
    contents: Contents
    left_out: tuple[str, ...]
    locked_ms: float


def create(ws: Workspace, file: Path, now: datetime, made_by: str) -> Backup:
    """
    Write a backup of the workspace to the new file, durably, and return it; programs may go on writing meanwhile.

    BadRequest if the file exists or would be in the workspace. After any error there is no such file. Temporary files that
    killed backups left in its folder more than an hour before *now* are deleted.
    """
    place = Path(os.path.realpath(file.parent))
    check_folder(ws.paths.root, place, "file")
    taken = BadRequest("file", Text("{file} exists, and no backup replaces a file; choose another name", file=file))
    if os.path.lexists(file):
        raise taken
    try:
        with contextlib.suppress(OSError):  # another user's file must not prevent a backup
            ws.files.sweep(place, now=now)
        for _ in range(_TRIES - 1):
            with contextlib.suppress(Conflict, Busy):
                return _written(ws, file, now, made_by)
        return _written(ws, file, now, made_by)
    except FileExistsError:
        raise taken from None
    except OSError as error:
        raise from_os_error(error, error.filename or file) from error


def check_folder(workspace: Path, folder: Path, field: str) -> None:
    """Raise BadRequest about *field* if the folder does not exist, or is in the workspace."""
    place = os.path.realpath(folder)
    if not os.path.isdir(place):
        raise BadRequest(field, Text("{folder} is not there; make the folder first", folder=place))
    if is_below(folder, workspace):
        raise BadRequest(field, Text("{folder} is in the workspace; put backups elsewhere, best on another disk", folder=place))


def _written(ws: Workspace, file: Path, now: datetime, made_by: str) -> Backup:
    """Write the file; Busy if the lock is not free, or a file is being written in place; Conflict if a dated file is gone."""
    paths, disk = ws.paths, ws.files.disk
    entries, left_out = list[Entry](), list[str]()
    # no lock file can be written to a disk that is mounted read-only
    with contextlib.nullcontext() if disk.is_read_only(paths.root) else ws.files.lock(paths.history_lock):
        began = time.perf_counter()
        changing = _read_changing(ws)
        folders = [paths.memory, *ws.memory.month_folders()]
        once = {name: folder / name for folder in folders for name in disk.names(folder)}
        locked_ms = round((time.perf_counter() - began) * 1000, 3)

    def parts() -> Iterator[bytes]:
        for path, version in chain(changing.items(), _read_once(ws, once), _read_others(ws, paths.root, left_out)):
            entries.append(entry_of(paths.relative(path), version))
            yield render_file(entries[-1], version.data)
        yield render_end(Contents(to_wire(now), made_by, tuple(entries)))

    ws.files.create_from(file, parts())
    return Backup(file, Contents(to_wire(now), made_by, tuple(entries)), tuple(left_out), locked_ms)


def _read_changing(ws: Workspace) -> dict[Path, FileVersion]:
    """
    Return the files that change, read in the order in which a message passes the places.

    So a message that moves on meanwhile is in the backup twice, as after a crash, but never missing.
    """
    paths, stats = ws.paths, ws.files.disk.stats
    conversation = {path: ws.files.read_stable(path, _WAIT_LOCKED_S) for path in (paths.history, paths.history_backup)}
    versions = {path: version for path, version in conversation.items() if version}

    def read(listed: Iterable[Path]) -> None:
        versions.update((path, version) for path in listed if (version := _read(ws, path, _WAIT_LOCKED_S)))

    read([paths.seen])
    for _ in range(2):  # a file may get its hidden name meanwhile: what the first pass misses the second finds
        known = {version.stat for version in versions.values()}
        read(paths.drop_box / name for name, stat in sorted(stats(paths.drop_box).items()) if stat not in known)
    *steps, failed = (paths.worker / name for name in QUEUE_FOLDERS)
    tasks = {name: folder / name for folder in steps for name in sorted(stats(folder))}  # one that moves on, at its last place
    read((*tasks.values(), *(folder / name for folder in (failed, paths.summaries) for name in sorted(stats(folder)))))
    return versions


def _read_once(ws: Workspace, places: Mapping[str, Path]) -> Iterator[tuple[Path, FileVersion]]:
    """Yield the files of memory, which are made once, by their names and *places*; Conflict if a dated file is gone."""
    for name, path in places.items():
        # a dated file may have moved to originals/ since the list was made
        if version := _read(ws, path) or _read(ws, ws.paths.original(name)):
            yield path, version
        elif day_of_name(name) and ws.files.disk.stat(path) is None:
            raise Conflict(path)


def _read_others(ws: Workspace, folder: Path, left_out: list[str]) -> Iterator[tuple[Path, FileVersion]]:
    """Yield the other regular files below the folder; what else is there is added to *left_out*."""
    paths = ws.paths
    read_before = {paths.memory, paths.summaries, paths.drop_box, *(paths.worker / name for name in QUEUE_FOLDERS)}
    is_read = folder in read_before or folder.parent == paths.originals
    for name, stat in sorted(ws.files.disk.stats(folder).items()):
        path, relative = folder / name, paths.relative(folder / name)
        if not _is_in_backup(relative):
            continue
        if modes.S_ISDIR(stat.mode) and relative.count("/") < MOST_FOLDERS:
            yield from _read_others(ws, path, left_out)
        elif not modes.S_ISREG(stat.mode):
            left_out.append(relative)
        elif not is_read and path not in (paths.history, paths.history_backup, paths.seen) and (version := _read(ws, path)):
            yield path, version


def _is_in_backup(path: str) -> bool:
    """True if a backup has what is at that path of the workspace: no lock, token or index, nothing of git, which runs hooks."""
    place, parts = place_of(path), path.split("/")
    return (place is None or place.in_backup) and ".git" not in parts and parts[0] not in (LIST, LOST_AND_FOUND)


def _read(ws: Workspace, path: Path, wait_s: float = sum(RETRY_PAUSES_S)) -> FileVersion | None:
    """Return the regular file, unless it is a temporary one; of one that only grows, its whole lines."""
    stat = ws.files.disk.stat(path)
    if stat is None or not modes.S_ISREG(stat.mode) or TEMPORARY.fullmatch(path.name):
        return None
    if path.suffix == ".jsonl" and path.parent in (ws.paths.root, ws.paths.state):
        data = ws.files.disk.read(path)
        return FileVersion(data[: data.rfind(b"\n") + 1], stat)
    return ws.files.read_stable(path, wait_s)


# ── each night ───────────────────────────────────────────────────────────────


def nightly_backup(ws: Workspace, folder: Path, keep: int, now: datetime, made_by: str) -> tuple[Path, Contents, list[Path]]:
    """
    Write the backup of the day into the folder, read it back, and delete all nightly backups but the last *keep*.

    Return the file, its contents, and the deleted ones. If there is one of the same day, it is only read back. An error is kept
    for `status` and raised; then nothing was deleted.
    """
    file = folder / f"{ws.paths.root.name}-nightly-{ws.today(now)}.tar"
    last, done = read_last_backup(ws), LastBackup(now, str(folder), keep, str(file))
    try:
        if not file.exists():
            check_folder(ws.paths.root, folder, "folder")
            _refuse_little_room(ws, folder)
            create(ws, file, now, made_by)
        elif last is None or last.file != str(file):
            sentence = msgid("{file} is not known to this workspace; move it away, or give each workspace a folder of its own")
            raise BadRequest("folder", Text(sentence, file=file))
        keep_last(ws, done)
        with _opened(file) as backup:
            contents = backup.contents
        nightly = re.compile(rf"{re.escape(ws.paths.root.name)}-nightly-\d{{4}}-\d\d-\d\d\.tar")
        by_day = sorted(folder / name for name in ws.files.disk.names(folder) if nightly.fullmatch(name))
        # a wrong clock may have made a backup of a later day, after which this one is not the last by its name
        older = [path for path in by_day[:-keep] if path != file]
        for path in older:
            ws.files.remove(path)
    except (SupervisorError, OSError) as error:
        refused = from_os_error(error, error.filename or folder) if isinstance(error, OSError) else error
        last, why = read_last_backup(ws), getattr(refused, "why", "") or str(refused).rstrip(".")
        keep_last(ws, replace(done, file=last.file if last and last.keep else "", failed=why))
        raise refused from error
    return file, contents, older


def _refuse_little_room(ws: Workspace, folder: Path) -> None:
    size = sum(stat.st_size for path, stat in walk(ws.paths.root) if _is_in_backup(ws.paths.relative(path)))
    disk = os.statvfs(folder)
    if disk.f_bavail * disk.f_frsize - size < SCARCE_BYTES:
        raise StorageError(folder, Text("a backup would leave less than {count} MiB free", count=SCARCE_BYTES >> 20))


# ── restored ─────────────────────────────────────────────────────────────────


def verify(file: Path, environ: Mapping[str, str], clock: Clock) -> tuple[Contents, Ledger, Workspace]:
    """
    Unpack the backup into a temporary folder, and return its own description, the account of its messages, and what it is of.

    BadBackup if the file is no backup or was changed; BadConfig and NewerFormat as for opening a workspace.
    """
    files = Files(RealDisk())
    with _opened(file) as backup, _unpacked(backup, files, Path(tempfile.gettempdir())) as folder:
        paths = WorkspacePaths(folder)  # on any file system: nothing is written there
        config = read_config(files, paths, environ)
        ws = Workspace(folder, config, files, Events(paths.log, clock, config.log), environ)
        return backup.contents, fsck(ws), ws


def restore(file: Path, into: Path, clean: Callable[[Path], object] = lambda _: None) -> Contents:
    """
    Unpack the backup into a new or empty folder, durably, and return its own description; *clean* is called with it before.

    BadRequest if the folder is not empty, or is a disk of its own; BadBackup if the file is no backup or was changed. It gets
    its name by one rename: after any error there is none, or it is empty.
    """
    files, place = Files(RealDisk()), Path(os.path.realpath(into))
    if os.path.ismount(place):
        way = Text("{folder} is where a disk is mounted; name a new folder on it, and move what is in that up", folder=into)
        raise BadRequest("--into", way)
    if os.path.lexists(place) and not (place.is_dir() and not os.listdir(place)):
        raise BadRequest("--into", Text("{folder} is not an empty folder; name a new one", folder=into))
    with _opened(file) as backup, _unpacked(backup, files, place.parent, lasting=True) as folder:
        clean(folder)
        files.disk.rename(folder, place)
    return backup.contents


@contextlib.contextmanager
def _opened(file: Path) -> Iterator[BackupFile]:
    """Yield the backup after the whole file was read and found unchanged."""
    if not file.is_file():
        raise BadRequest("file", Text("{file} is not a file; check the path", file=file))
    with BackupFile.opened(file) as backup:
        backup.check()
        yield backup


@contextlib.contextmanager
def _unpacked(backup: BackupFile, files: Files, place: Path, *, lasting: bool = False) -> Iterator[Path]:
    """Yield a folder at *place* with what recalld puts into backups; it goes at the end unless renamed. Errors name *place*."""
    try:
        files.make_folder(place)
        with tempfile.TemporaryDirectory(prefix=".recalld-", dir=place, ignore_cleanup_errors=True) as temporary:
            root = Path(temporary) / "workspace"
            _unpack(backup, files, root, lasting=lasting)
            yield root
        files.disk.sync_folder(place)
    except OSError as error:
        raise from_os_error(error, error.filename or place) from error


def _unpack(backup: BackupFile, files: Files, root: Path, *, lasting: bool) -> None:
    entries = [entry for entry in backup.contents.files if _is_in_backup(entry.path)]
    folders = {root, *(root / above for entry in entries for above in Path(entry.path).parents)}
    for folder in sorted(folders):
        files.disk.mkdir(folder)
    for entry in entries:
        path = root / entry.path
        handle = files.disk.create(path, 0o700 if entry.executable else FILE_MODE)
        try:
            for part in backup.read(entry):
                files.disk.write(handle, part)
        finally:
            files.disk.close(handle)
        files.disk.touch(path, entry.mtime_ns)  # a message of the drop-box may get its time from its file
        if lasting:
            files.disk.sync_file(path)
    for folder in folders if lasting else ():
        files.disk.sync_folder(folder)
