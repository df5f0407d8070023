"""
Which files of memory the index holds, as they were when it read them; kept in the index itself, as the note of its commit.

Files are grouped as they are indexed: the dated files of a day together, since neighbours cross them, every other file by
itself. What is in no group is in no search: a daily summary that a month covers, and an extract whose messages are there.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from supervisor.index.hit import Tier
    from supervisor.protocol.disk import Stat

Kind: TypeAlias = Literal["dated", "note", "summary", "long_term"]


@dataclass(frozen=True, slots=True)
class Record:
    """A file as it was last read; *key* is its content's name in the index, *day* "" where the name has none."""

    inode: int
    size: int
    mtime_ns: int
    digest: str
    kind: Kind
    day: str = ""
    key: str = ""
    original: bool = False  # a summary of a model stands for it
    excluded: bool = False  # in no search

    def is_as(self, stat: Stat) -> bool:
        """Tell whether the file has not changed since, by its stat."""
        return (self.inode, self.size, self.mtime_ns) == (stat.inode, stat.size, stat.mtime_ns)

    @property
    def tier(self) -> Tier:
        """Where the file stands in 003's order."""
        if self.kind == "dated" or self.kind == "note":  # noqa: PLR1714 - mypy narrows each, not both at once
            return "original" if self.original else "dated"
        return self.kind

    @property
    def group(self) -> str:
        """What is indexed together with it; the same content at another place or day is another group where that matters."""
        return f"day {self.day}" if self.kind == "dated" else f"{self.kind} {self.key} {self.day}"


@dataclass(frozen=True, slots=True)
class Group:
    """What the index holds of one group: the contents, how many units, and how many words in each field."""

    keys: tuple[str, ...]
    units: int = 0
    words: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Manifest:
    """The files by path from the workspace, and the groups by name. *version* is that of the words and the cutting."""

    version: str = ""
    files: Mapping[str, Record] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)

    def members(self) -> dict[str, dict[str, Record]]:
        """Return the files of each group that is searched, by path, in order."""
        found: dict[str, dict[str, Record]] = {}
        for path in sorted(self.files):
            record = self.files[path]
            if not record.excluded:
                found.setdefault(record.group, {})[path] = record
        return found

    def planned(self) -> dict[str, tuple[str, ...]]:
        """Return the contents that each group should hold."""
        return {name: tuple(record.key for record in files.values()) for name, files in self.members().items()}

    def paths(self) -> dict[str, str]:
        """Return the path of each content."""
        return {record.key: path for path, record in self.files.items()}


_FIELDS: Final = attrgetter(*(one.name for one in fields(Record)))


def render_manifest(manifest: Manifest) -> bytes:
    """Return it as bytes: JSON, packed."""
    files = {path: _FIELDS(record) for path, record in manifest.files.items()}
    groups = {name: [list(group.keys), group.units, list(group.words)] for name, group in manifest.groups.items()}
    text = json.dumps({"version": manifest.version, "files": files, "groups": groups})
    return zlib.compress(text.encode("ascii"), 1)


def parse_manifest(data: bytes) -> Manifest:
    """Return what the bytes say; ValueError where they say nothing of ours."""
    try:
        found: dict[str, Any] = json.loads(zlib.decompress(data))
        files = {str(path): Record(*fields) for path, fields in found["files"].items()}
        groups = {str(name): Group(tuple(keys), units, tuple(words)) for name, (keys, units, words) in found["groups"].items()}
        return Manifest(str(found["version"]), files, groups)
    except (zlib.error, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"it is no manifest: {error}") from None
