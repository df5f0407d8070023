"""
memory/: dated files, summaries, originals (docs/protocol.md, 1 and 4; 003, 记忆存储结构).

Dated files are made once and moved once; a summary is replaced only by a wider one, and never a person's bytes in it. What
lies here is looked at by stat and read again only where that has changed.
"""

from __future__ import annotations

import stat as modes
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from supervisor.archive.coverage import ExistingSummary, MemoryFile
from supervisor.protocol.clock import from_wire
from supervisor.protocol.dated_file import Block, parse_dated
from supervisor.protocol.errors import Busy
from supervisor.protocol.files import FileVersion, digest_of
from supervisor.protocol.frontmatter import number_in, read_head
from supervisor.protocol.paths import day_of_name, period_of_name
from supervisor.protocol.summary_file import Summary, parse_summary, render_summary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from supervisor.protocol.disk import Stat
    from supervisor.protocol.files import Files
    from supervisor.protocol.paths import WorkspacePaths
    from supervisor.protocol.period import Period

T = TypeVar("T")
#: Hex digits of a file's digest in a summary.
DIGEST: int = 16


@dataclass(frozen=True, slots=True)
class _Folder:
    """What the files of a folder were when they were last read, and what was read from those that are memory."""

    stats: Mapping[str, Stat]
    values: dict[str, Any]


