"""
The ground that a workspace stands on: a disk of this machine, and folders that lie inside the workspace.

On a network file system a lock may hold on one machine and not on another, so that two programs write at once; behind a
link that leads outside, recalld would write where nobody expects it. Both are refused (docs/protocol.md, 5).
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from supervisor.protocol.errors import BadConfig

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.protocol.layout import Layout

#: File systems of other machines, and those of programs (FUSE), whose locks are whatever the program makes of them.
NETWORK: Final = frozenset(
    {"9p", "afs", "ceph", "cifs", "davfs", "fuse", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "smb3", "smbfs"}
)
_MOUNTS: Final = "/proc/self/mountinfo"
_OCTAL: Final = re.compile(r"\\([0-7]{3})")


def check_ground(layout: Layout, *, allow_network_fs: bool) -> None:
    """BadConfig where the workspace lies on a network file system (unless allowed), or a folder of it leads outside."""
    check_inside(layout)
    root = os.path.realpath(layout.root)
    kind = "" if allow_network_fs else file_system(root, _mounts())
    if kind in NETWORK or kind.startswith("fuse."):
        why = f"{layout.root} lies on {kind}, where locks may not hold; move it to a disk of this machine, or set this to true"
        raise BadConfig("care.allow_network_fs", why)


def check_inside(layout: Layout) -> None:
    """BadConfig where a folder that recalld writes to leads outside the workspace, as the files lie now."""
    root = os.path.realpath(layout.root)
    for folder in (*layout.folders, *_within(layout.originals)):
        place = os.path.realpath(folder)
        if place != root and not place.startswith(root + os.sep):
            name = layout.relative(folder)
            raise BadConfig(
                name, f"it leads to {place}, outside the workspace; make it a folder of its own, or move all of it there"
            )


def file_system(path: Path | str, mounts: str) -> str:
    """
    Return the kind of the file system that *path*, an absolute path without links, lies on; "" where it is not known.

    *mounts* is the text of /proc/self/mountinfo. A later mount hides an earlier one at the same place.
    """
    best, kind = "", ""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if len(fields) < 5 or not after:
            continue
        point = _OCTAL.sub(lambda found: chr(int(found[1], 8)), fields[4]).rstrip("/")
        if len(point) >= len(best) and f"{path}/".startswith(f"{point}/"):
            best, kind = point, after.split(" ")[0]
    return kind


def _within(folder: Path) -> list[Path]:
    try:
        return [folder / name for name in os.listdir(folder)]
    except OSError:
        return []


def _mounts() -> str:
    try:
        with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""  # no Linux: nothing is known, and nothing refused
