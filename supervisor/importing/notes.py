"""Copies a person's Markdown notes into memory, unchanged, where they are searched: `memory/notes/<name of the folder>/`."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from ..protocol.paths import is_foreign, is_unfinished
from ..storage.foreign_name import place_below
from ..text.record import record

if TYPE_CHECKING:
    from pathlib import Path

    from ..workspace import Workspace
    from .source import Source

#: Bytes of a note that is searched (docs/reference/protocol.md, 10.7).
_MOST_BYTES: Final = 20_000_000


@record(kw_only=True)
class Copied:
    """
    How many notes there are, and how many of them were *copied*; the others are there already, but for two kinds.

    *different* ones have the name of a note that is there with other words, *too_large* ones can't be searched. *left_out* are
    no notes: links, and names that lead elsewhere, or where a note has the name of a folder.
    """

    notes: int
    copied: int
    different: tuple[str, ...]
    too_large: tuple[str, ...]
    left_out: tuple[str, ...]
    folder: Path


def notes_of(source: Source) -> list[str]:
    """Return the members that are notes: Markdown in UTF-8, with no part of its path hidden."""
    parts = {name: PurePosixPath(name).parts for name in source.named("*.md")}
    return [name for name, of in parts.items() if not any(part.startswith(".") or is_unfinished(part) for part in of)]


def copy_notes(ws: Workspace, source: Source, *, dry_run: bool) -> Copied:
    """Copy the notes that are not there yet; a note is never overwritten. NotImported for one that is no text."""
    folder = f"notes/{source.path.stem.lstrip('.') or 'imported'}"  # what is hidden is never read
    new: list[tuple[Path, bytes]] = []
    different: list[str] = []
    too_large: list[str] = []
    left_out = [*source.left_out]
    names = notes_of(source)
    places = {name: place_below(ws.paths.memory, f"{folder}/{name}", from_here=True) for name in names}
    taken = {*places.values()}
    for name, place in places.items():
        data = source.read(name)
        try:
            data.decode()
        except UnicodeDecodeError:
            raise source.no_utf8(name) from None
        if place is None or is_foreign(name) or any(above in taken or above.is_file() for above in place.parents):
            left_out.append(name)
        elif len(data) > _MOST_BYTES:
            too_large.append(name)
        elif (version := ws.files.read_stable(place)) is None:
            new.append((place, data))
        elif version.data != data:
            different.append(name)
    for place, data in () if dry_run else new:
        ws.files.make_folder(place.parent)
        ws.files.create(place, data)
    return Copied(
        notes=len(names) + len(source.left_out),
        copied=len(new),
        different=tuple(different),
        too_large=tuple(too_large),
        left_out=tuple(left_out),
        folder=ws.paths.memory / folder,
    )
