"""
Scan the files of memory by their stats: only a file with a new stat is read.

The stat of every file is taken: one that is written in place changes its own stat, and not that of its folder. A file that
can't be read keeps its last record, and is reported with the reason.
"""

from __future__ import annotations

import contextlib
import stat as modes
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Final, NamedTuple

from ..archive.coverage import ExistingSummary, Made, MemoryFile, copies, covered, covered_days, is_as_made
from ..protocol.dated_file import head_in
from ..protocol.paths import LONG_TERM, Period, WorkspacePaths, day_of_name, is_foreign, period_of_name
from ..storage.disk import Stat
from ..storage.errors import SupervisorError
from ..storage.files import Files, digest_of
from ..storage.texts import Text
from .manifest import Kind, Record

#: Hex digits of a file's digest, as summaries name it.
_DIGEST: Final = 16
#: Notes without a day that are larger than this many bytes are not read.
MOST_BYTES: Final = 20_000_000
#: A long-term file of at most this many bytes is always searched as it is now. A larger one is searched as of the last update
#: of the index: after a change all of it is cut again, which takes a second or two for this many.
_AT_ONCE_BYTES: Final = 500_000
#: Seconds to wait for a file that is being written; the next scan reads it anyway.
PATIENCE_S: Final = 0.05


class Scan(NamedTuple):
    """The files of memory as they are now, by path, and those that can't be read, with the reason."""

    files: Mapping[str, Record]
    unread: Mapping[str, str]


def scan(
    files: Files,
    paths: WorkspacePaths,
    known: Mapping[str, Record],
    summaries: Mapping[Period, ExistingSummary],
) -> Scan:
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
    for path in sorted(records):
        record = records[path]
        count = times[record.digest] = times.get(record.digest, 0) + 1
        key = record.digest if count == 1 else f"{record.digest}-{count}"
        keyed[path] = record if record.key == key else replace(record, key=key)
    return keyed


def _placed(
    paths: WorkspacePaths, records: dict[str, Record], summaries: Mapping[Period, ExistingSummary]
) -> dict[str, Record]:
    """Mark the files that are not searched, and the dated files that a summary of a model covers."""
    dated = [_memory_file(path, record) for path, record in records.items() if record.kind in {"dated", "note"} and record.day]
    present = {file.source for file in dated}
    hidden = covered_days(dated, summaries)
    behind = covered(dated, {period: summary for period, summary in summaries.items() if not summary.extract})
    excluded_paths = {paths.relative(paths.summary(period)) for period in hidden}
    excluded_paths.update(copies({path: Made(record.digest, record.as_made) for path, record in records.items()}))
    for period, summary in summaries.items():
        if summary.extract and not summary.edited and summary.sources and summary.sources <= present:
            excluded_paths.add(paths.relative(paths.summary(period)))
    placed = {}
    for path, record in records.items():
        original, is_excluded = bool(record.day) and path.rpartition("/")[2] in behind, path in excluded_paths
        is_same = (record.original, record.excluded) == (original, is_excluded)
        placed[path] = record if is_same else replace(record, original=original, excluded=is_excluded)
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
