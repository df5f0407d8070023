"""
Moves between folders of a workspace of which one may be a file system of its own, such as `memory/`.

A rename between file systems fails, so the file is copied, and then deleted: its bytes are durable in the new place before the
old one goes, and a crash leaves the old one, or both.
"""

from __future__ import annotations

import errno
import stat as modes
from pathlib import Path

from .disk import Disk
from .errors import Conflict
from .files import Files


def move_across(files: Files, old: Path, new: Path) -> None:
    """
    Move a file or a folder, durably; FileExistsError when the new name is taken.

    Between file systems: Conflict when a file is changed meanwhile, which then stays; OSError (EXDEV), before anything is
    moved, for what is neither a file nor a folder of files.
    """
    try:
        files.move(old, new)
    except OSError as error:
        if error.errno != errno.EXDEV or not _is_plain(files.disk, old):
            raise
        _copy_and_delete(files, old, new)


def _copy_and_delete(files: Files, old: Path, new: Path) -> None:
    stat = files.disk.stat(old)
    if stat and modes.S_ISDIR(stat.mode):
        files.disk.mkdir(new)
        for name in files.disk.names(old):
            _copy_and_delete(files, old / name, new / name)
        files.disk.sync_folder(new.parent)
        files.disk.rmdir(old)
    elif version := files.read_stable(old):
        files.create_from(new, (version.data,))
        files.disk.touch(new, version.stat.mtime_ns)
        if files.read_stable(old) != version:  # subtle: nothing may come between this check and the deletion
            files.remove(new)
            raise Conflict(old)
        files.disk.unlink(old)


def _is_plain(disk: Disk, path: Path) -> bool:
    """True if it is a file, or a folder with nothing but files and folders in it, at any depth."""
    stat = disk.stat(path)
    if stat and modes.S_ISDIR(stat.mode):
        return all(_is_plain(disk, path / name) for name in disk.names(path))
    return stat is not None and modes.S_ISREG(stat.mode)
