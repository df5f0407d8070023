"""
BM25 as rank-bm25 computes it, for the candidates of a question and with the statistics of all passages.

The idf is Lucene's, which is never negative: with rank-bm25's own a perfect match in a memory of one message scores below zero.
Each term is a number, so that it can be counted in hundreds of passages at once; a term is scored once for all sentences.
"""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import date

#: One field each: the words of a passage and of its neighbours up to this many messages away.
CONTEXT_WIDTHS: Final = (0, 1, 3)
#: A quick test of a term: if no term of the question has the same last bits, it is not one of them.
_LAST_BITS: Final = 0xFFFF
#: The only term of each document that rank-bm25 sees.
_IT: Final = "it"


class Candidate(NamedTuple):
    """
    A passage to be scored: the term numbers of its *words*, then of those that each wider field adds; its words as *text*.

    *lengths* are the numbers of words of the fields, narrower ones included; *group* is its day or file; *asks*: it ends
    in a question; *wishes*: it is a standing wish of the user's; *source* identifies the passage. Hundreds are made for each
    question, so it is a tuple, which is made fastest.
    """

    words: bytes
    text: str
    lengths: tuple[int, ...]
    group: str
    day: date | None
    role: str
    asks: bool
    wishes: bool
    source: Any


@dataclass(frozen=True, slots=True)
class Corpus:
    """The statistics of one field: the number of passages, their average length, and how many have a word."""

    size: int
    average: float
    frequency: Callable[[str], int]

    def idf(self, word: str) -> float:
        """Return Lucene's inverse document frequency; 0.0 for a word that no passage has."""
        count = self.frequency(word)
        return self._idf_of(count) if count else 0.0

    def relative_idf(self, word: str) -> float:
        """Return the idf relative to that of a word of one passage: 1.0 for such a word, 0.0 for one that no passage has."""
        return min(1.0, self.idf(word) / max(1.0, self._idf_of(1)))

    def weight(self, word: str) -> float:
        """Return the idf, with the highest value for a word that no passage has."""
        return self._idf_of(self.frequency(word))

    def _idf_of(self, count: int) -> float:
        # the index may still count deleted passages
        return math.log(1 + (max(self.size, count) - count + 0.5) / (count + 0.5))


def respelled(candidates: Sequence[Candidate], words: Mapping[str, str]) -> Sequence[Candidate]:
    """Return the candidates with each of the *words* in their text replaced by its other spelling (丈母娘 by 岳母)."""

    def read(one: Candidate) -> Candidate:
        there = one.text.split()
        return one if words.keys().isdisjoint(there) else one._replace(text=" ".join(words.get(word, word) for word in there))

    return [read(one) for one in candidates] if words else candidates


def load_numpy() -> None:
    """Load numpy before the time of a search begins."""
    import numpy as np  # noqa: F401 - for those who import it later


def term_number(word: str) -> int:
    """Return the 32-bit number of a term, the same on every machine."""
    return crc32(word.encode("utf-8", "surrogatepass"))


def term_numbers(words: Iterable[str]) -> bytes:
    """Return the numbers of the terms, four bytes each."""
    return array("I", map(term_number, words)).tobytes()


class TermCounts:
    """The terms of the candidates, counted once, to score them for any set of words."""

    def __init__(
        self,
        candidates: Sequence[Candidate],
        corpora: Sequence[Corpus],
        k1: float,
        b: float,
        related: Mapping[str, Mapping[str, float]],
    ) -> None:
        import numpy as np

        self._related = related
        self._corpora, self._k1, self._b = corpora, k1, b
        self._words = np.frombuffer(b"".join([candidate.words for candidate in candidates]), dtype=np.uint32)
        lengths = np.array([candidate.lengths for candidate in candidates]).T
        own = np.diff(lengths, axis=0, prepend=0)  # the words that each field adds to the narrower one
        self._places = np.repeat(np.arange(lengths.size).reshape(lengths.shape).T.ravel(), own.T.ravel())
        #: Fields × candidates: the length of each, relative to the average of its field.
        self._lengths = lengths / np.array([[one.average or 1.0] for one in corpora])
        self._known: dict[str, Any] = {}  # the score of each candidate for a word of weight 1

    def scores(self, words: Mapping[str, float]) -> list[float]:
        """
        Return the score of each candidate for these words with their weights: the sum over the fields.

        The score of a word is its own or that of a related word, whichever is higher.
        """
        import numpy as np

        new = [word for word in words if word not in self._known]
        others = [other for word in new for other in self._related.get(word, ())]
        self._weigh([word for word in dict.fromkeys((*new, *others)) if word not in self._known])
        for word in new:
            for other, worth in self._related.get(word, {}).items():
                self._known[word] = np.maximum(self._known[word], worth * self._known[other])
        total = np.zeros(self._lengths.shape[1])
        for word, counts in words.items():
            total += counts * self._known[word]
        scores: list[float] = total.tolist()
        return scores

    def _weigh(self, words: Sequence[str]) -> None:
        """Let rank-bm25 score the words: each word in a field of a candidate is a document of its own."""
        import numpy as np

        if not words:
            return
        counts = self._counts(words)
        there = counts.nonzero()
        scores = np.zeros(counts.shape)
        if len(there[0]):
            scores[there] = _of_counts()(counts[there].tolist(), self._lengths[there[1:]], self._k1, self._b).get_scores([_IT])
        worth = np.array([[[corpus.idf(word)] for corpus in self._corpora] for word in words])
        self._known.update(zip(words, (scores * worth).sum(axis=1), strict=True))

    def _counts(self, words: Sequence[str]) -> Any:
        """Return how often each word occurs, words × fields × candidates; a field includes the narrower one."""
        import numpy as np

        numbers, of_word = np.unique(np.array([term_number(word) for word in words], dtype=np.uint32), return_inverse=True)
        may_be = np.zeros(_LAST_BITS + 1, dtype=bool)
        may_be[numbers & _LAST_BITS] = True
        near = np.flatnonzero(may_be[self._words & _LAST_BITS])
        terms = self._words[near]
        found = np.searchsorted(numbers, terms)
        found[found == len(numbers)] = 0
        is_one = numbers[found] == terms
        size = self._lengths.size
        counts = np.bincount(found[is_one] * size + self._places[near[is_one]], minlength=len(numbers) * size)
        each = counts.reshape(len(numbers), *self._lengths.shape)[of_word.ravel()]
        for reach in range(1, len(self._lengths)):
            each[:, reach] += each[:, reach - 1]
        return each


@cache
def _of_counts() -> Any:
    from rank_bm25 import BM25Okapi

    class OfCounts(BM25Okapi):  # type: ignore[misc]
        """rank-bm25 over documents of one term with idf 1, *counts* times in each; the average of *lengths* is 1."""

        def __init__(self, counts: Sequence[int], lengths: Sequence[float], k1: float, b: float) -> None:
            self._lengths = lengths
            documents = {count: {_IT: count} for count in set(counts)}
            super().__init__([documents[count] for count in counts], k1=k1, b=b)

        def _initialize(self, counted: Sequence[Mapping[str, int]]) -> None:
            self.corpus_size, self.avgdl, self.doc_len, self.doc_freqs = len(counted), 1.0, self._lengths, counted

        def _calc_idf(self, _counted: object) -> None:
            """Do nothing: the idf is applied later, since each field has its own."""
            self.idf = {_IT: 1.0}

    return OfCounts
