"""
Which texts mean what a question asks, if any do: exact search among vectors, with a gate of its own.

The cosine of a model says little by itself: with one model any two sentences are at 0.8, with another none are; Chinese
sentences are nearer together than English ones, and some texts are near to everything. So each model is calibrated from the
memory itself. The middle of memory is subtracted from its vectors, and the middle of questions from theirs. What a question or
a text has in common with *foreign* questions (foreign.txt), which no memory answers, does not count (cross-domain similarity
local scaling, Conneau et al. 2018). How near the foreign questions come to this memory is how near a question comes by chance:
one that comes no nearer finds nothing. Reasons and figures: docs/decisions/0018, docs/explanation/recall.md.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from recalld.supervisor.recall.embeddings import GATE
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.tokenizer import HAN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from recalld.supervisor.recall.vectors import Segment

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]

#: Questions that have nothing to do with anybody's memory, one a line, as many Chinese ones as English ones.
FOREIGN: Final = tuple((Path(__file__).parent / "foreign.txt").read_text(encoding="utf-8").splitlines())
#: Which of them are Chinese.
_HAN: Final = lazy_re(f"[{HAN}]")
_IS_CHINESE: Final = np.array([bool(_HAN.search(question)) for question in FOREIGN])
#: What a question or a text has in common with foreign questions: the mean of so many nearest ones, and its weight.
_NEAREST: Final = 3
_COMMON: Final = 0.5
#: How near a question comes to memory is the mean of so many nearest texts: what is remembered was usually said more than once.
WITNESSES: Final = 2
#: The least that a text must have once the gate is passed, in standard deviations from how near foreign questions come.
_LEAST: Final = -1.0
#: A gate that nothing passes.
_NEVER: Final = 1e9
#: The middle of memory includes so many foreign questions, since a young memory has hardly any texts.
_PRIOR: Final = 20
_FIELDS: Final = ("foreign", "middle", "gates", "floors")
#: Rows that are multiplied at a time: they fit into the processor's cache.
_ROWS: Final = 512
#: Shifted by so many bits, float16 is a float32 with the right sign and digits, and too small by the factor `_SCALE`.
_SHIFT: Final = 13
_SIGN_AND_VALUE: Final = -0x70002000
_SCALE: Final = np.float32(2.0**112)


def products(bits: np.ndarray[Any, np.dtype[np.int16]], vector: Floats) -> Floats:
    """Return the product of each row of float16 bits with *vector*, as exact as by float32 (four times sooner than numpy)."""
    found = np.empty(len(bits), np.float32)
    scaled = vector * _SCALE
    for at, block in _blocks(bits):
        np.dot(block.view(np.float32), scaled, out=found[at : at + len(block)])
    return found


def _blocks(bits: np.ndarray[Any, np.dtype[np.int16]]) -> Iterator[tuple[int, np.ndarray[Any, np.dtype[np.int32]]]]:
    """Yield the rows, a few at a time, as bits of float32 that lack `_SCALE`; each block is overwritten by the next."""
    room = np.empty((_ROWS, bits.shape[1]), np.int32)
    for at in range(0, len(bits), _ROWS):
        some = bits[at : at + _ROWS]
        block = room[: len(some)]
        np.left_shift(some, np.int32(_SHIFT), out=block, dtype=np.int32)
        np.bitwise_and(block, np.int32(_SIGN_AND_VALUE), out=block)
        yield at, block


def _rows(bits: np.ndarray[Any, np.dtype[np.int16]]) -> Iterator[tuple[slice, Floats]]:
    """Yield the rows, a few at a time, as float32."""
    for at, block in _blocks(bits):
        yield slice(at, at + len(block)), block.view(np.float32) * _SCALE


def _unit(vectors: Floats) -> Floats:
    """Return the vectors with length 1; a vector of zeros stays as it is."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)


def _nearest(cosines: Floats) -> Floats:
    """Return the mean of the highest of each row."""
    return np.asarray(np.partition(cosines, -_NEAREST, axis=1)[:, -_NEAREST:].mean(axis=1), np.float32)


def _highest(near: Floats) -> Floats:
    """Return the highest of each row, as many as there are witnesses."""
    return np.partition(near, -WITNESSES, axis=1)[:, -WITNESSES:] if near.shape[1] > WITNESSES else near


