"""
The manifest: the files of memory as the index last read them, stored in it with each commit; and the scan for what has changed.

Files are indexed in groups: the dated files of one day together, since a message and its neighbour may be in two of them; every
other file alone. A file in no group is not searched: a daily summary that a monthly one covers, and an extract whose messages
are in their files.
"""

import contextlib
import json
import stat as modes
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, date, datetime
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from ..archive.coverage import MemoryFile, copies, covered, covered_days, is_as_made
from ..protocol.dated_file import head_in
from ..protocol.paths import LONG_TERM, Period, WorkspacePaths, day_of_name, is_foreign, period_of_name
from ..protocol.summary_file import Summary
from ..storage.disk import Stat
from ..storage.errors import SupervisorError
from ..storage.files import Files, digest_of
from ..storage.texts import Text
from .hit import Tier

Kind: TypeAlias = Literal["dated", "note", "summary", "long_term"]
#: Hex digits of a file's digest, as summaries name it.
_DIGEST: Final = 16
#: Notes without a day that are larger than this many bytes are not read.
MOST_BYTES: Final = 20_000_000
#: A long-term file of at most this many bytes is always searched as it is now. A larger one is searched as of the last update
#: of the index: after a change all of it is cut again, which takes a second or two for this many.
_AT_ONCE_BYTES: Final = 500_000
#: Seconds to wait for a file that is being written; the next scan reads it anyway.
PATIENCE_S: Final = 0.05


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Group:
    """One group in the index: the keys of its contents, the number of passages, and the number of words in each field."""

    keys: tuple[str, ...]  # () of a group that could not be read
    units: int = 0
    words: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Manifest:
    """The files by relative path, and the groups by name; *version* is that of tokenizer, chunking and schema."""

    version: str = ""
    files: Mapping[str, Record] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)

    def members(self) -> dict[str, dict[str, Record]]:
        """Return the files of each group that is searched, by path, in order."""
        by_name: dict[str, dict[str, Record]] = {}
        for path, file in sorted(self.files.items()):
            if not file.excluded:
                by_name.setdefault(file.group, {})[path] = file
        return by_name

    def differing(self) -> dict[str, dict[str, Record]]:
        """Return the files of each group that the index does not have as they are, the newest group first."""
        held = {name: group.keys for name, group in self.groups.items()}
        differing = {name: files for name, files in self.members().items() if held.get(name) != keys_of(files)}
        return dict(sorted(differing.items(), key=lambda member: _newness(member[1]), reverse=True))

    def gone(self) -> list[str]:
        """Return the groups of the index that are not searched any more."""
        members = self.members()
        return [name for name in self.groups if name not in members]

    def unmade(self) -> list[str]:
        """Return the groups that the index lacks; one that could not be read is not among them."""
        return [name for name in self.differing() if name not in self.groups or self.groups[name].keys]

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


# ── the scan ─────────────────────────────────────────────────────────────────
#
# Only a file with a new stat is read. The stat of every file is taken: one that is written in place changes its own stat, and
# not that of its folder. A file that can't be read keeps its last record, and is reported with the reason.


class Scan(NamedTuple):
    """The files of memory as they are now, by path, and those that can't be read, with the reason."""

    files: Mapping[str, Record]
    unread: Mapping[str, str]


def scan(files: Files, paths: WorkspacePaths, known: Mapping[str, Record], summaries: Mapping[Period, Summary]) -> Scan:
    """Return the scan of all files, with those marked that are not searched; one of *known* that is unchanged is not read."""
    records: dict[str, Record] = {}
    unread: dict[str, str] = {}
    for name, kind, stat in _listed(files, paths, known, unread):
        here = known.get(name)
        if isinstance(stat, Exception):
            unread[name] = type(stat).__name__
            records |= {name: here} if here else {}
        elif not modes.S_ISREG(stat.mode):
            if kind == "long_term":  # other links are left out on purpose; a link here hides the lines
                unread[name] = Text("it is a link, a folder or another thing that is not a regular file")
        elif here and here.is_as(stat) and (here.kind == kind or (here.kind == "dated" and kind == "note")):
            records[name] = here
        elif stat.size > MOST_BYTES and not _day_of(name, kind):
            unread[name] = Text("it is larger than {bytes:,} bytes", bytes=MOST_BYTES)
        else:
            try:
                now = _record_of(files, paths.root / name, kind)
            except (OSError, SupervisorError) as error:  # unreadable now, or being written
                unread[name], now = type(error).__name__, here
            records |= {name: now} if now else {}
    return Scan(_placed(paths, _keyed(records), summaries), unread)


def long_term_name(files: Files, paths: WorkspacePaths) -> str:
    """Return the path of the long-term file from the workspace, "" if there is none."""
    return next((name for name in LONG_TERM if files.disk.stat(paths.root / name)), "")


def has_new_long_term(files: Files, paths: WorkspacePaths, known: Mapping[str, Record]) -> bool:
    """Return whether the long-term file differs from its record in *known*, and is small enough to be read now."""
    name = long_term_name(files, paths)
    stat = files.disk.stat(paths.root / name) if name else None
    if stat is None or not modes.S_ISREG(stat.mode) or stat.size > _AT_ONCE_BYTES:
        return False
    return name not in known or not known[name].is_as(stat)


def kind_and_day(files: Files, paths: WorkspacePaths, path: Path, data: bytes) -> tuple[Kind, str]:
    """Return the kind and the day that a scan gives the file at *path* with these bytes."""
    place = _kind_at(paths.relative(path), long_term_name(files, paths), paths.relative(paths.summaries))
    kind, period = _kind_by_head(place, path, data)
    return kind, _day_of(path.name, place) or period


