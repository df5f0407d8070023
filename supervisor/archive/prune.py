"""
Pruning: dated files that a standing summary covers go to `trash/`, where they can be brought back for `care.trash_days`.

Only what a model summed up is covered for this: an extract quotes some of the words, and stands for none of the
others. The journal knows what was pruned, so that it is no loss. Source: docs/reference/protocol.md, 3.18.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta

from ..protocol.paths import Period, WorkspacePaths
from ..storage.control import note
from ..storage.files import Files
from ..storage.keeping import ReplacedTexts, move_across
from ..text.foreign_text import parts_of
from .coverage import ExistingSummary, MemoryFile
from .journal import SeenJournal


def old_files(files: Iterable[MemoryFile], today: date, days: int) -> tuple[MemoryFile, ...]:
    """Return the dated files of days more than so many *days* ago."""
    return tuple(file for file in files if file.day < today - timedelta(days=days))


def prunable(files: Iterable[MemoryFile], summaries: Mapping[Period, ExistingSummary]) -> tuple[MemoryFile, ...]:
    """Return the files in originals/ that a standing summary of a model covers as they are now."""
    named = {
        source
        for summary in summaries.values()
        if not (summary.waits or summary.extract or summary.refused)
        for source in summary.sources
    }
    return tuple(file for file in files if file.original and file.ours and not file.broken and file.source in named)


class Trash:
    """The pruned files of one workspace."""

    def __init__(self, files: Files, paths: WorkspacePaths, journal: SeenJournal) -> None:
        self._files, self._paths, self._journal = files, paths, journal

    def prune(self, names: Sequence[str]) -> None:
        """Move these files of originals/ to the trash; the journal says so before the first one is moved."""
        if not names:
            return
        self._journal.record_pruned(names)
        self._files.make_folder(self._paths.trash, lasting=True)
        for name in names:
            move_across(self._files, self._paths.original(name), self._paths.trash / name)
            self._files.disk.touch(self._paths.trash / name)  # its age here is that of the pruning
        note("pruned", files=list(names), count=len(names))

    def bring_back(self, names: Sequence[str]) -> bool:
        """Move these files back to originals/; False, and nothing is moved, where one is gone or its place is taken."""
        places = {self._paths.trash / name: self._paths.original(name) for name in names}
        is_kept = all(parts_of(name, from_here=True) == (name,) for name in names)
        if not is_kept or any(self._files.disk.stat(old) is None or self._files.disk.stat(new) for old, new in places.items()):
            return False
        for old, new in places.items():
            self._files.make_folder(new.parent, lasting=True)
            move_across(self._files, old, new)
        self._journal.record_pruned(names, back=True)
        return True

    def empty(self, now: datetime, days: int) -> int:
        """Delete what has been in the trash for so many days; return how many files."""
        return ReplacedTexts(self._files, self._paths.trash).drop(now, timedelta(days=days), sys.maxsize)
