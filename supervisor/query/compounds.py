"""
English words that are written as one or as two: haircut and "hair cut", backup and "I backed the laptop up". Pure.

A compound of the question is answered by a passage that has its two words side by side, or its verb and then its particle in
one clause. Two words of the question are another spelling of the one that memory has. No list says which words are compounds,
but memory: a word is cut where memory has both halves. Source: docs/explanation/recall.md.
"""

from __future__ import annotations

import unicodedata
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.tokenizer import ENGLISH, stem, stems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

#: The last half of a phrasal verb, which is a stop word of the index.
_PARTICLES: Final = frozenset("up down out off over away back through around along together".split())  # noqa: SIM905 - a list
#: These are prepositions more often: "less on" is no lesson, "cab in" no cabin. So only after a verb that is used so.
_PREPOSITIONS: Final = frozenset({"in", "on", "by"})
_BEFORE_THOSE: Final = frozenset(
    "log sign check plug break drop walk add clip stand pass fly trade tie cave phone call write sit carry buy built".split()  # noqa: SIM905
)
#: The letters of a compound, and the fewest of one of its halves.
_COMPOUND: Final = range(5, 25)
_HALF: Final = 3
#: How many words of a question are cut, and how many words may stand between a verb and its particle.
_MOST: Final = 6
_BETWEEN: Final = 3
_CLAUSE: Final = lazy_re(r"[^.,;:!?()\n]+")
_WORD: Final = lazy_re(r"[A-Za-z]+")


class Halves(NamedTuple):
    """The halves of a compound: the stems of both, or that of a verb and its particle; *verb* is the verb as it is written."""

    first: str
    second: str
    verb: str = ""

    @property
    def stems(self) -> tuple[str, ...]:
        """Those of the halves that are words of an index."""
        return (self.first,) if self.verb else (self.first, self.second)


def halves_of(typed: str, frequency: Callable[[str], int]) -> tuple[Halves, ...]:
    """
    Return the halves that memory has of a lower-case English word; *frequency* is that of a stem.

    >>> halves_of("haircut", ["hair", "cut"].count), halves_of("backup", ["back"].count)
    ((Halves(first='hair', second='cut', verb=''),), (Halves(first='back', second='up', verb='back'),))
    """
    if len(typed) not in _COMPOUND or not typed.isascii() or not typed.isalpha():
        return ()
    cuts = [(typed[:n], typed[n:]) for n in range(_HALF, len(typed) - 1) if typed[:n] not in ENGLISH]
    found = []
    for (first, second), known in zip(cuts, stems([first for first, _ in cuts]), strict=True):
        if not frequency(known):
            continue
        if _is_particle(first, second):
            found.append(Halves(known, second, first))
        elif len(second) >= _HALF and second not in ENGLISH and frequency(end := stem(second)):
            found.append(Halves(known, end))
    return tuple(found)


def compounds_of(typed: Mapping[str, str], frequency: Callable[[str], int]) -> dict[str, tuple[Halves, ...]]:
    """Return the halves of each token that is a compound; *typed* are the words of the question, by token."""
    found = {token: halves_of(word, frequency) for token, word in [*typed.items()][:_MOST]}
    return {token: halves for token, halves in found.items() if halves}


def is_in_halves(halves: Halves, text: Callable[[], str], words: str) -> bool:
    """
    Return whether a passage has the compound in two words; *words* are its tokens, with blanks between them.

    >>> is_in_halves(Halves("back", "up", "back"), lambda: "I backed the laptop up", "back laptop")
    True
    >>> is_in_halves(Halves("back", "up", "back"), lambda: "I came back, then stood up", "came back stood")
    False
    """
    # the tokens first: the text has to be decoded, and has the stop words, too
    if " ".join(("", *halves.stems, "")) not in f" {words} ":
        return False
    return any(_has_halves(halves, _WORD.findall(clause.lower())) for clause in _CLAUSE.findall(text()))


def _has_halves(halves: Halves, words: list[str]) -> bool:
    known = stems(words)
    if not halves.verb:
        return (halves.first, halves.second) in pairwise(known)
    # a shorter word is another one: the sea is no form of seas in "season"
    verbs = [n for n, one in enumerate(known) if one == halves.first and len(words[n]) >= len(halves.verb)]
    return any(halves.second in words[n + 1 : n + 2 + _BETWEEN] for n in verbs)


def joined_words(text: str) -> dict[str, str]:
    """
    Return the compounds that two words of the text would make, each with the tokens of these.

    >>> joined_words("my hair cut?"), joined_words("is it backed up")
    ({'haircut': 'hair cut'}, {'backup': 'back'})
    """
    return dict(_pairs(text))


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for clause in _CLAUSE.findall(unicodedata.normalize("NFKC", text)):
        words = _WORD.findall(clause.lower())
        known = stems(words)
        for n, first in enumerate(words[:-1]):
            if first in ENGLISH or len(first) < _HALF:
                continue
            second = words[n + 1]
            if len(second) >= _HALF and second not in ENGLISH:
                yield stem(first + second), f"{known[n]} {known[n + 1]}"
            for particle in words[n + 1 : n + 2 + _BETWEEN]:
                if _is_particle(known[n], particle):
                    yield stem(known[n] + particle), known[n]


def _is_particle(verb: str, word: str) -> bool:
    return word in _PARTICLES or (word in _PREPOSITIONS and verb in _BEFORE_THOSE)
