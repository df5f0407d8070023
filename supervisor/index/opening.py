"""A commit of the index, opened to be searched: whether its files are whole, what it holds, and whether that still stands."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from supervisor.index.catalogue import parse_catalogue
from supervisor.index.engine import Engine
from supervisor.index.fresh import Fresh
from supervisor.index.sums import refuse_spoiled
from supervisor.protocol.errors import BadFile
from supervisor.protocol.json_text import parse_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from supervisor.index.catalogue import Catalogue
    from supervisor.index.view import View
    from supervisor.protocol.disk import Disk, Stat


def open_commit(disk: Disk, commits: Path, stat: Stat, before: View) -> View | None:
    """
    Return what is searched once the last commit is opened, its list being *commits* as of *stat*; settings as *before*.

    None where nothing has been committed yet: somebody is about to, or was killed before. BadFile where it can't be read.
    """
    parts = _parts(disk, commits)
    if parts is None:
        return None
    refuse_spoiled(disk, parts, stat)
    engine = Engine(str(commits.parent), new=False)
    try:
        catalogue = parse_catalogue(engine.note())
    except ValueError:
        raise BadFile(commits.parent, "its catalogue is none") from None
    # as of before the opening: where another commit or another file has come since, the next look sees that it is another
    return _over(engine, catalogue, parts, stat, before)


def made_commit(engine: Engine, catalogue: Catalogue, disk: Disk, commits: Path, before: View) -> View:
    """Return what is searched once *engine* has made a commit; BadFile where its list is gone already."""
    stat = disk.stat(commits)
    return _over(engine, catalogue, _parts(disk, commits) or {}, stat, before)


def _over(engine: Engine, catalogue: Catalogue, parts: Mapping[Path, Stat], commit: Stat | None, before: View) -> View:
    return replace(before, engine=engine, catalogue=catalogue, fresh=Fresh(), commit=commit, segments=parts, is_ahead=False)


def _parts(disk: Disk, commits: Path) -> dict[Path, Stat] | None:
    """
    Return the files of the last commit that are there, by its list; None where nothing has been committed.

    What another process is writing, to commit it next, is none of them.
    """
    try:
        named = [(one["segment_id"].replace("-", ""), one["deletes"]) for one in parse_json(disk.read(commits))["segments"]]
        deleted = {stem: f"{stem}.{deletes['opstamp']}.del" if deletes else "" for stem, deletes in named}
    except (ValueError, TypeError, KeyError, AttributeError, FileNotFoundError):
        raise BadFile(commits, "it is no list of a commit") from None

    def belongs(name: str) -> bool:
        stem = name.partition(".")[0]
        return stem in deleted and (not name.endswith(".del") or name == deleted[stem])

    found = disk.stats(commits.parent) if deleted else {}
    return {commits.parent / name: stat for name, stat in found.items() if belongs(name)} if deleted else None


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
