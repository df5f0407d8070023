"""
Bringing the index to what the files say: which groups differ, and one commit that puts them right.

A file that can't be read costs itself alone, and is tried again with the next change.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from supervisor.index.bm25 import CONTEXT_WIDTHS
from supervisor.index.manifest import Group, render_manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from supervisor.index.documents import Document
    from supervisor.index.engine import Engine
    from supervisor.index.manifest import Manifest, Record

#: Groups from which on an update takes long enough to be watched.
_LONG: Final = 50


@dataclass(frozen=True, slots=True)
class Changes:
    """
    What an update found: files read, moved, gone, and by path those that can't be read and why.

    *new* where there was no index, *rebuilt* where it was made anew; *shared* where it could not be written, and memory holds
    what has changed.
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
    """What the last commit holds: files that are searched, their units, bytes on disk; *differing* files are others by now."""

    files: int
    units: int
    size_bytes: int
    differing: int


def commit(
    engine: Engine,
    after: Manifest,
    made: Callable[[str, Mapping[str, Record]], Iterable[Document]],
    should_stop: Callable[[], bool],
    progress: Callable[[str, int, int], None],
    *,
    clear: bool = False,
) -> tuple[Manifest, dict[str, str]]:
    """
    Put into the index what the files of *after* say, where its groups don't, and into its note what it now holds.

    *made* cuts the documents of a group and its files. Return what the index now holds, and by path what could not be read.
    Where it is told to stop, the last commit stands (InterruptedError).
    """
    plan, members = after.planned(), after.members()
    changed, gone = differing(after.groups, plan)
    groups = {name: group for name, group in after.groups.items() if name in plan}
    unread: dict[str, str] = {}

    def all_made() -> Iterator[Document]:
        for done, name in enumerate(changed):
            if should_stop():
                raise InterruptedError(errno.EINTR, "told to stop")
            if len(changed) >= _LONG:
                progress("index", done, len(changed))
            units, counts = 0, [0] * len(CONTEXT_WIDTHS)
            try:
                for document in made(name, members[name]):
                    units += 1
                    counts = [count + more for count, more in zip(counts, document.lengths, strict=True)]
                    yield document
            except Exception as error:  # noqa: BLE001 - a file that meets a bug of ours costs itself, not all of memory
                unread.update(dict.fromkeys(members[name], type(error).__name__))
            # other contents than planned, where it could not be read: it is tried again
            is_whole = not unread.keys() & members[name].keys()
            groups[name] = Group(plan[name] if is_whole else (), units, tuple(counts))

    engine.write((*changed, *gone), all_made(), lambda: render_manifest(replace(after, groups=groups)), clear=clear)
    return replace(after, groups=groups), unread


def differing(groups: Mapping[str, Group], plan: Mapping[str, tuple[str, ...]]) -> tuple[list[str], list[str]]:
    """Return the groups that the index holds otherwise than planned, and those that it should not hold."""
    changed = [name for name in plan if name not in groups or groups[name].keys != plan[name]]
    return changed, [name for name in groups if name not in plan]


def differing_files(before: Mapping[str, Record], after: Mapping[str, Record]) -> int:
    """Return how many files are new, gone, or in the search otherwise than before; a file that was only touched is not."""

    def told(path: str, files: Mapping[str, Record]) -> Record | None:
        record = files.get(path)
        return record and replace(record, inode=0, size=0, mtime_ns=0)

    return sum(told(path, before) != told(path, after) for path in before.keys() | after.keys())


def difference(before: Mapping[str, Record], after: Mapping[str, Record]) -> Changes:
    """Return what an update from the files *before* to those *after* reads, moves and loses."""
    known = {record.digest for record in before.values()}
    new = [record for path, record in after.items() if path not in before or before[path].digest != record.digest]
    moved = sum(record.digest in known for record in new)
    return Changes(read=len(new) - moved, moved=moved, gone=sum(path not in after for path in before) - moved)
