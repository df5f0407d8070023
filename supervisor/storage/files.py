"""
The only writer of a workspace's files: atomic, durable writes, and reads of whole versions (docs/reference/protocol.md, 5).

Every write is: a temporary file in the target's folder, all bytes, fsync, a last check that the target is still what was read,
a rename (or a link, for a file that must not exist yet), fsync of the folder. After a crash the old file is there or the new
one, never a part of one. A failed fsync is never retried on the same file: the temporary file is removed, and the caller
decides.

`Files` remembers what it has made durable, so that no fsync is made twice. What another process wrote counts as not durable:
that process may have been killed before its fsync. The event log appends for itself (events.py), since a log that can't be
written must not stop anything.
"""

import errno
import hashlib
import itertools
import os
import stat as modes
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from ..text.foreign_text import LONGEST_GIVEN, shortened_name
from .disk import Disk, Stat
from .errors import TEMPORARY, Busy, Conflict

FILE_MODE: Final = 0o600
LOCK_WAIT_S: Final = 10.0
#: Pauses between two reads of a file that another program is writing in place, in seconds: about 5 s together.
RETRY_PAUSES_S: Final = (0.002, 0.004, 0.008, 0.016, 0.03, 0.06, 0.12, *(0.25,) * 19)
#: No writer takes longer than this between two changes of what it writes.
_LONGEST_WRITE_S: Final = 3600.0


@dataclass(frozen=True, slots=True)
class FileVersion:
    """One whole version of a file: its bytes, and the properties that differ from those of other versions."""

    data: bytes
    stat: Stat

    @property
    def digest(self) -> str:
        """The sha256 of the bytes."""
        return digest_of(self.data)


