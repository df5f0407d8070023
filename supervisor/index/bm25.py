"""
BM25 as rank-bm25 computes it, for the candidates of a question and with the statistics of all passages.

The idf is Lucene's, which is never negative: with rank-bm25's own a perfect match in a memory of one message scores below zero.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .documents import Document

#: Words whose frequencies, and whose idf, are cached.
KNOWN: Final = 10_000


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


def load_numpy() -> None:
    """Load numpy before the time of a search begins."""
    import numpy as np  # noqa: F401 - for those who import it later


class WordScores:
    """The scores of the candidates for any set of words: each word is scored once, by rank-bm25 in each field."""

    def __init__(
        self,
        candidates: Sequence[Document],
        corpora: Sequence[Corpus],
        k1: float,
        b: float,
        related: Mapping[str, Mapping[str, float]],
    ) -> None:
        self._corpora, self._k1, self._b, self._related = corpora, k1, b, related
        #: Of each candidate the words that each field adds, and the number of words of each field.
        self._words = [[words.split() for words in candidate.words] for candidate in candidates]
        self._lengths = [[*itertools.accumulate(map(len, parts))] for parts in self._words]
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
        return sum((weight * self._scores[word] for word, weight in words.items()), np.zeros(len(self._words)))

    def _score(self, words: Sequence[str]) -> None:
        import numpy as np
        from rank_bm25 import BM25Okapi

        if not words:
            return
        wanted = {*words}
        of_words = [[[word for word in part if word in wanted] for part in parts] for parts in self._words]
        models = []
        for n, corpus in enumerate(self._corpora):
            documents = [[*itertools.chain.from_iterable(parts[: n + 1])] for parts in of_words]
            if not any(documents):
                continue  # rank-bm25 divides by the number of words
            model = BM25Okapi(documents, k1=self._k1, b=self._b)
            # the documents have the words of the question alone; length, average and idf are those of the whole field
            model.doc_len, model.avgdl = [lengths[n] for lengths in self._lengths], corpus.average or 1.0
            model.idf = {word: corpus.idf(word) for word in words}
            models.append(model)
        for word in words:
            self._alone[word] = sum((model.get_scores([word]) for model in models), np.zeros(len(self._words)))
