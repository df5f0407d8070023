"""
What is still owed to the disk: which bytes and names are known to be durable, so that no fsync is made twice.

Bytes are known by the version that was synced, names by the inode they lead to. What another process made is taken for owed:
that process may have been killed before its fsync (docs/protocol.md, 5).

The only writer of a workspace's files (docs/protocol.md, 5).

Every write is: temporary file beside the target, all bytes, fsync, a last look whether the target is still what was read,
rename (or link, for a file that is made once), fsync of the folder. After a crash the old file stands, or the new one,
never half of one. A failed fsync is never retried on the same file: the temporary file goes, the caller decides.

The event log appends for itself (events.py), since a log that can't be written must stop nothing.
"""

from __future__ import annotations

import errno
import hashlib
import itertools
import os
import stat as modes
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from supervisor.protocol.errors import TEMPORARY, Busy, Conflict

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from datetime import datetime
    from pathlib import Path

    from supervisor.protocol.disk import Disk, Stat


class FsyncTracker:
    """What one process knows of this *disk*; each method may raise OSError, and then nothing more is known."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._bytes: dict[Path, Stat] = {}
        self._names: dict[Path, int] = {}

    def ensure_durable(self, path: Path) -> None:
        """Make durable that *path* stands as it does, bytes and name; nothing happens where there is none."""
        stat = self._disk.stat(path)
        if stat and modes.S_ISREG(stat.mode) and self._bytes.get(path) != stat:
            with suppress(FileNotFoundError):
                self.ensure_bytes_durable(path, stat)
            self._names.pop(path, None)  # it may be another file that was given the same inode
        self.ensure_name_durable(path)

    def ensure_bytes_durable(self, path: Path, stat: Stat) -> None:
        """Make the bytes of the version *stat* durable."""
        if self._bytes.get(path) != stat:
            self._disk.sync_file(path)
            self._bytes[path] = stat

    def ensure_name_durable(self, path: Path) -> None:
        """Make durable that there is such a file or folder."""
        stat = self._disk.stat(path)
        if stat and self._names.get(path) != stat.inode:
            self._disk.sync_folder(path.parent)
            self._names[path] = stat.inode

    def mark_synced(self, path: Path, stat: Stat) -> None:
        """Note that the bytes of the version *stat* are durable: we have synced them ourselves."""
        self._bytes[path] = stat

    def invalidate(self, path: Path) -> None:
        """Note that the name is free: what gets it next owes everything."""
        self._bytes.pop(path, None)
        self._names.pop(path, None)


FILE_MODE: Final = 0o600
LOCK_WAIT_S: Final = 10.0
#: Pauses between two looks at a file that someone is writing in place, in seconds: about 5 s in all.
LOOK_AGAIN_S: Final = (0.002, 0.004, 0.008, 0.016, 0.03, 0.06, 0.12, *(0.25,) * 19)
#: No writer takes so long between the first byte of a file and its last.
_WRITTEN_BY_S: Final = 3600.0


def digest_of(data: bytes) -> str:
    """The sha256 of *data*, 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True, slots=True)
class FileVersion:
    """One whole version of a file: its bytes, and what tells it from the next."""

    data: bytes
    stat: Stat

    @property
    def digest(self) -> str:
        """The sha256 of the bytes."""
        return digest_of(self.data)


