"""
What could not be read of damaged histories, until a person has dealt with it: `.recalld/unread.json` (protocol.md, 5.4).

The bytes are in the quarantine; this says in which of its files, how many, and in which encoding they seem to be.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from recalld.supervisor.protocol.message import Message
from recalld.supervisor.storage.lenient_json import recover, render_json
from recalld.supervisor.text.decoding import encoding_of
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.record import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from recalld.supervisor.protocol.message import History
    from recalld.supervisor.protocol.paths import WorkspacePaths
    from recalld.supervisor.storage.files import Files

#: A field of a half message, whose value may be cut off.
_FIELD: Final = lazy_re(r'"(\w+)"\s*:\s*"((?:[^"\\]|\\.)*)(?:"|\\?$)')
#: What is left of a half message without its fields, where no words are in it.
_BARE: Final = lazy_re(
    r'[\s\[,]*\{[\s,]*(?:"(?:archived|createdAt)"\s*:\s*(?:true|false|null)?[\s,]*)*(?:"\w{0,12}"?\s*:?\s*)?'
)
#: The fields that hold no words.
_WORDLESS: Final = frozenset({"id", "role", "createdAt", "timestamp", "archived"})
#: A character that is cut off, as "surrogateescape" decodes it; an escape that is.
_HALF_CHARACTER: Final = lazy_re(r"[\udc80-\udcff]{1,3}$")
_HALF_ESCAPE: Final = lazy_re(r"\\(?:u[0-9a-fA-F]{0,3})?$")


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
        return [one for one in self._all() if one.name in kept]

    def add(self, unread: Unread) -> None:
        """Record, durably, what was not read of a file."""
        self._write([*(one for one in self._all() if one.name != unread.name), unread])

    def remove(self, name: str) -> bool:
        """Forget what was not read of a file; return whether there was anything."""
        before = self._all()
        left = [one for one in before if one.name != name]
        if left != before:
            self._write(left)
        return left != before

    def path_of(self, unread: Unread) -> Path:
        """Return the path of the file that holds what was not read."""
        return self._paths.quarantine / unread.name

    def settle(self, source: Path, elements: Sequence[object]) -> None:
        """
        Forget what a person has mended: *source*, which was read to its end and holds *elements*.

        It mends a file of the quarantine if it is this file, or holds all that could be read of it and more.
        """
        there = {render_json(element) for element in elements}
        for one in self.read():
            path = self.path_of(one)
            version = self._files.read_stable(path)
            read = {render_json(element) for element in recover(version.data).elements} if version else set()
            if path == source or read < there:
                self.remove(one.name)

    def _all(self) -> list[Unread]:
        version = self._files.read_stable(self._paths.unread)
        with suppress(ValueError, TypeError):  # a file that somebody has written over
            return [Unread(**raw) for raw in json.loads(version.data)["unread"]] if version else []
        return []

    def _write(self, unread: Iterable[Unread]) -> None:
        data = {"format": 1, "unread": [asdict(one) for one in sorted(unread, key=lambda one: one.name)]}
        version = self._files.read_stable(self._paths.unread)
        self._files.replace(self._paths.unread, json.dumps(data).encode() + b"\n", version)


def unread_of(name: str, data: bytes, known: History) -> Unread | None:
    """Return what can't be read of a damaged history and is in none of the *known* messages; None if that is nothing."""
    pieces = recover(data).unread
    texts = sorted(entry.text for entry in known if isinstance(entry, Message)) if pieces else []
    pieces = [piece for piece in pieces if not _is_known(piece, texts)]
    if not pieces:
        return None
    encoding = encoding_of(data)
    return Unread(
        name=name,
        messages=sum(max(piece.count('"role"'), 1) for piece in pieces),
        bytes=sum(len(piece.encode("utf-8", "replace")) for piece in pieces),
        encoding="" if encoding.startswith("UTF") else encoding,
    )


def _is_known(piece: str, texts: Sequence[str]) -> bool:
    """
    Return whether a piece is the beginning of one message whose words are known, or has no words yet.

    *texts* are the known words, sorted: what is cut off is looked for by how it begins.
    """
    piece = _HALF_CHARACTER.sub("", piece)
    fields = _FIELD.findall(piece)
    if piece.count('"role"') > 1 or not _BARE.fullmatch(_FIELD.sub("", piece)):
        return False
    for name, value in fields:
        words = _unescaped(value)
        at = bisect_left(texts, words)
        begins = at < len(texts) and texts[at].startswith(words)
        if not (name in _WORDLESS or begins):
            return False
    return True


def _unescaped(value: str) -> str:
    """Return what the inside of a JSON string says, as far as it goes."""
    try:
        return str(json.loads(f'"{_HALF_ESCAPE.sub("", value)}"', strict=False))
    except ValueError:
        return value
