"""
Which files of memory the index holds, as they were when it read them; kept in the index itself, as the note of its commit.

A file is looked at by stat; only one whose stat is new is read, and one that was only moved (same inode, size and time) is
not. Files are grouped as they are indexed: the dated files of a day together, since neighbours cross them, every other file
by itself. What is in no group is in no search: a daily summary that a month covers, and an extract whose messages are there.
"""

from __future__ import annotations

import json
import stat as modes
import zlib
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from supervisor.policy.coverage import MemoryFile, covered, covered_days
from supervisor.protocol.errors import SupervisorError
from supervisor.protocol.files import digest_of
from supervisor.protocol.frontmatter import read_head
from supervisor.protocol.layout import day_of_name, is_foreign, period_of_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from supervisor.policy.coverage import Standing
    from supervisor.policy.hit import Tier
    from supervisor.protocol.disk import Stat
    from supervisor.protocol.files import Files
    from supervisor.protocol.layout import Layout
    from supervisor.protocol.period import Period

Kind: TypeAlias = Literal["dated", "note", "summary", "long_term"]
#: Hex digits of a file's digest, as summaries name it.
_DIGEST: Final = 16
#: Bytes of a file that is no memory any more, but a heap.
_MOST_BYTES: Final = 20_000_000
#: The long-term file, where there is more than one the first.
_LONG_TERM: Final = ("memory.md", "MEMORY.md", "memory/MEMORY.md")


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
    silent: bool = False  # in no search

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
class Catalogue:
    """The files by path from the workspace, and the groups by name. *version* is that of the words and the cutting."""

    version: str = ""
    files: Mapping[str, Record] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)

    def members(self) -> dict[str, dict[str, Record]]:
        """Return the files of each group that is searched, by path, in order."""
        found: dict[str, dict[str, Record]] = {}
        for path in sorted(self.files):
            record = self.files[path]
            if not record.silent:
                found.setdefault(record.group, {})[path] = record
        return found

    def planned(self) -> dict[str, tuple[str, ...]]:
        """Return the contents that each group should hold."""
        return {name: tuple(record.key for record in files.values()) for name, files in self.members().items()}

    def paths(self) -> dict[str, str]:
        """Return the path of each content."""
        return {record.key: path for path, record in self.files.items()}


def render_catalogue(catalogue: Catalogue) -> bytes:
    """Return it as bytes: JSON, packed."""
    files = {path: list(asdict(record).values()) for path, record in catalogue.files.items()}
    groups = {name: [list(group.keys), group.units, list(group.words)] for name, group in catalogue.groups.items()}
    text = json.dumps({"version": catalogue.version, "files": files, "groups": groups})
    return zlib.compress(text.encode("ascii"), 1)


def parse_catalogue(data: bytes) -> Catalogue:
    """Return what the bytes say; ValueError where they say nothing of ours."""
    try:
        found: dict[str, Any] = json.loads(zlib.decompress(data))
        files = {str(path): Record(*fields) for path, fields in found["files"].items()}
        groups = {str(name): Group(tuple(keys), units, tuple(words)) for name, (keys, units, words) in found["groups"].items()}
        return Catalogue(str(found["version"]), files, groups)
    except (zlib.error, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"it is no catalogue: {error}") from None


def scan(files: Files, layout: Layout, known: Mapping[str, Record], summaries: Mapping[Period, Standing]) -> dict[str, Record]:
    """Return every file of memory as it is now; what *known* has unchanged, or only elsewhere, is not read."""
    places = {(record.inode, record.size, record.mtime_ns): record for record in known.values()}
    found = {}
    for path, kind in _listed(files, layout):
        name = layout.relative(path)
        try:
            stat = files.disk.stat(path)
            if stat is None or not modes.S_ISREG(stat.mode) or stat.size > _MOST_BYTES:
                continue
            here = known.get(name)
            if here and here.is_as(stat) and (here.kind == kind or (here.kind == "dated" and kind == "note")):
                found[name] = here
                continue
            record = places.get((stat.inode, stat.size, stat.mtime_ns)) or _read(files, path, kind)
        except (OSError, SupervisorError):
            # unreadable now, or being written: what was known of it stays until it can be read
            record = known.get(name)
        if record:
            day = _day_of(path, kind)
            found[name] = replace(record, kind="dated" if record.kind == "dated" and day and kind == "note" else kind, day=day)
    return _placed(layout, _keyed(found), summaries)


