"""
BM25 as rank-bm25 computes it, for the candidates of a question and with the statistics of all passages.

The idf is Lucene's, which is never negative: with rank-bm25's own a perfect match in a memory of one message scores below zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .documents import Document


@dataclass(frozen=True)
class Corpus:
    """The statistics of one field: the number of passages, their average length, and how many have a word."""

    size: int
    average: float
    frequency: Callable[[str], int]

    def idf(self, word: str) -> float:
        """Return Lucene's inverse document frequency; 0.0 for a word that no passage has."""
        count = self.frequency(word)
        return _idf_of(count, self.size) if count else 0.0

    def relative_idf(self, word: str) -> float:
        """Return the idf relative to that of a word of one passage: 1.0 for such a word, 0.0 for one that no passage has."""
        return min(1.0, self.idf(word) / max(1.0, _idf_of(1, self.size)))


def _idf_of(count: int, size: int) -> float:
    # the index may still count deleted passages
    return math.log(1 + (max(size, count) - count + 0.5) / (count + 0.5))


def load_numpy() -> None:
    """Load numpy before the time of a search begins."""
    import numpy as np  # noqa: F401 - for those who import it later


def word_scores(
    candidates: Sequence[Document],
    corpora: Sequence[Corpus],
    k1: float,
    b: float,
    words: Iterable[str],
    related: Mapping[str, Mapping[str, float]],
) -> dict[str, Any]:
    """
    Return for each word an array: what each candidate scores for it by rank-bm25, the sum over the fields.

    A candidate scores as much for a word that is *related* to it, times its worth, if that is more.
    """
    import numpy as np
    from rank_bm25 import BM25Okapi

    words = [*words]
    wanted = {*words, *(other for others in related.values() for other in others)}
    parts = [[added.split() for added in candidate.words] for candidate in candidates]
    alone = {word: np.zeros(len(candidates)) for word in wanted}
    for reach, corpus in enumerate(corpora):
        documents = [[word for part in of[: reach + 1] for word in part if word in wanted] for of in parts]
        if not any(documents):
            continue  # rank-bm25 divides by the number of words
        model = BM25Okapi(documents, k1=k1, b=b)
        # the documents have the words of the question alone; length, average and idf are those of the whole field
        model.doc_len, model.avgdl = [sum(map(len, of[: reach + 1])) for of in parts], corpus.average or 1.0
        model.idf = {word: corpus.idf(word) for word in wanted}
        for word in wanted:
            alone[word] += model.get_scores([word])
    return {
        word: np.maximum.reduce([alone[word], *(worth * alone[other] for other, worth in related.get(word, {}).items())])
        for word in words
    }
