"""Exact lines of a memory file, by the path that a search or a citation gave (001, memory_get)."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from supervisor.index.chunking import decoded
from supervisor.protocol.errors import BadRequest, NotFound
from supervisor.protocol.paths import day_of_name

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Lines:
    """*text* is lines *start* to *end* (1-based, inclusive) of the *total* that the file at *path* has."""

    path: str
    start: int
    end: int
    total: int
    text: str


def get(ws: Workspace, path: str, start: int = 1, count: int | None = None) -> Lines:
    """
    Return *count* lines from *start* on, as far as the file goes; all from there on without *count*.

    A dated file that has moved to originals/ is found under its old path too, and a citation's ``#L4-L6`` behind the path says
    which lines. BadRequest for what is no memory file or no line, NotFound where there is none.
    """
    bare, _, cited = path.partition("#")
    if cited:
        if (start, count) != (1, None):
            raise BadRequest("--from", f"#{cited} says already which lines")
        start, count = _cited(cited)
    if start < 1 or (count is not None and count < 1):
        raise BadRequest("--from", "lines count from 1")
    place = _place(ws, bare)
    look = ws.files.read_stable(place)
    if look is None:
        raise NotFound(bare)
    lines = decoded(look.data).split("\n")
    if lines and not lines[-1]:
        lines.pop()
    if start > max(1, len(lines)):
        raise BadRequest("--from", f"{bare} has {len(lines)} lines")
    chosen = lines[start - 1 :] if count is None else lines[start - 1 : start - 1 + count]
    return Lines(ws.paths.relative(place), start, start - 1 + len(chosen), len(lines), "\n".join(chosen))


def _cited(text: str) -> tuple[int, int]:
    """Return start and count of "L4-L6" or "L4"."""
    first, _, last = text.replace("L", "").partition("-")
    try:
        start, end = int(first), int(last or first)
    except ValueError:
        raise BadRequest("path", f"#{text} is no citation; it looks like #L4-L6") from None
    if end < start:
        raise BadRequest("path", f"#{text} ends before it begins; it looks like #L4-L6")
    return start, end - start + 1


def _place(ws: Workspace, path: str) -> Path:
    """Return where the file lies; only memory is read, and nothing outside the workspace."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\0" in path or not path.endswith(".md"):
        raise BadRequest("path", f"{path!r} is no memory file; it looks like memory/2026-01-28-deploy.md")
    if parts[0] != "memory" and path not in {"memory.md", "MEMORY.md"}:
        if ws.files.disk.stat(ws.paths.root.joinpath(*parts)) is None:
            raise NotFound(path)
        raise BadRequest("path", f"{path!r} is no memory file; it looks like memory/2026-01-28-deploy.md")
    place = ws.paths.root.joinpath(*parts)
    if any(_is_link(ws, ws.paths.root.joinpath(*parts[:n])) for n in range(1, len(parts) + 1)):
        raise BadRequest("path", f"{path!r} leads through a link")
    if ws.files.disk.stat(place) is None and day_of_name(parts[-1]):
        return ws.memory.path_of(parts[-1])
    return place


def _is_link(ws: Workspace, path: Path) -> bool:

    found = ws.files.disk.stat(path)
    return found is not None and stat.S_ISLNK(found.mode)
