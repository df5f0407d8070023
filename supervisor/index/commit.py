"""
Bring the index to the state of the files: one commit that replaces the groups that differ, the newest first.

Only a file that can't be read is left out, and it is tried again with the next change. If time is up before all groups are
made, the commit has those that are made, and the next commit goes on there.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

from ..storage.clock import NEVER, within
from ..storage.control import UNENDING, Control
from ..storage.disk import Stat
from ..text.record import record
from .documents import CONTEXT_WIDTHS, Document
from .manifest import Group, Manifest, Record, keys_of, render_manifest

if TYPE_CHECKING:
    from .engine import Engine, Writing

#: From this many groups on an update reports its progress.
_LONG: Final = 50


@record
class Changes:
    """
    The result of an update: the numbers of files read, moved and gone, and why files are unreadable, by path.

    *new*: the index is whole for the first time; *rebuilt*: a damaged one was rebuilt; *shared*: the changes are held in
    memory, since another process has the lock.
    """

    read: int = 0
    moved: int = 0
    gone: int = 0
    new: bool = False
    rebuilt: bool = False
    shared: bool = False
    unread: Mapping[str, str] = field(default_factory=dict)

    def then(self, more: Changes) -> Changes:
        """Return the changes of this update and the next one, *more*."""
        read, moved, gone = self.read + more.read, self.moved + more.moved, self.gone + more.gone
        return replace(more, read=read, moved=moved, gone=gone, rebuilt=self.rebuilt or more.rebuilt)


@record
class Inventory:
    """
    The last commit: searched files, their passages, bytes on disk, and the number of files that differ from it now.

    *damage* says why the commit can't be read; "" if it can, or if there is none.
    """

    files: int
    units: int
    size_bytes: int
    differing: int
    damage: str = ""


def commit(
    engine: Engine,
    after: Manifest,
    made: Callable[[str, Mapping[str, Record]], Iterable[Document]],
    control: Control,
    for_s: float = UNENDING,
    *,
    clear: bool = False,
) -> tuple[Manifest, dict[str, str]]:
    """
    Replace the groups that differ from the files of *after*; return the new manifest and the unreadable files, with the reason.

    *made* returns the documents of a group of files. If *control* says stop between two groups, the last commit is kept
    (InterruptedError). After *for_s* seconds the commit has what is made, one group at least.
    """
    gone = after.gone()
    groups = {name: group for name, group in after.groups.items() if name not in gone}
    unread: dict[str, str] = {}

    def fill(writing: Writing) -> bytes:
        differing, deadline = after.differing(), NEVER
        for name in gone:
            writing.delete(name)
        for done, (name, files) in enumerate(differing.items()):
            if deadline.is_over:
                break
            if control.should_stop():
                raise InterruptedError(errno.EINTR, "told to stop")
            if len(differing) >= _LONG:
                control.progress("index", done, len(differing))
            writing.delete(name)
            groups[name], why = _added(writing, keys_of(files), made(name, files))
            unread.update(dict.fromkeys(files, why) if why else {})
            deadline = deadline if done else within(for_s)  # the first group loads the libraries
        return render_manifest(replace(after, groups=groups))

    engine.write(fill, clear=clear)
    return replace(after, groups=groups), unread


def _added(writing: Writing, keys: tuple[str, ...], documents: Iterable[Document]) -> tuple[Group, str]:
    """
    Add the *documents*; return their group and why it could not be read.

    A group that could not be read has no keys, so that it differs from its files and is tried again.
    """
    units, counts = 0, (0,) * len(CONTEXT_WIDTHS)
    try:
        for document in documents:
            writing.add(document)
            units += 1
            counts = tuple(count + more for count, more in zip(counts, document.lengths, strict=True))
    except Exception as error:  # noqa: BLE001 - a bug that one file triggers must cost that file alone
        return Group((), units, counts), type(error).__name__
    return Group(keys, units, counts), ""


def inventory_of(known: Manifest, now: Mapping[str, Record], parts: Iterable[Stat], damage: str) -> Inventory:
    """Return the inventory of a commit that holds what is *known*, in the files *parts*; *now* are the files of memory now."""
    unmade = sum(len(files) for name, files in known.differing().items() if name not in known.groups)
    return Inventory(
        files=sum(not record.excluded for record in known.files.values()),
        units=sum(group.units for group in known.groups.values()),
        size_bytes=sum(stat.size for stat in parts),
        differing=unmade + sum(_content(known.files.get(path)) != _content(now.get(path)) for path in known.files.keys() | now),
        damage=damage,
    )


def _content(record: Record | None) -> Record | None:
    """Return the record without what changes in a file that was only touched."""
    return record and replace(record, inode=0, size=0, mtime_ns=0)


def difference(before: Mapping[str, Record], after: Mapping[str, Record]) -> Changes:
    """Return how many files were read, moved or deleted between *before* and *after*."""
    known = {record.digest for record in before.values()}
    new = [record for path, record in after.items() if path not in before or before[path].digest != record.digest]
    moved = sum(record.digest in known for record in new)
    return Changes(read=len(new) - moved, moved=moved, gone=sum(path not in after for path in before) - moved)
