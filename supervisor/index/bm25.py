"""
BM25 as rank-bm25 computes it, for the candidates of a question and with the statistics of all passages.

The idf is Lucene's, which is never negative: with rank-bm25's own a perfect match in a memory of one message scores below zero.
Each term is a number, so that it can be looked for in hundreds of passages at once; a term is scored once for all sentences.
"""

from __future__ import annotations

import math
from array import array
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import date

#: One field each: the words of a passage and of its neighbours up to this many messages away.
CONTEXT_WIDTHS: Final = (0, 1, 3)
#: Words whose frequencies, and whose idf, are cached.
KNOWN: Final = 10_000


class Candidate(NamedTuple):
    """
    A passage to be scored: the term numbers of its *words*, then of those that each wider field adds; its words as *text*.

    *lengths* are the numbers of words of the fields, narrower ones included; *group* is its day or file; *asks*: it ends in a
    question; *wishes*: it is a standing wish of the user's; *source* identifies the passage, *unit* its vector
    (`Document.unit`). Hundreds are made for each question, so it is a tuple, which is made fastest.
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
    unit: int = 0


class Corpus:
    """
    The statistics of one field: the number of passages, their average length, and how many have a word.

    The idf of a word is asked for by each step of a search, so those of the last words are kept.
    """

    def __init__(self, size: int, average: float, frequency: Callable[[str], int]) -> None:
        self.size, self.average, self.frequency = size, average, frequency
        #: The idf of a word of one passage, 1.0 at least.
        self._highest = max(1.0, _idf_of(1, size))

        # subtle: no method of this object, which would refer to itself and keep a closed index open until the next collection
        @lru_cache(maxsize=KNOWN)
        def idf(word: str) -> float:
            count = frequency(word)
            return _idf_of(count, size) if count else 0.0

        #: Returns Lucene's inverse document frequency; 0.0 for a word that no passage has.
        self.idf: Callable[[str], float] = idf

    def relative_idf(self, word: str) -> float:
        """Return the idf relative to that of a word of one passage: 1.0 for such a word, 0.0 for one that no passage has."""
        return min(1.0, self.idf(word) / self._highest)


def _idf_of(count: int, size: int) -> float:
    # the index may still count deleted passages
    return math.log(1 + (max(size, count) - count + 0.5) / (count + 0.5))


def respelled(candidates: Sequence[Candidate], words: Mapping[str, str]) -> Sequence[Candidate]:
    """Return the candidates with each of the *words* in their text replaced by its other spelling (丈母娘 by 岳母)."""

    def read(one: Candidate) -> Candidate:
        if not any(word in one.text for word in words):
            return one
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


class WordScores:
    """The scores of the candidates for any set of words: each word is scored once, by rank-bm25 in each field."""

    def __init__(
        self,
        candidates: Sequence[Candidate],
        corpora: Sequence[Corpus],
        k1: float,
        b: float,
        related: Mapping[str, Mapping[str, float]],
    ) -> None:
        import numpy as np

        self._corpora, self._k1, self._b, self._related = corpora, k1, b, related
        self._terms = np.frombuffer(b"".join([candidate.words for candidate in candidates]), dtype=np.uint32)
        #: Candidates × fields: the number of words of each, and where they end among all words.
        self._lengths = np.array([candidate.lengths for candidate in candidates])
        ends = self._lengths[:, -1].cumsum()
        self._starts = ends - self._lengths[:, -1]
        self._ends = self._lengths + self._starts[:, None]
        self._alone: dict[str, Any] = {}  # the score of each candidate for a word of weight 1
        self._scores: dict[str, Any] = {}  # the same or for a word that is related to it, whichever is higher

    def scores(self, words: Mapping[str, float]) -> Any:
        """Return an array: the score of each candidate for these words with their weights, the sum over the fields."""
        import numpy as np

        new = [word for word in words if word not in self._scores]
        others = [other for word in new for other in self._related.get(word, ())]
        self._score([word for word in dict.fromkeys((*new, *others)) if word not in self._alone])
        for word in new:
            alike = [worth * self._alone[other] for other, worth in self._related.get(word, {}).items()]
            self._scores[word] = np.maximum.reduce([self._alone[word], *alike])
        return sum((weight * self._scores[word] for word, weight in words.items()), np.zeros(len(self._starts)))

    def _score(self, words: Sequence[str]) -> None:
        import numpy as np
        from rank_bm25 import BM25Okapi

        if not words:
            return
        numbers = {word: term_number(word) for word in words}
        fields = self._documents([*numbers.values()])
        models = []
        for documents, corpus, lengths in zip(fields, self._corpora, self._lengths.T, strict=True):
            if not any(documents):
                continue  # rank-bm25 divides by the number of words
            model = BM25Okapi(documents, k1=self._k1, b=self._b)
            # the documents have the words of the question alone; length, average and idf are those of the whole field
            model.doc_len, model.avgdl = lengths, corpus.average or 1.0
            model.idf = {number: corpus.idf(word) for word, number in numbers.items()}
            models.append(model)
        for word, number in numbers.items():
            self._alone[word] = sum((model.get_scores([number]) for model in models), np.zeros(len(self._starts)))

    def _documents(self, numbers: Sequence[int]) -> list[list[list[int]]]:
        """Return for each field the candidates as lists of those of their terms that have one of the *numbers*."""
        import numpy as np

        places = np.isin(self._terms, np.array(numbers, dtype=np.uint32)).nonzero()[0]
        terms = self._terms[places].tolist()
        starts, ends = places.searchsorted(self._starts).tolist(), places.searchsorted(self._ends.T).tolist()
        return [[terms[start:end] for start, end in zip(starts, of_field, strict=True)] for of_field in ends]
