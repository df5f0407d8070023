"""
The files of memory/: dated files, summaries, originals (docs/reference/protocol.md, 1 and 4).

A dated file is created once and moved once; the version of a summary that is replaced is kept. Files are compared by stat, and
read again only when they have changed, also since another process read them (`file_table.py`). What is a copy, and
which summary may replace which, is decided by `coverage`.
"""

from __future__ import annotations

import json
import re
import stat as modes
from array import array
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar
from zlib import crc32

from ..protocol.attachments import possible_names
from ..protocol.dated_file import Block, DatedFile, head_in, is_broken, number_in, parse_dated, undated_in, without_torn_end
from ..protocol.inbox import chats_in
from ..protocol.paths import Period, WorkspacePaths, day_of_name, period_of_name
from ..protocol.summary_file import Summary, parse_summary, render_summary, with_text
from ..storage.clock import from_wire
from ..storage.control import note
from ..storage.disk import Stat
from ..storage.errors import Busy
from ..storage.files import Files, FileVersion, digest_of
from ..storage.keeping import ReplacedTexts, kept_name, move_across
from ..text.foreign_text import text_of
from ..text.lazy_re import lazy_re
from .coverage import ExistingSummary, Made, MemoryFile, copies, is_as_made
from .file_table import FileTable, ReadFolder

#: Hex digits of a file's digest in a summary.
DIGEST: Final = 16
#: The head of a message in a file of ours, with its id where that comes first, as recalld writes it.
_ID: Final = lazy_re(rb'^<!-- \{(?:"id": "((?:[^"\\\n]|\\.)*)")?', re.MULTILINE)

T = TypeVar("T")


_NOTHING: Final = ReadFolder({}, {})


class MemoryFolder:
    """
    The files under memory/, and what was read from each at its last change.

    *table* has what was read before this process.
    """

    def __init__(self, files: Files, paths: WorkspacePaths, table: FileTable | None = None) -> None:
        self._files = files
        self._paths = paths
        self._table = table
        self._cache: dict[Path, ReadFolder] | None = None
        self._has_read = False
        #: Another object after each change that a supervisor is told of by the system; None: nobody is told.
        self.generation: object | None = None
        self._listed: tuple[list[Mapping[str, Any]], tuple[MemoryFile, ...], dict[str, str]] = ([], (), {})

    # ── reading ──────────────────────────────────────────────────────────────

    def dated(self) -> tuple[MemoryFile, ...]:
        """
        Return the dated files of memory/ and originals/, and notes with such a name, in the order of their names.

        Copies of our files are left out.
        """
        files, _ = self._without_copies()
        return files

    def copies(self) -> dict[str, str]:
        """Return the copies of our files, each with the file that it is a copy of, as relative paths."""
        _, copied = self._without_copies()
        return copied

    def names(self) -> set[str]:
        """Return every file name in memory/ and originals/, whatever the file is: none of these names is free."""
        folders = (self._paths.memory, *self.month_folders())
        return {name for folder in folders for name in self._files.disk.names(folder)}

    def summaries(self) -> dict[Period, ExistingSummary]:
        """Return the existing summaries by period."""
        return {summary.period: summary for summary in self._named_summaries().values()}

    def month_folders(self) -> list[Path]:
        """Return the folders of originals/, without a stray file among them."""
        stats = self._files.disk.stats(self._paths.originals)
        return [self._paths.originals / name for name in sorted(stats) if not modes.S_ISREG(stats[name].mode)]

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

    def _without_copies(self) -> tuple[tuple[MemoryFile, ...], dict[str, str]]:
        folders = [*self.month_folders(), self._paths.memory]
        parts = [self._read_in(folder, partial(_file_of, original=folder != self._paths.memory)) for folder in folders]
        summaries = self._named_summaries()
        before, files, copied = self._listed
        now: list[Mapping[str, Any]] = [*parts, summaries]
        if len(before) != len(now) or any(a is not b for a, b in zip(before, now, strict=True)):
            # subtle: after a crash during a move both names may exist; the one in memory/ counts, and is moved again
            by_name = {name: file for part in parts for name, file in part.items()}
            by_path = {self._relative(file): file for file in by_name.values()}
            origins = {path: Made(file.digest, file.as_made) for path, file in by_path.items()}
            for name, summary in summaries.items():
                origins[self._paths.relative(self._paths.summaries / name)] = Made(summary.digest, not summary.edited)
            copied = copies(origins)
            files = tuple(sorted((by_path[path] for path in by_path.keys() - copied), key=lambda file: file.name))
            self._listed = now, files, copied
        return files, copied

    def _named_summaries(self) -> Mapping[str, ExistingSummary]:
        return self._read_in(self._paths.summaries, _summary_of)

    def _relative(self, file: MemoryFile) -> str:
        return self._paths.relative(self._paths.original(file.name) if file.original else self._paths.dated(file.name))

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
        version = self._files.read_shown(self.path_of(name))
        data = version.data if version else b""
        parsed = parse_dated(data, self.path_of(name))
        return tuple(block.text for block in parsed.blocks) if parsed else tuple(filter(None, [text_of(data)]))

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

    def keep_table(self) -> None:
        """Write to the table what was read since it was written last, so that the next process need not read it."""
        if self._table and self._cache and self._has_read:
            self._has_read = False
            self._table.write(dict(self._cache))  # a copy: other threads read folders meanwhile

    def _read_in(self, folder: Path, reader: Callable[[str], Callable[[FileVersion, Path], T] | None]) -> Mapping[str, T]:
        """Return what *reader* makes of the files in *folder*, by name; a file that has not changed is not read again."""
        stats = self._files.disk.stats(folder)
        if self._cache is None:
            self._cache = self._table.read() if self._table else {}
        known = self._cache.get(folder, _NOTHING)
        if known.stats == stats:
            return known.values
        seen: dict[str, Stat] = {}
        values: dict[str, T] = {}
        for name in sorted(stats):
            if known.stats.get(name) == stats[name]:
                seen[name] = stats[name]
                if name in known.values:
                    values[name] = known.values[name]
                continue
            parse = reader(name) if modes.S_ISREG(stats[name].mode) else None
            if parse is None:
                seen[name] = stats[name]
                continue
            try:
                read = self._files.read_shown if folder == self._paths.summaries else self._files.read_stable
                version = read(folder / name)
            except (OSError, Busy):
                continue  # unreadable now: it is read again next time, and counts as absent until then
            self._has_read = True
            if version:
                seen[name], values[name] = version.stat, parse(version, folder / name)
        self._cache[folder] = ReadFolder(stats if seen == stats else seen, values)
        return values


