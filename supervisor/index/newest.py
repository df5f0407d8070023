"""
Of passages about the same thing the newest comes first: what was said later may have made the others untrue.

The best passage gives way to a newer one in two cases: both have the same words of the question and nearly the same score; or
they share rare words, as 老吴 and 工长, and the newer one tells of a change ("is now", "moved to", 改到). The older one stays
right behind it: two birthdays look alike, too. Pure. The numbers were measured (docs/explanation/recall.md).
"""

from __future__ import annotations

import math
import re
from datetime import date
from typing import TYPE_CHECKING, Final

from recalld.supervisor.index.documents import decode_passage
from recalld.supervisor.index.ranking import LOOKED_AT, own_words
from recalld.supervisor.query.parse import REQUEST_WEIGHT
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.word_frequency import rarity_asked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from recalld.supervisor.index.bm25 import Candidate, Corpus
    from recalld.supervisor.index.ranking import Scored
    from recalld.supervisor.query.parse import Query

#: The share of the best score from which a passage with the same words of the question may contradict the best one.
_ALIKE: Final = 0.8
#: Two passages are about the same thing from this cosine of their rare words on; and how rare a word has to be.
_SAME_THING: Final = 0.3
_RARE: Final = 0.15
#: A word of the question that is as rare as this is its subject: a passage without it is about somebody else.
_SUBJECT: Final = 0.8
#: How many rare words two such passages share at least.
_SHARED: Final = 2
#: The score of the newer passage, relative to the older one.
_AHEAD: Final = 1.001
_CHANGED: Final = lazy_re(
    r"[改换变涨降]|加到|减到|调[到整成了]|取消|不.{0,8}了|重新|推迟|提前|延[期到]|搬"
    r"|\b(?:now|instead|chang\w+|mov(?:ed|ing)|switch\w*|swap\w*|new|from .{1,20} to|up to|down to|cut|cancel\w*|no longer"
    r"|any ?more|left|postpon\w*|resched\w*|pushed|replac\w*|turns out|withdrew|gave up|double booked)\b",
    re.IGNORECASE,
)
#: A question about what was: a later message does not change it.
_WAS: Final = lazy_re(
    r"以前|原来|最初|最早|一开始|当初"
    r"|\b(?:did|was|were|had|first|before|originally|used to|initially|previous\w*|earlier|old)\b",
    re.IGNORECASE,
)
_DAY: Final = lazy_re(r"\d{4}-\d\d-\d\d")


def newest_first(query: Query, found: Sequence[Scored], corpus: Corpus) -> list[Scored]:
    """Return the answers, best first; the newest of those about the same thing as the best one is before it."""
    best = next(iter(found), None)
    if best is None or not best.candidate.day or query.only_days or not (asked := own_words(query.words, best.candidate)):
        return list(found)
    newer = [one for one in found[1:LOOKED_AT] if one.candidate.day and one.candidate.day > best.candidate.day]
    later = [one for one in newer if one.score >= _ALIKE * best.score and own_words(query.words, one.candidate) == asked]
    if not later and not _WAS.search(query.text):
        subjects = {word for word in asked if query.words[word] > REQUEST_WEIGHT and query.rarity.get(word, 1.0) >= _SUBJECT}
        later = _changes(best.candidate, subjects, newer, corpus)
    if not later:
        return list(found)
    newest = max(later, key=lambda one: one.candidate.day or date.min)
    newest.score = best.score * _AHEAD
    newest.because.append("newest")
    return [newest, *(one for one in found if one is not newest)]


def _changes(old: Candidate, subjects: set[str], newer: Iterable[Scored], corpus: Corpus) -> list[Scored]:
    """Return those of the *newer* answers that tell of a change of what *old* is about, the nearest one of each day."""
    worth = _rare_words(old, corpus)
    near: dict[date | None, tuple[float, Scored]] = {}
    for one in newer:
        there = set(one.candidate.text.split())
        if one.candidate.role == "assistant" or not subjects <= there or len(there & worth.keys()) < _SHARED:
            continue
        alike = _cosine(worth, _rare_words(one.candidate, corpus))
        if alike >= max(_SAME_THING, near.get(one.candidate.day, (0.0,))[0]) and _tells_of_a_change(one.candidate):
            near[one.candidate.day] = alike, one
    return [one for _, one in near.values()]


def _rare_words(candidate: Candidate, corpus: Corpus) -> Mapping[str, float]:
    """Return the words of the passage that are rare in the language and in memory, with their worth."""
    worth = {word: rarity_asked(word) ** 2 * corpus.relative_idf(word) for word in set(candidate.text.split())}
    return {word: rare for word, rare in worth.items() if rare >= _RARE and not _DAY.fullmatch(word)}


def _cosine(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    both = sum(one[word] * other[word] for word in one.keys() & other.keys())
    return both / math.sqrt(sum(x * x for x in one.values()) * sum(x * x for x in other.values())) if both else 0.0


def _tells_of_a_change(candidate: Candidate) -> bool:
    return bool(_CHANGED.search(decode_passage(candidate.source[1], "", "dated").text))
