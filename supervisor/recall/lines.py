"""
Read exact lines of a memory file, by the path that a search or a citation gave.

Only files of memory are read, never through a link and never outside the workspace. Lines that the audience may not see do not
exist for it: the others are numbered without them, and a file without any visible line is not found. Which files a group may
see is decided before a file is looked for, so that neither an error nor the time reveals the others (docs/decisions/0115).
"""

from __future__ import annotations

import contextlib
import itertools
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from ..index.hit import BY_ID, Passage
from ..protocol.paths import LONG_TERM, WorkspacePaths, day_of_name, is_foreign
from ..storage.errors import BadRequest, NotFound
from ..storage.files import Files
from ..storage.texts import Text
from ..text.foreign_text import decoded, parts_of
from ..text.lazy_re import lazy_re
from .audience import ALONE, Audience

if TYPE_CHECKING:
    from ..archive.journal import SeenJournal
    from ..archive.memory_folder import MemoryFolder
    from .unfiled import Unfiled
    from .visible import Parts

_SPAN: Final = lazy_re(r"L?(\d{1,9})(?:-L?(\d{1,9}))?")


@dataclass(frozen=True, slots=True)
class Lines:
    """
    *text* is lines *start* to *end* (1-based, inclusive) of the *total* that the file at *path* has.

    For a citation with several spans *text* has only these.
    """

    path: str
    start: int
    end: int
    total: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LineReader:
    """Reads lines of the memory of one workspace; each store is opened when it is first needed."""

    files: Files
    paths: WorkspacePaths
    zone: tzinfo
    memory: Callable[[], MemoryFolder]
    journal: Callable[[], SeenJournal]
    unfiled: Callable[[], Unfiled]
    parts: Callable[[], Parts]

    def read(self, path: str, now: datetime, start: int = 1, count: int | None = None, audience: Audience = ALONE) -> Lines:
        """
        Return *count* lines of a memory file from line *start* on, or as many as there are; without *count* all of them.

        The old path of a dated file that has moved to originals/ still finds it. The path may end with the lines of a citation,
        ``#L4-L6,L9``; "history.json#" and an id give the lines of the text that the message has *now*. A group gets messages of
        dated files only by id. BadRequest if the path is not that of a memory file or has no such line, NotFound if the file
        does not exist, or has nothing that *audience* may see.
        """
        if start < 1:
            raise BadRequest("from", Text("lines count from 1"))
        if count is not None and count < 1:
            raise BadRequest(
                "lines", Text("{value} is not allowed, give {allowed}", value=count, allowed=Text("{least} or more", least=1))
            )
        spans = [(start, None if count is None else start + count - 1)]
        if path.startswith(BY_ID):
            return _lines(path, self._text_by_id(path, now, audience), spans)
        bare, _, cited = path.partition("#")
        if cited:
            if (start, count) != (1, None):
                raise BadRequest("from", Text("#{cited} says already which lines", cited=cited))
            spans = _cited(cited)
        place = self._resolve(bare) if audience.sees_all else self._resolve_seen(bare, now, audience)
        version = self.files.read_shown(place)
        if version is None:
            raise NotFound(bare)
        lines = decoded(version.data).split("\n")
        if lines and not lines[-1]:
            lines.pop()
        if not audience.sees_all:
            lines = [lines[n - 1] for n in self.visible(self.paths.relative(place), lines, audience)]
            if not lines:
                raise NotFound(bare)
        return _lines(self.paths.relative(place), lines, spans)

    def visible(self, path: str, lines: Sequence[str], audience: Audience) -> list[int]:
        """Return the numbers of those of the *lines* of the file at *path* that *audience*, a group, may see, in order."""
        data = "\n".join(lines).encode("utf-8", "surrogatepass")
        passages = self._passages(self.paths.root / path, data)
        shown = (part for passage in passages for part in audience.seen_of(passage))
        return sorted({n for passage in shown for n in range(passage.start, passage.end + 1)})

    def _passages(self, place: Path, data: bytes) -> Iterator[Passage]:
        """Yield the passages of a file as the index has them; none if no search reads the file."""
        from ..index.documents import chunk_data  # here: a direct chat needs neither
        from ..index.manifest import kind_and_day

        if not is_foreign(place.name):
            kind, day = kind_and_day(self.files, self.paths, place, data)
            chunks = chunk_data(data, self.paths, self.paths.relative(place), kind, day, self.zone)
            yield from (chunk.passage for chunk in chunks)

    def _text_by_id(self, path: str, now: datetime, audience: Audience) -> list[str]:
        from ..index.chunking import chunk_message

        identity = path.removeprefix(BY_ID)
        names = {identity, unquote(identity, errors="surrogatepass")}
        if audience.sees_all or any(seen.message in names for seen in self.parts().seen_by(audience, now) if seen.message):
            for block in self.unfiled().blocks_of(identity, now, self.journal(), self.memory()):
                if audience.may_see(chunk_message(BY_ID, block, self.zone).passage):
                    return block.shown.split("\n")
        raise NotFound(path)

    def _resolve_seen(self, path: str, now: datetime, audience: Audience) -> Path:
        """Return the absolute path of a file of which *audience*, a group, may see something; NotFound for any other."""
        parts = _parts_of(path)
        if parts[0] != "memory" and "/".join(parts) not in LONG_TERM:
            raise _no_memory(path)
        seen = self.parts().seen_by(audience, now)
        is_seen = any(passage.path == "/".join(parts) and not passage.message for passage in seen)
        with contextlib.suppress(BadRequest):  # a link or a folder has just come in its place
            if is_seen:
                return self._resolve(path)
        raise NotFound(path)

    def _resolve(self, path: str) -> Path:
        parts = _parts_of(path)
        place = self.paths.root.joinpath(*parts)
        if parts[0] != "memory" and "/".join(parts) not in LONG_TERM:
            raise NotFound(path) if self.files.disk.stat(place) is None else _no_memory(path)
        stats = (self.files.disk.stat(self.paths.root.joinpath(*parts[:n])) for n in range(1, len(parts) + 1))
        if any(status and stat.S_ISLNK(status.mode) for status in stats):
            raise BadRequest("path", Text("{path!r} leads through a link", path=path))
        status = self.files.disk.stat(place)
        if status and stat.S_ISDIR(status.mode):
            raise BadRequest("path", Text("{path!r} is a folder; give the name of a file in it", path=path))
        if status is None and day_of_name(parts[-1]):
            return self.memory().path_of(parts[-1])  # memory/ is read only for a file that has moved
        return place


