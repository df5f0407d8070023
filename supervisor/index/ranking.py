"""
Score the candidates of a question: by words, by meaning, by days, and by who speaks.

A message is scored by its own words and by those of the one and the three messages before and after it. A question of several
sentences is scored as a whole and sentence by sentence. A score is the sum of four parts (`hit.ScoreParts`): words, with the
best message of the day; meaning; the days that the question names; who speaks, with the
role that it asks for and the first words of a message. Each weight was measured (docs/explanation/recall.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from typing import Any, Final

from ..query.calendar import Days, day_tokens
from ..query.memory_words import other_spellings
from ..query.parse import REQUEST_WEIGHT, Query, weighed
from .documents import Document
from .hit import LONG, MEANING, Nearness, Passage, ScoreParts

#: Of BM25: how fast the weight of a repeated word saturates, and how much the length of a passage counts.
_K1: Final = 1.2
_B: Final = 0.75
#: The share of the sentence that the message answers best in the score for several sentences.
_EACH_WORTH: Final = 0.5
#: The first words of a message often say who speaks or what it is about: their number, and the bonus if the question has one.
_FIRST: Final = 2
_FIRST_WORTH: Final = 0.2
#: The share of the best score of its day that a message gets; the bonus for a day that is named, and for the role.
_DAY_WORTH: Final = 0.2
_NAMED_WORTH: Final = 0.8
_ROLE_WORTH: Final = 0.8
#: The share of its score that a message loses if it ends in a question, and if it is the assistant's, unless these words are
#: asked for.
_ASKS_LOSS: Final = 0.2
_ASSISTANT_LOSS: Final = 0.15
#: A long answer of the assistant has a word of every question: from so many words on it loses a part of its score, but keeps at
#: least this share. This is not so where the assistant's words are asked for.
_LONG_WORDS: Final = 60
_LONG_LEAST: Final = 0.65
#: What each day loses against the one that is named before it, where days alone are asked for.
_NAMED_LATER: Final = 0.05
#: The worth of a passage of another day that names the day that is asked for.
_ABOUT_A_DAY: Final = 0.5
#: How many of the best answers the gate looks at, and `newest_first`.
LOOKED_AT: Final = 20
#: The bonus of a named span, by its length in days: a day says more than a year. All passages of a short span are candidates;
#: of a longer one those with the words. The longest spans are no answer by themselves: 写一首关于秋天的诗.
SHORT: Final = 10
_LONG: Final = 45
_STRETCHES: Final = ((SHORT, 1.0), (_LONG, 0.5), (10**6, 0.25))


@dataclass(eq=False)
class Scored:
    """A candidate, its score with the reasons other than words; *read_as* has other spellings of words of the question."""

    candidate: Document
    parts: ScoreParts
    because: list[str] = field(default_factory=list)
    is_worded: bool = False  # it has words of the question, or the words around it are some
    read_as: Mapping[str, str] = field(default_factory=dict)

    @property
    def score(self) -> float:
        """The sum of the parts."""
        return self.parts.total

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the passage itself, with another spelling of a word of the question as that (丈母娘 as 岳母)."""
        return frozenset(self.read_as.get(word, word) for word in self.candidate.own_words)

    def matching(self, words: Iterable[str]) -> list[str]:
        """Return those of *words* that are in the passage itself."""
        return [word for word in words if word in self.words]

    @property
    def passage(self) -> Passage:
        """The passage, without its path and tier."""
        return self.candidate.passage


