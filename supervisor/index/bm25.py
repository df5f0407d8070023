"""
BM25 as rank-bm25 computes it, over some units of memory with the statistics of all.

Lucene's idf is never negative: with rank-bm25's own a perfect match in a memory of one message scores less than nothing.
Each word is a number, so that it is counted in hundreds of units at once, and is scored once, however many questions use it.
"""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import date

#: Fields: the unit's own words, then with those of its neighbours up to this far.
CONTEXT_WIDTHS: Final = (0, 1, 3)
#: Bytes of a word's number.
_BYTES: Final = 4
#: The word of a document of one word.
_IT: Final = "it"


@dataclass(frozen=True, slots=True)
class Candidate:
    """
    A unit as the index offers it: the numbers of its *words*, and of those that each further reach adds; its words as text.

    *lengths* is how many words each field has, nearer ones counted; *group* is the day or file it stands in; *source* finds
    it again.
    """

    words: tuple[bytes, ...]
    text: str
    lengths: tuple[int, ...]
    group: str
    day: date | None
    role: str
    source: Any


@dataclass(frozen=True, slots=True)
class Corpus:
    """One field over all units: how many there are, words on average, and in how many of them a word stands."""

    size: int
    average: float
    frequency: Callable[[str], int]

    def idf(self, word: str) -> float:
        """Return Lucene's inverse document frequency; 0.0 for a word that is nowhere."""
        count = self.frequency(word)
        return self._idf_of(count) if count else 0.0

    def relative_idf(self, word: str) -> float:
        """Return the same as a share of what a word has that stands once: 1.0 for such a one, 0.0 for one that is nowhere."""
        return min(1.0, self.idf(word) / max(1.0, self._idf_of(1)))

    def weight(self, word: str) -> float:
        """Return the same, where a word that is nowhere weighs the most."""
        return self._idf_of(self.frequency(word))

    def _idf_of(self, count: int) -> float:
        # the index may still count what was deleted
        return math.log(1 + (max(self.size, count) - count + 0.5) / (count + 0.5))


def number(word: str) -> int:
    """Return the number that stands for a word: 32 bits, the same everywhere."""
    return crc32(word.encode("utf-8", "surrogatepass"))


def numbers(words: Iterable[str]) -> bytes:
    """Return the numbers of the words, four bytes each."""
    return array("I", map(number, words)).tobytes()


class TermCounts:
    """Candidates with their words counted, ready to be scored."""

    def __init__(self, candidates: Sequence[Candidate], corpora: Sequence[Corpus], k1: float, b: float) -> None:
        import numpy as np

        self._corpora, self._k1, self._b = corpora, k1, b
        parts = [part for candidate in candidates for part in candidate.words]
        self._words = np.frombuffer(b"".join(parts), dtype=np.uint32)
        self._places = np.repeat(np.arange(len(parts)), [len(part) // _BYTES for part in parts])
        #: Candidates × fields: how long each is beside the average of its field.
        self._lengths = np.array([candidate.lengths for candidate in candidates]) / [one.average or 1.0 for one in corpora]
        self._known: dict[str, Any] = {}  # what each candidate gets for a word that counts in full

    def scores(self, words: Mapping[str, float]) -> list[float]:
        """Return what each candidate gets for these words, with what each of them counts: the sum over the fields."""
        import numpy as np

        self._weigh([word for word in words if word not in self._known])
        total = np.zeros(len(self._lengths))
        for word, counts in words.items():
            total += counts * self._known[word]
        scores: list[float] = total.tolist()
        return scores

    def _weigh(self, words: Sequence[str]) -> None:
        """Have rank-bm25 score the words: for it each word that stands in a field of a candidate is a document of its own."""
        import numpy as np

        if not words:
            return
        counts = np.stack([self._counts(word) for word in words])
        there = counts.nonzero()
        scores = np.zeros(counts.shape)
        if len(there[0]):
            scores[there] = _of_counts()(counts[there].tolist(), self._lengths[there[1:]], self._k1, self._b).get_scores([_IT])
        worth = np.array([[corpus.idf(word) for corpus in self._corpora] for word in words])
        self._known.update(zip(words, (scores * worth[:, None, :]).sum(axis=2), strict=True))

    def _counts(self, word: str) -> Any:
        """Return how often the word stands, candidates × fields; a field is the nearer one and what its reach adds."""
        import numpy as np

        places = self._places[np.flatnonzero(self._words == number(word))]
        return np.bincount(places, minlength=self._lengths.size).reshape(self._lengths.shape).cumsum(axis=1)


@cache
def _of_counts() -> Any:
    from rank_bm25 import BM25Okapi

    class OfCounts(BM25Okapi):  # type: ignore[misc]
        """rank-bm25 over documents of one word that weighs 1: *counts* times in each, whose *lengths* are 1 on average."""

        def __init__(self, counts: Sequence[int], lengths: Sequence[float], k1: float, b: float) -> None:
            self._lengths = lengths
            documents = {count: {_IT: count} for count in set(counts)}
            super().__init__([documents[count] for count in counts], k1=k1, b=b)

        def _initialize(self, counted: Sequence[Mapping[str, int]]) -> None:
            self.corpus_size, self.avgdl, self.doc_len, self.doc_freqs = len(counted), 1.0, self._lengths, counted

        def _calc_idf(self, _counted: object) -> None:
            """Leave the word's rareness to the corpus, each field's own."""
            self.idf = {_IT: 1.0}

    return OfCounts
