"""A restored backup: what was forgotten since it was made is taken out before its folder gets its name."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

from ..archive.journal import SeenJournal
from ..archive.tombstones import Tombstones
from ..protocol.paths import WorkspacePaths
from ..workspace import open_workspace
from .sweep import sweep

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ..storage.clock import Clock
    from ..storage.files import Files


def forget_in(folder: Path, known: Path, files: Files, environ: Mapping[str, str], clock: Clock) -> bool:
    """
    Take out of the unpacked *folder* what was forgotten in the workspace *known*.

    Return whether that is known at all: False where *known* is no workspace, or that of another memory.
    """
    theirs = Tombstones(files, WorkspacePaths(known))
    mine = Tombstones(files, WorkspacePaths(folder))
    if not files.disk.stat(WorkspacePaths(known).state) or not mine.is_of(theirs) or not _are_one(folder, known, files):
        return False
    if mine.merge(theirs):
        ws = open_workspace(folder, environ, clock)
        ws.prepare()
        ws.journal.refresh()
        sweep(ws, clock())
    return True


def _are_one(folder: Path, known: Path, files: Files) -> bool:
    """Return whether the folder holds no message, or one that *known* knows or has forgotten: it is a state of that memory."""
    mine, theirs = (SeenJournal(files, WorkspacePaths(root), UTC) for root in (folder, known))
    mine.refresh()
    theirs.refresh()
    there, keys = theirs.written.keys() | theirs.unwritten.keys(), mine.written.keys() | mine.unwritten.keys()
    return not keys or not keys.isdisjoint(there) or any(map(theirs.tombstones.has_key, keys))
