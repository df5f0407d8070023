"""
The manifest: the files of memory that the index holds, as they were when it read them; stored in the index with each commit.

Files are indexed in groups: the dated files of one day together, since a message and its neighbour may be in two of them; every
other file alone. A file in no group is not searched: a daily summary that a monthly one covers, and an extract whose messages
are in their files.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import field, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from ..text.record import record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..storage.disk import Stat
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
    contents: str = ""  # what a file of recalld's holds, to recognise copies (`archive/copies.py`)

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
    """
    One group in the index: the keys of its contents, the number of passages, and the number of words in each field.

    A group that is not whole has only its first passages, because time was up.
    """

    keys: tuple[str, ...]
    units: int = 0
    words: tuple[int, ...] = ()
    is_whole: bool = True


@record
class Manifest:
    """
    The files by relative path, and the groups by name; *version* is that of tokenizer, chunking and schema.

    *left* of all *total* bytes are not indexed yet, because time was up: the next update goes on with them.
    """

    version: str = ""
    files: Mapping[str, Record] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)
    left: int = 0
    total: int = 0

    @property
    def made_percent(self) -> int:
        """How much of memory the index holds, by the bytes of its files."""
        return 100 - -(-100 * self.left // self.total) if self.left else 100

    def members(self) -> dict[str, dict[str, Record]]:
        """Return the files of each group that is searched, by path, in order."""
        found: dict[str, dict[str, Record]] = {}
        for path in sorted(self.files):
            record = self.files[path]
            if not record.excluded:
                found.setdefault(record.group, {})[path] = record
        return found

    def planned(self) -> dict[str, tuple[str, ...]]:
        """Return the keys of the contents that each group should hold."""
        return {name: tuple(record.key for record in files.values()) for name, files in self.members().items()}

    def paths(self) -> dict[str, str]:
        """Return the path of each content, by key."""
        return {record.key: path for path, record in self.files.items()}


_FIELDS: Final = attrgetter(*(one.name for one in fields(Record)))


def render_manifest(manifest: Manifest) -> bytes:
    """Return the manifest as compressed JSON."""
    files = {path: _FIELDS(record) for path, record in manifest.files.items()}
    # only a group that is not whole has a mark, so that other manifests keep the form of earlier versions
    groups = {
        name: [list(group.keys), group.units, list(group.words), *([] if group.is_whole else [False])]
        for name, group in manifest.groups.items()
    }
    left = {"left": manifest.left, "total": manifest.total} if manifest.left else {}
    text = json.dumps({"version": manifest.version, "files": files, "groups": groups, **left})
    return zlib.compress(text.encode("ascii"), 1)


def parse_manifest(data: bytes) -> Manifest:
    """Return the manifest in the bytes; ValueError if they are not one."""
    try:
        found: dict[str, Any] = json.loads(zlib.decompress(data))
        files = {str(path): Record(*fields) for path, fields in found["files"].items()}
        groups = {
            str(name): Group(tuple(keys), units, tuple(words), *whole)
            for name, (keys, units, words, *whole) in found["groups"].items()
        }
        return Manifest(str(found["version"]), files, groups, int(found.get("left", 0)), int(found.get("total", 0)))
    except (zlib.error, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"it is no manifest: {error}") from None