#: Characters of a refused path that are said back: a model may give anything.
_SHOWN: Final = 80


def _no_memory(path: str) -> BadRequest:
    return BadRequest("path", Text("{path!r} is no memory file; it looks like memory/2026-01-28-deploy.md", path=path[:_SHOWN]))


def _parts_of(path: str) -> tuple[str, ...]:
    """Return the names in the path; BadRequest if no file of memory can have such a path."""
    parts = parts_of(path, from_here=True)
    stays = parts_of(path.lower().replace("%2e", ".").replace("%2f", "/"), from_here=True)  # also as in a URI
    if not stays or parts != PurePosixPath(path).parts or not path.endswith(".md"):
        raise _no_memory(path)
    return parts


def _lines(path: str, lines: Sequence[str], spans: Sequence[tuple[int, int | None]]) -> Lines:
    if spans[-1][0] > max(1, len(lines)):
        raise BadRequest("from", Text("{path} has {count} lines", path=path, count=len(lines)))
    chosen = [lines[start - 1 : end] for start, end in spans]
    return Lines(path, spans[0][0], spans[-1][0] - 1 + len(chosen[-1]), len(lines), "\n".join(itertools.chain(*chosen)))


def _cited(text: str) -> list[tuple[int, int | None]]:
    """Return the spans of "L4-L6,L9" or "L4", which follow one another."""
    spans: list[tuple[int, int | None]] = []
    before = 0
    for part in text.split(","):
        match = _SPAN.fullmatch(part)
        start, end = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not before < start <= end:
            raise BadRequest("path", Text("#{cited} is no citation; it looks like #L4-L6,L9", cited=text))
        spans.append((start, end))
        before = end
    return spans