class MemoryFolder:
    """The files under memory/, and what was read from each at its last change."""

    def __init__(self, files: Files, paths: WorkspacePaths) -> None:
        self._files = files
        self._paths = paths
        self._cache: dict[Path, _Folder] = {}
        self._dated: tuple[list[dict[str, MemoryFile]], tuple[MemoryFile, ...]] = ([], ())

    # ── what lies there ──────────────────────────────────────────────────────

    def dated(self) -> tuple[MemoryFile, ...]:
        """Return the dated files, wherever they lie, and a person's notes named like one; by name."""
        parts = [self._read_in(folder, partial(_file_of, original=True)) for folder in self.month_folders()]
        # subtle: a crash in the middle of a move may show both names; the one in memory/ counts, and is moved again
        parts.append(self._read_in(self._paths.memory, partial(_file_of, original=False)))
        before, files = self._dated
        if len(before) != len(parts) or any(a is not b for a, b in zip(before, parts, strict=True)):
            found = {name: file for part in parts for name, file in part.items()}
            files = tuple(found[name] for name in sorted(found))
            self._dated = parts, files
        return files

    def names(self) -> set[str]:
        """Return every file name in memory/ and originals/, whatever it is: none of them is free."""
        folders = (self._paths.memory, *self.month_folders())
        return {name for folder in folders for name in self._files.disk.names(folder)}

    def summaries(self) -> dict[Period, ExistingSummary]:
        """Return the standing summaries by period."""
        standing = self._read_in(self._paths.summaries, _standing_of)
        return {one.period: one for one in standing.values()}

    def month_folders(self) -> list[Path]:
        """Return the folders of originals/; a stray file among them is none."""
        stats = self._files.disk.stats(self._paths.originals)
        return [self._paths.originals / name for name in sorted(stats) if not modes.S_ISREG(stats[name].mode)]

    def path_of(self, name: str) -> Path:
        """Return where the dated file lies: in memory/, else in originals/."""
        path = self._paths.dated(name)
        return path if self._files.disk.stat(path) else self._paths.original(name)

    def blocks(self, name: str) -> tuple[Block, ...]:
        """Return the messages of a dated file of ours, none where it is gone or a person's own."""
        look = self._files.read_stable(self.path_of(name))
        parsed = parse_dated(look.data, self.path_of(name)) if look else None
        return tuple(parsed.blocks) if parsed else ()

    def said(self, name: str) -> tuple[str, ...]:
        """Return what the messages of a dated file say, or what a person's note does; nothing where it is gone."""
        look = self._files.read_stable(self.path_of(name))
        if look is None:
            return ()
        parsed = parse_dated(look.data, self.path_of(name))
        return tuple(block.text for block in parsed.blocks) if parsed else (look.data.decode("utf-8-sig", "replace"),)

    def text(self, name: str) -> str:
        """Return the text of a dated file or note, "" where it is gone."""
        look = self._files.read_stable(self.path_of(name))
        return look.data.decode("utf-8", "replace") if look else ""

    # ── changes ──────────────────────────────────────────────────────────────

    def write_dated(self, name: str, data: bytes) -> None:
        """Make the dated file, durably; FileExistsError when somebody has taken its name."""
        self._files.create(self._paths.dated(name), data)

    def ensure_durable(self, name: str) -> None:
        """Make durable that the dated file or note stands as it does: whoever made it may not have done so."""
        self._files.ensure_durable(self.path_of(name))

    def ensure_names_durable(self, names: Iterable[str]) -> None:
        """Make durable where these dated files of ours stand: whoever made them may have been killed before that."""
        for folder in {self.path_of(name).parent for name in names}:
            self._files.disk.sync_folder(folder)

    def ensure_summary_durable(self, period: Period) -> None:
        """Make durable that the summary stands, where there is one."""
        self._files.ensure_durable(self._paths.summary(period))

    def read_summary(self, period: Period) -> tuple[FileVersion | None, Summary | None]:
        """Return the summary file as it is now, and what it says."""
        path = self._paths.summary(period)
        look = self._files.read_stable(path)
        return look, parse_summary(look.data, period.label, path) if look else None

    def write_summary(self, period: Period, summary: Summary, seen: FileVersion | None) -> None:
        """Put the summary in the place of the version *seen*, which is kept under previous/; Changed when it is another."""
        if seen:
            copy = self._paths.previous / f"{period.label}.{digest_of(seen.data)[:12]}.md"
            if self._files.disk.stat(copy):
                self._files.ensure_durable(copy)
            else:
                self._files.create(copy, seen.data)
        self._files.replace(self._paths.summary(period), render_summary(summary), seen)

    def move_to_originals(self, name: str) -> bool:
        """Move a covered dated file into its month's folder, in one step that never replaces; tell whether it did."""
        target = self._paths.original(name)
        self._files.make_folder(target.parent, lasting=True)
        try:
            self._files.move(self._paths.dated(name), target)
        except FileNotFoundError:
            return False
        except FileExistsError:
            return self._finish_move(name, target)
        return True

    def _finish_move(self, name: str, target: Path) -> bool:
        """Take away the second name of a file that both places show; where they differ, both stay, and fsck tells of them."""
        here, there = self._files.read_stable(self._paths.dated(name)), self._files.read_stable(target)
        if here is None or there is None or here.data != there.data:
            return False
        self._files.ensure_durable(target)
        self._files.remove(self._paths.dated(name))
        return True

    # ── reading, once per change ─────────────────────────────────────────────

    def _read_in(self, folder: Path, reader: Callable[[str], Callable[[FileVersion, Path], T] | None]) -> dict[str, T]:
        """Return what *reader* makes of the files in *folder*, by name; what has not changed is not read again."""
        stats = self._files.disk.stats(folder)
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
            read = reader(name) if modes.S_ISREG(stats[name].mode) else None
            if read is None:
                seen[name] = stats[name]
                continue
            try:
                look = self._files.read_stable(folder / name)
            except (OSError, Busy):
                continue  # unreadable now: it is looked at again, and nothing is concluded from it but that it is not there
            if look:
                seen[name], values[name] = look.stat, read(look, folder / name)
        self._cache[folder] = _Folder(stats if seen == stats else seen, values)
        return values


_NOTHING: Final = _Folder({}, {})


def _file_of(name: str, *, original: bool) -> Callable[[FileVersion, Path], MemoryFile] | None:
    day = day_of_name(name)
    if day is None:
        return None

    def read(look: FileVersion, path: Path) -> MemoryFile:
        head, _ = read_head(look.data[:2_000].decode("utf-8-sig", "replace"), path)
        ours = head.get("kind") == "dated"
        try:
            created = from_wire(head.get("created", "")) if ours else None
        except ValueError:
            ours, created = False, None
        count = number_in(head, "count") or 0 if ours else 0
        return MemoryFile(
            name=name,
            digest=look.digest[:DIGEST],
            day=day,
            count=count,
            size=look.stat.size,
            ours=ours,
            original=original,
            created=created,
        )

    return read


def _standing_of(name: str) -> Callable[[FileVersion, Path], ExistingSummary] | None:
    period = period_of_name(name)
    if period is None:
        return None

    def read(look: FileVersion, path: Path) -> ExistingSummary:
        summary = parse_summary(look.data, period.label, path)
        return ExistingSummary(
            period=period,
            sources=frozenset(summary.sources),
            text=summary.text,
            extract=summary.extract,
            edited=bool(summary.kept),
            digest=look.digest[:DIGEST],
        )

    return read
