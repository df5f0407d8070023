"""
The files of memory/: dated files, summaries, originals (docs/reference/protocol.md, 1 and 4).

A dated file is created once and moved once; the version of a summary that is replaced is kept. Files are compared by stat, and
read again only when they have changed. What is a copy, and which summary may replace which, is decided by `coverage`.
"""

import stat as modes
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from ..protocol.dated_file import Block, DatedFile, parse_dated
from ..protocol.paths import Period, WorkspacePaths, day_of_name, period_of_name
from ..protocol.summary_file import Summary, parse_summary, render_summary, with_text
from ..storage.control import note
from ..storage.disk import Stat
from ..storage.errors import Busy
from ..storage.files import Files, FileVersion, digest_of
from ..storage.keeping import ReplacedTexts, kept_name, move_across
from ..text.foreign_text import text_of
from .coverage import MemoryFile, copies, memory_file

#: Hex digits of a file's digest in a summary.
DIGEST: Final = 16
K = TypeVar("K")
T = TypeVar("T")


class MemoryFolder:
    """The files under memory/, and what was read from each at its last change."""

    def __init__(self, files: Files, paths: WorkspacePaths) -> None:
        self._files = files
        self._paths = paths
        self._cache: dict[Path, tuple[Mapping[str, Stat], Mapping[str, Any]]] = {}
        self._listed: tuple[list[Mapping[str, Any]], tuple[MemoryFile, ...], dict[str, str]] = ([], (), {})
        #: Another object after each change that a supervisor is told of; None where none is told of changes.
        self.generation: object | None = None

    # ── reading ──────────────────────────────────────────────────────────────

    def dated(self) -> tuple[MemoryFile, ...]:
        """
        Return the dated files of memory/ and originals/, and notes with such a name, in the order of their names.

        Copies of our files are left out.
        """
        return self._without_copies()[0]

    def copies(self) -> dict[str, str]:
        """Return the copies of our files, each with the file that it is a copy of, as relative paths."""
        return self._without_copies()[1]

    def watched(self) -> object | None:
        """
        Return what is equal to what it was before while no file has changed; None where no supervisor is told of changes.

        Folders say at once what has come or gone, in a few stats; a file that is written in place is told of.
        """
        if not self.generation:
            return None
        disk, paths = self._files.disk, self._paths
        return self.generation, disk.stat(paths.memory), disk.stat(paths.summaries), disk.stats(paths.originals)

    def tell(self) -> None:
        """Note that a file has changed, where a supervisor is told of changes."""
        if self.generation:
            self.generation = object()

    def names(self) -> set[str]:
        """Return every file name in memory/ and originals/, whatever the file is: none of these names is free."""
        folders = (self._paths.memory, *self.month_folders())
        return {name for folder in folders for name in self._files.disk.names(folder)}

    def summaries(self) -> dict[Period, Summary]:
        """Return the existing summaries by period."""
        return {Period(summary.period): summary for summary in self._named_summaries().values()}

    def month_folders(self) -> list[Path]:
        """Return the folders of originals/, without a stray file among them."""
        stats = self._files.disk.stats(self._paths.originals)
        return [self._paths.originals / name for name in sorted(stats) if not modes.S_ISREG(stats[name].mode)]

    def _without_copies(self) -> tuple[tuple[MemoryFile, ...], dict[str, str]]:
        folders = [*self.month_folders(), self._paths.memory]
        parts = [
            self._read_in(folder, day_of_name, partial(memory_file, original=folder != self._paths.memory))
            for folder in folders
        ]
        summaries = self._named_summaries()
        before, files, copied = self._listed
        now: list[Mapping[str, Any]] = [*parts, summaries]
        if len(before) != len(now) or any(a is not b for a, b in zip(before, now, strict=True)):
            # subtle: after a crash during a move both names may exist; the one in memory/ counts, and is moved again
            paths, by_name = self._paths, {name: file for part in parts for name, file in part.items()}
            by_path = {
                paths.relative(paths.original(name) if file.original else paths.dated(name)): file
                for name, file in by_name.items()
            }
            versions = {path: (file.digest, file.as_made) for path, file in by_path.items()}
            versions |= {
                paths.relative(paths.summaries / name): (summary.digest, not summary.kept)
                for name, summary in summaries.items()
            }
            copied = copies(versions)
            files = tuple(sorted((by_path[path] for path in by_path.keys() - copied), key=lambda file: file.name))
            self._listed = now, files, copied
        return files, copied

    def _named_summaries(self) -> Mapping[str, Summary]:
        def read(data: bytes, path: Path, period: Period, digest: str) -> Summary:
            return replace(parse_summary(data, period.label, path), digest=digest)

        return self._read_in(self._paths.summaries, period_of_name, read)

    def path_of(self, name: str) -> Path:
        """Return the path of the dated file: in memory/ if it exists there, else in originals/."""
        path = self._paths.dated(name)
        return path if self._files.disk.stat(path) else self._paths.original(name)

    def parsed(self, name: str) -> DatedFile | None:
        """Return the content of a dated file; None when it is gone or a person's own."""
        version = self._files.read_shown(self.path_of(name))
        return parse_dated(version.data, self.path_of(name)) if version else None

    def blocks(self, name: str) -> tuple[Block, ...]:
        """Return the messages of a dated file; none when it is gone or a person's own."""
        parsed = self.parsed(name)
        return tuple(parsed.blocks) if parsed else ()

    def message_texts(self, name: str) -> tuple[str, ...]:
        """Return the texts of the messages in a dated file, or the text of a note; none when it is gone, or is no text."""
        parsed = self.parsed(name)
        return tuple(block.text for block in parsed.blocks) if parsed else tuple(filter(None, [self.text(name)]))

    def text(self, name: str) -> str:
        """Return the text of a dated file or note, "" when it is gone, or is no text."""
        version = self._files.read_shown(self.path_of(name))
        return text_of(version.data) if version else ""

    # ── changes ──────────────────────────────────────────────────────────────

    def write_dated(self, name: str, data: bytes) -> None:
        """Create the dated file, durably; FileExistsError when a file of this name exists."""
        self._files.create(self._paths.dated(name), data)

    def ensure_durable(self, name: str) -> None:
        """Make the dated file or note durable: its writer may not have synced it."""
        self._files.ensure_durable(self.path_of(name))

    def ensure_names_durable(self, names: Iterable[str]) -> None:
        """Make the names of these dated files durable: the process that created them may have been killed before."""
        for folder in {self.path_of(name).parent for name in names}:
            self._files.disk.sync_folder(folder)

    def ensure_summary_durable(self, period: Period) -> None:
        """Make the summary durable, if it exists."""
        self._files.ensure_durable(self._paths.summary(period))

    def read_summary(self, period: Period) -> tuple[FileVersion | None, Summary | None]:
        """Return the summary file as it is now, both its bytes and parsed; None when it does not exist."""
        path = self._paths.summary(period)
        version = self._files.read_shown(path)
        return version, parse_summary(version.data, period.label, path) if version else None

    def write_summary(self, period: Period, summary: Summary, seen: FileVersion | None) -> None:
        """
        Replace the version *seen* of the summary; Conflict when the file is another version now.

        It is kept in previous/, unless it is an extract that waited for this one: its words are in the dated files.
        """
        before = parse_summary(seen.data, period.label, self._paths.summary(period)) if seen else None
        is_kept = seen is not None and before is not None and bool(before.kept or not before.waits)
        if seen and is_kept:
            self._keep_previous(period, seen)
        self._files.replace(self._paths.summary(period), render_summary(summary), seen)

    def edit_summary(self, period: Period, text: str, seen: FileVersion) -> None:
        """Give the version *seen* of the summary a person's text, and keep that version in previous/; Conflict as above."""
        path = self._paths.summary(period)
        data = with_text(seen.data, text, path)
        if data != seen.data:
            name = self._keep_previous(period, seen)
            self._files.replace(path, data, seen)
            note("edited", period=period.label, digest=digest_of(data)[:DIGEST], previous=name)

    def delete_summary(self, period: Period) -> None:
        """Delete the summary; it is kept in previous/."""
        path = self._paths.summary(period)
        version = self._files.read_stable(path)
        if version:
            self._keep_previous(period, version)
            self._files.remove(path)

    def _keep_previous(self, period: Period, version: FileVersion) -> str:
        name = kept_name(f"{period.label}.md", version.data)
        ReplacedTexts(self._files, self._paths.previous).keep(name, version.data)
        return name

    def move_to_originals(self, name: str) -> bool:
        """Move a dated file into its month's folder in originals/, never over another file; return whether it did."""
        target = self._paths.original(name)
        self._files.make_folder(target.parent, lasting=True)
        try:
            move_across(self._files, self._paths.dated(name), target)
        except FileNotFoundError:
            return False
        except FileExistsError:
            return self._finish_move(name, target)
        return True

    def _finish_move(self, name: str, target: Path) -> bool:
        """Delete the first of two equal files that a crash during the move left; two that differ stay, for fsck to report."""
        here, target_bytes = self._files.read_stable(self._paths.dated(name)), self._files.read_stable(target)
        if here is None or target_bytes is None or here.data != target_bytes.data:
            return False
        self._files.ensure_durable(target)
        self._files.remove(self._paths.dated(name))
        return True

    # ── reading, once per change ─────────────────────────────────────────────

    def _read_in(
        self, folder: Path, key_of: Callable[[str], K | None], reader: Callable[[bytes, Path, K, str], T]
    ) -> Mapping[str, T]:
        """Return what *reader* makes of the files in *folder* whose name has a key; what has not changed is not read again."""
        stats = self._files.disk.stats(folder)
        known_stats, known = self._cache.setdefault(folder, ({}, {}))
        if known_stats == stats:
            return known
        read = self._files.read_shown if folder == self._paths.summaries else self._files.read_stable
        seen, values = dict(stats), dict[str, T]()
        for name in sorted(stats):
            key = key_of(name) if modes.S_ISREG(stats[name].mode) else None
            if key is None:
                continue
            if known_stats.get(name) == stats[name]:
                values[name] = known[name]
                continue
            version = None
            with suppress(OSError, Busy):  # unreadable now: it is read again next time, and counts as absent until then
                version = read(folder / name)
            if version:
                values[name], seen[name] = reader(version.data, folder / name, key, version.digest[:DIGEST]), version.stat
            else:
                del seen[name]
        self._cache[folder] = seen, values
        return values