def rank(query: Query, candidates: Sequence[Document], corpora: Sequence[Corpus], near: Nearness | None = None) -> list[Scored]:
    """Return the candidates with a score (all, if only days are asked for), best first; equal ones keep their order."""
    if not candidates:
        return []
    if query.only_days:
        scored = [_of_day(query, candidate) for candidate in candidates]
        return sorted(scored, key=lambda hit: (-hit.score, hit.passage.moment, hit.passage.start))  # as a day goes
    query = replace(query, words=weighed(query))
    by_word = word_scores(candidates, corpora, query.words, query.related)
    plain = _sum(query, query.words, by_word)
    best = float(plain.max()) or 1.0
    scores = _scores(query, by_word, plain)
    of_day: dict[str, float] = {}
    for candidate, score in zip(candidates, scores, strict=True):
        if score > of_day.get(candidate.group, -1.0):
            of_day[candidate.group] = score
    meanings = near.worth([candidate.unit for candidate in candidates]) if near else [0.0] * len(candidates)
    scored = [
        _scored(query, candidate, score + _DAY_WORTH * of_day[candidate.group] if score else 0.0, worth * best, best)
        for candidate, score, worth in zip(candidates, scores, meanings, strict=True)
    ]
    read_as = other_spellings(query)
    for hit in scored:
        hit.read_as = read_as
    return sorted((hit for hit in scored if hit.score > 0), key=lambda hit: -hit.score)


def _of_day(query: Query, candidate: Document) -> Scored:
    for number, days in enumerate(query.days):
        if candidate.day and candidate.day in days:
            who = -_ASSISTANT_LOSS if candidate.role == "assistant" else 0.0
            return Scored(candidate, ScoreParts(days=1.0 - _NAMED_LATER * number, who=who), [f"day {candidate.day}"])
    named = (days for days in query.days if not {*day_tokens(days)}.isdisjoint(candidate.own_words))
    return Scored(candidate, ScoreParts(days=_ABOUT_A_DAY), [f"day {next(named, query.days[0]).label}"])


def evidence_of(query: Query, best: Sequence[Scored], corpus: Corpus, near: Nearness | None = None) -> float:
    """
    Return how much memory has of what is asked for, 0.0 to 1.0: the part of the budget for the block.

    A question that names a day of memory needs no word of the *best* answers.
    """
    short = [days for days in query.days if days.length <= SHORT]
    if query.only_days or any(hit.candidate.day in days for days in short for hit in best if hit.candidate.day):
        return 1.0
    worth = worth_of(query, lambda word: bool(corpus.frequency(word)))
    by_words = max((sum(worth[word] for word in hit.matching(worth)) for hit in best[:LOOKED_AT]), default=0.0) / _WORDS
    by_meaning = (near.highest - _FROM) / _SPAN if near else 0.0
    # without a word of the request nearness is mostly chance, unless it is enough by itself
    evidence = max(by_words, by_meaning) if by_words or by_meaning >= 1.0 else 0.0
    return max(0.0, min(1.0, evidence))


def related_words_in(query: Query, hit: Scored) -> list[str]:
    """Return the words of the passage that are related to words of the question that it does not have."""
    lacking = (others for word, others in query.related.items() if word not in hit.words)
    return hit.matching(dict.fromkeys(other for others in lacking for other in others))


def _scored(query: Query, candidate: Document, words: float, meaning: float, best: float) -> Scored:
    """Return the candidate with the parts of its score, *words* and *meaning* among them; *best* is the best score by words."""
    because = [MEANING] if meaning else []
    days = 0.0
    if query.days and candidate.day:
        worth, number = max((_nearness(days, candidate.day), n) for n, days in enumerate(query.days))
        if worth:
            days = _NAMED_WORTH * best * worth
            because.append(f"day {query.days[number].label}")
    who = _who(query, candidate, words + meaning + days, best, because) if words + meaning + days else 0.0
    return Scored(candidate, ScoreParts(words, meaning, days, who), because, is_worded=words > 0)


def _who(query: Query, candidate: Document, others: float, best: float, because: list[str]) -> float:
    """Return what counts for who speaks, beside the sum of the *others*; a share that the passage loses is below zero."""
    bonus, kept = 0.0, 1.0
    if begins_with_a_word(query, candidate):
        bonus += _FIRST_WORTH * best
    if query.role and query.role == candidate.role:
        bonus += _ROLE_WORTH * best
        because.append(f"role {query.role}")
    if candidate.passage.asks:
        kept *= 1 - _ASKS_LOSS
    if candidate.role == "assistant" and query.role != "assistant":
        if (length := candidate.lengths[0]) > _LONG_WORDS:
            kept *= max(_LONG_LEAST, _LONG_WORDS / length)
            because.append(LONG)
        kept *= 1 - _ASSISTANT_LOSS
    return (others + bonus) * kept - others


