"""Which workspaces are directly below the root of a fleet, and which folders are none that it can look after."""

from __future__ import annotations

import contextlib
import os
from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

from recalld.supervisor.protocol.paths import WorkspacePaths
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.errors import why_refused
from recalld.supervisor.text.record import record

if TYPE_CHECKING:
    from pathlib import Path

#: Device and inode of a folder: two names for one folder have the same.
Folder: TypeAlias = "tuple[int, int]"


@record
class Found:
    """The names of the workspaces by their folders, and why others were refused, by their names."""

    names: dict[Folder, str] = field(default_factory=dict)
    refused: dict[str, Text] = field(default_factory=dict)


class Listing:
    """The folders directly below *root*; one that was a workspace is not looked into again."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: dict[Folder, str] = {}
        #: The folders that are no workspaces yet.
        self._others: list[Path] = []

    def look(self) -> Found:
        """Return what is there now; OSError if the root can't be read."""
        found, self._others = Found(), []
        with os.scandir(self._root) as entries:
            for entry in sorted(entries, key=lambda one: one.name):
                if not entry.name.startswith("."):
                    self._take(entry, found)
        self._known = found.names
        return found

    def has_grown(self) -> bool:
        """Return whether a folder has become a workspace: what is written into it leaves the root as it is."""
        with contextlib.suppress(OSError):
            return any(map(_is_made, self._others))
        return True

    def _take(self, entry: os.DirEntry[str], found: Found) -> None:
        try:
            if entry.is_symlink():
                if entry.is_dir():
                    found.refused[entry.name] = Text("fleet.link")
                return
            if not entry.is_dir():
                return
            stat = entry.stat(follow_symlinks=False)
            folder = (stat.st_dev, stat.st_ino)
            if self._known.get(folder) != entry.name and not _is_made(self._root / entry.name):
                self._others.append(self._root / entry.name)
                return
        except OSError as error:
            found.refused[entry.name] = Text("fleet.unreadable", why=why_refused(error))
            return
        if folder in found.names:
            found.refused[entry.name] = Text("fleet.second_name", name=found.names[folder])
        else:
            found.names[folder] = entry.name


def _is_made(root: Path) -> bool:
    return any(map(RealDisk().stat, WorkspacePaths(root).made_with))
