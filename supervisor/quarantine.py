"""
`.recalld/quarantine/`: a copy of what could not be read, before anything is done about it.

A copy is named by its content, `history.json.<12 hex digits>`, so that what is met again and again is kept once; and of each
kind there are a few at most, so that a fault that never ends can't fill the disk (H31).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from supervisor.protocol.files import digest_of

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.protocol.files import Files

#: Whether there is a copy now: of this call, of an earlier one, or none, since there are as many as there may be.
Kept: TypeAlias = Literal["new", "known", "full"]


class Quarantine:
    """The copies in *folder*, at most *limit* of one kind."""

    def __init__(self, files: Files, folder: Path, limit: int) -> None:
        self._files = files
        self._folder = folder
        self._limit = limit

    def keep(self, kind: str, data: bytes, times: int = 1) -> Kept:
        """Keep a copy of *data*, durably, with up to *times* as many of this kind."""
        self._files.make_folder(self._folder, lasting=True)
        path = self._folder / f"{kind}.{digest_of(data)[:12]}"
        names = [name for name in self._files.disk.names(self._folder) if name.startswith(f"{kind}.")]
        if path.name in names:
            self._files.settle(path)
            return "known"
        if len(names) >= self._limit * times:
            return "full"
        self._files.create(path, data)
        return "new"
