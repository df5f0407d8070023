"""
Backups: one file with a consistent state of the workspace, made while everything runs (docs/reference/protocol.md, 9).

Files that change are read under the lock of history.json: the conversation, the journal, the drop-box, tasks and summaries, and
the names of the dated files. Dated files, pictures and all else are read afterwards: recalld makes these once, and at most
moves them.
"""

from __future__ import annotations

import contextlib
import os
import stat as modes
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from ..archive.places import place_of
from ..events import EventLog
from ..protocol.backup_file import LIST, BackupFile, Contents, Entry, entry_of, render_end, render_file
from ..protocol.config import load
from ..protocol.paths import LOST_AND_FOUND, QUEUE_FOLDERS, WorkspacePaths, day_of_name
from ..storage.clock import Clock, to_wire
from ..storage.disk import RealDisk, Stat
from ..storage.errors import BadRequest, Busy, Conflict
from ..storage.files import FILE_MODE, Files, FileVersion
from ..storage.foreign_name import MOST_FOLDERS, is_below
from ..storage.os_errors import TEMPORARY, from_os_error
from ..storage.texts import Text
from ..text.record import record
from ..workspace import Workspace
from .fsck import Ledger, fsck

#: How many times a backup is begun again after a file was written in place, or a dated file has vanished, meanwhile.
_TRIES: Final = 5
#: Seconds to wait for a file that is being written in place, while the lock is held.
_WAIT_LOCKED_S: Final = 0.2


@record
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
    check_folder(ws.paths.root, place, "FILE")
    taken = BadRequest("FILE", Text("{file} exists, and no backup replaces a file; choose another name", file=file))
    if os.path.lexists(file):
        raise taken
    try:
        _sweep_temporary(ws.files, place, now)
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


def _sweep_temporary(files: Files, place: Path, now: datetime) -> None:
    stats = files.disk.stats(place).items()
    matches = (TEMPORARY.fullmatch(name) for name, stat in stats if modes.S_ISREG(stat.mode))
    for name in {match["name"] for match in matches if match}:
        with contextlib.suppress(OSError):  # another user's file must not prevent a backup
            files.sweep(place, name, now)


def _written(ws: Workspace, file: Path, now: datetime, made_by: str) -> Backup:
    state = _State(ws)
    state.take()
    entries: list[Entry] = []

    def parts() -> Iterator[bytes]:
        for path, version in state.files():
            entries.append(entry_of(path, version))
            yield render_file(entries[-1], version.data)
        yield render_end(Contents(to_wire(now), made_by, tuple(entries)))

    ws.files.create_from(file, parts())
    return Backup(file, Contents(to_wire(now), made_by, tuple(entries)), tuple(state.left_out), state.locked_ms)


