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
REACH: Final = (0, 1, 3)
#: Bytes of a word's number.
_BYTES: Final = 4


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

    def rareness(self, word: str) -> float:
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


class Counted:
    """Candidates with their words counted, ready to be scored."""

    def __init__(self, candidates: Sequence[Candidate], corpora: Sequence[Corpus], k1: float, b: float) -> None:
        import numpy as np

        self._size = len(candidates)
        parts = [part for candidate in candidates for part in candidate.words]
        self._words = np.frombuffer(b"".join(parts), dtype=np.uint32)
        self._places = np.repeat(np.arange(len(parts)), [len(part) // _BYTES for part in parts])
        lengths = zip(*(candidate.lengths for candidate in candidates), strict=True)
        self._fields = [_of_corpus()(corpus, of_field, k1, b) for corpus, of_field in zip(corpora, lengths, strict=True)]
        self._known: dict[str, Any] = {}  # what each candidate gets for a word that counts in full

    def scores(self, words: Mapping[str, float]) -> list[float]:
        """Return what each candidate gets for these words, with what each of them counts: the sum over the fields."""
        import numpy as np

        self._weigh([word for word in words if word not in self._known])
        total = np.zeros(self._size)
        for word, counts in words.items():
            total += counts * self._known[word]
        return [float(score) for score in total]

    def _weigh(self, words: Sequence[str]) -> None:
        """Have rank-bm25 score the words, field by field."""
        for field in self._fields:
            field.doc_freqs = [{} for _ in range(self._size)]
        for word in words:
            for field, places in zip(self._fields, self._frequencies(word), strict=True):
                for n, count in places:
                    field.doc_freqs[n][word] = count
        for word in words:
            self._known[word] = sum(field.score(word) for field in self._fields)

    def _frequencies(self, word: str) -> list[list[tuple[int, int]]]:
        """Return for each field in which candidates the word stands, and how often."""
        import numpy as np

        shape = (self._size, len(self._fields))
        places = self._places[np.flatnonzero(self._words == number(word))]
        # a field is the nearer one and what its reach adds
        counts = np.bincount(places, minlength=shape[0] * shape[1]).reshape(shape).cumsum(axis=1).T.tolist()
        return [[(n, count) for n, count in enumerate(of_field) if count] for of_field in counts]


@cache
def _of_corpus() -> Any:
    from rank_bm25 import BM25Okapi

    class OfCorpus(BM25Okapi):  # type: ignore[misc]
        """rank-bm25 over one field of some units, *lengths* words long, with the statistics of the whole corpus."""

        def __init__(self, corpus: Corpus, lengths: Sequence[int], k1: float, b: float) -> None:
            self._corpus = corpus
            super().__init__(lengths, k1=k1, b=b)

        def _initialize(self, lengths: Sequence[int]) -> None:
            self.corpus_size, self.avgdl, self.doc_len = len(lengths), self._corpus.average or 1.0, lengths

        def _calc_idf(self, _counted: object) -> None:
            """Leave it to `score`: only the words that are asked for are weighed."""

        def score(self, word: str) -> Any:
            """Return what each unit gets for the word, by `doc_freqs`."""
            self.idf = {word: self._corpus.idf(word)}
            return self.get_scores([word])

    return OfCorpus
