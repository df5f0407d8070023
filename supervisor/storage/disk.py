"""
The few disk operations that recalld uses: each is a system call or two.

The tests use a model file system instead, which forgets whatever was not fsynced and can die at any call. So each method is one
step after which a crash is possible, and none does two.

Locks are flock, on lock files that are never deleted (docs/reference/protocol.md, 5). A process takes those that it holds for
life through filelock. One read, change and write takes its lock by the system call: a command would wait longer for the import
of filelock than for the lock (docs/decisions/0102-two-kinds-of-lock.md).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat as modes
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ..text.foreign_text import parts_of
from .errors import Busy

if TYPE_CHECKING:
    from mmap import mmap

FOLDER_MODE = 0o700
#: Bytes of a file outside a workspace, at most: units, keys and names of time zones have some hundred.
MOST_OUTSIDE = 1 << 20
#: Where large files without a name are made: /tmp is memory on many machines.
_LARGE_FILES = "/var/tmp"  # noqa: S108 - the file never has a name there
#: Seconds between two tries of a lock that is held.
_POLL_S = 0.005
_RENAME_NOREPLACE = 1
_AT_FDCWD = -100


class Stat(NamedTuple):
    """The properties of a file that differ between its versions; *mtime_ns* in nanoseconds, *size* in bytes."""

    inode: int
    size: int
    mtime_ns: int
    mode: int
    uid: int
    gid: int


def _stat_of(stat: os.stat_result) -> Stat:
    return Stat(stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_mode, stat.st_uid, stat.st_gid)


def open_regular(path: Path, flags: int, mode: int = 0o600) -> int:
    """Return a handle to the regular file; OSError for a link, a folder or a named pipe in its place, which never blocks."""
    handle = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, mode)
    if not modes.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return handle


def open_outside(path: Path | str) -> int:
    """
    Return a handle to read a regular file that recalld did not make, such as a unit in somebody's home; a link is followed.

    OSError (EINVAL) for anything else: no pipe blocks, and no device is opened, since that alone may start something.
    """
    if modes.S_ISREG(os.stat(path).st_mode):
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        if modes.S_ISREG(os.fstat(handle).st_mode):  # it may have been replaced between the two
            return handle
        os.close(handle)
    raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def read_outside(path: Path | str, most: int = MOST_OUTSIDE) -> bytes:
    """Return the bytes of a file as `open_outside` opens it; OSError (EFBIG) where it has more than *most*."""
    with open(open_outside(path), "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return data


def mapped_copy(data: memoryview) -> mmap:
    """
    Return a copy of the bytes in a file without a name, mapped: what of it nobody reads is no memory of this process.

    OSError where no such file can be made.
    """
    from mmap import ACCESS_READ, mmap
    from tempfile import TemporaryFile

    with TemporaryFile(dir=_LARGE_FILES) as file:
        file.write(data)
        file.flush()
        return mmap(file.fileno(), 0, access=ACCESS_READ)


class RealDisk:
    """
    The disk of this machine; what uses one takes any object with these methods.

    An absent file raises FileNotFoundError unless a method says otherwise; each may raise OSError.
    """

    def stat(self, path: Path | str) -> Stat | None:
        """Return the properties of the file or folder, not following a link; None when there is none."""
        try:
            status = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return _stat_of(status)

    def is_read_only(self, folder: Path) -> bool:
        """Return whether *folder* exists and is on a disk that is mounted read-only."""
        try:
            return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
        except (FileNotFoundError, NotADirectoryError):
            return False

    def names(self, folder: Path) -> list[str]:
        """Return the names in *folder*, sorted; none when there is no such folder."""
        try:
            return sorted(os.listdir(folder))
        except FileNotFoundError:
            return []

    def stats(self, folder: Path) -> dict[str, Stat]:
        """Return the properties by name of what is in *folder*, unordered, not following links; none without such a folder."""
        by_name = {}
        with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
            for entry in entries:
                try:
                    by_name[entry.name] = _stat_of(entry.stat(follow_symlinks=False))
                except FileNotFoundError:  # subtle: no `suppress`, which takes as long; it was deleted after it was listed
                    continue
        return by_name

    def read(self, path: Path, offset: int = 0, most: int = -1) -> bytes:
        """Return the bytes of a regular file from *offset* on, *most* of them if given. A symbolic link is refused (ELOOP)."""
        with open(open_regular(path, os.O_RDONLY), "rb") as file:
            file.seek(offset)
            return file.read(most)

    def create(self, path: Path, mode: int) -> int:
        """Return a handle to a new, empty file; FileExistsError when the name is taken. Follows no link."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)

    def open_append(self, path: Path, mode: int) -> int:
        """Return a handle that writes at the end of the regular file, which is created if absent. Follows no link."""
        return open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, mode)

    def write(self, handle: int, data: bytes) -> None:
        """Write all of *data*, in several system calls if necessary."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(handle, rest) :]

    def set_owner(self, handle: int, mode: int, uid: int, gid: int) -> None:
        """Give the open file this mode, owner and group."""
        now = os.fstat(handle)
        if (now.st_uid, now.st_gid) != (uid, gid):
            os.fchown(handle, uid, gid)
        os.fchmod(handle, mode & 0o7777)

    def sync(self, handle: int) -> None:
        """Make the bytes of the open file durable."""
        os.fsync(handle)

    def close(self, handle: int) -> None:
        """Close the handle; this makes nothing durable."""
        os.close(handle)

    def rename(self, old: Path, new: Path) -> None:
        """Rename *old* to *new*, replacing what had that name."""
        os.rename(old, new)

    def rename_new(self, old: Path, new: Path) -> None:
        """Rename *old* to *new*; FileExistsError when the name is taken."""
        if (number := _rename_noreplace(old, new)) == 0:
            return
        if number not in (errno.EINVAL, errno.ENOSYS):
            raise OSError(number, os.strerror(number), str(new))
        if self.stat(new) is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(new))
        os.rename(old, new)

    def link(self, old: Path, new: Path) -> None:
        """Give the file *old* the second name *new*; FileExistsError when the name is taken."""
        os.link(old, new, follow_symlinks=False)

    def unlink(self, path: Path) -> None:
        """Remove the name."""
        os.unlink(path)

    def mkdir(self, folder: Path) -> None:
        """Create one folder with mode 0700; FileExistsError when the name is taken."""
        os.mkdir(folder, FOLDER_MODE)

    def rmdir(self, folder: Path) -> None:
        """Remove the folder; OSError (ENOTEMPTY) when there is anything in it."""
        os.rmdir(folder)

    def sync_file(self, path: Path) -> None:
        """Make the bytes of a file durable that another process has written; follows no link."""
        _sync(path, os.O_NOFOLLOW | os.O_NONBLOCK)

    def sync_folder(self, folder: Path) -> None:
        """Make the names in *folder* durable."""
        _sync(folder, os.O_DIRECTORY)

    def touch(self, path: Path, mtime_ns: int | None = None) -> None:
        """Set the file's times to now, or to *mtime_ns*."""
        if mtime_ns is None:
            os.utime(path, follow_symlinks=False)
        else:
            os.utime(path, ns=(mtime_ns, mtime_ns), follow_symlinks=False)

    @contextlib.contextmanager
    def lock(self, path: Path, wait_s: float) -> Iterator[None]:
        """Hold the flock on the lock file *path* for one read, change and write; Busy after *wait_s* seconds."""
        deadline = time.monotonic() + wait_s
        while (handle := _try_lock(path)) is None:
            if time.monotonic() >= deadline:
                raise Busy(path, wait_s)
            time.sleep(_POLL_S)
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)  # a process that was forked meanwhile has the handle too
            os.close(handle)

    @contextlib.contextmanager
    def lock_for_life(self, path: Path, wait_s: float) -> Iterator[None]:
        """Hold the same flock for as long as a supervisor or a worker lives; Busy after *wait_s* seconds."""
        from filelock import FileLock, Timeout

        held = FileLock(path, timeout=wait_s, mode=0o600, thread_local=False)  # another thread may release it
        try:
            held.acquire(poll_interval=_POLL_S)
        except Timeout:
            raise Busy(path, wait_s) from None
        try:
            yield
        finally:
            held.release()

    def is_locked(self, path: Path) -> bool:
        """Return whether somebody holds the flock on the lock file *path*; creates and changes nothing."""
        try:
            handle = open_regular(path, os.O_RDONLY)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)  # released with the handle
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
        return False


