"""Copies a person's Markdown notes into memory, unchanged, where they are searched: `memory/notes/<name of the folder>/`."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Final, Literal

from ..protocol.message import digest_of_text
from ..protocol.paths import is_foreign, is_unfinished
from ..storage.disk import place_below
from ..storage.files import digest_of
from ..text.record import record
from ..workspace import Workspace
from .source import Source

#: Bytes of a note that is searched (docs/reference/protocol.md, 10.7).
MOST_BYTES: Final = 20_000_000


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


def copy_notes(ws: Workspace, source: Source, known: dict[str, str], *, dry_run: bool) -> Copied:
    """
    Copy the notes that are not there yet; NotImported for one that is no text.

    *known* has what was copied before, and grows: such a note follows its source until somebody changes or deletes it here.
    """
    folder = f"notes/{source.path.stem.lstrip('.') or 'imported'}"  # what is hidden is never read
    data_of: dict[str, bytes] = {}
    left_out, too_large = [*source.left_out], list[str]()
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
        elif len(data) > MOST_BYTES:
            too_large.append(name)
        else:
            data_of[name] = data
    done = {name: write_note(ws, places[name], name, data, known, dry_run=dry_run) for name, data in data_of.items()}
    return Copied(
        notes=len(names) + len(source.left_out),
        copied=sum(how == "new" for how in done.values()),
        different=tuple(name for name, how in done.items() if how == "different"),
        too_large=tuple(too_large),
        left_out=tuple(left_out),
        folder=ws.paths.memory / folder,
    )


def write_note(
    ws: Workspace, place: Path | None, name: str, data: bytes, known: dict[str, str], *, dry_run: bool = False
) -> Literal["new", "same", "different"]:
    """
    Write the note *name* of a source as it is there, and return whether it is new here.

    "different", and nothing is written, where somebody has changed or deleted what was written before, or no disk takes its
    name; one that was forgotten here does not come back.
    """
    if place is None:
        return "different"
    version, key, digest = ws.files.read_stable(place), digest_of_text(name), digest_of(data)
    if version and version.digest == digest:
        known[key] = digest
        return "same"
    if ws.journal.tombstones.has_file(ws.paths.relative(place), digest[:16]):
        return "same"
    if (version.digest if version else None) != known.get(key):
        return "different"
    if not dry_run:
        ws.files.make_folder(place.parent)
        ws.files.replace(place, data, version)
        known[key] = digest
    return "new"