class _State:
    """
    One state of a workspace: the files that change as they were under the lock, and then the files that are made once.

    The places of a message are read in the order in which it passes them. So a message that moves on meanwhile is in the backup
    twice, as after a crash, but never missing.
    """

    def __init__(self, ws: Workspace) -> None:
        self._paths = ws.paths
        self._ws = ws
        self._files = ws.files
        self._disk = ws.files.disk
        self._changing: dict[Path, FileVersion] = {}
        self._dated: list[tuple[Path, list[str]]] = []  # folders, memory/ first, with the names in each
        self.locked_ms = 0.0
        self.left_out: list[str] = []

    def take(self) -> None:
        """Read the files that change; Busy if the lock is not free, or a file is being written in place."""
        # no lock file can be written to a disk that is mounted read-only
        is_still = self._disk.is_read_only(self._paths.root)
        with contextlib.nullcontext() if is_still else self._files.lock(self._paths.history_lock):
            began = time.perf_counter()
            self._read_changing()
            self.locked_ms = round((time.perf_counter() - began) * 1000, 3)

    def files(self) -> Iterator[tuple[str, FileVersion]]:
        """Yield each file with its path relative to the workspace; Conflict if a dated file is gone."""
        for path, version in self._changing.items():
            yield self._paths.relative(path), version
        for name, path in {name: folder / name for folder, names in self._dated for name in names}.items():
            # a dated file may have moved to originals/ since the list was made
            data = self._read(path) or self._read(self._paths.original(name))
            if data:
                yield self._paths.relative(path), data
            elif day_of_name(name) and self._disk.stat(path) is None:
                raise Conflict(path)
        for path in self._others(self._paths.root):
            if data := self._read(path):
                yield self._paths.relative(path), data

    # ── what changes ─────────────────────────────────────────────────────────

    def _read_changing(self) -> None:
        """Read the files that change, in the order in which a message passes the places."""
        self._hold([self._paths.history, self._paths.history_backup])
        if stat := self._disk.stat(self._paths.seen):  # the journal grows at its end
            self._changing[self._paths.seen] = FileVersion(_whole_lines(self._disk.read(self._paths.seen)), stat)
        self._hold_dropped()
        self._hold([*self._tasks(), *self._regular(self._paths.summaries)])
        folders = [self._paths.memory, *self._ws.memory.month_folders()]
        self._dated = [(folder, self._disk.names(folder)) for folder in folders]

    def _hold(self, paths: Iterable[Path]) -> None:
        for path in paths:
            if version := self._files.read_stable(path, _WAIT_LOCKED_S):
                self._changing[path] = version

    def _hold_dropped(self) -> None:
        """Read the drop-box, in which a file may get its hidden name meanwhile: what the first pass misses the second finds."""
        passes = (path for _ in range(2) for path in self._stats(self._paths.drop_box))
        held: set[Stat] = set()
        for path, stat in passes:
            if stat not in held and (version := self._files.read_stable(path, _WAIT_LOCKED_S)):
                held.add(stat)
                self._changing[path] = version

    def _tasks(self) -> list[Path]:
        """Return the files of the task queue; a task that moves on meanwhile is returned at its last place."""
        *steps, failed = (self._paths.worker / name for name in QUEUE_FOLDERS)
        tasks = {path.name: path for folder in steps for path in self._regular(folder)}
        return [*tasks.values(), *self._regular(failed)]

    def _regular(self, folder: Path) -> list[Path]:
        return [path for path, _ in self._stats(folder)]

    def _stats(self, folder: Path) -> list[tuple[Path, Stat]]:
        stats = sorted(self._disk.stats(folder).items())
        return [(folder / name, stat) for name, stat in stats if modes.S_ISREG(stat.mode) and not TEMPORARY.fullmatch(name)]

    # ── files that are made once, and other people's files ───────────────────

    def _read(self, path: Path) -> FileVersion | None:
        stat = self._disk.stat(path)
        if stat is None or not modes.S_ISREG(stat.mode) or TEMPORARY.fullmatch(path.name):
            return None
        if path.suffix == ".jsonl" and path.parent in (self._paths.root, self._paths.state):  # such a file only grows
            return FileVersion(_whole_lines(self._disk.read(path)), stat)
        return self._files.read_stable(path)

    def _others(self, folder: Path) -> Iterator[Path]:
        """Yield the regular files below the folder that have not been read yet."""
        paths = self._paths
        looked_in = {paths.memory, paths.summaries, paths.drop_box, *(paths.worker / name for name in QUEUE_FOLDERS)}
        looked_at = {paths.history, paths.history_backup, paths.seen}
        is_done = folder in looked_in or folder.parent == paths.originals
        for name, stat in sorted(self._disk.stats(folder).items()):
            path = folder / name
            if self._is_not_kept(path):
                continue
            if modes.S_ISDIR(stat.mode) and len(path.relative_to(paths.root).parts) <= MOST_FOLDERS:
                yield from self._others(path)
            elif not modes.S_ISREG(stat.mode):
                self.left_out.append(paths.relative(path))
            elif not is_done and path not in looked_at:
                yield path

    def _is_not_kept(self, path: Path) -> bool:
        paths = self._paths
        place = place_of(paths.relative(path))
        is_passed = place is not None and not place.in_backup
        return is_passed or path.name == ".git" or path in (paths.root / LIST, paths.root / LOST_AND_FOUND)


def _whole_lines(data: bytes) -> bytes:
    return data[: data.rfind(b"\n") + 1]