def begins_with_a_word(query: Query, candidate: Document) -> bool:
    """Return whether a word of the question is among the first of the passage, which say who speaks or what it is about."""
    return not query.words.keys().isdisjoint(candidate.words[0].split(" ", _FIRST)[:_FIRST])


def _nearness(days: Days, day: date) -> float:
    return next(worth for most, worth in _STRETCHES if days.length <= most) if day in days else 0.0


def _scores(query: Query, by_word: Mapping[str, Any], plain: Any) -> list[float]:
    """Return the scores by words, of the whole question and of the best sentence; *plain* are those of its own words."""
    whole: list[float] = plain.tolist()
    if len(query.sentences) <= 1:
        return whole
    each = [_sum(query, sentence, by_word) for sentence in query.sentences]
    of_best = [(scores * (plain.max() / (scores.max() or 1.0))).tolist() for scores in each]
    return [(1 - _EACH_WORTH) * score + _EACH_WORTH * max(parts) for score, *parts in zip(whole, *of_best, strict=True)]


def _sum(query: Query, words: Iterable[str], by_word: Mapping[str, Any]) -> Any:
    return sum(query.words[word] * by_word[word] for word in words)


# ── how much memory has to say ───────────────────────────────────────────────
#
# A request is about its rare words: rare in the language, not in memory. In a memory of travels "difference" is rare, but a
# question about the difference between a mutex and a semaphore is not about that. So the gate measures how much of the rarity
# of the request's words one passage has: a part of what is enough for the whole budget is enough for that part of it. One word
# that is nowhere in memory, such as a typo, stops nothing. A passage that stands out by meaning counts as much, whatever its
# words. What is weak is shown all the same, in a smaller block: a reader can pass over a line, but can't read one that is
# missing.

#: The worth of a passage's words that is enough for the whole budget; or from how many standard deviations on it stands out,
#: and how many more are enough. Chosen on one half of `life` (docs/explanation/recall.md, "The gate").
_WORDS: Final = 0.65
_FROM, _SPAN = 3.0, 1.5
#: The worth of an everyday word, where that of a name is 1; it grows with the square of the rarity.
_EVERYDAY: Final = 0.03


def worth_of(query: Query, is_there: Callable[[str], bool]) -> dict[str, float]:
    """Return the worth of each word of the request; *is_there* says whether memory has one. A typo is no word of its own."""
    words = [word for word, counts in query.words.items() if counts > REQUEST_WEIGHT and word not in query.day_words]
    words = [word for word in words if word not in query.respelled or is_there(word)]
    rarity = {word: query.rarity.get(word, 1.0) for word in words}
    return {word: query.words[word] * (_EVERYDAY + (1 - _EVERYDAY) * rarity[word] ** 2) for word in words}


# ── BM25 ─────────────────────────────────────────────────────────────────────
#
# As rank-bm25 computes it, for the candidates of a question and with the statistics of all passages. The idf is Lucene's, which
# is never negative: with rank-bm25's own a perfect match in a memory of one message scores below zero.


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
        model = BM25Okapi(documents, k1=_K1, b=_B)
        # the documents have the words of the question alone; length, average and idf are those of the whole field
        model.doc_len, model.avgdl = [sum(map(len, of[: reach + 1])) for of in parts], corpus.average or 1.0
        model.idf = {word: corpus.idf(word) for word in wanted}
        for word in wanted:
            alone[word] += model.get_scores([word])
    return {
        word: np.maximum.reduce([alone[word], *(worth * alone[other] for other, worth in related.get(word, {}).items())])
        for word in words
    }
