"""
What the best answers link to: "what can my wife not eat" is answered by "Priya is coeliac", since "my wife is Priya".

A word that is rare in memory, and that stands in what the user said with enough of the question's words, is often the name of
what is asked about. It is searched for as well, for a small part of a word of the question; a passage that has it stays behind
the answer that gave it. The numbers were measured (docs/explanation/recall-tried.md, "Two links").
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..query.calendar import is_day
from .gate import gate_of
from .hit import LINK

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from ..query.parse import Query
    from .bm25 import Corpus
    from .gate import Gate
    from .ranking import Scored

#: How many of the best answers give a word, how many passages have it at most, and its weight: a word of the question has 1.0.
_ANSWERS: Final = 3
_PASSAGES: Final = 6
_WEIGHT: Final = 0.15
#: The highest score of a linked passage, relative to the answer that gave the word.
_BEHIND: Final = 0.999


def with_linked(
    query: Query, best: Sequence[Scored], corpus: Corpus, ranked: Callable[[Query, Collection[str]], list[Scored]]
) -> list[Scored]:
    """Return the answers, best first, and what they link to; *ranked* ranks again, with the passages that have some words."""
    linked = {} if query.only_days or query.is_of_days else _links(query, best, corpus)
    if not linked:
        return list(best)
    before = {one.candidate.source: one.score for one in best}
    found = ranked(replace(query, words={**query.words, **dict.fromkeys(linked, _WEIGHT)}), linked.keys())
    givers = {answer.candidate.source for answer in linked.values()}
    for one in found:
        if one.candidate.source not in givers and (words := one.own(linked)):
            most = max(linked[word].score * _BEHIND for word in words)
            one.parts = one.parts.reaching(min(one.score, max(most, before.get(one.candidate.source, 0.0))), "words")
            one.because.append(LINK)
    return sorted(found, key=lambda one: -one.score)


def _links(query: Query, best: Sequence[Scored], corpus: Corpus) -> dict[str, Scored]:
    """Return the words that link the best answers to others: the rarest of each, with the answer."""
    found: dict[str, Scored] = {}
    gate = gate_of(query, lambda word: bool(corpus.frequency(word)))
    answers = [one for one in best if _is_partial(gate, one)]
    answers.sort(key=lambda one: (-one.score, one.candidate.source))  # of those with one score always the same
    for answer in answers[:_ANSWERS]:
        words = [word for word in answer.words if _is_rare(query, word, corpus)]
        if words:
            found.setdefault(min(words, key=lambda word: (corpus.frequency(word), word)), answer)
    return found


def _is_partial(gate: Gate, one: Scored) -> bool:
    """True if the user's passage has enough of what is asked for, but lacks a word of it."""
    words = one.own(gate.worth)
    return one.candidate.role != "assistant" and len(words) < len(gate.worth) and gate.share(words) >= 1.0


def _is_rare(query: Query, word: str, corpus: Corpus) -> bool:
    """True if the question lacks the word, and a few passages have it."""
    return word not in query.words and not is_day(word) and 1 < corpus.frequency(word) <= _PASSAGES
