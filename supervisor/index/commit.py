"""
Bring the index to the state of the files: which groups differ, and one commit that replaces them, the newest first.

Only a file that can't be read is left out, and it is tried again with the next change. If time is up before all groups are
made, the commit has those that are made and the first passages of the last one, and the next commit goes on there.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping  # noqa: TC003 - the type of an answer's field
from dataclasses import field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from ..storage.clock import NEVER, within
from ..storage.control import UNENDING
from ..text.record import record
from .bm25 import CONTEXT_WIDTHS
from .manifest import Group, render_manifest
from .scan import most_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..storage.control import Control
    from ..storage.disk import Stat
    from .documents import Document
    from .engine import Engine, Writing
    from .manifest import Manifest, Record

#: From this many groups on an update reports its progress.
_LONG: Final = 50
#: The passages that each commit makes, however little time there is, so that each is nearer to the end. Its time begins after
#: them, since they load the libraries.
LEAST: Final = 100


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
    made: Callable[[str, Mapping[str, Record], int], Iterable[Document]],
    control: Control,
    for_s: float = UNENDING,
    *,
    clear: bool = False,
) -> tuple[Manifest, dict[str, str]]:
    """
    Replace the groups that differ from the files of *after*; return the new manifest and the unreadable files, with the reason.

    *made* returns the documents of a group of files, without the first so many. If *control* says stop between two groups, the
    last commit is kept (InterruptedError). After *for_s* seconds the commit has what is made; the manifest says what is left.
    """
    plan, members = after.planned(), after.members()
    changed, gone = differing(after.groups, plan)
    changed.sort(key=lambda name: _newness(members[name]), reverse=True)
    groups = {name: group for name, group in after.groups.items() if name in plan}
    unread: dict[str, str] = {}
    total = after.left + sum(map(_size, members.values()))
    left = after.left + sum(_size(members[name]) for name in changed)

    def fill(writing: Writing) -> bytes:
        nonlocal left
        budget = _Budget(for_s)
        for name in gone:
            writing.delete(name)
        for done, name in enumerate(changed):
            if control.should_stop():
                raise InterruptedError(errno.EINTR, "told to stop")
            if budget.is_over:
                break
            if _size(members[name]) > most_bytes(for_s):
                continue
            if len(changed) >= _LONG:
                control.progress("index", done, len(changed))
            before = Group(plan[name], 0, (0,) * len(CONTEXT_WIDTHS), is_whole=False)
            if (known := groups.get(name)) and known.keys == plan[name] and not known.is_whole:
                before = known
            else:
                writing.delete(name)
            groups[name], why = _added(writing, before, made(name, members[name], before.units), budget)
            unread.update(dict.fromkeys(members[name], why) if why else {})
            left -= _size(members[name]) if groups[name].is_whole else 0
        return render_manifest(replace(after, groups=groups, left=left, total=total))

    engine.write(fill, clear=clear)
    return replace(after, groups=groups, left=left, total=total), unread


def is_settled(known: Manifest, unread: int, for_s: float) -> bool:
    """Return whether an update of *for_s* seconds finds nothing to do; *unread* are the bytes of files that it has not read."""
    if not known.left and not unread:
        return True
    members = known.members()
    sizes = [_size(members[name]) for name in differing(known.groups, known.planned())[0]]
    return all(size > most_bytes(for_s) for size in sizes) and sum(sizes) + unread == known.left


class _Budget:
    """The time for the passages of one commit; it begins after the first `LEAST`."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._deadline, self._count = seconds, NEVER, 0

    def spend(self) -> None:
        """Count one passage."""
        self._count += 1
        if self._count == LEAST:
            self._deadline = within(self._seconds)

    @property
    def is_over(self) -> bool:
        return self._deadline.is_over


def _added(writing: Writing, before: Group, documents: Iterable[Document], budget: _Budget) -> tuple[Group, str]:
    """
    Add the *documents* after those of the group *before*, until time is up; return the group and why it could not be read.

    A group that could not be read has no keys, so that it differs from its files and is tried again.
    """
    units, counts = before.units, before.words
    try:
        for document in documents:
            if budget.is_over:
                return Group(before.keys, units, counts, is_whole=False), ""
            writing.add(document)
            units += 1
            counts = tuple(count + more for count, more in zip(counts, document.lengths, strict=True))
            budget.spend()
    except Exception as error:  # noqa: BLE001 - a bug that one file triggers must cost that file alone
        return Group((), units, counts), type(error).__name__
    return Group(before.keys, units, counts), ""


def _newness(members: Mapping[str, Record]) -> tuple[bool, str]:
    """Return the sort key of a group: the long-term file is the newest, then by day; a note has the day of its last change."""
    records = members.values()
    days = (one.day or datetime.fromtimestamp(one.mtime_ns / 1e9, UTC).date().isoformat() for one in records)
    return any(one.kind == "long_term" for one in records), max(days)


def _size(members: Mapping[str, Record]) -> int:
    return sum(record.size for record in members.values())


def differing(groups: Mapping[str, Group], plan: Mapping[str, tuple[str, ...]]) -> tuple[list[str], list[str]]:
    """Return the groups to index, those that differ from the *plan*, and the groups to delete."""
    changed = [name for name in plan if name not in groups or groups[name].keys != plan[name] or not groups[name].is_whole]
    return changed, [name for name in groups if name not in plan]


def inventory_of(known: Manifest, now: Mapping[str, Record], parts: Iterable[Stat], damage: str) -> Inventory:
    """Return the inventory of a commit that holds what is *known*, in the files *parts*; *now* are the files of memory now."""
    members = known.members()
    lacking = differing(known.groups, known.planned())[0] if known.left else ()
    return Inventory(
        files=sum(not record.excluded for record in known.files.values()),
        units=sum(group.units for group in known.groups.values()),
        size_bytes=sum(stat.size for stat in parts),
        differing=_differing_files(known.files, now) + sum(len(members[name]) for name in lacking),
        damage=damage,
    )


def _differing_files(before: Mapping[str, Record], after: Mapping[str, Record]) -> int:
    """Return how many files are new, gone, or searched differently; a file that was only touched does not count."""

    def content(path: str, files: Mapping[str, Record]) -> Record | None:
        record = files.get(path)
        return record and replace(record, inode=0, size=0, mtime_ns=0)

    return sum(content(path, before) != content(path, after) for path in before.keys() | after.keys())


def difference(before: Mapping[str, Record], after: Mapping[str, Record]) -> Changes:
    """Return how many files were read, moved or deleted between *before* and *after*."""
    known = {record.digest for record in before.values()}
    new = [record for path, record in after.items() if path not in before or before[path].digest != record.digest]
    moved = sum(record.digest in known for record in new)
    return Changes(read=len(new) - moved, moved=moved, gone=sum(path not in after for path in before) - moved)
