"""
What the model file system holds, as values: files, names, and which of the names are not durable yet.

Everything is replaced, never changed in place, so that a snapshot is three shallow copies. File contents only ever grow
(the disk interface can't truncate), so `durable` bytes of a file's data are what a power loss is sure to leave.
"""

import stat as modes
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

FOLDER_MODE = modes.S_IFDIR | 0o700


class Inode(NamedTuple):
    """A file, a folder or a symbolic link (its *data* is then the target). *durable* counts the bytes that are synced."""

    data: bytes
    durable: int
    mode: int
    mtime_ns: int
    uid: int = 0
    gid: int = 0
    cursed: bool = False  # a sync of it failed: the kernel dropped the bytes, later syncs promise nothing for them

    @property
    def is_folder(self) -> bool:
        return self.mode & 0o170000 == modes.S_IFDIR

    @property
    def is_file(self) -> bool:
        return modes.S_ISREG(self.mode)


class Change(NamedTuple):
    """Names of one folder that one operation set (to an inode) or took away (None), and that no sync has made durable."""

    number: int  # of the operation; the two halves of a rename across folders share it
    text: str  # the operation, for a person
    folder: str
    sets: tuple[tuple[str, int | None], ...]
    needs_other: bool = False  # the old half of such a rename: it never stands without the new half


class State(NamedTuple):
    """
    A whole disk: *live* names are what a process sees, *settled* ones are durable, *pending* lies between the two.

    Names are folder -> name -> inode; a folder is called by its path from the root with slashes, the root itself "".
    """

    inodes: Mapping[int, Inode]
    live: Mapping[str, Mapping[str, int]]
    settled: Mapping[str, Mapping[str, int]]
    pending: tuple[Change, ...]


def empty_state() -> State:
    """A root folder with nothing in it."""
    return State({1: Inode(b"", 0, FOLDER_MODE, 0)}, {"": {}}, {"": {}}, ())


def joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def settle(inodes: Mapping[int, Inode], names: Mapping[str, Mapping[str, int]]) -> State:
    """The disk that has these names and bytes and owes nothing: what a machine finds when it comes up again."""
    kept: dict[int, Inode] = {1: inodes[1]}
    reached: dict[str, Mapping[str, int]] = {}
    todo = [""]
    while todo:
        folder = todo.pop()
        entries = reached[folder] = names.get(folder, {})
        for name, number in entries.items():
            inode = inodes[number]
            if inode.is_folder:
                todo.append(joined(folder, name))
            elif inode.durable < len(inode.data) or inode.cursed:
                inode = inode._replace(durable=len(inode.data), cursed=False)
            kept[number] = inode
    return State(kept, reached, dict(reached), ())


def files_of(state: State) -> Iterator[tuple[str, Inode]]:
    """Every live file and link with its path from the root."""
    for folder, entries in state.live.items():
        for name, number in entries.items():
            inode = state.inodes[number]
            if not inode.is_folder:
                yield joined(folder, name), inode


def fingerprint(inodes: Mapping[int, Inode], live: Mapping[str, Mapping[str, int]]) -> int:
    """A number that two disks share when they show the same names and bytes."""
    folders = [(folder, frozenset([(name, inodes[n].data) for name, n in found.items()])) for folder, found in live.items()]
    return hash(frozenset(folders))


def owed(inodes: Mapping[int, Inode], live: Mapping[str, Mapping[str, int]], pending: Iterable[Change]) -> int:
    """A number that two such disks share when a loss of power takes the same from them; 0 where it takes nothing."""
    bytes_ = [
        (folder, name, inode.durable, inode.cursed)
        for folder, found in live.items()
        for name, number in found.items()
        if (inode := inodes[number]).is_file and (inode.durable < len(inode.data) or inode.cursed)
    ]
    names = [(c.folder, tuple((name, number and inodes[number].data) for name, number in c.sets)) for c in pending]
    return hash((frozenset(bytes_), tuple(names))) if bytes_ or names else 0


def applied(entries: Mapping[str, int], sets: tuple[tuple[str, int | None], ...]) -> dict[str, int]:
    found = dict(entries)
    for name, number in sets:
        if number is None:
            found.pop(name, None)
        else:
            found[name] = number
    return found
