"""
Vectors of texts, kept next to the index: files that are written once, and mapped into memory to be searched.

The name of a file says which model it belongs to. A file has the names of its texts (`Passage.unit`), sorted, and then a vector
in float16 for each. New vectors go into a new file, which includes the older files that are not larger than itself, so that
there are few files. All of them can be made again: the folder may be deleted at any moment, and a file that is truncated or
overwritten is left out. A text that the model refuses has a vector of zeros, so that it is not sent again.
"""

from __future__ import annotations

import contextlib
import hashlib
import stat as modes
import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.errors import Busy
from recalld.supervisor.text.lazy_re import lazy_re

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    from recalld.supervisor.storage.disk import Stat
    from recalld.supervisor.storage.files import Files

#: The head of a file: a mark with its version, the number of vectors, the number of their elements, the checksum of the rest.
_HEAD: Final = struct.Struct("<8sIII12x")
_MARK: Final = b"recalld1"
#: The name of a file: the model, a number that grows, the checksum.
_NAME: Final = lazy_re(r"([0-9a-f]{16})-(\d{8})-[0-9a-f]{8}\.f16")
_OURS: Final = lazy_re(r"[0-9a-f]{16}(?:-\d{8}-[0-9a-f]{8}\.f16|\.npz)")
#: How long to wait for another process that writes vectors.
_WAIT_S: Final = 10.0
#: From this share of vectors without a text on, the files are written again without them.
_DEAD: Final = 0.1