# ── restored ─────────────────────────────────────────────────────────────────


def verify(file: Path, environ: Mapping[str, str], clock: Clock) -> tuple[Contents, Ledger]:
    """
    Unpack the backup into a temporary folder, and return its own description and the account of its messages.

    BadBackup if the file is no backup or was changed; BadConfig and NewerFormat as for opening a workspace.
    """
    files = Files(RealDisk())
    with _opened(file) as backup, _unpacked(backup, files, None) as folder:
        toml = files.read_stable(WorkspacePaths(folder).config)
        config = load(toml.data if toml else None, environ)
        events = EventLog(WorkspacePaths(folder).log, clock, config.log)
        return backup.contents, fsck(Workspace(folder, config, files, events, environ))


def restore(file: Path, into: Path, clean: Callable[[Path], object] | None = None) -> Contents:
    """
    Unpack the backup into a new or empty folder, durably, and return its own description; *clean* is called with it before.

    BadRequest if the folder is not empty; BadBackup if the file is no backup or was changed. A new folder gets its name by one
    rename; an empty one, which may be a mount point, gets history.json last. After any error it is empty.
    """
    files, place = Files(RealDisk()), Path(os.path.realpath(into))
    if os.path.lexists(place) and (not place.is_dir() or {*os.listdir(place)} - {LOST_AND_FOUND}):
        raise BadRequest("--into", Text("{folder} is not an empty folder; name a new one", folder=into))
    parent = place if place.is_dir() else place.parent
    with _opened(file) as backup:
        try:
            files.make_folder(parent)
            with _unpacked(backup, files, parent) as folder:
                if clean:
                    clean(folder)
                if parent == place:
                    _moved_up(files, folder, place)
                else:
                    files.disk.rename(folder, place)
            files.disk.sync_folder(parent)
        except OSError as error:
            raise from_os_error(error, error.filename or into) from error
        return backup.contents


def _moved_up(files: Files, folder: Path, place: Path) -> None:
    """Move the contents of the folder to *place*, history.json last; any error undoes all moves, and nothing is replaced."""
    history = WorkspacePaths(folder).history
    moved: list[str] = []
    try:
        for path in sorted(folder.iterdir(), key=lambda path: (path == history, path)):
            moved.append(path.name)
            files.disk.rename_new(path, place / path.name)
    except BaseException:
        for name in moved:
            if files.disk.stat(folder / name) is None:
                files.disk.rename(place / name, folder / name)
        raise


def check(file: Path) -> Contents:
    """Read the whole backup and return its own description; BadBackup if it was changed."""
    with _opened(file) as backup:
        return backup.contents


@contextlib.contextmanager
def _opened(file: Path) -> Iterator[BackupFile]:
    """Yield the backup after the whole file was read and found unchanged."""
    if not file.is_file():
        raise BadRequest("FILE", Text("{file} is not a file; check the path", file=file))
    with BackupFile.opened(file) as backup:
        backup.check()
        yield backup


@contextlib.contextmanager
def _unpacked(backup: BackupFile, files: Files, place: Path | None) -> Iterator[Path]:
    """
    Yield a folder with the files of the backup; it is deleted at the end, unless it was renamed.

    With *place* it is in a folder of its own there, and its files are durable; without *place* it is a temporary folder.
    """
    with tempfile.TemporaryDirectory(prefix=".recalld-", dir=place, ignore_cleanup_errors=True) as temporary:
        root = Path(temporary) / "workspace"
        files.make_folder(root)
        folders = {root / above for entry in backup.contents.files for above in Path(entry.path).parents}
        for folder in sorted(folders - {root}):
            files.disk.mkdir(folder)
        for entry in backup.contents.files:
            path = root / entry.path
            handle = files.disk.create(path, 0o700 if entry.executable else FILE_MODE)
            try:
                for part in backup.read(entry):
                    files.disk.write(handle, part)
            finally:
                files.disk.close(handle)
            files.disk.touch(path, entry.mtime_ns)  # a message of the drop-box may get its time from its file
            if place:
                files.disk.sync_file(path)
        for folder in folders if place else ():
            files.disk.sync_folder(folder)
        yield root
