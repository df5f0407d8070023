"""Whether files have changed since the last look, by their stats: the poll that is the truth where file events are hints."""

from __future__ import annotations

import stat as modes
from typing import TYPE_CHECKING, TypeAlias

from supervisor.protocol.layout import is_foreign

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from supervisor.protocol.disk import Disk, Stat
    from supervisor.protocol.layout import Layout
    from supervisor.protocol.spool import Spool

Signature: TypeAlias = "tuple[tuple[Path, Stat | None], ...]"


class Look:
    """What the files of a workspace looked like when they were last looked at; the first look finds that all has changed."""

    def __init__(self, disk: Disk, layout: Layout, spool: Spool) -> None:
        self._disk = disk
        self._layout = layout
        self._near = (layout.history, layout.drop_box, spool.results)
        self._near_before: Signature = ()
        self._tree_before: Signature = ()

    def near_changed(self) -> bool:
        """Tell whether the history, the drop-box or the results have changed: a few stats."""
        before, self._near_before = self._near_before, tuple((path, self._disk.stat(path)) for path in self._near)
        return before != self._near_before

    def tree_changed(self) -> bool:
        """Tell whether any file of memory has changed, came or went: a stat for each."""
        before, self._tree_before = self._tree_before, tuple(self._memory())
        return before != self._tree_before

    def _memory(self) -> Iterator[tuple[Path, Stat | None]]:
        """Yield the long-term files, and every Markdown file and folder below memory/."""
        long_term = (self._layout.root / "memory.md", self._layout.root / "MEMORY.md")
        yield from ((path, self._disk.stat(path)) for path in long_term)
        folders = [self._layout.memory]
        while folders:
            folder = folders.pop()
            for name in self._disk.names(folder):
                if is_foreign(name):
                    continue
                path, found = folder / name, self._disk.stat(folder / name)
                if name.endswith(".md"):
                    yield path, found
                elif found and modes.S_ISDIR(found.mode):
                    yield path, found
                    folders.append(path)
