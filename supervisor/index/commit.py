"""
Bring the index to the state of the files: which groups differ, and one commit that replaces them.

A file that can't be read is left out alone, and tried again with the next change.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from recalld.supervisor.index.bm25 import CONTEXT_WIDTHS
from recalld.supervisor.index.manifest import Group, render_manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from recalld.supervisor.index.documents import Document
    from recalld.supervisor.index.engine import Engine
    from recalld.supervisor.index.manifest import Manifest, Record
    from recalld.supervisor.storage.control import Control

#: From this many groups on an update reports its progress.
_LONG: Final = 50


@dataclass(frozen=True, slots=True)
class Changes:
    """
    The result of an update: the numbers of files read, moved and gone, and why files are unreadable, by path.

    *new*: there was no index; *rebuilt*: a damaged one was rebuilt; *shared*: another process has the lock, so that the
    changes are held in memory.
    """

    read: int = 0
    moved: int = 0
    gone: int = 0
    new: bool = False
    rebuilt: bool = False
    shared: bool = False
    unread: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Inventory:
    """
    The last commit: searched files, their passages, bytes on disk, and the number of files that differ from it by now.

    *damage* says why it can't be read, and is "" if it can, or if there is none.
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
    *,
    clear: bool = False,
) -> tuple[Manifest, dict[str, str]]:
    """
    Replace the groups that differ from the files of *after*; return the new manifest and the unreadable files, with the reason.

    *made* returns the documents of a group and its files. If *control* says stop between two groups, the last commit is
    kept (InterruptedError).
    """
    plan, members = after.planned(), after.members()
    changed, gone = differing(after.groups, plan)
    groups = {name: group for name, group in after.groups.items() if name in plan}
    unread: dict[str, str] = {}

    def all_made() -> Iterator[Document]:
        for done, name in enumerate(changed):
            if control.should_stop():
                raise InterruptedError(errno.EINTR, "told to stop")
            if len(changed) >= _LONG:
                control.progress("index", done, len(changed))
            units, counts = 0, [0] * len(CONTEXT_WIDTHS)
            try:
                for document in made(name, members[name]):
                    units += 1
                    counts = [count + more for count, more in zip(counts, document.lengths, strict=True)]
                    yield document
            except Exception as error:  # noqa: BLE001 - a bug that one file triggers must cost that file alone
                unread.update(dict.fromkeys(members[name], type(error).__name__))
            # no contents if a file could not be read: then the group differs, and is tried again
            is_whole = not unread.keys() & members[name].keys()
            groups[name] = Group(plan[name] if is_whole else (), units, tuple(counts))

    engine.write((*changed, *gone), all_made(), lambda: render_manifest(replace(after, groups=groups)), clear=clear)
    return replace(after, groups=groups), unread


def differing(groups: Mapping[str, Group], plan: Mapping[str, tuple[str, ...]]) -> tuple[list[str], list[str]]:
    """Return the groups to index, since their contents differ from the *plan*, and the groups to delete."""
    changed = [name for name in plan if name not in groups or groups[name].keys != plan[name]]
    return changed, [name for name in groups if name not in plan]


def differing_files(before: Mapping[str, Record], after: Mapping[str, Record]) -> int:
    """Return how many files are new, gone, or searched differently; a file that was only touched does not count."""

    def content(path: str, files: Mapping[str, Record]) -> Record | None:
        record = files.get(path)
        return record and replace(record, inode=0, size=0, mtime_ns=0)

    return sum(content(path, before) != content(path, after) for path in before.keys() | after.keys())


def difference(before: Mapping[str, Record], after: Mapping[str, Record]) -> Changes:
    """Return how many files are read, moved and gone between *before* and *after*."""
    known = {record.digest for record in before.values()}
    new = [record for path, record in after.items() if path not in before or before[path].digest != record.digest]
    moved = sum(record.digest in known for record in new)
    return Changes(read=len(new) - moved, moved=moved, gone=sum(path not in after for path in before) - moved)
