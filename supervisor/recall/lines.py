"""
Read exact lines of a memory file, by the path that a search or a citation gave.

Only files of memory are read, never through a link and never outside the workspace.
"""

from __future__ import annotations

import itertools
import stat
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from supervisor.index.hit import BY_ID
from supervisor.protocol.attachments import digest_in_name, kind_of
from supervisor.protocol.errors import BadRequest, NotFound
from supervisor.protocol.paths import day_of_name
from supervisor.text.decoding import decoded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from supervisor.protocol.files import Files
    from supervisor.protocol.paths import WorkspacePaths


@dataclass(frozen=True, slots=True)
class Lines:
    """
    *text* is lines *start* to *end* (1-based, inclusive) of the *total* that the file at *path* has.

    Of a citation with several stretches it is those alone.
    """

    path: str
    start: int
    end: int
    total: int
    text: str


def read_lines(
    path: str,
    start: int = 1,
    count: int | None = None,
    of_message: Callable[[str], str | None] = lambda _: None,
    *,
    files: Files,
    paths: WorkspacePaths,
    path_of: Callable[[str], Path],
) -> Lines:
    """
    Return *count* lines of a memory file from line *start* on, or as many as there are; without *count* all of them.

    Of a picture or a file of attachments/ one line says what it is and where: programs open it by its path.

    The old path of a dated file that has moved to originals/ still finds it: *path_of* returns where the file of a name is. The
    path may end with the lines of a citation, ``#L4-L6,L9``; "history.json#" and an id are the lines of the text that
    *of_message* returns for the id. BadRequest if it is not a memory file or has no such line, NotFound if the file does not
    exist.
    """
    if start < 1:
        raise BadRequest("--from", "lines count from 1")
    if count is not None and count < 1:
        raise BadRequest("--lines", f"{count} is not allowed, give 1 or more")
    if path.startswith(BY_ID):
        text = of_message(path.removeprefix(BY_ID))
        if text is None:
            raise NotFound(path)
        return _lines(path, text.split("\n"), [(start, None if count is None else start + count - 1)])
    bare, _, cited = path.partition("#")
    if cited:
        if (start, count) != (1, None):
            raise BadRequest("--from", f"#{cited} says already which lines")
        spans = _cited(cited)
    else:
        spans = [(start, None if count is None else start + count - 1)]
    place = _resolve(bare, files, paths, path_of)
    version = files.read_stable(place)
    if version is None:
        raise NotFound(bare)
    if digest_in_name(bare):
        return Lines(bare, 1, 1, 1, f"{kind_of(bare)}, {len(version.data):,} bytes: {place}")
    lines = decoded(version.data).split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return _lines(paths.relative(place), lines, spans)


def _lines(path: str, lines: Sequence[str], spans: Sequence[tuple[int, int | None]]) -> Lines:
    """Return the lines of these spans; the last one may end after the file, or (None) with it."""
    if spans[-1][0] > max(1, len(lines)):
        raise BadRequest("--from", f"{path} has {len(lines)} lines")
    chosen = [lines[start - 1 : end] for start, end in spans]
    return Lines(path, spans[0][0], spans[-1][0] - 1 + len(chosen[-1]), len(lines), "\n".join(itertools.chain(*chosen)))


def _cited(text: str) -> list[tuple[int, int | None]]:
    """Return the spans of "L4-L6,L9" or "L4", which follow one another."""
    spans: list[tuple[int, int | None]] = []
    before = 0
    for part in text.replace("L", "").split(","):
        first, _, last = part.partition("-")
        try:
            start, end = int(first), int(last or first)
        except ValueError:
            raise BadRequest("path", f"#{text} is no citation; it looks like #L4-L6,L9") from None
        if end < start:
            raise BadRequest("path", f"#{text} ends before it begins; it looks like #L4-L6,L9")
        if start <= before:
            raise BadRequest("path", f"#{text} goes back; it looks like #L4-L6,L9")
        spans.append((start, end))
        before = end
    return spans


def _resolve(path: str, files: Files, paths: WorkspacePaths, path_of: Callable[[str], Path]) -> Path:
    """Return the absolute path of a memory file; BadRequest for anything else."""
    parts = PurePosixPath(path).parts
    not_memory = BadRequest("path", f"{path!r} is no memory file; it looks like memory/2026-01-28-deploy.md")
    is_attachment = bool(digest_in_name(path))
    if not parts or path.startswith("/") or ".." in parts or "\0" in path or not (path.endswith(".md") or is_attachment):
        raise not_memory
    place = paths.root.joinpath(*parts)
    if not is_attachment and parts[0] != "memory" and parts not in {("memory.md",), ("MEMORY.md",)}:
        raise NotFound(path) if files.disk.stat(place) is None else not_memory
    if any(_is_link(files, paths.root.joinpath(*parts[:n])) for n in range(1, len(parts) + 1)):
        raise BadRequest("path", f"{path!r} leads through a link")
    if files.disk.stat(place) is None and day_of_name(parts[-1]):
        return path_of(parts[-1])
    return place


def _is_link(files: Files, path: Path) -> bool:
    found = files.disk.stat(path)
    return found is not None and stat.S_ISLNK(found.mode)
