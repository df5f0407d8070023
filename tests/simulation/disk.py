"""
The disk of a simulated life: the model that forgets what was not synced, with an index that lies on this machine.

tantivy writes for itself, so `.recalld/index/` is a real folder; it can be deleted or lag behind at any moment, and that is
promised. Times come from the simulated clock. *refuse* lets calls fail while the disk is full, broken or forbidden.
"""

import os
import shutil
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from recalld.supervisor.storage.disk import RealDisk, Stat
from tests.crash.model_disk import ModelDisk
from tests.crash.state import State

_INDEX = ".recalld/index"


class SimulatedDisk(ModelDisk):
    """The calls; *now_ns* tells the simulated time."""

    def __init__(self, root: Path, now_ns: Callable[[], int], state: State | None = None) -> None:
        super().__init__(state, root=root)
        self._now_ns = now_ns
        self._ticks = 0
        self._index = f"{root}/{_INDEX}"
        self._real = RealDisk()
        self._stats: dict[str, dict[str, Stat]] = {}
        few: Any = deque(maxlen=64)
        self.log = few

    def changed(self) -> None:
        super().changed()
        self._stats.clear()

    def tick(self) -> int:
        self._ticks += 1
        return self._now_ns() + self._ticks % 1_000_000

    # ── the index, which is real ─────────────────────────────────────────────

    def _is_real(self, path: Path | str) -> bool:
        return str(path).startswith(self._index)

    def stat(self, path: Path | str) -> Stat | None:
        if self._is_real(path):
            return self._real.stat(path)
        folder, _, name = str(path)[len(self._prefix) + 1 :].rpartition("/")
        return self._stats_in(folder).get(name) if name and folder in self.live else super().stat(path)

    def names(self, folder: Path) -> list[str]:
        return self._real.names(folder) if self._is_real(folder) else super().names(folder)

    def stats(self, folder: Path) -> dict[str, Stat]:
        if self._is_real(folder):
            return self._real.stats(folder)
        self.names(folder)
        return self._stats_in(self.key(folder))

    def _stats_in(self, folder: str) -> dict[str, Stat]:
        """Return what lies in the folder, made anew only where that has changed: it is asked for a thousand times a day."""
        self.alive()
        found = self._stats.get(folder)
        if found is None:
            found = self._stats[folder] = super().stats(self.root / folder)
        return found

    def read(self, path: Path, offset: int = 0, most: int = -1) -> bytes:
        return self._real.read(path, offset, most) if self._is_real(path) else super().read(path, offset, most)

    def unlink(self, path: Path) -> None:
        (self._real if self._is_real(path) else super()).unlink(path)

    def mkdir(self, folder: Path) -> None:
        if self._is_real(folder):
            os.makedirs(folder, exist_ok=True)
        else:
            super().mkdir(folder)

    def sync_folder(self, folder: Path) -> None:
        if not self._is_real(folder):
            super().sync_folder(folder)

    # ── what people do ───────────────────────────────────────────────────────

    def remove_tree(self, folder: str) -> None:
        """Take a folder away with all that is in it, at once and durably."""
        for names in (self.live, self.settled):
            for known in [name for name in names if name == folder or name.startswith(f"{folder}/")]:
                del names[known]
        self.pending = [change for change in self.pending if f"{change.folder}/".startswith(f"{folder}/") is False]
        self.remove(folder)
        if _INDEX.startswith(folder):
            shutil.rmtree(self._index, ignore_errors=True)

    # ── what the judge looks at ──────────────────────────────────────────────

    def bytes_of(self, path: str) -> bytes | None:
        """Return the bytes of the file, None where there is none."""
        number = self.number_of(path)
        return None if number is None else self.inodes[number].data

    def is_cursed(self, path: str) -> bool:
        """Tell whether a sync of the file failed: what was written to it may be lost, whatever is synced later."""
        number = self.number_of(path)
        return number is not None and self.inodes[number].cursed

    def number_of(self, path: str) -> int | None:
        """Return which file has this name now, by its inode; None where there is none."""
        folder, _, name = path.rpartition("/")
        return self.live.get(folder, {}).get(name)

    def has(self, path: str) -> bool:
        return self.number_of(path) is not None
