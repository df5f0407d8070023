"""
What recalld asks of a disk: the few calls below, and no others.

`RealDisk` makes them of the operating system. The tests put a model file system in its place, which forgets whatever was
not fsynced and dies at any call; so each method here is one step that a crash can fall behind, and none does two.
Locks are flock through filelock on side files that are never deleted (docs/protocol.md, 5).
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat as modes
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple, Protocol

from supervisor.protocol.errors import Busy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

FOLDER_MODE = 0o700
_RENAME_NOREPLACE = 1
_AT_FDCWD = -100


class Stat(NamedTuple):
    """What tells one version of a file from another; *mtime_ns* in nanoseconds, *size* in bytes."""

    inode: int
    size: int
    mtime_ns: int
    mode: int
    uid: int
    gid: int


class Disk(Protocol):
    """The calls. Absent things raise FileNotFoundError, except where a method says otherwise; all may raise OSError."""

    def stat(self, path: Path) -> Stat | None:
        """The file or folder itself, no link followed; None when there is none."""
        ...

    def names(self, folder: Path) -> list[str]:
        """Names in *folder*, sorted; empty when there is no such folder."""
        ...

    def stats(self, folder: Path) -> dict[str, Stat]:
        """What each name in *folder* is, no link followed, in no order; empty when there is no such folder."""
        ...

    def read(self, path: Path, offset: int = 0) -> bytes:
        """Return the bytes of a regular file from *offset* on. A symbolic link is refused (ELOOP)."""
        ...

    def create(self, path: Path, mode: int) -> int:
        """Return a handle to a new, empty file; FileExistsError when the name is taken. No link is followed."""
        ...

    def open_append(self, path: Path, mode: int) -> int:
        """Return a handle that writes at the end of the file, made where absent."""
        ...

    def write(self, handle: int, data: bytes) -> None:
        """Write all of *data*, however often the system takes only a part."""
        ...

    def own(self, handle: int, mode: int, uid: int, gid: int) -> None:
        """Give the open file this mode, owner and group."""
        ...

    def sync(self, handle: int) -> None:
        """Make the bytes of the open file durable."""
        ...

    def close(self, handle: int) -> None:
        """Close the handle; says nothing about durability."""
        ...

    def rename(self, old: Path, new: Path) -> None:
        """Give *old* the name *new*, in place of what had it."""
        ...

    def rename_new(self, old: Path, new: Path) -> None:
        """Give *old* the name *new*; FileExistsError when it is taken."""
        ...

    def link(self, old: Path, new: Path) -> None:
        """Give *old* the further name *new*; FileExistsError when it is taken."""
        ...

    def unlink(self, path: Path) -> None:
        """Take the name away."""
        ...

    def mkdir(self, folder: Path) -> None:
        """Make one folder, mode 0700; FileExistsError when the name is taken."""
        ...

    def sync_file(self, path: Path) -> None:
        """Make the bytes of a file durable that somebody else has written; no link is followed."""
        ...

    def sync_folder(self, folder: Path) -> None:
        """Make the names in *folder* durable."""
        ...

    def touch(self, path: Path) -> None:
        """Set the file's times to now."""
        ...

    def lock(self, path: Path, wait_s: float) -> AbstractContextManager[None]:
        """Hold the flock on the side file *path*; Busy after *wait_s* seconds."""
        ...


def _stat_of(found: os.stat_result) -> Stat:
    return Stat(found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode, found.st_uid, found.st_gid)


class RealDisk:
    """The disk of this machine."""

    def stat(self, path: Path) -> Stat | None:
        """See Disk."""
        try:
            found = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return _stat_of(found)

    def names(self, folder: Path) -> list[str]:
        """See Disk."""
        try:
            return sorted(os.listdir(folder))
        except FileNotFoundError:
            return []

    def stats(self, folder: Path) -> dict[str, Stat]:
        """See Disk."""
        found = {}
        with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):  # it went after it was listed
                    found[entry.name] = _stat_of(entry.stat(follow_symlinks=False))
        return found

    def read(self, path: Path, offset: int = 0) -> bytes:
        """See Disk."""
        # O_NONBLOCK: a named pipe put in a file's place must not hang us
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            if not modes.S_ISREG(os.fstat(handle).st_mode):
                raise OSError(errno.EINVAL, "it is no regular file", str(path))
            with open(handle, "rb", closefd=False) as file:
                file.seek(offset)
                return file.read()
        finally:
            os.close(handle)

    def create(self, path: Path, mode: int) -> int:
        """See Disk."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)

    def open_append(self, path: Path, mode: int) -> int:
        """See Disk."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, mode)

    def write(self, handle: int, data: bytes) -> None:
        """See Disk."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(handle, rest) :]

    def own(self, handle: int, mode: int, uid: int, gid: int) -> None:
        """See Disk."""
        now = os.fstat(handle)
        if (now.st_uid, now.st_gid) != (uid, gid):
            os.fchown(handle, uid, gid)
        os.fchmod(handle, mode & 0o7777)

    def sync(self, handle: int) -> None:
        """See Disk."""
        os.fsync(handle)

    def close(self, handle: int) -> None:
        """See Disk."""
        os.close(handle)

    def rename(self, old: Path, new: Path) -> None:
        """See Disk."""
        os.rename(old, new)

    def rename_new(self, old: Path, new: Path) -> None:
        """See Disk. One system call where the kernel has it, else a look and a rename."""
        if (number := _rename_noreplace(old, new)) == 0:
            return
        if number not in (errno.EINVAL, errno.ENOSYS):
            raise OSError(number, os.strerror(number), str(new))
        if self.stat(new) is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(new))
        os.rename(old, new)

    def link(self, old: Path, new: Path) -> None:
        """See Disk."""
        os.link(old, new, follow_symlinks=False)

    def unlink(self, path: Path) -> None:
        """See Disk."""
        os.unlink(path)

    def mkdir(self, folder: Path) -> None:
        """See Disk."""
        os.mkdir(folder, FOLDER_MODE)

    def sync_file(self, path: Path) -> None:
        """See Disk."""
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def sync_folder(self, folder: Path) -> None:
        """See Disk."""
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def touch(self, path: Path) -> None:
        """See Disk."""
        os.utime(path, follow_symlinks=False)

    @contextlib.contextmanager
    def lock(self, path: Path, wait_s: float) -> Iterator[None]:
        """See Disk."""
        from filelock import FileLock, Timeout

        held = FileLock(path, timeout=wait_s, mode=0o600)
        try:
            held.acquire(poll_interval=0.005)
        except Timeout:
            raise Busy(path, timedelta(seconds=wait_s)) from None
        try:
            yield
        finally:
            held.release()


def _rename_noreplace(old: Path, new: Path) -> int:
    """Call renameat2(RENAME_NOREPLACE); the error number, 0 when it was done, ENOSYS where there is no such call."""
    import ctypes

    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return errno.ENOSYS
    done = call(_AT_FDCWD, os.fsencode(old), _AT_FDCWD, os.fsencode(new), ctypes.c_uint(_RENAME_NOREPLACE))
    return 0 if done == 0 else ctypes.get_errno()
