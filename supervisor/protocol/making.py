"""Makes the folder of a workspace, and tells whether somebody has made it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from ..storage.disk import RealDisk
from ..storage.errors import BadRequest, NoWorkspace
from ..storage.files import Files
from ..storage.texts import Text
from .config import load, render_default
from .paths import WorkspacePaths, check_filesystem

if TYPE_CHECKING:
    from ..text.language import Language


def is_made(root: Path) -> bool:
    """Return whether somebody has made a workspace at *root*."""
    return any(map(RealDisk().stat, WorkspacePaths(root).made_with))


def check_made(root: Path) -> None:
    """Raise NoWorkspace where nobody has made a workspace: under the mount point of its disk a second memory would begin."""
    if not is_made(root):
        raise NoWorkspace(root)


def check_folder(root: Path, field: str = "--workspace") -> None:
    """Raise BadRequest where *root*, which *field* has given, is no folder; it says how to make one."""
    if root.is_dir():
        return
    if root.exists():
        raise BadRequest(field, Text("{root} is a file, not a folder", root=root))
    raise BadRequest(
        field, Text("{root} is not there; make it with `recalld init -w {same}`", root=root, same=quote(str(root)))
    )


def make_workspace(root: Path, environ: Mapping[str, str], language: Language = "en") -> bool:
    """
    Create what a workspace at *root* lacks and change nothing that exists; return whether it had no configuration.

    The machine's time zone is written into the configuration, so that days stay the same wherever the folder is moved.
    BadConfig, and nothing is created, where the workspace could not be opened afterwards.
    """
    from ..storage.clock import machine_zone

    files, paths = Files(RealDisk()), WorkspacePaths(root)
    if root.exists():
        check_folder(root)
    written = files.read_stable(paths.config)
    config = load(written.data if written else None, environ)
    check_filesystem(paths, allow_network_fs=config.care.allow_network_fs)
    files.make_folder(root)
    if written is None:
        zone = config.archive.timezone if "RECALLD_ARCHIVE_TIMEZONE" in environ else machine_zone()
        files.create(paths.config, render_default(zone, language).encode())
    if not any(files.disk.stat(path) for path in (paths.history, paths.history_backup, paths.seen)):
        files.create(paths.history, b"[]\n")
    files.make_folder(root / "prompts")
    return written is None
