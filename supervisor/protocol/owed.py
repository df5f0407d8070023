"""
What is still owed to the disk: which bytes and names are known to be durable, so that no fsync is made twice.

Bytes are known by the version that was synced, names by the inode they lead to. What another process made is taken for owed:
that process may have been killed before its fsync (docs/protocol.md, 5).
"""

from __future__ import annotations

import stat as modes
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.protocol.disk import Disk, Stat


class Owed:
    """What one process knows of this *disk*; each method may raise OSError, and then nothing more is known."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._bytes: dict[Path, Stat] = {}
        self._names: dict[Path, int] = {}

    def settle(self, path: Path) -> None:
        """Make durable that *path* stands as it does, bytes and name; nothing happens where there is none."""
        stat = self._disk.stat(path)
        if stat and modes.S_ISREG(stat.mode) and self._bytes.get(path) != stat:
            with suppress(FileNotFoundError):
                self.settle_bytes(path, stat)
            self._names.pop(path, None)  # it may be another file that was given the same inode
        self.settle_name(path)

    def settle_bytes(self, path: Path, stat: Stat) -> None:
        """Make the bytes of the version *stat* durable."""
        if self._bytes.get(path) != stat:
            self._disk.sync_file(path)
            self._bytes[path] = stat

    def settle_name(self, path: Path) -> None:
        """Make durable that there is such a file or folder."""
        stat = self._disk.stat(path)
        if stat and self._names.get(path) != stat.inode:
            self._disk.sync_folder(path.parent)
            self._names[path] = stat.inode

    def paid(self, path: Path, stat: Stat) -> None:
        """Note that the bytes of the version *stat* are durable: we have synced them ourselves."""
        self._bytes[path] = stat

    def forget(self, path: Path) -> None:
        """Note that the name is free: what gets it next owes everything."""
        self._bytes.pop(path, None)
        self._names.pop(path, None)