@dataclass(frozen=True, eq=False)
class Segment:
    """One file: the names of its texts, sorted, and their vectors as the bits of float16, row by row."""

    name: str
    stat: Stat
    names: np.ndarray[Any, np.dtype[np.uint64]]
    bits: np.ndarray[Any, np.dtype[np.int16]]

    @property
    def size(self) -> int:
        """The number of elements of a vector."""
        return int(self.bits.shape[1])

    def rows(self, names: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return the places of those *names* that the file has, and the row of each."""
        asked = np.array(names, np.uint64)
        at = np.minimum(np.searchsorted(self.names, asked), len(self.names) - 1)
        there = np.flatnonzero(self.names[at] == asked)
        return there.tolist(), at[there].tolist()


class VectorStore:
    """The vectors of the model *name* in *folder*; *lock* is the lock file for writing."""

    def __init__(self, files: Files, folder: Path, lock: Path, name: str) -> None:
        self._files, self._folder, self._lock = files, folder, lock
        self._model = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:16]
        #: The file with the calibration of the model.
        self.note = folder / f"{self._model}.npz"
        self._opened: dict[str, tuple[Stat, Segment | None]] = {}

    def segments(self) -> tuple[Segment, ...]:
        """Return the files as they are now, the oldest first, without damaged ones; none where the folder can't be read."""
        with contextlib.suppress(OSError):
            self._files.check_folder(self._folder)
            stats = self._files.disk.stats(self._folder)
            ours = sorted(name for name in stats if (match := _NAME.fullmatch(name)) and match[1] == self._model)
            self._opened = {name: self._look(name, stats[name]) for name in ours}
            found = [segment for _, segment in self._opened.values() if segment]
            # subtle: if the model behind the name has changed, its older vectors can't be compared with the newer ones
            return tuple(segment for segment in found if segment.size == found[-1].size)
        return ()

    def lacking(self, names: Collection[int]) -> list[int]:
        """Return those of *names* that have no vector, in order."""
        left = list(dict.fromkeys(names))
        for segment in self.segments() if left else ():
            there = {*segment.rows(left)[0]}
            left = [name for n, name in enumerate(left) if n not in there]
        return left

    def add(self, names: Sequence[int], vectors: np.ndarray[Any, np.dtype[np.float32]]) -> None:
        """
        Store the vectors, which replace those of another length: the model behind the name has changed then.

        Busy if another process writes for long, OSError for an error of the disk.
        """
        with self._files.lock(self._lock, _WAIT_S):
            held = self._tidied(vectors.shape[1])
            count, rows = 0, len(names)
            while count < len(held) and len(held[-1 - count].names) <= rows:
                count, rows = count + 1, rows + len(held[-1 - count].names)
            bits = np.ascontiguousarray(vectors, np.float16).view(np.int16)
            self._write(held[len(held) - count :], np.array(names, np.uint64), bits)

    def keep(self, names: Collection[int]) -> None:
        """Delete the vectors of all other texts, once these are a tenth."""
        wanted = np.fromiter(names, np.uint64, len(names))
        held = self.segments()
        dead = sum(int(np.count_nonzero(~np.isin(segment.names, wanted))) for segment in held)
        if not dead or dead < _DEAD * sum(len(segment.names) for segment in held):
            return
        with self._files.lock(self._lock, _WAIT_S):
            held = self._tidied(held[-1].size)
            self._write(held, np.empty(0, np.uint64), np.empty((0, held[-1].size if held else 1), np.int16), wanted)

    def clear(self) -> None:
        """Delete all vectors of the model, and its note."""
        with self._files.lock(self._lock, _WAIT_S):
            self._tidied(0)
            self._files.remove(self.note)

    def remove_others(self) -> None:
        """Delete the files of other models."""
        with contextlib.suppress(Busy), self._files.lock(self._lock, 0.0):
            self._files.check_folder(self._folder)
            names = self._files.disk.names(self._folder)
            self._remove(name for name in names if _OURS.fullmatch(name) and not name.startswith(self._model))

    def _look(self, name: str, stat: Stat) -> tuple[Stat, Segment | None]:
        """Return the file with its stat, opened if it is new or has changed; None if it is damaged."""
        known = self._opened.get(name)
        if known and known[0] == stat:
            return known
        try:
            return stat, _open(self._folder / name, stat)
        except (OSError, ValueError):
            return stat, None

    def _tidied(self, size: int) -> tuple[Segment, ...]:
        """Return the files with vectors of *size* elements, after all others were deleted; call with the lock held."""
        self._files.make_folder(self._folder)
        self._files.check_folder(self._folder)
        self._files.sweep(self._folder)
        held = tuple(segment for segment in self.segments() if segment.size == size)
        self._remove(self._opened.keys() - {segment.name for segment in held})
        return held

    def _write(
        self,
        old: Sequence[Segment],
        names: np.ndarray[Any, np.dtype[np.uint64]],
        bits: np.ndarray[Any, np.dtype[np.int16]],
        wanted: np.ndarray[Any, np.dtype[np.uint64]] | None = None,
    ) -> None:
        """Replace the files *old* by one with their vectors and the new ones, but only those *wanted* (None: all)."""
        names = np.concatenate([names, *(segment.names for segment in reversed(old))])
        bits = np.concatenate([bits, *(segment.bits for segment in reversed(old))])
        names, rows = np.unique(names, return_index=True)  # of equal names the first, which has the newest vector
        if wanted is not None:
            chosen = np.isin(names, wanted)
            names, rows = names[chosen], rows[chosen]
        if len(names):
            body = names.tobytes() + bits[rows].tobytes()
            number = 1 + max((int(match[2]) for name in self._opened if (match := _NAME.fullmatch(name))), default=0)
            checksum = zlib.crc32(body)
            head = _HEAD.pack(_MARK, len(names), bits.shape[1], checksum)
            self._files.create(self._folder / f"{self._model}-{number:08}-{checksum:08x}.f16", head + body)
        self._remove(segment.name for segment in old)

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            self._files.remove(self._folder / name)


def _open(path: Path, stat: Stat) -> Segment:
    """Return the file, mapped; ValueError if it is truncated or has changed."""
    if stat.size < _HEAD.size or not modes.S_ISREG(stat.mode):
        raise ValueError("it is cut off, or no file")
    data = np.memmap(path, np.uint8, "r")
    mark, rows, size, checksum = _HEAD.unpack(data[: _HEAD.size].tobytes())
    names, end = _HEAD.size + 8 * rows, _HEAD.size + (8 + 2 * size) * rows
    if mark != _MARK or not rows or not size or len(data) != end or zlib.crc32(data[_HEAD.size :].data) != checksum:
        raise ValueError(Text("file.bytes_differ"))
    bits = data[names:].view(np.int16).reshape(rows, size)
    return Segment(path.name, stat, np.array(data[_HEAD.size : names].view(np.uint64)), bits)
