"""
What stands behind the model file system: what is live, what is durable, what was counted, and the crash itself.

The calls of a disk are in `model_disk.py`; here is what they are made of, and what a test does besides: record, arm, fail,
plant, acknowledge.
"""

import errno
import os
import stat as modes
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.crash.locks import LockWatch
from tests.crash.state import FOLDER_MODE, Change, Inode, State, applied, empty_state, files_of, joined

ROOT = Path("/workspace")
_START_NS = 1_700_000_000_000_000_000
_TICK_NS = 1_000_000


class PowerLoss(BaseException):
    """The process dies here. No `except Exception` of the product may hold it up."""


def never(_call: str) -> int:
    """A disk that is well."""
    return 0


class Snapshot(NamedTuple):
    """The disk as it stood before operation *number*; *data* is what that operation is about to write, if it writes."""

    number: int
    text: str
    state: State
    acks: int
    inode: int = 0
    data: bytes = b""


class Ledger:
    """The books of a disk whose *root* exists; *record* keeps a snapshot before each operation."""

    def __init__(self, state: State | None = None, *, root: Path = ROOT, record: bool = False) -> None:
        state = state or empty_state()
        self.root = root
        self._prefix = str(root)
        self.inodes = dict(state.inodes)
        self.live = dict(state.live)
        self.settled = dict(state.settled)
        self.pending = list(state.pending)
        self._next = max(self.inodes) + 1
        self._time_ns = max(_START_NS, *(inode.mtime_ns for inode in self.inodes.values()))
        self.handles: dict[int, tuple[int, str]] = {}
        self._dead = False
        self.operations = 0
        self.log: list[str] = []
        self.snapshots: list[Snapshot] = []
        self._record = record
        self.crash_at: int | None = None
        #: The error of a call that the disk refuses, 0 of any other.
        self.refuse: Callable[[str], int] = never
        self.refused = 0
        self.acks: list[object] = []
        self.locks = LockWatch()
        self.held_by_others: set[str] = set()
        self.meanwhile: Callable[[str], None] = lambda _: None
        #: Called where a program has nothing in memory: what it does from here on goes by the disk alone.
        self.bare: Callable[[], None] = lambda: None
        self._tree: dict[str, bytes] | None = None

    # ── for the tests ────────────────────────────────────────────────────────

    @property
    def state(self) -> State:
        """The disk as it stands, a copy."""
        return State(dict(self.inodes), dict(self.live), dict(self.settled), tuple(self.pending))

    def tree(self) -> dict[str, bytes]:
        """Every file's bytes by its path from the root; the very same until something changes, so that what is made of it can be kept."""
        if self._tree is None:
            self._tree = {path: inode.data for path, inode in files_of(self.state) if inode.is_file}
        return self._tree

    def modes(self) -> dict[str, int]:
        """Permission bits of every file and folder but the root."""
        return {
            joined(folder, name): modes.S_IMODE(self.inodes[number].mode)
            for folder, entries in self.live.items()
            for name, number in entries.items()
        }

    def ack(self, what: object) -> None:
        """Note that the program has promised *what* to someone: it has to be there after any crash from now on."""
        self.acks.append(what)

    def fail(self, number: int, error: int) -> None:
        """Let operation *number* raise OSError(*error*)."""
        self.refuse = lambda _: error if self.operations == number + 1 else 0

    def plant(self, path: str, data: bytes, mode: int = 0o600) -> None:
        """Put a file there at once and durably, as a person or another program does."""
        folder, _, name = path.rpartition("/")
        self._plant_folder(folder)
        self.settle_entry(folder, name, self.new(Inode(data, len(data), modes.S_IFREG | mode, self.tick())))

    def leave(self, path: str, data: bytes) -> None:
        """Put a file there as a program does that syncs nothing: the power may take its name, its bytes, or both."""
        folder, _, name = path.rpartition("/")
        self._plant_folder(folder)
        number = self.new(Inode(data, 0, modes.S_IFREG | 0o600, self.tick()))
        self.change(folder, ((name, number),), f"somebody leaves {path}")

    def overwrite(self, number: int, data: bytes) -> None:
        """Write a file anew in place, as a program does that syncs nothing: any of it may be lost, whatever stood there before."""
        self.alter(number, data=data, durable=0, mtime_ns=self.tick())

    def remove(self, path: str) -> None:
        """Take a file away at once and durably, as a person does."""
        folder, _, name = path.rpartition("/")
        self.settle_entry(folder, name, None)

    def _plant_folder(self, folder: str) -> None:
        if folder in self.live:
            return
        parent, _, name = folder.rpartition("/")
        self._plant_folder(parent)
        self.settle_entry(parent, name, self.new(Inode(b"", 0, FOLDER_MODE, self.tick())))
        self.live[folder], self.settled[folder] = {}, {}

    def end(self) -> Snapshot:
        """The snapshot after the last operation."""
        return Snapshot(self.operations, "the end", self.state, len(self.acks))

    # ── for the calls ────────────────────────────────────────────────────────

    def alive(self) -> None:
        if self._dead:
            raise PowerLoss

    def operation(self, call: str, path: Path, old: Path | None = None) -> tuple[str, str]:
        """Count the operation on *path*; its folder and name. What the kernel refuses it refuses afterwards."""
        where = self.key(path)
        self.count(f"{call} {f'{self.key(old)} -> ' if old else ''}{where}", call, where)
        if old is not None and call == "link":
            self.must(old)  # link(2) looks for the file first, rename(2) for both folders
        elif old is not None:
            self.parent(old)
        return self.parent(path)

    def count(self, text: str, call: str, where: str, inode: int = 0, data: bytes = b"") -> None:
        self.alive()
        self.locks.done(call, where)
        if self._record:
            self.snapshots.append(Snapshot(self.operations, text, self.state, len(self.acks), inode, data))
        if self.operations == self.crash_at:
            self._dead = True
            raise PowerLoss
        self.operations += 1
        self.log.append(text)
        self.meanwhile(text)  # another program acts after the crash point, before the call
        if error := self.refuse(call):
            self.refused += 1
            raise error_of(error, where)

    def changed(self) -> None:
        """Nothing that was made of the disk holds any more."""
        self._tree = None

    def change(
        self, folder: str, sets: tuple[tuple[str, int | None], ...], text: str = "", *, needs_other: bool = False
    ) -> None:
        self.changed()
        self.live[folder] = applied(self.live[folder], sets)
        self.pending.append(Change(self.operations - 1, text or self.log[-1], folder, sets, needs_other))

    def settle_through(self, folder: str, number: int) -> None:
        """Make the pending names of *folder* durable up to those of operation *number*."""
        kept = []
        for change in self.pending:
            if change.folder == folder and change.number <= number:
                self.settled[folder] = applied(self.settled[folder], change.sets)
            else:
                kept.append(change)
        self.pending = kept

    def settle_entry(self, folder: str, name: str, number: int | None) -> None:
        """Set a name, or take it away (None), at once and for good: nothing that was pending for it comes back."""
        self.changed()
        for names in (self.live, self.settled):
            names[folder] = applied(names[folder], ((name, number),))
        left = [
            change._replace(sets=tuple(one for one in change.sets if one[0] != name)) if change.folder == folder else change
            for change in self.pending
        ]
        self.pending = [change for change in left if change.sets]

    def alter(self, number: int, **fields: Any) -> None:
        self.changed()
        self.inodes[number] = self.inodes[number]._replace(**fields)

    def grow(self, number: int, data: bytes) -> None:
        self.alter(number, data=self.inodes[number].data + data, mtime_ns=self.tick())

    def new(self, inode: Inode) -> int:
        self._next += 1
        self.inodes[self._next] = inode
        return self._next

    def tick(self) -> int:
        self._time_ns += _TICK_NS
        return self._time_ns

    def open(self, number: int, path: Path) -> int:
        handle = 1000 + self.operations
        self.handles[handle] = (number, self.key(path))
        return handle

    def handle(self, handle: int) -> tuple[int, str]:
        if handle not in self.handles:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return self.handles[handle]

    def key(self, path: Path) -> str:
        """Return *path* from the root on, with slashes."""
        text = str(path)
        if text == self._prefix:
            return ""
        if not text.startswith(f"{self._prefix}/") or "/.." in text:
            raise AssertionError(f"{path} lies outside the workspace")
        return text[len(self._prefix) + 1 :]

    def parent(self, path: Path) -> tuple[str, str]:
        """The folder and the name of *path*; the kernel's word where there is no such folder."""
        folder, _, name = self.key(path).rpartition("/")
        if folder not in self.live:
            above = folder
            while above and above not in self.live:
                parent, _, last = above.rpartition("/")
                if last in self.live.get(parent, {}):
                    raise error_of(errno.ENOTDIR, path)
                above = parent
            raise error_of(errno.ENOENT, path)
        return folder, name

    def find(self, path: Path) -> int | None:
        where = self.key(path)
        if not where:
            return 1
        folder, _, name = where.rpartition("/")
        return self.live.get(folder, {}).get(name)

    def must(self, path: Path) -> int:
        found = self.find(path)
        if found is None:
            self.parent(path)
            raise error_of(errno.ENOENT, path)
        return found


def error_of(number: int, path: Path | str) -> OSError:
    return OSError(number, os.strerror(number), str(path))