def _listed(
    files: Files, paths: WorkspacePaths, known: Mapping[str, Record], unread: dict[str, str]
) -> Iterator[tuple[str, Kind, Stat | Exception]]:
    """Yield the files of memory, with their kind by their place and their stat; an unreadable folder goes to *unread*."""
    long_term, summaries = long_term_name(files, paths), paths.relative(paths.summaries)
    for name in LONG_TERM[:2]:
        if stat := _stat(files, paths.root / name):
            yield name, _kind_at(name, long_term, summaries), stat
    folders = [paths.relative(paths.memory)]
    while folders:
        place = folders.pop()
        try:
            stats = _stats(files, paths.root / place)
        except OSError as error:
            unread[place] = type(error).__name__
            continue
        for name in sorted(stats):
            here, stat = f"{place}/{name}", stats[name]
            if here not in known and is_foreign(name):
                continue
            if name.endswith(".md"):
                if stat:
                    yield here, _kind_at(here, long_term, summaries), stat
            elif isinstance(stat, Exception):
                unread[here] = type(stat).__name__
            elif stat and modes.S_ISDIR(stat.mode):
                folders.append(here)


def _stats(files: Files, folder: Path) -> Mapping[str, Stat | Exception | None]:
    """Return the stat of each file in *folder*, or why it can't be taken; OSError for a folder that can't be read."""
    with contextlib.suppress(OSError):
        return files.disk.stats(folder)
    return {name: _stat(files, folder / name) for name in files.disk.names(folder)}


def _stat(files: Files, path: Path) -> Stat | Exception | None:
    try:
        return files.disk.stat(path)
    except (OSError, SupervisorError) as error:
        return error


def _kind_at(name: str, long_term: str, summaries: str) -> Kind:
    folder, _, last = name.rpartition("/")
    if folder == summaries and period_of_name(last):
        return "summary"
    return "long_term" if name == long_term else "note"


def _kind_by_head(kind: Kind, path: Path, data: bytes) -> tuple[Kind, str]:
    """Return "dated" and the day for a note whose front matter says so, whatever its name, otherwise the *kind*."""
    if kind == "note":
        head = head_in(data, path)
        if head.get("kind") == "dated" and day_of_name(f"{head.get('period', '')}-x.md"):
            return "dated", head["period"]
    return kind, ""


def _day_of(path: str, kind: Kind) -> str:
    name = path.rpartition("/")[2]
    if kind == "summary":
        period = period_of_name(name)
        return period.label if period else ""
    day = day_of_name(name)
    return day.isoformat() if day and kind == "note" else ""


def _record_of(files: Files, path: Path, place: Kind) -> Record | None:
    version = files.read_shown(path, PATIENCE_S)
    if version is None:
        return None
    kind, period = _kind_by_head(place, path, version.data)
    stat, as_made, day = version.stat, is_as_made(version.data, path), _day_of(path.name, place) or period
    return Record(stat.inode, stat.size, stat.mtime_ns, digest_of(version.data)[:_DIGEST], kind, day, as_made=as_made)


def _keyed(records: Mapping[str, Record]) -> dict[str, Record]:
    """Give each content its key; further files of the same content get other keys."""
    times: dict[str, int] = {}
    keyed = {}
    for path, file in sorted(records.items()):
        count = times[file.digest] = times.get(file.digest, 0) + 1
        key = file.digest if count == 1 else f"{file.digest}-{count}"
        keyed[path] = file if file.key == key else replace(file, key=key)
    return keyed


def _placed(paths: WorkspacePaths, records: dict[str, Record], summaries: Mapping[Period, Summary]) -> dict[str, Record]:
    """Mark the files that are not searched, and the dated files that a summary of a model covers."""
    dated = [_memory_file(path, record) for path, record in records.items() if record.kind in {"dated", "note"} and record.day]
    present = {file.source for file in dated}
    hidden = covered_days(dated, summaries)
    behind = covered(dated, {period: summary for period, summary in summaries.items() if not summary.extract})
    excluded_paths = {paths.relative(paths.summary(period)) for period in hidden}
    excluded_paths.update(copies({path: (record.digest, record.as_made) for path, record in records.items()}))
    for period, summary in summaries.items():
        if summary.extract and not summary.kept and summary.sources and present.issuperset(summary.sources):
            excluded_paths.add(paths.relative(paths.summary(period)))
    placed = {}
    for path, file in records.items():
        original, is_excluded = bool(file.day) and path.rpartition("/")[2] in behind, path in excluded_paths
        is_same = (file.original, file.excluded) == (original, is_excluded)
        placed[path] = file if is_same else replace(file, original=original, excluded=is_excluded)
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


# ── what an update has changed ───────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Changes:
    """
    The result of an update: the number of files read, and why files are unreadable, by path.

    *rebuilt*: a damaged index was rebuilt, with its *damage*; *shared*: the changes are held in memory, since another process
    has the lock.
    """

    read: int = 0
    rebuilt: bool = False
    damage: str = ""
    shared: bool = False
    unread: Mapping[str, str] = field(default_factory=dict)


def files_read(before: Mapping[str, Record], after: Mapping[str, Record]) -> int:
    """Return how many files *after* have a content that none had *before*."""
    known = {record.digest for record in before.values()}
    return sum(record.digest not in known for record in after.values())
