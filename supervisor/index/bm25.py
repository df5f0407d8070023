"""
BM25 as rank-bm25 computes it, for the candidates of a question and with the statistics of all passages.

The idf is Lucene's, which is never negative: with rank-bm25's own a perfect match in a memory of one message scores below zero.
Each term is a number, so that it can be counted in hundreds of passages at once; a term is scored once for all sentences.
"""

from __future__ import annotations

import math
from array import array
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import date

#: One field each: the words of a passage and of its neighbours up to this many messages away.
CONTEXT_WIDTHS: Final = (0, 1, 3)
#: The only term of each document that rank-bm25 sees.
_IT: Final = "it"
#: Words whose frequencies, and whose idf, are cached.
KNOWN: Final = 10_000
#: A quick test of a term: if no term of the question has the same last bits, it is not one of them.
_LAST_BITS: Final = 0xFFFF


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
        self._last_bits = (self._words & _LAST_BITS).astype(np.intp)
        lengths = np.array([candidate.lengths for candidate in candidates])
        ends = lengths[:, -1].cumsum()
        #: Where the words that each field of a candidate adds end among all words.
        self._ends = (lengths + (ends - lengths[:, -1])[:, None]).ravel()
        #: Fields × candidates: the length of each, relative to the average of its field.
        self._lengths = lengths.T / np.array([[one.average or 1.0] for one in corpora])
        self._known: dict[str, Any] = {}  # the score of each candidate for a word of weight 1, related words included
        self._own: dict[str, Any] = {}  # the same without related words

    def scores(self, words: Mapping[str, float]) -> Any:
        """
        Return an array: the score of each candidate for these words with their weights, the sum over the fields.

        The score of a word is its own or that of a related word, whichever is higher.
        """
        import numpy as np

        new = [word for word in words if word not in self._known]
        others = [other for word in new for other in self._related.get(word, ())]
        self._weigh([word for word in dict.fromkeys((*new, *others)) if word not in self._own])
        for word in new:
            worth = {word: 1.0, **self._related.get(word, {})}
            each = np.array([self._own[one] for one in worth])
            self._known[word] = (each * np.array([*worth.values()])[:, None]).max(axis=0) if len(worth) > 1 else each[0]
        if not words:
            return np.zeros(self._lengths.shape[1])
        return (np.array([self._known[word] for word in words]) * np.array([*words.values()])[:, None]).sum(axis=0)

    def _weigh(self, words: Sequence[str]) -> None:
        """Let rank-bm25 score the words: each word in a field of a candidate is a document of its own."""
        import numpy as np

        if not words:
            return
        counts = self._counts(words)
        there = counts.ravel().nonzero()[0]
        fields, candidates = self._lengths.shape
        row = there // candidates  # of a field and a word
        lengths = self._lengths[row // len(words), there - row * candidates]
        idf = np.array([corpus.idf(word) for corpus in self._corpora for word in words])
        each = np.zeros(counts.size)
        each[there] = _of_counts()(counts.ravel()[there], lengths, self._k1, self._b).get_scores([_IT]) * idf[row]
        self._own.update(zip(words, each.reshape(fields, len(words), candidates).sum(axis=0), strict=True))

    def _counts(self, words: Sequence[str]) -> Any:
        """Return how often each word occurs in each candidate: a row for each field, which includes the narrower one."""
        import numpy as np

        all_numbers = [term_number(word) for word in words]
        numbers = np.array(sorted({*all_numbers}), dtype=np.uint32)
        may_be = np.zeros(_LAST_BITS + 1, dtype=bool)
        may_be[numbers & _LAST_BITS] = True
        near = may_be.take(self._last_bits).nonzero()[0]
        terms = self._words[near]
        found = numbers.searchsorted(terms)
        found[found == len(numbers)] = 0
        is_one = numbers[found] == terms
        fields, candidates = self._lengths.shape
        ends = self._ends.searchsorted(near[is_one], side="right")
        places = (ends % fields * len(numbers) + found[is_one]) * candidates + ends // fields
        counts = np.bincount(places, minlength=len(numbers) * self._lengths.size).reshape(fields, len(numbers), candidates)
        each = counts[:, numbers.searchsorted(all_numbers)].reshape(fields, -1)
        for reach in range(1, fields):
            each[reach] += each[reach - 1]
        return each


@cache
def _of_counts() -> Any:
    import numpy as np
    from rank_bm25 import BM25Okapi

    class Row(np.ndarray):
        """How often the term is in each document. It is true: rank-bm25 takes 0 where the count of a document is not."""

        def __bool__(self) -> bool:
            return True

    class OfCounts(BM25Okapi):  # type: ignore[misc]
        """
        rank-bm25 over documents of one term with idf 1, *counts* times in each; the average of *lengths* is 1.

        It asks each document for its count of the term. All documents are one here, whose count is an array: so the formula
        is computed for thousands of counts at once.
        """

        def __init__(self, counts: Any, lengths: Any, k1: float, b: float) -> None:
            self._lengths = lengths
            super().__init__(counts.view(Row), k1=k1, b=b)

        def _initialize(self, counts: Any) -> None:
            self.corpus_size, self.avgdl, self.doc_len, self.doc_freqs = (1, len(counts)), 1.0, self._lengths, [{_IT: counts}]

        def _calc_idf(self, _counted: object) -> None:
            """Do nothing: the idf is applied later, since each field has its own."""
            self.idf = {_IT: 1.0}

        def get_scores(self, query: Sequence[str]) -> Any:
            return super().get_scores(query)[0]

    return OfCounts
