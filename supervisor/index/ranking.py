"""
The score of what the index offers: BM25 over the best candidates, and what else speaks for one of them.

A message is scored by its own words and by those of the one and the three messages before and after it. Where several things
are asked, each has its say. On top of it: the words that the best answers share, the best of its day, the words a message
begins with, the days that the question names, and whose words it asks for. What each is worth was measured (docs/recall.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from supervisor.index.bm25 import TermCounts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date

    from supervisor.index.bm25 import Candidate, Corpus
    from supervisor.query.calendar import Days
    from supervisor.query.parse import Query

#: Answers whose words are taken up, and words taken from them, what these are worth beside the best score.
_EXAMPLES: Final = 3
_TAKEN: Final = 5
_TAKEN_WORTH: Final = 0.3
#: Where several things are asked: what a message gets for the one that it answers best, beside what it gets for all.
_EACH_WORTH: Final = 0.5
#: Words that a message begins with say who speaks or what it is about; so many of them, their worth where the question has one.
_FIRST: Final = 2
_FIRST_WORTH: Final = 0.2
#: What the best of its day lends a message; a day that the question names, from near to far; the speaker it asks for.
_DAY_WORTH: Final = 0.2
_NAMED_WORTH: Final = 0.8
_ROLE_WORTH: Final = 0.3
#: What a question asks weighs what its heaviest words do, so many of them; one of the best answers, of so many, must have this
#: share of it in its own words: an everyday word beside six that nobody ever used is no answer. No measured answer is lost.
_HEAVIEST: Final = 6
_MIN_ANSWERED: Final = 0.14
_LOOKED_AT: Final = 20
#: Named stretches up to these lengths in days, and what they are worth: a day says more than a year. Of the shortest all is
#: offered, of the others what has the words; the longest are no answer by themselves: 写一首关于秋天的诗.
SHORT: Final = 10
_LONG: Final = 45
_STRETCHES: Final = ((SHORT, 1.0), (_LONG, 0.5), (10**6, 0.25))
#: What was said shortly after a named day is often about it. Days after, worth.
AFTER: Final = ((2, 0.5), (6, 0.3))


@dataclass(slots=True)
class Scored:
    """A candidate, its score, and what raised it beside its words."""

    candidate: Candidate
    score: float
    because: list[str] = field(default_factory=list)


def own(words: Iterable[str], candidate: Candidate) -> list[str]:
    """Return those of *words* that stand in the unit itself."""
    there = set(candidate.text.split())
    return [word for word in words if word in there]


def rank(query: Query, candidates: Sequence[Candidate], corpora: Sequence[Corpus], k1: float, b: float) -> list[Scored]:
    """Return the candidates that answer at all, best first; ties in the order given: where only days are asked for, all."""
    if not candidates:
        return []
    if query.only_days:
        return [Scored(candidate, 1.0, [f"day {candidate.day}"]) for candidate in candidates]
    counted = TermCounts(candidates, corpora, k1, b)
    best = max(counted.scores(query.words)) or 1.0
    scores = _scores(query, candidates, counted, corpora[0], best)
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
    is_dated = any(days.length <= _LONG for days in query.days) and not query.is_now
    return found if is_dated or _is_answered(query, found[:_LOOKED_AT], corpora[0]) else []


def _is_answered(query: Query, best: Sequence[Scored], corpus: Corpus) -> bool:
    """Tell whether one of the best answers has enough of the question's own words to be about it."""
    weights = {word: counts * corpus.weight(word) for word, counts in query.words.items()}
    asked = sum(sorted(weights.values(), reverse=True)[:_HEAVIEST])
    return any(sum(weights[word] for word in own(weights, one.candidate)) >= _MIN_ANSWERED * asked for one in best)


def _raise(one: Scored, query: Query, best: float) -> None:
    """Add what a named day, the words it begins with and the speaker asked for are worth."""
    candidate = one.candidate
    if candidate.day:
        worth, days = max(((_nearness(days, candidate.day), n) for n, days in enumerate(query.days)), default=(0.0, 0))
        if worth:
            one.score += _NAMED_WORTH * best * worth
            one.because.append(f"day {query.days[days].label}")
    if one.score and any(word in query.words for word in candidate.text.split(" ", _FIRST)[:_FIRST]):
        one.score += _FIRST_WORTH * best
    if one.score and query.role and query.role == candidate.role:
        one.score += _ROLE_WORTH * best
        one.because.append(f"role {query.role}")


def _nearness(days: Days, day: date) -> float:
    """Return how near a day is to those named: 1.0 for the day itself, 0.0 for a distant one."""
    worth = next(worth for most, worth in _STRETCHES if days.length <= most)
    away = days.away(day)
    if away == 0:
        return worth
    if away == -1:
        return worth * AFTER[-1][1]
    return worth * next((part for most, part in AFTER if 0 < away <= most), 0.0)


def _scores(query: Query, candidates: Sequence[Candidate], counted: TermCounts, corpus: Corpus, best: float) -> Sequence[float]:
    """Return the score by words: of all that is asked, and of that which the candidate answers best; *best* is one's most."""

    def answered(words: Mapping[str, float]) -> list[float]:
        scores = counted.scores(words)
        taken = _taken(query, candidates, scores, corpus)
        shared = counted.scores(dict.fromkeys(taken, 1.0))
        worth = _TAKEN_WORTH * max(scores) / (max(shared) or 1.0)
        scale = best / (max(scores) or 1.0)
        return [scale * (score + worth * more) for score, more in zip(scores, shared, strict=True)]

    whole = answered(query.words)
    each = [answered({word: query.words[word] for word in asked}) for asked in query.asked] if len(query.asked) > 1 else []
    if not each:
        return whole
    return [(1 - _EACH_WORTH) * score + _EACH_WORTH * max(parts) for score, *parts in zip(whole, *each, strict=True)]


def _taken(query: Query, candidates: Sequence[Candidate], scores: Sequence[float], corpus: Corpus) -> list[str]:
    """Return the rarest words that the best answers have beyond those of the question, and that stand elsewhere too."""
    examples = sorted((n for n, score in enumerate(scores) if score > 0), key=lambda n: -scores[n])[:_EXAMPLES]
    weight: dict[str, float] = {}
    for n in examples:
        for word in dict.fromkeys(candidates[n].text.split()):
            if word not in query.words and corpus.frequency(word) > 1:
                weight[word] = weight.get(word, 0.0) + corpus.idf(word) * scores[n]
    return sorted(weight, key=lambda word: -weight[word])[:_TAKEN]
