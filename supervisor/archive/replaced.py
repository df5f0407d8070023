"""
Versions of history.json that were replaced while a program had them open, each by a second name in `.recalld/replaced/`.

A program may still have such a file open and go on writing; what it writes is taken in (docs/reference/protocol.md, 5.4). A
version is taken in once, since repeated words without ids and times would get other ids the next time: the name of its file
says which version was taken in, also to a process that is restarted.
"""

from __future__ import annotations

import errno
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from recalld.supervisor.storage.errors import Busy
from recalld.supervisor.storage.lenient_json import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from recalld.supervisor.archive.quarantine import Quarantine
    from recalld.supervisor.protocol.paths import WorkspacePaths
    from recalld.supervisor.storage.disk import Stat
    from recalld.supervisor.storage.files import Files, FileVersion

#: No program takes longer than this between opening history.json for writing and its last byte.
_LONGEST_WRITE: Final = timedelta(days=1)


class ReplacedHistories:
    """
    The damaged files that were replaced, at most *limit*.

    *quiet* is how long a file that can be read has to be unchanged until its writer counts as done with it.
    """

    def __init__(self, files: Files, paths: WorkspacePaths, limit: int, quiet: timedelta) -> None:
        self._files = files
        self._history = paths.history
        self._folder = paths.replaced
        self._limit = limit
        self._quiet = quiet
        self._unfinished: dict[int, Stat] = {}  # by inode, the version that can't be read

    def keep(self, damaged: FileVersion) -> bool:
        """Give history.json a second name before it is replaced; return whether it has one, or there are too many files."""
        kept = self._files.disk.stats(self._folder).values()
        if any(stat.inode == damaged.stat.inode for stat in kept):
            return True
        if len(kept) >= self._limit:
            return False
        keep_open_file(self._files, self._history, damaged.stat, self._folder)
        return True

    def finished(self, now: datetime) -> Iterator[FileVersion]:
        """Yield the versions to take in: they can be read, or nobody has written to them for so long that nobody will."""
        for path, stat in self._kept():
            version = None if path == self._path_of_taken(stat) else self._complete(path, stat, now)
            if version:
                yield version

    def mark_taken(self, version: FileVersion) -> None:
        """Record, durably, that the messages of this version are safe elsewhere."""
        for path, stat in self._kept():
            if stat.inode == version.stat.inode and path != self._path_of_taken(version.stat):
                self._files.move(path, self._path_of_taken(version.stat))

    def untaken(self) -> list[Path]:
        """Return the files of which messages may still have to be taken in."""
        return [path for path, stat in self._kept() if path != self._path_of_taken(stat)]

    def release(self, now: datetime, quarantine: Quarantine) -> None:
        """Remove the files that were taken in, once their writers are done; of a damaged one the quarantine has a copy."""
        for path, stat in self._kept():
            is_due = path == self._path_of_taken(stat) and _age(stat, now) >= self._quiet
            version = self._complete(path, stat, now) if is_due else None
            if version is None or version.stat != stat:
                continue
            if _is_array(version.data) or quarantine.keep(self._history.name, version.data) != "full":
                self._files.remove(path)

    def _kept(self) -> list[tuple[Path, Stat]]:
        return [(self._folder / name, stat) for name, stat in self._files.disk.stats(self._folder).items()]

    def _path_of_taken(self, stat: Stat) -> Path:
        return self._folder / f"{self._history.name}.{stat.inode}.{stat.mtime_ns}.{stat.size}"

    def _complete(self, path: Path, stat: Stat, now: datetime) -> FileVersion | None:
        """Return the file if it can be read, or is abandoned; None while it is being written."""
        is_abandoned = _age(stat, now) >= _LONGEST_WRITE
        if self._unfinished.get(stat.inode) == stat and not is_abandoned:
            return None
        with suppress(Busy):
            version = self._files.read_stable(path, wait_s=0.0)
            if version and (is_abandoned or _is_array(version.data)):
                return version
            if version:
                self._unfinished[stat.inode] = version.stat
        return None


def keep_open_file(files: Files, path: Path, stat: Stat, folder: Path) -> None:
    """
    Give the file, to which a program may go on writing, a second name in *folder*, durably.

    Where .recalld is a file system of its own it gets none: what is still written to it can't be followed.
    """
    files.make_folder(folder, lasting=True)
    try:
        files.link(path, folder / f"history.json.{stat.inode}.{stat.mtime_ns}")
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise


def _is_array(data: bytes) -> bool:
    try:
        return isinstance(parse_json(data), list)
    except ValueError:
        return False


def _age(stat: Stat, now: datetime) -> timedelta:
    return timedelta(seconds=now.timestamp() - stat.mtime_ns / 1e9)
