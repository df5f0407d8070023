"""A commit of the index, opened to be searched: whether its files are whole, what it holds, and whether that still stands."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from supervisor.index.catalogue import parse_catalogue
from supervisor.index.engine import Engine
from supervisor.index.fresh import Fresh
from supervisor.index.sums import refuse_spoiled
from supervisor.protocol.errors import BadFile

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.index.catalogue import Catalogue
    from supervisor.index.view import View
    from supervisor.protocol.disk import Disk, Stat


def open_commit(disk: Disk, commits: Path, stat: Stat, before: View) -> View:
    """
    Return what is searched once the last commit is opened, its list being *commits* as of *stat*; settings as *before*.

    BadFile where it can't be read.
    """
    folder = commits.parent
    refuse_spoiled(disk, folder, commits, stat)
    engine = Engine(str(folder), new=False)
    try:
        catalogue = parse_catalogue(engine.note())
    except ValueError:
        raise BadFile(folder, "its catalogue is none") from None
    return over(engine, catalogue, disk, commits, before)


def over(engine: Engine, catalogue: Catalogue, disk: Disk, commits: Path, before: View) -> View:
    """Return what is searched once *engine* has the last commit."""
    paths = (commits.parent / name for name in disk.names(commits.parent) if not name.startswith("."))
    found = {path: disk.stat(path) for path in paths if path != commits}
    segments = {path: stat for path, stat in found.items() if stat}
    return replace(
        before, engine=engine, catalogue=catalogue, fresh=Fresh(), commit=disk.stat(commits), segments=segments, is_ahead=False
    )


def refuse_cut_off(disk: Disk, view: View) -> None:
    """Raise BadFile where a file of the index is another in place than was opened: reading on could end the process."""
    for path, opened in view.segments.items():
        stat = disk.stat(path)
        # one that is gone was merged away, and is still there for who has it open
        if stat and stat.inode == opened.inode and stat != opened:
            raise BadFile(path, "it was cut off or written over")


def has_changed(disk: Disk, root: Path, view: View, path: str) -> bool:
    """Tell whether the file is another than the view knows."""
    try:
        stat = disk.stat(view.place(root, path))
    except OSError:
        return True  # its folder may not be looked into any more
    return stat is None or not view.catalogue.files[path].is_as(stat)
