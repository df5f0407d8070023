"""
Read exact lines of a memory file, by the path that a search or a citation gave.

Only files of memory are read, never through a link and never outside the workspace. Lines that the audience may not see are as
if they were not there: blank, so that the others keep the numbers by which an editor and a citation know them; behind the last
one that may be seen the file ends; and where none may be seen there is no file.
"""

from __future__ import annotations

import itertools
import os
import stat
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from recalld.supervisor.index.hit import BY_ID
from recalld.supervisor.protocol.attachments import digest_in_name, kind_of
from recalld.supervisor.protocol.paths import day_of_name, is_foreign
from recalld.supervisor.recall.audience import ALONE
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.errors import BadRequest, NotFound
from recalld.supervisor.text.decoding import decoded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime, tzinfo
    from pathlib import Path

    from recalld.supervisor.archive.journal import SeenJournal
    from recalld.supervisor.archive.memory_folder import MemoryFolder
    from recalld.supervisor.index.hit import Passage
    from recalld.supervisor.protocol.paths import WorkspacePaths
    from recalld.supervisor.recall.audience import Audience
    from recalld.supervisor.recall.unfiled import Unfiled
    from recalld.supervisor.storage.files import Files


#: Bytes of the longest name of a file; Linux, NAME_MAX.
_LONGEST_NAME: Final = 255


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