#: A disk, also one that a test has made.
Disk: TypeAlias = RealDisk


def _sync(path: Path, flags: int) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _try_lock(path: Path) -> int | None:
    """Return a handle that has the flock on the lock file *path*, created if absent; None while somebody else has it."""
    handle = open_regular(path, os.O_RDWR | os.O_CREAT)
    is_held = False
    try:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # subtle: a program may delete its lock file at the unlock; a lock on a deleted file excludes nobody
            is_held = os.fstat(handle).st_nlink > 0
    finally:
        if not is_held:
            os.close(handle)
    return handle if is_held else None


def _rename_noreplace(old: Path, new: Path) -> int:
    """Call renameat2(RENAME_NOREPLACE) and return the error number: 0 for success, ENOSYS if there is no such call."""
    import ctypes

    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return errno.ENOSYS
    done = call(_AT_FDCWD, os.fsencode(old), _AT_FDCWD, os.fsencode(new), ctypes.c_uint(_RENAME_NOREPLACE))
    return 0 if done == 0 else ctypes.get_errno()


def place_below(folder: Path, name: str, *, from_here: bool = False) -> Path | None:
    """Return the place below the folder that a name out of a file leads to; None where it leads elsewhere, by a link too."""
    parts = parts_of(name, from_here=from_here)
    place = folder.joinpath(*parts)
    return place if parts and is_below(place, folder) and not place.is_symlink() else None


def is_below(place: Path, folder: Path) -> bool:
    """True if the place is in the folder when every link is followed."""
    return os.path.join(os.path.realpath(place), "").startswith(os.path.join(os.path.realpath(folder), ""))
