"""
Vectors of passages, kept next to the index: one file a model, which grows by rows and is mapped into memory to be searched.

The name of the file says which model it belongs to, and how many elements a vector has. A row has the name of its passage
(`Document.unit`), the vector in 8-bit numbers, and the checksum of both, without which it is no row; the last row of a
passage counts. Codes in memory, with one bit a number, whether it is above the middle, find what may be near; the numbers say
how near it is. All of it can be made again: the folder may be deleted at any moment. A text that the model refuses has a vector
of zeros, so that it is not sent again.
"""

import contextlib
import hashlib
import math
import stat as modes
import zlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from ..storage.disk import Stat
from ..storage.errors import Busy
from ..storage.files import Files
from ..text.lazy_re import lazy_re

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
#: The name of a file: the model, and the number of elements; and those of files that this version or an earlier one made.
_NAME: Final = lazy_re(r"([0-9a-f]{16})-(\d{1,5})\.vectors")
_OURS: Final = lazy_re(r"[0-9a-f]{16}(?:-\d{1,5}\.vectors|-\d{8}-[0-9a-f]{8}\.(?:i8|f16)|\.npz)")
#: How long to wait for another process that writes vectors.
_WAIT_S: Final = 10.0
#: From this share of rows without a passage on, the file is written again without them.
_DEAD: Final = 0.1
#: The largest 8-bit number; bits of a word of a code; rows of a block, which have one middle; bytes of a checksum.
_MOST: Final = 127
_BITS: Final = 64
_BLOCK: Final = 2048
_SUM_BYTES: Final = 4


@dataclass(frozen=True, eq=False)
class Block:
    """The *middle* of the vectors of some rows, and their *codes*, word × row."""

    middle: Array
    codes: Array

    def distances(self, vector: Array) -> Array:
        """Return in how many bits each code differs from that of the vector."""
        code = _codes((vector / (np.abs(vector).max() or 1) * _MOST)[None], self.middle)
        return np.asarray(np.bitwise_count(self.codes ^ code).sum(axis=0, dtype=np.uint16))


@dataclass(frozen=True, eq=False)
class Table:
    """
    The file as it was at *stat*: its *rows*, with their *sums* as they were read, in *blocks*.

    *units* are the names of the passages, sorted, *places* their rows.
    """

    stat: Stat
    rows: Array
    sums: Array
    blocks: tuple[Block, ...]
    units: Array
    places: Array

    @property
    def size(self) -> int:
        """The number of elements of a vector."""
        return int(self.rows["numbers"].shape[1])

    def find(self, units: Array) -> tuple[Array, Array]:
        """Return which of those *units* the table has, by their places, and the row of each."""
        at = np.minimum(np.searchsorted(self.units, units), len(self.units) - 1)
        known = np.flatnonzero(self.units[at] == units)
        return known, self.places[at[known]]

    def near(self, vector: Array, most: int) -> Array:
        """Return the rows of at most *most* vectors that may be nearest, by their codes."""
        if len(self.units) <= most:
            return self.places
        distances = np.concatenate([block.distances(vector) for block in self.blocks])[self.places]
        return np.asarray(self.places[np.argpartition(distances, most)[:most]])

    def vectors(self, rows: Array) -> Array:
        """Return the vectors of these rows, with length 1; zeros for a text that the model refused."""
        numbers = self.rows["numbers"][rows].astype(np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", numbers, numbers))
        return np.asarray(numbers / np.where(lengths > 0, lengths, 1)[:, None], np.float32)

    def vector(self, unit: int) -> Array | None:
        """Return the vector of one passage, None without one."""
        _, rows = self.find(np.array([unit], np.uint64))
        return self.vectors(rows)[0] if len(rows) else None


class VectorStore:
    """The vectors of the model *name* in *folder*; *lock* is the lock file for writing."""

    def __init__(self, files: Files, folder: Path, lock: Path, name: str) -> None:
        self._files, self._folder, self._lock = files, folder, lock
        self._model = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:16]
        self._opened: dict[str, Table] = {}

    def table(self) -> Table | None:
        """Return the vectors as they are now; None where there are none, or the folder or the file can't be read."""
        with contextlib.suppress(OSError, ValueError):
            self._files.check_folder(self._folder)
            for name in self._names():
                stat = self._files.disk.stat(self._folder / name)
                known = self._opened.get(name)
                table = known if known and known.stat == stat else stat and _open(self._folder / name, stat, known)
                self._opened = {name: table} if table else {}
                return table
        return None

    def lacking(self, units: Iterable[int], most_bytes: float = math.inf) -> list[int]:
        """Return those of *units* that have no vector, each once, in order; none once the file has *most_bytes*."""
        left, table = np.array([*dict.fromkeys(units)], np.uint64), self.table()
        if table and len(left):
            left = np.delete(left, table.find(left)[0] if table.stat.size < most_bytes else slice(None))
        return [int(unit) for unit in left]

    def add(self, units: Sequence[int], vectors: Array) -> None:
        """
        Store the vectors, which replace those of another length: the model behind the name has changed then.

        Busy if another process writes for long, OSError for an error of the disk.
        """
        rows = np.zeros(len(units), _row(vectors.shape[1]))
        highest = np.abs(vectors).max(axis=1, keepdims=True)
        rows["unit"] = np.array(units, np.uint64)
        rows["numbers"] = np.rint(vectors * (_MOST / np.where(highest > 0, highest, 1))).astype(np.int8)
        rows["sum"] = _sums(rows)
        with self._files.lock(self._lock, _WAIT_S):
            path = self._path(vectors.shape[1])
            self._files.make_folder(self._folder)
            self._files.check_folder(self._folder)
            self._files.sweep(self._folder)
            self._remove({*self._names()} - {path.name})
            if self.table() is None:
                self._files.remove(path)  # nothing, a link, or a file without a single row
                self._files.create(path, rows.tobytes())
            else:
                self._files.append(path, rows.tobytes(), rows.itemsize)

    def keep(self, units: Collection[int]) -> None:
        """Delete the vectors of all other passages, once these are a tenth."""
        table = self.table()
        if table is None:
            return
        places = table.places[np.isin(table.units, np.fromiter(units, np.uint64, len(units)))]
        if len(table.rows) - len(places) < max(1, _DEAD * len(table.rows)):
            return
        with self._files.lock(self._lock, _WAIT_S):
            if self.table() is table:
                self._files.replace(self._path(table.size), table.rows[places].tobytes(), table.stat)

    def clear(self) -> None:
        """Delete all vectors of the model."""
        with self._files.lock(self._lock, _WAIT_S):
            self._remove(self._names())

    def remove_others(self) -> None:
        """Delete the files of other models, and those that earlier versions made."""
        with contextlib.suppress(Busy), self._files.lock(self._lock, 0.0):
            self._files.check_folder(self._folder)
            self._remove({*filter(_OURS.fullmatch, self._files.disk.names(self._folder))} - {*self._names()})

    def _names(self) -> list[str]:
        """Return the names of the model's files: one, but for a moment of `add`."""
        names = self._files.disk.names(self._folder) if self._files.disk.stat(self._folder) else []
        return [name for name in names if (match := _NAME.fullmatch(name)) and match[1] == self._model]

    def _path(self, size: int) -> Path:
        return self._folder / f"{self._model}-{size}.vectors"

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            self._files.remove(self._folder / name)


