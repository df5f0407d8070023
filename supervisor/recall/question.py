"""
A question by its vector: how near passages of memory come to it, and whether it asks for the first or last talk or for nothing.

A cosine says little by itself: with one model any two sentences are at 0.8, with another none are. So it counts by how many
standard deviations it is above the middle of memory, among passages that whoever asks may see. `index/ranking` adds it to the
score. Pure.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..index.hit import Edge
from ..text.lazy_re import lines_of
from .vectors import Array, Table

#: How many vectors are compared in full, of those that their codes find, and how many passages may be found by meaning alone.
_COMPARED: Final = 300
_NEAREST: Final = 100
#: How many vectors say where the middle of memory is, and how many standard deviations from it count for nothing.
_SAMPLE: Final = 1024
_FROM: Final = 1.0
_LEAST_SPAN: Final = 0.5
#: From how many standard deviations on a passage stands out, or from which part of the most that so few texts can have.
_STANDS_OUT: Final = 2.5
_OF_MOST: Final = 0.5
#: The cosine of a text with itself, in 8-bit numbers; and from how many deviations on two statements are of the same thing.
_THE_SAME: Final = 0.995
_ALIKE: Final = 2.5
#: How much of what all passages have in common is taken out.
_TAKEN: Final = 0.8
_SHORTEST: Final = 0.001
#: The name of the vector that says whether the model behind a name is still the same: it is no passage's.
PROBE_UNIT: Final = 0
#: Questions for the first or the last talk, and what asks for nothing ("none"); how near to one of its kind an input is that
#: means the same: a part of the way from the middle of memory to the one that is nearest to each; and of small talk.
TALKS: Final = tuple(tuple(line.split("\t")) for line in lines_of(Path(__file__).with_name("talks.tsv")))
_SAME_QUESTION: Final = 0.85
_SMALL_TALK: Final = 0.9
#: How much nearer the one end has to be than the other, so that it is not both: 上次 and 第一次 are near to each other for USE.
_EITHER: Final = 0.1
#: How many vectors say where that middle is.
_FEW: Final = 128


class Near:
    """
    A `Nearness`: of one question's *vector* among the passages *units* (None: all) of which the table has vectors.

    What all of them have in common, the middle of memory, is taken out of the vectors before they are compared.
    """

    def __init__(self, table: Table, vector: Array, units: Collection[int] | None, weight: float) -> None:
        self._table, self._units, self._weight = table, units, weight
        if units is None:
            rows, sample = table.near(vector, _COMPARED), table.places[:: max(1, len(table.places) // _SAMPLE)]
        else:
            rows = sample = table.find(np.fromiter(units, np.uint64, len(units)))[1]
        vectors, known = table.vectors(rows), table.vectors(sample)
        known = known[known.any(axis=1)]
        middle = known.sum(axis=0)
        self._common = middle / (np.linalg.norm(middle) or 1)
        self._question = self._apart(vector)
        cosines = self._apart(known) @ self._question
        cosines = cosines[cosines < _THE_SAME]  # what is compared with itself would be all the spread of a young memory
        self._middle, self._spread = (float(cosines.mean()), float(cosines.std()) or 1.0) if len(cosines) else (0.0, 1.0)
        above = self._deviations(vectors)
        order = np.argsort(-above)[:_NEAREST]
        self.highest = float(above[order[0]]) if len(order) else 0.0
        #: The most standard deviations that one of so few texts can be away.
        self.most = math.sqrt(max(0, len(cosines) - 1))
        self.stands_out = self.highest >= min(_STANDS_OUT, _OF_MOST * self.most)
        nearest = zip(table.rows["unit"][rows[order]].tolist(), above[order].tolist(), strict=True)
        self.nearest: Mapping[int, float] = {unit: far for unit, far in nearest if far > _FROM}

    def like(self, unit: int) -> Mapping[int, float]:
        """Return what is near to this passage, the nearest first, as a part of the nearness from which two are alike."""
        vector = self._table.vector(unit)
        if vector is None or not vector.any():
            return {}
        near = Near(self._table, vector, self._units, self._weight)
        alike = min(_ALIKE, _OF_MOST * near.most)
        return {other: far / alike for other, far in near.nearest.items() if other not in (unit, PROBE_UNIT)}

    def worth(self, units: Sequence[int]) -> list[float]:
        """Return what the nearness of each passage adds, as a share of the best score by words."""
        above = np.zeros(len(units), np.float32)
        places, rows = self._table.find(np.array(units, np.uint64))
        above[places] = np.maximum(0, self._deviations(self._table.vectors(rows)) - _FROM)
        worths: list[float] = (self._weight * np.minimum(1, above / max(_LEAST_SPAN, self.highest - _FROM))).tolist()
        return worths

    def _deviations(self, vectors: Array) -> Array:
        """Return how many standard deviations each vector is nearer than the middle; a refused text is not near."""
        return np.where(vectors.any(axis=1), (self._apart(vectors) @ self._question - self._middle) / self._spread, 0)

    def _apart(self, vectors: Array) -> Array:
        left = vectors - _TAKEN * np.multiply.outer(vectors @ self._common, self._common)
        return np.asarray(left / np.maximum(_SHORTEST, np.linalg.norm(left, axis=-1, keepdims=True)), np.float32)


@dataclass(frozen=True, eq=False)
class Question:
    """A question with its *vector*, as `index.hit.Asked`; *talks* are the vectors of `TALKS`, *weight* is `recall.meaning`."""

    table: Table
    vector: Array
    talks: Array | None
    weight: float

    def __call__(self, units: Collection[int] | None) -> Near:
        """Return how near these passages come."""
        return Near(self.table, self.vector, units, self.weight)

    @cached_property
    def talk(self) -> Sequence[Edge]:
        """Which end of memory it asks for, if it means the same as one of `TALKS`."""
        near: dict[Edge, float] = {"first": 0.0, "last": 0.0}
        for edge, nearness in self._nearness({*near}):
            near[edge] = max(near[edge], nearness)
        best = max(near.values())
        ends = sorted((edge for edge in near if near[edge] > best - _EITHER), key=lambda edge: -near[edge])
        return ends if best >= _SAME_QUESTION else ()

    @cached_property
    def is_small_talk(self) -> bool:
        """True if it means the same as what asks for nothing."""
        return any(nearness >= _SMALL_TALK for _, nearness in self._nearness({"none"}))

    def _nearness(self, kinds: Collection[str]) -> Iterator[tuple[Any, float]]:
        """Yield how near it comes to each of the `TALKS` of these kinds: 1.0 is as near as they are to each other."""
        rows = [n for n, (kind, _) in enumerate(TALKS) if kind in kinds]
        if self.talks is None:
            return
        talks, sample = self.talks[rows], self.table.vectors(self.table.places[:: max(1, len(self.table.places) // _FEW)])
        middle = float((sample @ talks.T).mean())
        alike = np.sort(talks @ talks.T, axis=1)[:, -2].mean()  # the last is each with itself
        for n, cosine in zip(rows, talks @ self.vector, strict=True):
            yield TALKS[n][0], float((cosine - middle) / (alike - middle))
