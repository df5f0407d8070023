"""
Scan the files of memory: by stat, so that only a file with a new stat is read, and a file that was only moved is not.

A file that can't be read keeps its last record, and is reported with the reason.
"""

from __future__ import annotations

import stat as modes
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Final

from recalld.supervisor.archive.copies import contents, copies
from recalld.supervisor.archive.coverage import MemoryFile, covered, covered_days
from recalld.supervisor.index.manifest import Record
from recalld.supervisor.protocol.frontmatter import read_head
from recalld.supervisor.protocol.paths import day_of_name, is_foreign, period_of_name
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.errors import SupervisorError
from recalld.supervisor.storage.files import digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from pathlib import Path

    from recalld.supervisor.archive.coverage import ExistingSummary
    from recalld.supervisor.index.manifest import Kind
    from recalld.supervisor.protocol.paths import WorkspacePaths
    from recalld.supervisor.protocol.period import Period
    from recalld.supervisor.storage.files import Files

#: Hex digits of a file's digest, as summaries name it.
_DIGEST: Final = 16
#: Notes of no day that are larger than this many bytes are not read.
MOST_BYTES: Final = 20_000_000
#: Seconds to wait for a file that is being written; the next scan reads it anyway.
PATIENCE_S: Final = 0.05
#: Paths of the long-term file; the first one that exists is used.
LONG_TERM: Final = ("memory.md", "MEMORY.md", "memory/MEMORY.md")


@dataclass(slots=True)
class Scan:
    """The files of memory by path, and those that can't be read, with the reason."""

    files: dict[str, Record] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)


def scan(
    files: Files,
    paths: WorkspacePaths,
    known: Mapping[str, Record],
    summaries: Mapping[Period, ExistingSummary],
    named: Callable[[], Collection[str]],
) -> Scan:
    """
    Return every file of memory as it is now; a file of *known* that is unchanged or was only moved is not read.

    Of equal files the one is searched that is *named*, as `copies` says.
    """
    found = Scan()
    places = {(record.inode, record.size, record.mtime_ns): record for record in known.values()}
    for name, path, kind in _listed(files, paths, found.unread):
        _scan_file(files, name, path, kind, (known, places), found)
    found.files = _placed(paths, _keyed(found.files), summaries, named)
    return found


def long_term_name(files: Files, paths: WorkspacePaths) -> str:
    """Return the path of the long-term file from the workspace, "" if there is none."""
    return next((name for name in LONG_TERM if files.disk.stat(paths.root / name)), "")


def kind_and_day(files: Files, paths: WorkspacePaths, path: Path, data: bytes) -> tuple[Kind, str]:
    """Return the kind and the day that a scan gives the file at *path* with these bytes."""
    kind = _kind_at(paths.relative(path), long_term_name(files, paths), paths.relative(paths.summaries))
    day = _day_of(path, kind)
    return _kind_by_head(kind, path, data), day


def rescan(files: Files, paths: WorkspacePaths, known: Mapping[str, Record], names: Collection[str]) -> Scan:
    """Return *known* with the files at *names* as they are now; a dated file that has moved is found in its month."""
    found = Scan({path: record for path, record in known.items() if path not in names})
    places = {(record.inode, record.size, record.mtime_ns): record for record in known.values()}
    for name in names:
        record, path = known[name], paths.root / name
        if record.day and not files.disk.stat(path) and record.kind != "summary":
            path = paths.original(path.name)
        here = paths.relative(path)
        _scan_file(files, here, path, "note" if record.kind == "dated" else record.kind, (known, places), found)
        if here in found.files:
            found.files[here] = replace(found.files[here], original=record.original, excluded=record.excluded)
    found.files = _keyed(found.files)
    return found


def _scan_file(
    files: Files,
    name: str,
    path: Path,
    kind: Kind,
    known: tuple[Mapping[str, Record], Mapping[tuple[int, int, int], Record]],
    found: Scan,
) -> None:
    """Put the record of the file into *found*, *name* being its relative path; *known* are the records by path and by stat."""
    here = known[0].get(name)
    try:
        stat = files.disk.stat(path)
        if stat is None or not modes.S_ISREG(stat.mode):
            if stat and kind == "long_term":  # a link elsewhere is left out on purpose; here it hides the lines
                found.unread[name] = Text("file.not_regular")
            return
        if here and here.is_as(stat) and (here.kind == kind or (here.kind == "dated" and kind == "note")):
            found.files[name] = here
            return
        if stat.size > MOST_BYTES and not _day_of(path, kind):
            found.unread[name] = Text("search.too_large", bytes=MOST_BYTES)
            return
        record = known[1].get((stat.inode, stat.size, stat.mtime_ns)) or _read(files, path, kind)
    except (OSError, SupervisorError) as error:
        found.unread[name] = type(error).__name__
        # unreadable now, or being written: keep the last record
        record = here
    if record:
        day = _day_of(path, kind)
        kind = "dated" if record.kind == "dated" and day and kind == "note" else kind
        found.files[name] = replace(record, kind=kind, day=day)