class Files:
    """Reads whole files and writes them durably. *token* is part of the names of temporary files (letters, digits)."""

    def __init__(self, disk: Disk, *, token: str = "", pause: Callable[[float], None] = time.sleep) -> None:
        self.disk = disk
        self._token = token or str(os.getpid())
        self.pause = pause
        self._count = itertools.count()
        self._fsyncs = FsyncTracker(disk)

    # ── reading ──────────────────────────────────────────────────────────────

    def read_stable(self, path: Path, wait_s: float = sum(LOOK_AGAIN_S)) -> FileVersion | None:
        """
        Return the file as two looks agree that it is; None when there is none.

        A foreign program may be writing it in place: Busy when it does not come to rest within about *wait_s* seconds.
        """
        waited_s = 0.0
        for pause_s in (*LOOK_AGAIN_S, 0.0):
            before = self.disk.stat(path)
            if before is None:
                return None
            try:
                data = self.disk.read(path)
            except FileNotFoundError:
                continue  # renamed over or deleted between the two calls: the next look tells which
            after = self.disk.stat(path)
            if after == before and len(data) == before.size:
                return FileVersion(data, before)
            if waited_s + pause_s > wait_s:
                break
            self.pause(pause_s)
            waited_s += pause_s
        raise Busy(path, timedelta(seconds=waited_s))

    # ── writing ──────────────────────────────────────────────────────────────

    def replace(self, path: Path, data: bytes, seen: FileVersion | None, keep: Path | None = None) -> None:
        """
        Put *data* in the place of the version *seen* (None: of no file), durably; mode and owner of the old file stay.

        The old version stays under the name *keep*, where one is given. Changed when the target is no longer what was seen;
        then nothing was written. OSError leaves the old file as it was.
        """
        temporary, stat = self._prepare(path, data, seen.stat if seen else None)
        kept = None
        try:
            if seen and keep:
                kept = self._second_name(path, seen.stat, keep)
            # subtle: nothing stands between the last look and the rename
            if not self._still(path, seen):
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
            except OSError:  # the file is replaced: what is kept beside it is one version older
                self._drop(kept)
        self.disk.sync_folder(path.parent)
        self._fsyncs.mark_synced(path, stat)

    def create(self, path: Path, data: bytes) -> None:
        """Make the file once, durably; FileExistsError when the name is taken, whoever took it."""
        temporary, _ = self._prepare(path, data, None)
        try:
            self.disk.link(temporary, path)
        finally:
            self._drop(temporary)
        self.disk.sync_folder(path.parent)

    def append(self, path: Path, line: bytes) -> None:
        """Add one or more whole lines at the end, durably. A line that a crash left unfinished is closed off first."""
        found = self.disk.stat(path)
        if found and found.size and self.disk.read(path, found.size - 1) != b"\n":
            line = b"\n" + line
        handle = self.disk.open_append(path, FILE_MODE)
        try:
            self.disk.write(handle, line)
            written = self.disk.stat(path)
            self.disk.sync(handle)
        finally:
            self.disk.close(handle)
        if written:
            self._fsyncs.mark_synced(path, written)
        self._fsyncs.ensure_name_durable(path)

    def ensure_durable(self, path: Path) -> None:
        """
        Make durable, once for each version, that *path* stands as it does; nothing happens where there is none.

        For what is relied on and was made by another: that process may have been killed before its fsync.
        """
        self._fsyncs.ensure_durable(path)

    def move(self, old: Path, new: Path) -> None:
        """Give the file a new place in one durable step; FileExistsError when the place is taken."""
        self.disk.rename_new(old, new)
        self._fsyncs.invalidate(old)
        # the new name before the old one's absence: a crash between may show both, never neither
        self.disk.sync_folder(new.parent)
        if old.parent != new.parent:
            self.disk.sync_folder(old.parent)

    def remove(self, path: Path) -> None:
        """Delete the file, durably; nothing happens when there is none."""
        try:
            self.disk.unlink(path)
        except FileNotFoundError:
            return
        self._fsyncs.invalidate(path)
        self.disk.sync_folder(path.parent)

    def make_folder(self, folder: Path, *, lasting: bool = False) -> None:
        """
        Make the folder and those above it, durably, where they are absent.

        *lasting*: what is put into it has to last, so that one which is there is settled as well.
        """
        if self.disk.stat(folder) is not None:
            if lasting:
                self._fsyncs.ensure_name_durable(folder)
            return
        self.make_folder(folder.parent)
        try:
            self.disk.mkdir(folder)
        except FileExistsError:
            return
        self._fsyncs.ensure_name_durable(folder)

    def sweep(self, folder: Path, name: str = "", now: datetime | None = None) -> int:
        """
        Delete temporary files that a crash left in *folder*; returns how many.

        Only those of the target *name*, where given. Where others may be writing theirs *now*, those written to within an
        hour of it stay: behind it, or ahead, since a clock may have been set back.
        """
        swept = 0
        for found in self.disk.names(folder):
            match = TEMPORARY.fullmatch(found)
            if not match or name not in ("", match["name"]):
                continue
            stat = self.disk.stat(folder / found)
            if now is None or (stat and abs(stat.mtime_ns / 1e9 - now.timestamp()) > _WRITTEN_BY_S):
                self.disk.unlink(folder / found)
                swept += 1
        return swept

    def lock(self, path: Path, wait_s: float = LOCK_WAIT_S) -> AbstractContextManager[None]:
        """Hold the lock on the side file *path*; Busy after *wait_s* seconds."""
        return self.disk.lock(path, wait_s)

    # ── steps of a write ─────────────────────────────────────────────────────

    def _prepare(self, path: Path, data: bytes, old: Stat | None) -> tuple[Path, Stat]:
        """Write a durable temporary file beside *path*, with the mode and owner of the *old* one, and tell what it is."""
        temporary = self._name(path)
        handle = self.disk.create(temporary, FILE_MODE)
        try:
            try:
                if old is not None:
                    self.disk.own(handle, modes.S_IMODE(old.mode), old.uid, old.gid)
                self.disk.write(handle, data)
                self.disk.sync(handle)
            finally:
                self.disk.close(handle)
            found = self.disk.stat(temporary)
            if found is None or found.size != len(data):  # a network disk, a quota: what was said to be written is not
                raise OSError(errno.EIO, "it holds less than was written", str(path))
        except BaseException:
            self._drop(temporary)
            raise
        return temporary, found

    def _name(self, path: Path) -> Path:
        while True:
            temporary = path.with_name(f".{path.name}.{self._token}-{next(self._count)}.tmp")
            if self.disk.stat(temporary) is None:  # left by a crash of a process that had our number
                return temporary

    def _still(self, path: Path, seen: FileVersion | None) -> bool:
        if seen is None:
            return self.disk.stat(path) is None
        try:  # the bytes first: they take their time, and what another puts there meanwhile only the last look can tell
            return self.disk.read(path) == seen.data and self.disk.stat(path) == seen.stat
        except FileNotFoundError:
            return False

    def _second_name(self, path: Path, stat: Stat, keep: Path) -> Path | None:
        """Give the version *stat* a temporary second name, which is to become *keep*; None where it has that already."""
        with suppress(FileNotFoundError):  # then it is no longer what was seen
            # who wrote it may have synced nothing: one loss of power could take it and the new version
            self._fsyncs.ensure_bytes_durable(path, stat)
            there = self.disk.stat(keep)
            if there and not modes.S_ISREG(there.mode):
                raise OSError(errno.EINVAL, "it is no regular file", str(keep))
            if there is None or there.inode != stat.inode:  # else a rename between two names of one file would do nothing
                second = self._name(keep)
                self.disk.link(path, second)
                return second
        return None

    def _drop(self, temporary: Path) -> None:
        try:
            self.disk.unlink(temporary)
        except OSError:
            return  # the sweep at the next start finds it
