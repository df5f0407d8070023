"""
A cache of vectors in the user's cache folder: one SQLite file for each model, vectors by the digest of their text.

It is never in the workspace, may be deleted at any moment, and has a maximum size: the oldest vectors are dropped. SQLite keeps
the file consistent among several processes; a damaged file is deleted. Folder 0700, file 0600, since vectors reveal much of the
words.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

    from supervisor.protocol.files import Files

#: Seconds to wait for another process that writes: a turn must not wait.
_WAIT_S: Final = 0.05
#: If the file is full, this part of its vectors (one in ten) is dropped.
_SHARE: Final = 10
_ONCE: Final = 500  # parameters of one statement
_SIZES: Final = ("page_count", "freelist_count", "page_size")
T = TypeVar("T")


def digest(text: str) -> bytes:
    """Return the key of a text's vector."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


class Vectors:
    """The vectors of the model *name* in the *folder*, at most *most_bytes* of them."""

    def __init__(self, files: Files, folder: Path, name: str, most_bytes: int) -> None:
        self._files = files
        self._path = folder / f"{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:16]}.sqlite"
        self._most_bytes = most_bytes

    def get(self, digests: Collection[bytes]) -> dict[bytes, bytes]:
        """Return the cached vectors by digest; none if the file can't be read."""
        asked = list(digests)

        def read(base: sqlite3.Connection) -> dict[bytes, bytes]:
            found: dict[bytes, bytes] = {}
            for at in range(0, len(asked), _ONCE):
                some = asked[at : at + _ONCE]
                marks = ",".join("?" * len(some))
                found.update(base.execute(f"SELECT digest, vector FROM vectors WHERE digest IN ({marks})", some))  # noqa: S608
            return found

        return self._with(read, {})

    def is_empty(self) -> bool:
        """Tell whether there is no vector at all; False if the file can't be read."""
        return self._with(lambda base: base.execute("SELECT 1 FROM vectors LIMIT 1").fetchone() is None, otherwise=False)

    def put(self, vectors: Mapping[bytes, bytes]) -> None:
        """Store the vectors; those of another length are deleted, since the model behind the name has changed."""
        length = len(next(iter(vectors.values()), b""))

        def write(base: sqlite3.Connection) -> None:
            kept = base.execute("SELECT length(vector) FROM vectors LIMIT 1").fetchone()
            if kept and length and kept[0] != length:
                base.execute("DELETE FROM vectors")
                base.execute("DELETE FROM learnt")
            base.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", vectors.items())
            while _bytes(base) > self._most_bytes and (count := base.execute("SELECT count(*) FROM vectors").fetchone()[0]):
                oldest = "SELECT rowid FROM vectors ORDER BY rowid LIMIT ?"
                base.execute(f"DELETE FROM vectors WHERE rowid IN ({oldest})", (count // _SHARE + 1,))  # noqa: S608

        self._with(write, None)

    def learnt(self) -> frozenset[str]:
        """Return the contents of files whose passages are all done."""
        ask = "SELECT content FROM learnt"
        return self._with(lambda base: frozenset(content for (content,) in base.execute(ask)), frozenset())

    def note_learnt(self, content: str) -> None:
        """Record that all passages of this content are done."""
        self._with(lambda base: base.execute("INSERT OR IGNORE INTO learnt VALUES (?)", (content,)), None)

    def _with(self, step: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Return the result of *step* in one transaction, *otherwise* if it fails. A damaged file is deleted."""
        try:
            self._make()
            with contextlib.closing(sqlite3.connect(self._path, timeout=_WAIT_S)) as base, base:
                base.execute("PRAGMA synchronous = OFF")
                base.execute("CREATE TABLE IF NOT EXISTS vectors (digest BLOB UNIQUE, vector BLOB)")
                base.execute("CREATE TABLE IF NOT EXISTS learnt (content TEXT PRIMARY KEY)")
                return step(base)
        except sqlite3.OperationalError:
            return otherwise  # another process has it, or the disk is full
        except sqlite3.DatabaseError:
            for path in (self._path, self._path.with_name(f"{self._path.name}-journal")):
                with contextlib.suppress(OSError):
                    self._files.remove(path)
        except OSError:
            return otherwise
        return otherwise

    def _make(self) -> None:
        """Create the file, empty, readable by its owner only."""
        if self._files.disk.stat(self._path) is None:
            self._files.make_folder(self._path.parent)
            with contextlib.suppress(FileExistsError):
                self._files.create(self._path, b"")


def _bytes(base: sqlite3.Connection) -> int:
    """Return how many bytes of the file are in use."""
    pages, free, size = (base.execute(f"PRAGMA {name}").fetchone()[0] for name in _SIZES)
    return int((pages - free) * size)
