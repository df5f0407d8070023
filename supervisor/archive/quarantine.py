"""
Copies of everything that could not be read, in `.recalld/quarantine/` (docs/reference/protocol.md, 5).

Nothing that is damaged is overwritten or skipped for good before there is a copy of it. A damaged history of which a part can't
be read has a second copy, `history.json.<12 hex digits>.unread`, until a person has dealt with it and deletes that (5.4). Up to
0.40 the first copy was listed in `.recalld/unread.json`, which is still read.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from ..storage.errors import SupervisorError
from ..storage.files import Files, digest_of
from ..storage.keeping import keep_by_content
from ..storage.lenient_json import parse_json, recover
from ..text.foreign_text import encoding_of
from ..text.lazy_re import lazy_re

#: The end of the name of a copy of which a part could not be read, and is not given up.
_UNREAD: Final = ".unread"
#: Whether the quarantine has a copy: a new one, an earlier one, or none because it holds as many as it may.
Kept: TypeAlias = Literal["new", "known", "full"]
#: The id of a message, which may be cut off behind it.
_ID: Final = lazy_re(r'"id"\s*:\s*"((?:[^"\\]|\\.)*)"')
#: What may be left of a file that was cut off, and holds no words: the zeros of a power cut, the marks between two messages.
_NO_WORDS: Final = "\0\ufeff \t\r\n[],}"


class Quarantine:
    """
    The copies in *folder*, at most *limit* of one kind, so that a fault that never ends can't fill the disk.

    A copy is named by its content, `history.json.<12 hex digits>`, so that the same bytes are kept once.
    """

    def __init__(self, files: Files, folder: Path, limit: int) -> None:
        self._files = files
        self._folder = folder
        self._limit = limit

    def keep(self, kind: str, data: bytes, times: int = 1) -> Kept:
        """Keep a copy of *data*, durably; of this kind there may be *times* the limit."""
        self._files.make_folder(self._folder, lasting=True)
        path = self._folder / f"{kind}.{digest_of(data)[:12]}"
        names = [
            name for name in self._files.disk.names(self._folder) if name.startswith(f"{kind}.") and not name.endswith(_UNREAD)
        ]
        if path.name not in names and len(names) >= self._limit * times:
            return "full"
        return "new" if keep_by_content(self._files, path, data) else "known"

    def keep_unread(self, kind: str, data: bytes) -> str:
        """Keep a copy of *data* of which a part could not be read, durably, and return its name."""
        name = f"{kind}.{digest_of(data)[:12]}{_UNREAD}"
        keep_by_content(self._files, self._folder / name, data)
        return name

    def unread(self, known: Collection[str]) -> list[Unread]:
        """Return what of the copies is not read, and not given up, but for messages whose ids are *known*."""
        names = {name for name in self._files.disk.names(self._folder) if name.endswith(_UNREAD)} | self._listed()
        pieces: list[Unread | None] = []
        for name in sorted(names):
            with suppress(OSError, SupervisorError):  # what cannot be read is no copy of ours
                version = self._files.read_stable(self._folder / name)
                pieces.append(unread_of(name, version.data, known) if version else None)
        return [*filter(None, pieces)]

    def _listed(self) -> set[str]:
        """Return the names of the copies that recalld listed up to 0.40; none of a list that somebody has written over."""
        version = self._files.read_stable(self._folder.parent / "unread.json")
        with suppress(ValueError, TypeError, LookupError):
            return {Path(piece["name"]).name for piece in parse_json(version.data)["unread"]} if version else set()
        return set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """
    How many *messages* and *bytes* of the file *name* in the quarantine were not read.

    *encoding* is what the file seems to be, as iconv calls it, or "".
    """

    name: str
    messages: int
    bytes: int
    encoding: str = ""


def unread_of(name: str, data: bytes, known: Collection[str]) -> Unread | None:
    """Return what can't be read of a damaged history, but for cut messages whose ids are *known*; None if that is nothing."""
    pieces = [piece for piece in recover(data).unread if not _is_known(piece, known)]
    if not pieces:
        return None
    encoding = encoding_of(data)
    return Unread(
        name=name,
        messages=sum(max(piece.count('"role"'), 1) for piece in pieces),
        bytes=sum(len(piece.encode("utf-8", "replace")) for piece in pieces),
        encoding="" if encoding.startswith("UTF") else encoding,
    )


def _is_known(piece: str, ids: Collection[str]) -> bool:
    """True if the piece is of one message whose id is known, or is cut off before a message has an id or words."""
    matches = _ID.findall(piece)
    if matches:
        return len(matches) == 1 and matches[0] in ids and piece.count('"role"') <= 1
    begun = piece.strip(_NO_WORDS)
    return not begun or (begun.startswith("{") and not any(name in begun for name in ('"text', '"content')))
