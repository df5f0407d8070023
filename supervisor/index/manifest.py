"""
The manifest: the files of memory that the index holds, as they were when it read them; stored in the index with each commit.

Files are indexed in groups: the dated files of one day together, since a message and its neighbour may be in two of them; every
other file alone. A file in no group is not searched: a daily summary that a monthly one covers, and an extract whose messages
are in their files.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import field, fields, replace
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, Final, Literal, TypeAlias

from ..storage.disk import Stat
from ..text.record import record
from .hit import Tier

Kind: TypeAlias = Literal["dated", "note", "summary", "long_term"]


@record
class Record:
    """A file as it was last read; *key* is the name of its content in the index, *day* is "" for a file without one."""

    inode: int
    size: int
    mtime_ns: int
    digest: str
    kind: Kind
    day: str = ""
    key: str = ""
    original: bool = False  # covered by a summary of a model
    excluded: bool = False  # not searched
    as_made: bool = False  # recalld wrote it, and nobody has changed it since (`archive/coverage.py`)

    def is_as(self, stat: Stat) -> bool:
        """Return whether the file is unchanged, judged by its stat."""
        return (self.inode, self.size, self.mtime_ns) == (stat.inode, stat.size, stat.mtime_ns)

    @property
    def tier(self) -> Tier:
        """The tier of its passages."""
        if self.kind == "dated" or self.kind == "note":  # noqa: PLR1714 - mypy narrows each, not both at once
            return "original" if self.original else "dated"
        return self.kind

    @property
    def group(self) -> str:
        """The name of the file's group; the same content with another kind or day is another group."""
        return f"day {self.day}" if self.kind == "dated" else f"{self.kind} {self.key} {self.day}"


@record
class Group:
    """One group in the index: the keys of its contents, the number of passages, and the number of words in each field."""

    keys: tuple[str, ...]  # () of a group that could not be read
    units: int = 0
    words: tuple[int, ...] = ()


@record
class Manifest:
    """The files by relative path, and the groups by name; *version* is that of tokenizer, chunking and schema."""

    version: str = ""
    files: Mapping[str, Record] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)

    def members(self) -> dict[str, dict[str, Record]]:
        """Return the files of each group that is searched, by path, in order."""
        by_name: dict[str, dict[str, Record]] = {}
        for path in sorted(self.files):
            record = self.files[path]
            if not record.excluded:
                by_name.setdefault(record.group, {})[path] = record
        return by_name

    def differing(self) -> dict[str, dict[str, Record]]:
        """Return the files of each group that the index does not have as they are, the newest group first."""
        differing = {name: files for name, files in self.members().items() if not self._has(name, files)}
        return dict(sorted(differing.items(), key=lambda member: _newness(member[1]), reverse=True))

    def _has(self, name: str, files: Mapping[str, Record]) -> bool:
        return name in self.groups and self.groups[name].keys == keys_of(files)

    def gone(self) -> list[str]:
        """Return the groups of the index that are not searched any more."""
        members = self.members()
        return [name for name in self.groups if name not in members]

    def unmade(self) -> tuple[int, int]:
        """Return the bytes of files that the index lacks, and those of all; it does not lack a file that can't be read."""
        members = self.members()
        failed = {name for name, group in self.groups.items() if not group.keys}
        left = sum(_size(files) for name, files in self.differing().items() if name not in failed)
        return left, sum(map(_size, members.values()))

    def paths(self) -> dict[str, str]:
        """Return the path of each content, by key."""
        return {record.key: path for path, record in self.files.items()}


def keys_of(files: Mapping[str, Record]) -> tuple[str, ...]:
    """Return the keys of the contents of some files."""
    return tuple(record.key for record in files.values())


def _newness(files: Mapping[str, Record]) -> tuple[bool, str, int]:
    """Return the sort key of a group: the long-term file is the newest, then by day, of a note that of its last change."""
    records = files.values()
    days = (record.day or datetime.fromtimestamp(record.mtime_ns / 1e9, UTC).date().isoformat() for record in records)
    return any(record.kind == "long_term" for record in records), max(days), max(record.mtime_ns for record in records)


def _size(files: Mapping[str, Record]) -> int:
    return sum(record.size for record in files.values())


_FIELDS: Final = attrgetter(*(field.name for field in fields(Record)))


def render_manifest(manifest: Manifest) -> bytes:
    """Return the manifest as compressed JSON."""
    files = {path: _FIELDS(record) for path, record in manifest.files.items()}
    groups = {name: (group.keys, group.units, group.words) for name, group in manifest.groups.items()}
    text = json.dumps({"version": manifest.version, "files": files, "groups": groups})
    return zlib.compress(text.encode("ascii"), 1)


def parse_manifest(data: bytes) -> Manifest:
    """Return the manifest in the bytes; ValueError if they are not one."""
    try:
        fields_read: dict[str, Any] = json.loads(zlib.decompress(data))
        files = {str(path): Record(*fields) for path, fields in fields_read["files"].items()}
        groups = {
            str(name): Group(tuple(keys), units, tuple(words)) for name, (keys, units, words) in fields_read["groups"].items()
        }
        return Manifest(str(fields_read["version"]), files, groups)
    except (zlib.error, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"it is no manifest: {error}") from None


# ── what an update has changed, and what a commit holds ──────────────────────


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