@dataclass(frozen=True, eq=False)
class Calibration:
    """
    How one model sees one memory: *foreign* are the vectors of the foreign questions, *middle* is the middle of memory.

    *gates* and *floors* are for other and for Chinese questions, as (other, Chinese); *rows* is how many vectors there were.
    *measured* has for each file of vectors the distance of each text from the middle, and what it has in common with foreign
    questions.
    """

    foreign: Floats
    middle: Floats
    gates: Floats
    floors: Floats
    rows: int
    measured: dict[str, Floats] = field(default_factory=dict)

    @cached_property
    def _asked(self) -> Floats:
        """The middle of questions."""
        return np.asarray(self.foreign.mean(axis=0), np.float32)

    @cached_property
    def _others(self) -> Floats:
        """The foreign questions, relative to their middle."""
        return _unit(self.foreign - self._asked)

    def nearness(self, asked: str, vector: Floats, segment: Segment) -> Floats:
        """Return for each text of the file how near the question *asked* comes to it: 0 at the floor, 1 at the gate."""
        seen = _unit(vector - self._asked)
        common = _COMMON * float(_nearest((self._others @ seen)[None])[0])
        distances, commons = self.measure(segment)
        near = (products(segment.bits, seen) - seen @ self.middle) / distances - common - commons
        script = int(bool(_HAN.search(asked)))
        floor, gate = self.floors[script], self.gates[script]
        return np.asarray((near - floor) / max(float(gate - floor), 1e-6), np.float32)

    def measure(self, segment: Segment) -> Floats:
        """Return two rows, distances and what is in common; each file is measured once."""
        if segment.name not in self.measured or self.measured[segment.name].shape[1] != len(segment.names):
            self.measured[segment.name] = self._measured(segment)[0]
        return self.measured[segment.name]

    def _measured(self, segment: Segment) -> tuple[Floats, Floats]:
        """Return the two rows, and for each foreign question how near it comes to its nearest texts in this file."""
        found = np.empty((2, len(segment.names)), np.float32)
        nearest = np.empty((len(self.foreign), 0), np.float32)
        for at, vectors in _rows(segment.bits):
            seen = vectors - self.middle
            lengths = np.linalg.norm(seen, axis=1)
            lengths[lengths == 0] = 1
            cosines = (seen @ self._others.T) / lengths[:, None]
            commons = _COMMON * _nearest(cosines)
            commons[~vectors.any(axis=1)] = np.inf  # the model refused the text
            found[:, at] = lengths, commons
            nearest = _highest(np.hstack([nearest, (cosines - commons[:, None])[np.isfinite(commons)].T]))
        return found, nearest

    def to_bytes(self) -> bytes:
        """Return the calibration as bytes, for `parse_calibration`."""
        fields: dict[str, Any] = {name: getattr(self, name) for name in (*_FIELDS, "rows")}
        out = io.BytesIO()
        fields |= {f"measured {name}": found for name, found in self.measured.items()}
        np.savez(out, **fields)
        return out.getvalue()


def parse_calibration(data: bytes) -> Calibration:
    """Return the calibration that `to_bytes` made; ValueError if the bytes are not one, or have other foreign questions."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            if any(one.compress_type != zipfile.ZIP_STORED or one.file_size > len(data) for one in packed.infolist()):
                raise ValueError("it is packed, and what is in it may be of any size")
        with np.load(io.BytesIO(data), allow_pickle=False) as found:
            measured = {name.partition(" ")[2]: found[name] for name in found.files if name.startswith("measured ")}
            fields = {name: found[name] for name in _FIELDS}
            made = Calibration(**fields, rows=int(found["rows"]), measured=measured)
    except (
        zipfile.BadZipFile,
        KeyError,
        OSError,
        EOFError,
        MemoryError,
        TypeError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        raise ValueError(f"it is no calibration ({type(error).__name__})") from None
    size = made.middle.shape[0] if made.middle.ndim == 1 else 0
    if made.foreign.shape != (len(FOREIGN), size) or made.gates.shape != (2,) or made.floors.shape != (2,):
        raise ValueError("it is a calibration by other questions")
    return made


def calibrate(segments: Sequence[Segment], foreign: Floats, gate: float = GATE) -> Calibration:
    """
    Return how the model of these vectors sees the texts of *segments*.

    *foreign* are the vectors of the foreign questions, *gate* is the gate of the model, in standard deviations.
    """
    total, texts = _PRIOR * foreign.mean(axis=0), _PRIOR
    for segment in segments:
        for _, vectors in _rows(segment.bits):
            total, texts = total + vectors.sum(axis=0), texts + int(vectors.any(axis=1).sum())
    rows = sum(len(segment.names) for segment in segments)
    middle = np.asarray(total / texts, np.float32)
    made = Calibration(foreign, middle, np.full(2, _NEVER, np.float32), np.zeros(2, np.float32), rows)
    if texts == _PRIOR:
        return made  # the model has refused all texts: none is near
    nearest = np.empty((len(foreign), 0), np.float32)
    for segment in segments:
        made.measured[segment.name], near = made._measured(segment)  # noqa: SLF001 - its maker
        nearest = _highest(np.hstack([nearest, near]))
    cosines = made._others @ made._others.T  # noqa: SLF001
    np.fill_diagonal(cosines, -np.inf)
    chance = nearest.mean(axis=1) - _COMMON * _nearest(cosines)
    for n in range(2):
        near = chance[n == _IS_CHINESE]
        made.gates[n], made.floors[n] = (near.mean() + sds * near.std() for sds in (gate, _LEAST))
    return made