def _listed(files: Files, layout: Layout) -> Iterator[tuple[Path, Kind]]:
    long_term = next((name for name in _LONG_TERM if files.disk.stat(layout.root / name)), "")
    for name in _LONG_TERM[:2]:
        if files.disk.stat(layout.root / name):
            yield layout.root / name, "long_term" if name == long_term else "note"
    folders = [layout.memory]
    while folders:
        folder = folders.pop()
        for name in files.disk.names(folder):
            path = folder / name
            if is_foreign(name):
                continue
            if name.endswith(".md"):
                if folder == layout.summaries and period_of_name(name):
                    yield path, "summary"
                else:
                    yield path, "long_term" if layout.relative(path) == long_term else "note"
            elif _is_folder(files, path):
                folders.append(path)


def _day_of(path: Path, kind: Kind) -> str:
    """Return the day, or the month of a summary, that the name tells; "" where it tells none."""
    if kind == "summary":
        period = period_of_name(path.name)
        return period.label if period else ""
    day = day_of_name(path.name)
    return day.isoformat() if day and kind == "note" else ""


def _is_folder(files: Files, path: Path) -> bool:
    stat = files.disk.stat(path)
    return stat is not None and modes.S_ISDIR(stat.mode)


def _read(files: Files, path: Path, kind: Kind) -> Record | None:
    """Return the record of a file that is new or has changed; "dated" where it has our head."""
    look = files.look(path)
    if look is None:
        return None
    if kind == "note" and day_of_name(path.name):
        head, _ = read_head(look.data[:2_000].decode("utf-8-sig", "replace").replace("\r\n", "\n"), path)
        kind = "dated" if head.get("kind") == "dated" else "note"
    return Record(look.stat.inode, look.stat.size, look.stat.mtime_ns, digest_of(look.data)[:_DIGEST], kind)


def _keyed(found: Mapping[str, Record]) -> dict[str, Record]:
    """Give each content its name; the second file of the same content gets another."""
    times: dict[str, int] = {}
    keyed = {}
    for path in sorted(found):
        record = found[path]
        count = times[record.digest] = times.get(record.digest, 0) + 1
        key = record.digest if count == 1 else f"{record.digest}-{count}"
        keyed[path] = record if record.key == key else replace(record, key=key)
    return keyed


def _placed(layout: Layout, found: dict[str, Record], summaries: Mapping[Period, Standing]) -> dict[str, Record]:
    """Say of each file whether it is searched, and of a dated one whether a summary of a model stands for it (rule 11)."""
    dated = [_memory_file(path, record) for path, record in found.items() if record.kind in {"dated", "note"} and record.day]
    present = {file.source for file in dated}
    hidden = covered_days(dated, summaries)
    behind = covered(dated, {period: one for period, one in summaries.items() if not one.extract})
    silent = {layout.relative(layout.summary(period)) for period in hidden}
    for period, one in summaries.items():
        if one.extract and not one.edited and one.sources and one.sources <= present:
            silent.add(layout.relative(layout.summary(period)))
    placed = {}
    for path, record in found.items():
        original, is_silent = bool(record.day) and path.rpartition("/")[2] in behind, path in silent
        is_same = (record.original, record.silent) == (original, is_silent)
        placed[path] = record if is_same else replace(record, original=original, silent=is_silent)
    return placed


def _memory_file(path: str, record: Record) -> MemoryFile:
    return MemoryFile(
        name=path.rpartition("/")[2],
        digest=record.digest,
        day=date.fromisoformat(record.day),
        count=0,
        size=record.size,
        ours=record.kind == "dated",
        original=False,
        created=None,
    )
