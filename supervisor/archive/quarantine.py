"""
Copies of everything that could not be read, in `.recalld/quarantine/` (docs/reference/protocol.md, 5).

Nothing that is damaged is overwritten or skipped for good before there is a copy of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from ..storage.by_content import keep_by_content
from ..storage.files import digest_of

if TYPE_CHECKING:
    from pathlib import Path

    from ..storage.files import Files

#: Whether the quarantine has a copy: a new one, an earlier one, or none because it holds as many as it may.
Kept: TypeAlias = Literal["new", "known", "full"]


class Quarantine:
    """
    The copies in *folder*, at most *limit* of one kind, so that a fault that never ends can't fill the disk.

    A copy is named by its content, `history.json.<12 hex digits>`, so that the same bytes are kept once.
    """

    def __init__(self, files: Files, folder: Path, limit: int) -> None:
        self._files = files
        self._folder = folder
        self._limit = limit

    @staticmethod
    def name_of(kind: str, data: bytes) -> str:
        """Return the name of a copy of *data*."""
        return f"{kind}.{digest_of(data)[:12]}"

    def keep(self, kind: str, data: bytes, times: int = 1) -> Kept:
        """Keep a copy of *data*, durably; of this kind there may be *times* the limit."""
        self._files.make_folder(self._folder, lasting=True)
        path = self._folder / self.name_of(kind, data)
        names = [name for name in self._files.disk.names(self._folder) if name.startswith(f"{kind}.")]
        if path.name not in names and len(names) >= self._limit * times:
            return "full"
        return "new" if keep_by_content(self._files, path, data) else "known"