def _row(size: int) -> np.dtype[Any]:
    return np.dtype([("unit", "<u8"), ("numbers", "i1", (size,)), ("sum", "<u4")])


def _sums(rows: Array) -> Array:
    """Return what the checksum of each row must be."""
    data, size = rows.view(np.uint8).data, rows.itemsize
    sums = (zlib.crc32(data[at : at + size - _SUM_BYTES]) for at in range(0, len(data), size))
    return np.fromiter(sums, np.uint32, len(rows))


def _codes(numbers: Array, middle: Array) -> Array:
    bits = np.packbits(numbers > middle, axis=1)
    padded = np.pad(bits, ((0, 0), (0, -bits.shape[1] % (_BITS // 8))))
    return np.ascontiguousarray(padded.view(np.uint64).T)


def _block(numbers: Array) -> Block:
    middle = numbers.mean(axis=0, dtype=np.float32)
    return Block(middle, _codes(numbers, middle))


def _open(path: Path, stat: Stat, before: Table | None) -> Table | None:
    """Return the table; what it had *before* is not read again where the file has only grown since."""
    match = _NAME.fullmatch(path.name)
    kind = _row(int(match[2]) if match else 0)
    count = stat.size // kind.itemsize
    if not count or not modes.S_ISREG(stat.mode):
        return None
    rows = np.memmap(path, kind, "r", shape=(count,))
    if before and not np.array_equal(before.sums, rows["sum"][: len(before.sums)]):
        before = None  # written over in place
    begin = len(before.rows) if before else 0
    blocks, numbers = before.blocks[: begin // _BLOCK] if before else (), rows["numbers"]
    blocks += tuple(_block(numbers[at : at + _BLOCK]) for at in range(len(blocks) * _BLOCK, count, _BLOCK))
    sums = rows["sum"][begin:].copy()
    places = begin + np.flatnonzero(sums == _sums(rows[begin:]))[::-1]  # the newest first
    units = rows["unit"][places]
    if before:
        units, places = np.concatenate([units, before.units]), np.concatenate([places, before.places])
        sums = np.concatenate([before.sums, sums])
    units, first = np.unique(units, return_index=True)
    return Table(stat, rows, sums, blocks, units, places[first]) if len(units) else None
