"""
Copies of everything that could not be read, in `.recalld/quarantine/` (docs/reference/protocol.md, 5).

Nothing that is damaged is overwritten or skipped for good before there is a copy of it. `.recalld/unread.json` says of damaged
histories in which copy, how many messages, and in which encoding they seem to be, until a person has dealt with them (5.4).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Final, Literal, TypeAlias

from ..protocol.message import History, Message
from ..protocol.paths import WorkspacePaths
from ..storage.files import Files, digest_of
from ..storage.keeping import keep_by_content
from ..storage.lenient_json import recover
from ..text.foreign_text import encoding_of
from ..text.lazy_re import lazy_re
from ..text.record import record

#: Whether the quarantine has a copy: a new one, an earlier one, or none because it holds as many as it may.
Kept: TypeAlias = Literal["new", "known", "full"]
#: The id of a message, which may be cut off behind it.
_ID: Final = lazy_re(r'"id"\s*:\s*"((?:[^"\\]|\\.)*)"')


class Quarantine:
    """
    The copies in *folder*, at most *limit* of one kind, so that a fault that never ends can't fill the disk.

    A copy is named by its content, `history.json.<12 hex digits>`, so that the same bytes are kept once.
    """

    def __init__(self, files: Files, folder: Path, limit: int) -> None:
        self._files = files
        self._folder = folder
        self._limit = limit

    @staticmethod
    def name_of(kind: str, data: bytes) -> str:
        """Return the name of a copy of *data*."""
        return f"{kind}.{digest_of(data)[:12]}"

    def keep(self, kind: str, data: bytes, times: int = 1) -> Kept:
        """Keep a copy of *data*, durably; of this kind there may be *times* the limit."""
        self._files.make_folder(self._folder, lasting=True)
        path = self._folder / self.name_of(kind, data)
        names = [name for name in self._files.disk.names(self._folder) if name.startswith(f"{kind}.")]
        if path.name not in names and len(names) >= self._limit * times:
            return "full"
        return "new" if keep_by_content(self._files, path, data) else "known"


@record(kw_only=True)
class Unread:
    """
    How many *messages* and *bytes* of the file *name* in the quarantine were not read.

    *encoding* is what the file seems to be, as iconv calls it, or "".
    """

    name: str
    messages: int
    bytes: int
    encoding: str = ""


class UnreadStore:
    """What was not read, by the names of the files in the quarantine; nothing of those that are no longer there."""

    def __init__(self, files: Files, paths: WorkspacePaths) -> None:
        self._files = files
        self._paths = paths

    def read(self) -> list[Unread]:
        """Return what was not read and is still kept, by name."""
        kept = {*self._files.disk.names(self._paths.quarantine)}
        return [piece for piece in self._all() if piece.name in kept]

    def add(self, unread: Unread) -> None:
        """Record, durably, what was not read of a file."""
        self._write([*(piece for piece in self._all() if piece.name != unread.name), unread])

    def remove(self, name: str) -> bool:
        """Forget what was not read of a file; return whether there was anything."""
        before = self._all()
        left = [piece for piece in before if piece.name != name]
        if left != before:
            self._write(left)
        return left != before

    def path_of(self, unread: Unread) -> Path:
        """Return the path of the file that holds what was not read."""
        return self._paths.quarantine / unread.name

    def _all(self) -> list[Unread]:
        version = self._files.read_stable(self._paths.unread)
        with suppress(ValueError, TypeError):  # a file that somebody has written over
            return [Unread(**raw) for raw in json.loads(version.data)["unread"]] if version else []
        return []

    def _write(self, unread: Iterable[Unread]) -> None:
        data = {"format": 1, "unread": [asdict(piece) for piece in sorted(unread, key=lambda piece: piece.name)]}
        version = self._files.read_stable(self._paths.unread)
        self._files.replace(self._paths.unread, json.dumps(data).encode() + b"\n", version)


def unread_of(name: str, data: bytes, known: History) -> Unread | None:
    """Return what can't be read of a damaged history, but for a cut message whose id is *known*; None if that is nothing."""
    ids = {entry.id for entry in known if isinstance(entry, Message)}
    pieces = [piece for piece in recover(data).unread if not _is_known(piece, ids)]
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
    return not any(name in piece for name in ('"text', '"content'))