def _listed(files: Files, paths: WorkspacePaths, unread: dict[str, str]) -> Iterator[tuple[str, Path, Kind]]:
    """Yield the files of memory, with the kind that their place tells; an unreadable folder goes to *unread*."""
    long_term, summaries = long_term_name(files, paths), paths.relative(paths.summaries)
    for name in LONG_TERM[:2]:
        if files.disk.stat(paths.root / name):
            yield name, paths.root / name, _kind_at(name, long_term, summaries)
    folders = [(paths.relative(paths.memory), paths.memory)]
    while folders:
        place, folder = folders.pop()
        try:
            names = files.disk.names(folder)
        except OSError as error:
            unread[place] = type(error).__name__
            continue
        for name in names:
            if is_foreign(name):
                continue
            here, path = f"{place}/{name}", folder / name
            if name.endswith(".md"):
                yield here, path, _kind_at(here, long_term, summaries)
            elif _is_folder(files, path):
                folders.append((here, path))


def _kind_at(name: str, long_term: str, summaries: str) -> Kind:
    """Return the kind that the place of a file tells; *summaries* is the folder of the summaries."""
    folder, _, last = name.rpartition("/")
    if folder == summaries and period_of_name(last):
        return "summary"
    return "long_term" if name == long_term else "note"


def _kind_by_head(kind: Kind, path: Path, data: bytes) -> Kind:
    """Return "dated" for a note of a day whose front matter says so, else the *kind*."""
    if kind == "note" and day_of_name(path.name):
        head, _ = read_head(data[:2_000].decode("utf-8-sig", "replace").replace("\r\n", "\n"), path)
        return "dated" if head.get("kind") == "dated" else "note"
    return kind


def _day_of(path: Path, kind: Kind) -> str:
    """Return the day in the name of the file, or the period of a summary; "" for none."""
    if kind == "summary":
        period = period_of_name(path.name)
        return period.label if period else ""
    day = day_of_name(path.name)
    return day.isoformat() if day and kind == "note" else ""


def _is_folder(files: Files, path: Path) -> bool:
    stat = files.disk.stat(path)
    return stat is not None and modes.S_ISDIR(stat.mode)


def _read(files: Files, path: Path, kind: Kind) -> Record | None:
    """Return the record of a new or changed file; its kind is "dated" if its front matter says so."""
    version = files.read_stable(path, PATIENCE_S)
    if version is None:
        return None
    kind = _kind_by_head(kind, path, version.data)
    stat, held = version.stat, "" if kind == "long_term" else contents(version.data, path)
    return Record(stat.inode, stat.size, stat.mtime_ns, digest_of(version.data)[:_DIGEST], kind, contents=held)


def _keyed(found: Mapping[str, Record]) -> dict[str, Record]:
    """Give each content its key; further files of the same content get other keys."""
    times: dict[str, int] = {}
    keyed = {}
    for path in sorted(found):
        record = found[path]
        count = times[record.digest] = times.get(record.digest, 0) + 1
        key = record.digest if count == 1 else f"{record.digest}-{count}"
        keyed[path] = record if record.key == key else replace(record, key=key)
    return keyed


def _placed(
    paths: WorkspacePaths,
    found: dict[str, Record],
    summaries: Mapping[Period, ExistingSummary],
    named: Callable[[], Collection[str]],
) -> dict[str, Record]:
    """Mark the files that are not searched, and the dated files that a summary of a model covers."""
    dated = [_memory_file(path, record) for path, record in found.items() if record.kind in {"dated", "note"} and record.day]
    present = {file.source for file in dated}
    hidden = covered_days(dated, summaries)
    behind = covered(dated, {period: one for period, one in summaries.items() if not one.extract})
    excluded_paths = {paths.relative(paths.summary(period)) for period in hidden}
    excluded_paths.update(copies({path: record.contents for path, record in found.items()}, named))
    for period, one in summaries.items():
        if one.extract and not one.edited and one.sources and one.sources <= present:
            excluded_paths.add(paths.relative(paths.summary(period)))
    placed = {}
    for path, record in found.items():
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
