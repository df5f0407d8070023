"""
Vectors of passages, kept next to the index: files that are written once, and mapped into memory to be searched.

The name of a file says which model it belongs to. A file has the names of its passages (`Document.unit`), sorted; the middle
of its vectors; for each vector a code, which has one bit a number, whether it is above the middle; and the vector in 8-bit
numbers. The codes find what may be near, the numbers say how near it is. New vectors go into a new file, which includes the
older files that are not larger than itself, so that there are few. All of them can be made again: the folder may be deleted
at any moment, and a file that is truncated or overwritten is left out. A text that the model refuses has a vector of zeros,
so that it is not sent again.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import stat as modes
import struct
import zlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from ..storage.errors import Busy
from ..storage.texts import Text
from ..text.lazy_re import lazy_re

if TYPE_CHECKING:
    from ..storage.disk import Stat
    from ..storage.files import Files

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
#: The head of a file: a mark with its version, the number of vectors, the number of their elements, the checksum of the rest.
_HEAD: Final = struct.Struct("<8sIII12x")
_MARK: Final = b"recalld2"
#: The name of a file: the model, a number that grows, the checksum. Files with other ends are of earlier versions.
_NAME: Final = lazy_re(r"([0-9a-f]{16})-(\d{8})-[0-9a-f]{8}\.i8")
_OURS: Final = lazy_re(r"[0-9a-f]{16}(?:-\d{8}-[0-9a-f]{8}\.(?:i8|f16)|\.npz)")
#: How long to wait for another process that writes vectors.
_WAIT_S: Final = 10.0
#: From this share of vectors without a passage on, the files are written again without them.
_DEAD: Final = 0.1
#: The largest 8-bit number; bits of a word of a code; vectors whose codes are made at a time.
_MOST: Final = 127
_BITS: Final = 64
_ROWS: Final = 4096


@dataclass(frozen=True, eq=False)
class Segment:
    """One file: the names of its passages, sorted; the middle of the vectors; codes, word × vector; numbers, row by row."""

    name: str
    stat: Stat
    units: Array
    middle: Array
    codes: Array
    numbers: Array

    @property
    def size(self) -> int:
        """The number of elements of a vector."""
        return int(self.numbers.shape[1])

    def rows(self, units: Array) -> tuple[Array, Array]:
        """Return the places of those *units* that the file has, and the row of each."""
        at = np.minimum(np.searchsorted(self.units, units), len(self.units) - 1)
        places = np.flatnonzero(self.units[at] == units)
        return places, at[places]

    def near(self, vector: Array, most: int) -> Array:
        """Return the rows of at most *most* vectors that may be nearest, by their codes."""
        if len(self.units) <= most:
            return np.arange(len(self.units))
        distances = np.zeros(len(self.units), np.uint16)
        for word, code in zip(self.codes, _codes(vector[None], self.middle)[:, 0], strict=True):
            distances += np.bitwise_count(word ^ code)
        return np.argpartition(distances, most)[:most]

    def vectors(self, rows: Array) -> Array:
        """Return the vectors, with length 1; zeros for a text that the model refused."""
        numbers = self.numbers[rows].astype(np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", numbers, numbers))
        return np.asarray(numbers / np.where(lengths > 0, lengths, 1)[:, None], np.float32)


class VectorStore:
    """The vectors of the model *name* in *folder*; *lock* is the lock file for writing."""

    def __init__(self, files: Files, folder: Path, lock: Path, name: str) -> None:
        self._files, self._folder, self._lock = files, folder, lock
        self._model = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:16]
        self._opened: dict[str, tuple[Stat, Segment | None]] = {}

    def segments(self) -> tuple[Segment, ...]:
        """Return the files as they are now, the oldest first, without damaged ones; none where the folder can't be read."""
        with contextlib.suppress(OSError):
            self._files.check_folder(self._folder)
            stats = self._files.disk.stats(self._folder)
            ours = sorted(name for name in stats if (match := _NAME.fullmatch(name)) and match[1] == self._model)
            self._opened = {name: self._look(name, stats[name]) for name in ours}
            opened = [segment for _, segment in self._opened.values() if segment]
            # subtle: if the model behind the name has changed, its older vectors can't be compared with the newer ones
            return tuple(segment for segment in opened if segment.size == opened[-1].size)
        return ()

    @property
    def size_bytes(self) -> int:
        """What the files take on disk."""
        return sum(segment.stat.size for segment in self.segments())

    def lacking(self, units: Iterable[int]) -> list[int]:
        """Return those of *units* that have no vector, each once, in order."""
        left = np.array([*dict.fromkeys(units)], np.uint64)
        for segment in self.segments() if len(left) else ():
            left = np.delete(left, segment.rows(left)[0])
        return [int(unit) for unit in left]

    def add(self, units: Sequence[int], vectors: Array) -> None:
        """
        Store the vectors, which replace those of another length: the model behind the name has changed then.

        Busy if another process writes for long, OSError for an error of the disk.
        """
        with self._files.lock(self._lock, _WAIT_S):
            held = self._tidied(vectors.shape[1])
            count, rows = 0, len(units)
            while count < len(held) and len(held[-1 - count].units) <= rows:
                count, rows = count + 1, rows + len(held[-1 - count].units)
            highest = np.abs(vectors).max(axis=1, keepdims=True)
            numbers = np.rint(vectors * (_MOST / np.where(highest > 0, highest, 1))).astype(np.int8)
            self._write(held[len(held) - count :], np.array(units, np.uint64), numbers)

    def keep(self, units: Collection[int]) -> None:
        """Delete the vectors of all other passages, once these are a tenth."""
        wanted = np.fromiter(units, np.uint64, len(units))
        held = self.segments()
        dead = sum(int(np.count_nonzero(~np.isin(segment.units, wanted))) for segment in held)
        if not dead or dead < _DEAD * sum(len(segment.units) for segment in held):
            return
        with self._files.lock(self._lock, _WAIT_S):
            held = self._tidied(held[-1].size)
            self._write(held, np.empty(0, np.uint64), np.empty((0, held[-1].size if held else 1), np.int8), wanted)

    def clear(self) -> None:
        """Delete all vectors of the model."""
        with self._files.lock(self._lock, _WAIT_S):
            self._tidied(0)

    def remove_others(self) -> None:
        """Delete the files of other models, and those that earlier versions made."""
        with contextlib.suppress(Busy), self._files.lock(self._lock, 0.0):
            self._files.check_folder(self._folder)
            names = self._files.disk.names(self._folder)
            mine = (match[0] for name in names if (match := _NAME.fullmatch(name)) and match[1] == self._model)
            self._remove({name for name in names if _OURS.fullmatch(name)} - {*mine})

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

    def _write(self, old: Sequence[Segment], units: Array, numbers: Array, wanted: Array | None = None) -> None:
        """Replace the files *old* by one with their vectors and the new ones, but only those *wanted* (None: all)."""
        units = np.concatenate([units, *(segment.units for segment in reversed(old))])
        numbers = np.concatenate([numbers, *(segment.numbers for segment in reversed(old))])
        units, rows = np.unique(units, return_index=True)  # of equal names the first, which has the newest vector
        if wanted is not None:
            chosen = np.isin(units, wanted)
            units, rows = units[chosen], rows[chosen]
        if len(units):
            numbers = numbers[rows]
            middle = numbers.mean(axis=0, dtype=np.float32)
            parts = [_codes(numbers[at : at + _ROWS], middle) for at in range(0, len(numbers), _ROWS)]
            body = b"".join(array.tobytes() for array in (units, middle, np.concatenate(parts, axis=1), numbers))
            number = 1 + max((int(match[2]) for name in self._opened if (match := _NAME.fullmatch(name))), default=0)
            checksum = zlib.crc32(body)
            head = _HEAD.pack(_MARK, len(units), numbers.shape[1], checksum)
            self._files.create(self._folder / f"{self._model}-{number:08}-{checksum:08x}.i8", head + body)
        self._remove(segment.name for segment in old)

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            self._files.remove(self._folder / name)