@dataclass(frozen=True, slots=True, kw_only=True)
class LineReader:
    """Reads lines of the memory of one workspace; the stores are opened only for what needs them."""

    files: Files
    paths: WorkspacePaths
    zone: tzinfo
    memory: Callable[[], MemoryFolder]
    journal: Callable[[], SeenJournal]
    unfiled: Callable[[], Unfiled]

    def read(self, path: str, now: datetime, start: int = 1, count: int | None = None, audience: Audience = ALONE) -> Lines:
        """
        Return *count* lines of a memory file from line *start* on, or as many as there are; without *count* all of them.

        Of a picture or a file of attachments/ one line says what it is and where: programs open it by its path.

        The old path of a dated file that has moved to originals/ still finds it. The path may end with the lines of a citation,
        ``#L4-L6,L9``; "history.json#" and an id are the lines of the text that the message has *now*. BadRequest if it is no
        memory file or has no such line, NotFound if the file does not exist, or has nothing there that *audience* may see.
        """
        if start < 1:
            raise BadRequest("--from", Text("lines.from_one"))
        if count is not None and count < 1:
            raise BadRequest("--lines", Text("argument.not_allowed", value=count, allowed=Text("argument.or_more", least=1)))
        spans = [(start, None if count is None else start + count - 1)]
        if path.startswith(BY_ID):
            return _lines(path, self._text_by_id(path, now, audience), spans)
        bare, _, cited = path.partition("#")
        if cited:
            if (start, count) != (1, None):
                raise BadRequest("--from", Text("lines.cited_already", cited=cited))
            spans = _cited(cited)
        place = self._resolve(bare)
        version = self.files.read_stable(place)
        if version is None:
            raise NotFound(bare)
        if digest_in_name(bare):
            if not audience.sees_all and not self._is_attached(bare, now, audience):
                raise NotFound(bare)
            return Lines(bare, 1, 1, 1, f"{kind_of(bare)}, {len(version.data):,} bytes: {place}")
        lines = decoded(version.data).split("\n")
        if lines and not lines[-1]:
            lines.pop()
        if not audience.sees_all:
            lines = self.visible(self.paths.relative(place), lines, audience)
            if not lines or (spans[-1][0] <= len(lines) and not any(any(lines[first - 1 : last]) for first, last in spans)):
                raise NotFound(bare)
        return _lines(self.paths.relative(place), lines, spans)

    def visible(self, path: str, lines: Sequence[str], audience: Audience) -> list[str]:
        """Return the *lines* of the file at *path* up to the last one that *audience*, a group, may see; others are blank."""
        data = "\n".join(lines).encode("utf-8", "surrogatepass")
        passages = self._passages(self.paths.root / path, data)
        seen = {n for one in passages if audience.may_see(one) for n in range(one.start, one.end + 1)}
        return [line if n in seen else "" for n, line in enumerate(lines[: max(seen, default=0)], 1)]

    def _passages(self, place: Path, data: bytes) -> Iterator[Passage]:
        """Yield the passages of a file as the index has them; none of a file that no search reads."""
        from recalld.supervisor.index.documents import chunk_data  # here: a direct chat needs neither
        from recalld.supervisor.index.scan import kind_and_day

        if not is_foreign(place.name):
            kind, day = kind_and_day(self.files, self.paths, place, data)
            chunks = chunk_data(data, self.paths, self.paths.relative(place), kind, day, self.zone)
            yield from (chunk.passage for chunk in chunks)

    def _text_by_id(self, path: str, now: datetime, audience: Audience) -> list[str]:
        """Return the lines of the message at *path*, "history.json#<id>"; NotFound if there is none for *audience*."""
        from recalld.supervisor.index.chunking import chunk_message

        for block in self.unfiled().blocks_of(path.removeprefix(BY_ID), now, self.journal(), self.memory()):
            if audience.may_see(chunk_message(path, block, self.zone).passage):
                return block.shown.split("\n")
        raise NotFound(path)

    def _is_attached(self, name: str, now: datetime, audience: Audience) -> bool:
        """Tell whether a message that *audience* may see has the picture or the file."""
        if any(name in one.text and audience.may_see(one) for one in self.unfiled().passages(now).passages):
            return True
        for file in self.memory().dated():
            place = self.memory().path_of(file.name)
            version = self.files.read_stable(place) if name in file.attachments else None
            passages = self._passages(place, version.data) if version else ()
            if any(name in one.text and audience.may_see(one) for one in passages):
                return True
        return False

    def _resolve(self, path: str) -> Path:
        """Return the absolute path of a memory file; BadRequest for anything else."""
        parts = PurePosixPath(path).parts
        not_memory = BadRequest("path", Text("lines.no_memory_file", path=path))
        is_attachment = bool(digest_in_name(path))
        climbs = ".." in PurePosixPath(path.lower().replace("%2e", ".").replace("%2f", "/")).parts  # also as in a URI
        no_name = "\0" in path or not _can_be_named(parts)
        if not parts or path.startswith("/") or climbs or no_name or not (path.endswith(".md") or is_attachment):
            raise not_memory
        place = self.paths.root.joinpath(*parts)
        if not is_attachment and parts[0] != "memory" and parts not in {("memory.md",), ("MEMORY.md",)}:
            raise NotFound(path) if self.files.disk.stat(place) is None else not_memory
        if any(_is_link(self.files, self.paths.root.joinpath(*parts[:n])) for n in range(1, len(parts) + 1)):
            raise BadRequest("path", Text("lines.through_link", path=path))
        found = self.files.disk.stat(place)
        if found and stat.S_ISDIR(found.mode):
            raise BadRequest("path", Text("lines.is_folder", path=path))
        if found is None and day_of_name(parts[-1]):
            return self.memory().path_of(parts[-1])  # memory/ is read only for a file that has moved
        return place


def _can_be_named(parts: Sequence[str]) -> bool:
    """Return whether files can have these names: most lone surrogates stand for no byte, and a name may be too long."""
    try:
        return all(len(os.fsencode(part)) <= _LONGEST_NAME for part in parts)
    except UnicodeEncodeError:
        return False


def _lines(path: str, lines: Sequence[str], spans: Sequence[tuple[int, int | None]]) -> Lines:
    """Return the lines of these spans; the last one may end after the file, or (None) with it."""
    if spans[-1][0] > max(1, len(lines)):
        raise BadRequest("--from", Text("lines.beyond", path=path, count=len(lines)))
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
            raise BadRequest("path", Text("lines.no_citation", cited=text)) from None
        if end < start:
            raise BadRequest("path", Text("lines.ends_early", cited=text))
        if start <= before:
            raise BadRequest("path", Text("lines.goes_back", cited=text))
        spans.append((start, end))
        before = end
    return spans


def _is_link(files: Files, path: Path) -> bool:
    found = files.disk.stat(path)
    return found is not None and stat.S_ISLNK(found.mode)