class Files:
    """Reads whole files and writes them durably. *token* (letters and digits) is part of the names of temporary files."""

    def __init__(self, disk: Disk, *, token: str = "", pause: Callable[[float], None] = time.sleep) -> None:
        self.disk = disk
        self._token = token or str(os.getpid())
        self.pause = pause
        self._count = itertools.count()
        #: The versions that it has made durable, bytes and name; of a folder the inode alone says whether it is the same.
        self._durable: dict[Path, Stat] = {}
        #: What an answer is given of a file's bytes; None where it is given nothing (`archive/tombstones.py`).
        self.shown: Callable[[Path, bytes], bytes | None] = lambda _, data: data

    # ── reading ──────────────────────────────────────────────────────────────

    def read_stable(self, path: Path, wait_s: float = sum(RETRY_PAUSES_S), most: int | None = None) -> FileVersion | None:
        """
        Return a version of the file that did not change while it was read; None when there is none.

        Another program may be writing it in place: Busy when it still changes after about *wait_s* seconds. OSError (EFBIG)
        where it has more than *most* bytes.
        """
        waited_s = 0.0
        for pause_s in (*RETRY_PAUSES_S, 0.0):
            before = self.disk.stat(path)
            if before is None:
                return None
            if most is not None and before.size > most:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
            try:
                data = self.disk.read(path)
            except FileNotFoundError:
                continue  # it was replaced or deleted between the two calls: the next try shows which
            after = self.disk.stat(path)
            if after == before and len(data) == before.size:
                return FileVersion(data, before)
            if waited_s + pause_s > wait_s:
                break
            self.pause(pause_s)
            waited_s += pause_s
        raise Busy(path, waited_s)

    def read_shown(self, path: Path, wait_s: float = sum(RETRY_PAUSES_S)) -> FileVersion | None:
        """Return the file for an answer, without what was forgotten; None where it holds nothing else."""
        version = self.read_stable(path, wait_s)
        data = self.shown(path, version.data) if version else None
        return FileVersion(data, version.stat) if version and data is not None else None

    # ── writing ──────────────────────────────────────────────────────────────

    def replace(
        self,
        path: Path,
        data: bytes,
        seen: FileVersion | Stat | None,
        keep: Path | None = None,
        mode: int = FILE_MODE,
    ) -> None:
        """
        Replace the version *seen* (None: no file) by *data*, durably; mode and owner of the old file are kept.

        A file that was not there gets the *mode*. The old version of one that was read in pieces is given by its stat.

        The old version is kept under the name *keep*, if given. Conflict when the file is no longer the version *seen*; then
        nothing is written. An OSError leaves the old file as it was.
        """
        old = seen.stat if isinstance(seen, FileVersion) else seen
        temporary, stat = self._prepare(path, (data,), old, mode)
        kept = None
        try:
            if old and keep:
                kept = self._second_name(path, old, keep)
            # subtle: nothing may come between this check and the rename
            if not self._is_unchanged(path, seen):
                raise Conflict(path)
            self.disk.rename(temporary, path)
        except BaseException:
            self._drop(temporary)
            if kept:
                self._drop(kept)
            raise
        if kept and keep:
            try:
                self.disk.rename(kept, keep)
            except OSError:  # the file itself is replaced; the kept version is one older
                self._drop(kept)
        self.disk.sync_folder(path.parent)
        self._durable[path] = stat

    def create(self, path: Path, data: bytes) -> None:
        """Create the file, durably; FileExistsError when the name is taken."""
        temporary, _ = self._prepare(path, (data,), None)
        try:
            self.disk.link(temporary, path)
        finally:
            self._drop(temporary)
        self.disk.sync_folder(path.parent)

    def create_from(self, path: Path, parts: Iterable[bytes]) -> None:
        """Create a file of any size from its parts, durably and by one rename; FileExistsError when the name is taken."""
        temporary, _ = self._prepare(path, parts, None)
        try:
            self.disk.rename_new(temporary, path)  # not by a link, which not every file system outside a workspace has
        except BaseException:
            self._drop(temporary)
            raise
        self.disk.sync_folder(path.parent)

    def append(self, path: Path, line: bytes, row: int = 0) -> None:
        """
        Append one or more whole lines, or rows of *row* bytes, durably.

        A line that a crash left without its end gets a line break first, such a row zeros.
        """
        stat = self.disk.stat(path)
        if row:
            line = bytes(-stat.size % row if stat else 0) + line
        elif stat and stat.size and self.disk.read(path, stat.size - 1) != b"\n":
            line = b"\n" + line
        handle = self.disk.open_append(path, FILE_MODE)
        try:
            self.disk.write(handle, line)
            written = self.disk.stat(path)
            self.disk.sync(handle)
        finally:
            self.disk.close(handle)
        if written:
            self._sync_name(path, written)

    def ensure_durable(self, path: Path) -> None:
        """
        Make the file or folder durable, once for each version; does nothing when there is none.

        For files that another process wrote and that are now relied on.
        """
        stat = self.disk.stat(path)
        if stat is None or self._durable.get(path) == stat:
            return
        with suppress(FileNotFoundError):
            if modes.S_ISREG(stat.mode):
                self._sync_bytes(path, stat)
                self._durable.pop(path, None)  # it may be another file that got the same inode
            self._sync_name(path, stat)

    def move(self, old: Path, new: Path) -> None:
        """Rename the file in one durable step; FileExistsError when the new name is taken."""
        self.disk.rename_new(old, new)
        self._durable.pop(old, None)
        # the new folder first: a crash in between may leave both names, but never none
        self.disk.sync_folder(new.parent)
        if old.parent != new.parent:
            self.disk.sync_folder(old.parent)

    def remove(self, path: Path) -> None:
        """Delete the file, durably; does nothing when there is none."""
        try:
            self.disk.unlink(path)
        except FileNotFoundError:
            return
        self._durable.pop(path, None)
        self.disk.sync_folder(path.parent)

    def make_folder(self, folder: Path, *, lasting: bool = False) -> None:
        """
        Create the folder and those above it, durably, where they are absent.

        *lasting*: the folder will hold durable files, so its own name is made durable even if it exists.
        """
        if (stat := self.disk.stat(folder)) is not None:
            if lasting:
                self._sync_name(folder, stat)
            return
        self.make_folder(folder.parent)
        try:
            self.disk.mkdir(folder)
        except FileExistsError:
            return
        if stat := self.disk.stat(folder):
            self._sync_name(folder, stat)

    def check_folder(self, folder: Path) -> None:
        """Raise NotADirectoryError where the folder is a link or a file: recalld would write and delete elsewhere."""
        stat = self.disk.stat(folder)
        if stat and not modes.S_ISDIR(stat.mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))

    def sweep(self, folder: Path, name: str = "", now: datetime | None = None) -> int:
        """
        Delete temporary files that a crash left in *folder*, only those of the target *name* if given; returns how many.

        In place of a link nothing is deleted: what it leads to may be anybody's.
        With *now*, others may be writing theirs: files whose time is within an hour of *now* stay, also a later one, since a
        clock may have been set back.
        """
        place = self.disk.stat(folder)
        if place is None or not modes.S_ISDIR(place.mode):
            return 0
        swept = 0
        for entry in self.disk.names(folder):
            match = TEMPORARY.fullmatch(entry)
            if not match or name not in ("", match["name"]):
                continue
            stat = self.disk.stat(folder / entry)
            if now is None or (stat and abs(stat.mtime_ns / 1e9 - now.timestamp()) > _LONGEST_WRITE_S):
                self.disk.unlink(folder / entry)
                swept += 1
        return swept

    def lock(self, path: Path, wait_s: float = LOCK_WAIT_S) -> AbstractContextManager[None]:
        """Hold the lock on the lock file *path* for one read, change and write; Busy after *wait_s* seconds."""
        return self.disk.lock(path, wait_s)

    # ── steps of a write ─────────────────────────────────────────────────────

    def _prepare(self, path: Path, parts: Iterable[bytes], old: Stat | None, mode: int = FILE_MODE) -> tuple[Path, Stat]:
        """Return path and stat of a durable temporary file next to *path*, which has mode and owner of *old*, or *mode*."""
        temporary = self._temporary_name(path)
        handle = self.disk.create(temporary, FILE_MODE)
        size = 0
        try:
            try:
                if old is not None:
                    self.disk.set_owner(handle, modes.S_IMODE(old.mode), old.uid, old.gid)
                elif mode != FILE_MODE:  # the umask of the process can only remove permissions from it
                    self.disk.set_owner(handle, mode, os.geteuid(), os.getegid())
                for part in parts:
                    self.disk.write(handle, part)
                    size += len(part)
                self.disk.sync(handle)
            finally:
                self.disk.close(handle)
            stat = self.disk.stat(temporary)
            if stat is None or stat.size != size:  # a network disk or a quota: write reported success, but bytes are missing
                raise OSError(errno.EIO, "it holds less than was written", str(path))
        except BaseException:
            self._drop(temporary)
            raise
        return temporary, stat

    def _temporary_name(self, path: Path) -> Path:
        while True:
            temporary = path.with_name(f".{shortened_name(path.name, LONGEST_GIVEN)}.{self._token}-{next(self._count)}.tmp")
            if self.disk.stat(temporary) is None:  # else a process with the same number left it in a crash
                return temporary

    def _is_unchanged(self, path: Path, seen: FileVersion | Stat | None) -> bool:
        if not isinstance(seen, FileVersion):
            return self.disk.stat(path) == seen
        try:  # the bytes first: reading takes time, and only the properties show a change in that time
            return self.disk.read(path) == seen.data and self.disk.stat(path) == seen.stat
        except FileNotFoundError:
            return False

    def _second_name(self, path: Path, stat: Stat, keep: Path) -> Path | None:
        """Give the version *stat* a temporary second name, to be renamed to *keep*; None if it has the name *keep* already."""
        with suppress(FileNotFoundError):  # then the file is not the version that was read any more
            # its writer may not have synced it: a power cut could then take both this version and the new one
            self._sync_bytes(path, stat)
            existing = self.disk.stat(keep)
            if existing and not modes.S_ISREG(existing.mode):
                raise OSError(errno.EINVAL, "it is not a regular file", str(keep))
            if existing is None or existing.inode != stat.inode:  # else the rename would do nothing: both names are of one file
                second = self._temporary_name(keep)
                self.disk.link(path, second)
                return second
        return None

    def _sync_bytes(self, path: Path, stat: Stat) -> None:
        """Make the bytes of the version *stat* durable."""
        if self._durable.get(path) != stat:
            self.disk.sync_file(path)

    def _sync_name(self, path: Path, stat: Stat) -> None:
        """Make the name of a file or folder durable whose bytes are, and remember this version."""
        known = self._durable.get(path)
        if known is None or known.inode != stat.inode:
            self.disk.sync_folder(path.parent)
        self._durable[path] = stat

    def _drop(self, temporary: Path) -> None:
        try:
            self.disk.unlink(temporary)
        except OSError:
            return  # `sweep` at the next start removes it


def digest_of(data: bytes) -> str:
    """Return the sha256 of *data* in 64 hex digits."""
    return hashlib.sha256(data).hexdigest()