def _codes(vectors: Array, middle: Array) -> Array:
    scaled = vectors / (np.abs(vectors).max() or 1) * _MOST if vectors.dtype != np.int8 else vectors
    bits = np.packbits(scaled > middle, axis=1)
    padded = np.pad(bits, ((0, 0), (0, -bits.shape[1] % (_BITS // 8))))
    return np.ascontiguousarray(padded.view(np.uint64).T)


def _open(path: Path, stat: Stat) -> Segment:
    if stat.size < _HEAD.size or not modes.S_ISREG(stat.mode):
        raise ValueError("it is cut off, or no file")
    data = np.memmap(path, np.uint8, "r")
    mark, rows, size, checksum = _HEAD.unpack(data[: _HEAD.size].tobytes())
    words = -(-size // _BITS)
    ends = np.cumsum([_HEAD.size, 8 * rows, 4 * size, 8 * words * rows, size * rows]).tolist()
    if mark != _MARK or not rows or not size or len(data) != ends[-1] or zlib.crc32(data[_HEAD.size :].data) != checksum:
        raise ValueError(Text("its bytes are not those that were written"))
    units, middle, codes, numbers = (data[first:last] for first, last in itertools.pairwise(ends))
    return Segment(
        path.name,
        stat,
        np.array(units.view(np.uint64)),
        np.array(middle).view(np.float32),
        codes.view(np.uint64).reshape(words, rows),
        numbers.view(np.int8).reshape(rows, size),
    )
