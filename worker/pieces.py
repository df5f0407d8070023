"""
Finished pieces of a summary that is not finished: `.recalld/pieces/<group>.<digest>.md`, each made once.

A piece is found by what was asked for it, so that a killed or doubled worker, and the next attempt, pay for none of them again
(protocol.md, 6). They go when their task is done; what a crash leaves is bounded, and may be deleted at any moment.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from supervisor.protocol.period import period_of_group

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.protocol.files import Files
    from supervisor.protocol.layout import Layout

#: Pieces that are kept at most, of all groups together; the oldest go first.
MOST: Final = 512
_DIGITS: Final = 24


class Pieces:
    """The pieces of one group."""

    def __init__(self, files: Files, layout: Layout, group: str) -> None:
        if period_of_group(group) is None:
            raise ValueError(f"{group!r} is no group")
        self._files = files
        self._folder = layout.pieces
        self._group = group

    def find(self, asked: str) -> str | None:
        """Return what was answered to *asked* before, None when nothing was."""
        look = self._files.look(self._path(asked))
        return look.data.decode("utf-8", "replace") if look else None

    def keep(self, asked: str, answer: str) -> None:
        """Keep the answer. A disk that can't costs a piece on the next try, not the work at hand."""
        with suppress(OSError):  # FileExistsError among them: another worker was faster
            self._files.make_folder(self._folder)
            self._make_room()
            self._files.create(self._path(asked), answer.encode("utf-8", "replace"))

    def clear(self) -> None:
        """Delete the group's pieces, and what a crash left of them: its summary is done."""
        with suppress(OSError):
            for name in self._files.disk.names(self._folder):
                if name.removeprefix(".").startswith(f"{self._group}."):
                    self._files.remove(self._folder / name)

    def _make_room(self) -> None:
        names = self._files.disk.names(self._folder)
        if len(names) < MOST:
            return
        stats = {name: self._files.disk.stat(self._folder / name) for name in names}
        oldest = sorted((stat.mtime_ns, name) for name, stat in stats.items() if stat)
        for _, name in oldest[: len(names) - MOST + 1]:
            self._files.remove(self._folder / name)

    def _path(self, asked: str) -> Path:
        digest = hashlib.sha256(asked.encode("utf-8", "replace")).hexdigest()[:_DIGITS]
        return self._folder / f"{self._group}.{digest}.md"
