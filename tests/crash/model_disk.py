"""
A disk in memory that forgets what was not synced: `recalld.supervisor.storage.disk.Disk`, for the crash explorer.

Every call that changes something is an operation with a number, from 0. A run can be recorded (a snapshot before each
operation), armed (`crash_at`: the process dies before that operation and every later call dies too), or made to fail
(`fail`: that operation raises an OSError, a write after half of its bytes). What may be left of a snapshot after a crash
says `loss.py`. Inode numbers and times come from a counter, so equal runs are equal to the byte.
"""

import contextlib
import errno
import os
import stat as modes
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from recalld.supervisor.storage.disk import Stat
from recalld.supervisor.storage.errors import Busy
from tests.crash.ledger import Ledger, error_of
from tests.crash.state import FOLDER_MODE, Inode, joined


class ModelDisk(Ledger):
    """The calls, each with the answers and errors of the real one."""

    # ── looking ──────────────────────────────────────────────────────────────

    def stat(self, path: Path | str) -> Stat | None:
        self.alive()
        number = self.find(Path(path))
        return None if number is None else self._stat(number)

    def names(self, folder: Path) -> list[str]:
        self.alive()
        where = self.key(folder)
        self.locks.done("names", where)
        if where in self.live:
            return sorted(self.live[where])
        if self.find(folder) is not None:
            raise error_of(errno.ENOTDIR, folder)
        with contextlib.suppress(FileNotFoundError):
            self.parent(folder)
        return []

    def stats(self, folder: Path) -> dict[str, Stat]:
        self.names(folder)  # which says no where there is no folder
        return {name: self._stat(number) for name, number in self.live.get(self.key(folder), {}).items()}

    def read(self, path: Path, offset: int = 0, most: int = -1) -> bytes:
        self.alive()
        inode = self.inodes[self.must(path)]
        if not inode.is_file:
            raise error_of(errno.EINVAL if inode.is_folder else errno.ELOOP, path)
        return inode.data[offset : offset + most if most >= 0 else None]

    # ── writing ──────────────────────────────────────────────────────────────

    def create(self, path: Path, mode: int) -> int:
        folder, name = self.operation("create", path)
        if self.find(path) is not None:
            raise error_of(errno.EEXIST, path)
        return self.open(self._make(folder, name, modes.S_IFREG | mode), path)

    def open_append(self, path: Path, mode: int) -> int:
        folder, name = self.operation("open_append", path)
        number = self.find(path)
        if number is None:
            number = self._make(folder, name, modes.S_IFREG | mode)
        elif not self.inodes[number].is_file:
            raise error_of(errno.EISDIR if self.inodes[number].is_folder else errno.ELOOP, path)
        return self.open(number, path)

    def write(self, handle: int, data: bytes) -> None:
        number, where = self.handle(handle)
        try:
            self.count(f"write {where} ({len(data)} bytes)", "write", where, number, data)
        except OSError:
            self.grow(number, data[: len(data) // 2])  # the system took a part before it failed
            raise
        self.grow(number, data)

    def set_owner(self, handle: int, mode: int, uid: int, gid: int) -> None:
        number, where = self.handle(handle)
        self.count(f"set_owner {where}", "set_owner", where)
        self.alter(number, mode=modes.S_IFMT(self.inodes[number].mode) | (mode & 0o7777), uid=uid, gid=gid)

    def sync(self, handle: int) -> None:
        number, where = self.handle(handle)
        try:
            self.count(f"sync {where}", "sync", where)
        except OSError:
            self.alter(number, cursed=True)
            raise
        inode = self.inodes[number]
        if not inode.cursed:
            self.inodes[number] = inode._replace(durable=len(inode.data))  # nobody sees a difference

    def sync_file(self, path: Path) -> None:
        self.sync(self.open(self.must(path), path))

    def close(self, handle: int) -> None:
        self.alive()
        self.handle(handle)
        del self.handles[handle]

    def rename(self, old: Path, new: Path) -> None:
        self._rename("rename", old, new)

    def rename_new(self, old: Path, new: Path) -> None:
        self._rename("rename_new", old, new)

    def link(self, old: Path, new: Path) -> None:
        folder, name = self.operation("link", new, old)
        number = self.must(old)
        if self.find(new) is not None:
            raise error_of(errno.EEXIST, new)
        if self.inodes[number].is_folder:
            raise error_of(errno.EPERM, old)
        self.change(folder, ((name, number),))

    def unlink(self, path: Path) -> None:
        folder, name = self.operation("unlink", path)
        if self.inodes[self.must(path)].is_folder:
            raise error_of(errno.EISDIR, path)
        self.change(folder, ((name, None),))

    def rmdir(self, folder: Path) -> None:
        where, name = self.operation("rmdir", folder)
        if self.names(folder):
            raise error_of(errno.ENOTEMPTY, folder)
        self.change(where, ((name, None),))

    def mkdir(self, folder: Path) -> None:
        parent, name = self.operation("mkdir", folder)
        if self.find(folder) is not None:
            raise error_of(errno.EEXIST, folder)
        self._make(parent, name, FOLDER_MODE)
        self.live[joined(parent, name)], self.settled[joined(parent, name)] = {}, {}

    def sync_folder(self, folder: Path) -> None:
        where = self.key(folder)
        self.count(f"sync_folder {where or '.'}", "sync_folder", where)
        if not self.inodes[self.must(folder)].is_folder:
            raise error_of(errno.ENOTDIR, folder)
        own = [change for change in self.pending if change.folder == where]
        renamed = {change.number for change in own if change.needs_other}
        for change in [c for c in self.pending if c.folder != where and c.number in renamed]:
            self.settle_through(change.folder, change.number)
        if own:
            self.settle_through(where, own[-1].number)

    def touch(self, path: Path, mtime_ns: int | None = None) -> None:
        self.operation("touch", path)
        self.alter(self.must(path), mtime_ns=self.tick() if mtime_ns is None else mtime_ns)

    @contextlib.contextmanager
    def lock(self, path: Path, wait_s: float) -> Iterator[None]:
        self.alive()
        where = self.key(path)
        folder, name = self.parent(path)
        if where in self.held_by_others or where in self.locks.held:
            self.locks.breaches += [f"{where} is taken while it is held"] if where in self.locks.held else []
            raise Busy(path, wait_s)
        self.locks.take(where)
        if name not in self.live[folder]:  # empty and never deleted: whether it outlives a crash makes no difference
            self.settle_entry(folder, name, self.new(Inode(b"", 0, modes.S_IFREG | 0o600, self.tick())))
        try:
            yield
        finally:
            self.locks.drop(where)

    def lock_for_life(self, path: Path, wait_s: float) -> AbstractContextManager[None]:
        return self.lock(path, wait_s)

    def is_locked(self, path: Path) -> bool:
        self.alive()
        where = self.key(path)
        return where in self.held_by_others or where in self.locks.held

    def _stat(self, number: int) -> Stat:
        inode = self.inodes[number]
        return Stat(number, len(inode.data), inode.mtime_ns, inode.mode, inode.uid, inode.gid)

    def _make(self, folder: str, name: str, mode: int) -> int:
        number = self.new(Inode(b"", 0, mode, self.tick(), os.getuid(), os.getgid()))
        self.change(folder, ((name, number),))
        return number

    def _rename(self, call: str, old: Path, new: Path) -> None:
        folder, name = self.operation(call, new, old)
        number, there = self.must(old), self.find(new)
        source, taken = self.inodes[number], self.inodes.get(there or 0)
        if taken is not None and call == "rename_new":
            raise error_of(errno.EEXIST, new)
        if there == number:
            return  # two names of one file: rename(2) says yes and leaves both
        if source.is_folder:
            raise NotImplementedError("no code of ours renames a folder; teach the model first")
        if taken is not None and taken.is_folder:
            raise error_of(errno.ENOTEMPTY if new in old.parents else errno.EISDIR, new)
        old_folder, old_name = self.parent(old)
        if folder == old_folder:
            self.change(folder, ((name, number), (old_name, None)))
        else:
            text = self.log[-1]
            self.change(folder, ((name, number),), f"{text} (the new name)")
            self.change(old_folder, ((old_name, None),), f"{text} (the old name's end)", needs_other=True)