def ids_in(data: bytes) -> array[int] | None:
    """Return a CRC of the id of each message in a dated file, which is not parsed; None where that does not find them."""
    numbers = array("I")
    for raw in _ID.findall(without_torn_end(data)):
        if not raw:
            return None
        try:  # subtle: one id may be escaped in one file, and not in the other
            identity = json.loads(b'"%b"' % raw).encode("utf-8", "surrogatepass") if b"\\" in raw else raw
        except ValueError:
            return None
        numbers.append(crc32(identity))
    return numbers


def _file_of(name: str, *, original: bool) -> Callable[[FileVersion, Path], MemoryFile] | None:
    day = day_of_name(name)
    if day is None:
        return None

    def read(version: FileVersion, path: Path) -> MemoryFile:
        head = head_in(version.data, path)
        ours = head.get("kind") == "dated"
        try:
            created = from_wire(head.get("created", "")) if ours else None
        except ValueError:
            ours, created = False, None
        chats = chats_in(version.data) if ours else frozenset()
        return MemoryFile(
            name=name,
            digest=version.digest[:DIGEST],
            day=day,
            count=number_in(head, "count") or 0 if ours else 0,
            size=version.stat.size,
            ours=ours,
            original=original,
            created=created,
            period=head.get("period", ""),
            ids=ids_in(version.data),
            as_made=is_as_made(version.data, path),
            broken=is_broken(version.data, path),
            undated=len(undated_in(version.data, path)) if ours else 0,
            sessions=frozenset(chat.session for chat in chats),
            groups=frozenset((chat.session, chat.kind) for chat in chats if chat.session and not chat.is_direct),
            attachments=possible_names(version.data) if ours else frozenset(),
        )

    return read


def _summary_of(name: str) -> Callable[[FileVersion, Path], ExistingSummary] | None:
    period = period_of_name(name)
    if period is None:
        return None

    def read(version: FileVersion, path: Path) -> ExistingSummary:
        summary = parse_summary(version.data, period.label, path)
        return ExistingSummary(
            period=period,
            sources=frozenset(summary.sources),
            text=summary.text,
            extract=summary.extract,
            waits=summary.waits,
            enough=summary.enough,
            refused=summary.refused,
            edited=bool(summary.kept),
            digest=version.digest[:DIGEST],
        )

    return read
