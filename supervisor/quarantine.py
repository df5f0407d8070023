"""
`.recalld/quarantine/`: a copy of what could not be read, before anything is done about it.

A copy is named by its content, `history.json.<12 hex digits>`, so that what is met again and again is kept once; and of each
kind there are a few at most, so that a fault that never ends can't fill the disk (H31).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.protocol.files import digest_of

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.protocol.files import Files


class Quarantine:
    """The copies in *folder*, at most *limit* of one kind."""

    def __init__(self, files: Files, folder: Path, limit: int) -> None:
        self._files = files
        self._folder = folder
        self._limit = limit

    def keep(self, kind: str, data: bytes, times: int = 1) -> bool:
        """Keep a copy of *data*, durably, with up to *times* as many of this kind; tell whether it is a new one."""
        self._files.make_folder(self._folder, lasting=True)
        path = self._path(kind, data)
        names = [name for name in self._files.disk.names(self._folder) if name.startswith(f"{kind}.")]
        if path.name in names:
            self._files.settle(path)
            return False
        if len(names) >= self._limit * times:
            return False
        self._files.create(path, data)
        return True

    def holds(self, kind: str, data: bytes) -> bool:
        """Tell whether there is a copy of *data*."""
        return self._files.disk.stat(self._path(kind, data)) is not None

    def _path(self, kind: str, data: bytes) -> Path:
        return self._folder / f"{kind}.{digest_of(data)[:12]}"
