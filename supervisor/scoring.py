"""
The score of what the index offers: rank-bm25 over the best candidates, with the statistics of the whole corpus.

A message is scored by its own words and by those of the one and the three messages before and after it. On top of it: the
words that its best answers share, the best of its day, the days that the question names, and whose words it asks for. What
each of them is worth was measured (docs/recall.md). Lucene's idf is never negative: with rank-bm25's own a perfect match in
a memory of one message scores less than nothing.
"""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import date

    from supervisor.policy.days import Days
    from supervisor.policy.query import Query

#: Fields: the unit's own words, then with those of its neighbours up to this far.
REACH: Final = (0, 1, 3)
#: Bytes of a word's number.
_BYTES: Final = 4
#: Answers whose words are taken up, and words taken from them, what these are worth beside the best score.
_EXAMPLES: Final = 3
_TAKEN: Final = 5
_TAKEN_WORTH: Final = 0.3
#: What the best of its day lends a message; a day that the question names, from near to far; the speaker it asks for.
_DAY_WORTH: Final = 0.2
_NAMED_WORTH: Final = 0.8
_ROLE_WORTH: Final = 0.3
#: What a question asks weighs what its heaviest words do, so many of them; one of the best answers, of so many, must have this
#: share of it in its own words: an everyday word beside six that nobody ever used is no answer. No measured answer is lost.
_HEAVIEST: Final = 6
_LEAST_MET: Final = 0.14
_LOOKED_AT: Final = 20
#: Named stretches up to these lengths in days, and what they are worth: a day says more than a year.
_STRETCHES: Final = ((10, 1.0), (45, 0.5), (10**6, 0.25))
#: What was said shortly after a named day is often about it. Days after, worth.
AFTER: Final = ((2, 0.5), (6, 0.3))


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

    def weight(self, word: str) -> float:
        """Return the same, where a word that is nowhere weighs the most."""
        return self._idf_of(self.frequency(word))

    def _idf_of(self, count: int) -> float:
        # the index may still count what was deleted
        return math.log(1 + (max(self.size, count) - count + 0.5) / (count + 0.5))


@dataclass(slots=True)
class Scored:
    """A candidate, its score, and what raised it beside its words."""

    candidate: Candidate
    score: float
    because: list[str] = field(default_factory=list)


def number(word: str) -> int:
    """Return the number that stands for a word: 32 bits, the same everywhere."""
    return crc32(word.encode("utf-8", "surrogatepass"))


def numbers(words: Iterable[str]) -> bytes:
    """Return the numbers of the words, four bytes each."""
    return array("I", map(number, words)).tobytes()


def own(words: Iterable[str], candidate: Candidate) -> list[str]:
    """Return those of *words* that stand in the unit itself."""
    there = set(candidate.text.split())
    return [word for word in words if word in there]


def rank(query: Query, candidates: Sequence[Candidate], corpora: Sequence[Corpus], k1: float, b: float) -> list[Scored]:
    """Return the candidates that answer at all, best first; ties in the order given."""
    if not candidates:
        return []
    page = _Page(candidates, corpora, k1, b)
    scores = page.bm25(query.words)
    best = max(scores) or 1.0
    taken = _taken(query, candidates, scores, corpora[0])
    if taken:
        shared = page.bm25(dict.fromkeys(taken, 1.0))
        most = max(shared) or 1.0
        scores = [score + _TAKEN_WORTH * best * more / most for score, more in zip(scores, shared, strict=True)]
    of_day: dict[str, float] = {}
    for candidate, score in zip(candidates, scores, strict=True):
        of_day[candidate.group] = max(of_day.get(candidate.group, 0.0), score)
    found = []
    for candidate, score in zip(candidates, scores, strict=True):
        one = Scored(candidate, score + _DAY_WORTH * of_day[candidate.group] if score else 0.0)
        _raise(one, query, best)
        if one.score > 0:
            found.append(one)
    found.sort(key=lambda one: -one.score)
    return found if query.days or _is_met(query, found[:_LOOKED_AT], corpora[0]) else []


def _is_met(query: Query, best: Sequence[Scored], corpus: Corpus) -> bool:
    """Tell whether one of the best answers has enough of the question's own words to be about it."""
    weights = {word: counts * corpus.weight(word) for word, counts in query.words.items()}
    asked = sum(sorted(weights.values(), reverse=True)[:_HEAVIEST])
    return any(sum(weights[word] for word in own(weights, one.candidate)) >= _LEAST_MET * asked for one in best)


def _raise(one: Scored, query: Query, best: float) -> None:
    """Add what a named day and the speaker asked for are worth."""
    candidate = one.candidate
    if candidate.day:
        worth, days = max(((_nearness(days, candidate.day), n) for n, days in enumerate(query.days)), default=(0.0, 0))
        if worth:
            one.score += _NAMED_WORTH * best * worth
            one.because.append(f"day {query.days[days].label}")
    if one.score and query.role and query.role == candidate.role:
        one.score += _ROLE_WORTH * best
        one.because.append(f"role {query.role}")


def _nearness(days: Days, day: date) -> float:
    """Return how near a day is to those named: 1.0 for the day itself, 0.0 for a distant one."""
    length = (days.last - days.first).days + 1
    worth = next(worth for most, worth in _STRETCHES if length <= most)
    away = days.away(day)
    if away == 0:
        return worth
    if away == -1:
        return worth * AFTER[-1][1]
    return worth * next((part for most, part in AFTER if 0 < away <= most), 0.0)


def _taken(query: Query, candidates: Sequence[Candidate], scores: Sequence[float], corpus: Corpus) -> list[str]:
    """Return the rarest words that the best answers have beyond those of the question, and that stand elsewhere too."""
    examples = sorted((n for n, score in enumerate(scores) if score > 0), key=lambda n: -scores[n])[:_EXAMPLES]
    weight: dict[str, float] = {}
    for n in examples:
        for word in dict.fromkeys(candidates[n].text.split()):
            if word not in query.words and corpus.frequency(word) > 1:
                weight[word] = weight.get(word, 0.0) + corpus.idf(word) * scores[n]
    return sorted(weight, key=lambda word: -weight[word])[:_TAKEN]


class _Page:
    """The candidates, counted."""

    def __init__(self, candidates: Sequence[Candidate], corpora: Sequence[Corpus], k1: float, b: float) -> None:
        import numpy as np

        self._candidates = candidates
        self._corpora = corpora
        self._k1, self._b = k1, b
        parts = [part for candidate in candidates for part in candidate.words]
        self._words = np.frombuffer(b"".join(parts), dtype=np.uint32)
        self._places = np.repeat(np.arange(len(parts)), [len(part) // _BYTES for part in parts])

    def bm25(self, words: Mapping[str, float]) -> list[float]:
        """Return the sum over the fields for each candidate."""
        total = [0.0] * len(self._candidates)
        if words:
            counts = self._counted(words)
            for reach, corpus in enumerate(self._corpora):
                lengths = [candidate.lengths[reach] for candidate in self._candidates]
                documents = [dict(zip(words, row, strict=True)) for row in counts[reach]]
                for n, score in enumerate(bm25(words, documents, lengths, corpus, self._k1, self._b)):
                    total[n] += score
        return total

    def _counted(self, words: Iterable[str]) -> Any:
        """Return how often each word stands in each field of each candidate: by field, then candidate, then word."""
        import numpy as np

        shape = (len(self._candidates), len(self._corpora))
        columns = []
        for word in words:
            places = self._places[np.flatnonzero(self._words == number(word))]
            # a field is the nearer one and what its reach adds
            columns.append(np.bincount(places, minlength=shape[0] * shape[1]).reshape(shape).cumsum(axis=1))
        return np.stack(columns, axis=-1).transpose(1, 0, 2).tolist()


def bm25(
    words: Mapping[str, float],
    documents: Sequence[Mapping[str, int]],
    lengths: Sequence[int],
    corpus: Corpus,
    k1: float,
    b: float,
) -> list[float]:
    """Return the BM25 score of each document, given by its counts of *words* and its length, as rank-bm25 computes it."""
    from rank_bm25 import BM25Okapi

    class OfCorpus(BM25Okapi):  # type: ignore[misc]
        """rank-bm25 over some documents of a corpus, with the statistics of all."""

        def _initialize(self, _documents: object) -> None:
            self.corpus_size, self.avgdl = len(documents), corpus.average or 1.0
            self.doc_freqs, self.doc_len = documents, lengths

        def _calc_idf(self, _counted: object) -> None:
            self.idf = {word: counts * corpus.idf(word) for word, counts in words.items()}

    return [float(score) for score in OfCorpus(documents, k1=k1, b=b).get_scores(list(words))]
