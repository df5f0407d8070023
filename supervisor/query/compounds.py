"""
Two English words of a question that memory writes as one: "hair cut" and haircut, "I backed the laptop up" and backup. Pure.

No list says which words are compounds, but memory. Source: docs/explanation/recall.md.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Final

from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.tokenizer import ENGLISH, stem, stems

if TYPE_CHECKING:
    from collections.abc import Iterator

#: The last half of a phrasal verb, which is a stop word of the index.
_PARTICLES: Final = frozenset("up down out off over away back through around along together".split())  # noqa: SIM905 - a list
#: These are prepositions more often: "less on" is no lesson, "cab in" no cabin. So only after a verb that is used so.
_PREPOSITIONS: Final = frozenset({"in", "on", "by"})
_BEFORE_THOSE: Final = frozenset(
    "log sign check plug break drop walk add clip stand pass fly trade tie cave phone call write sit carry buy built".split()  # noqa: SIM905
)
#: The fewest letters of one half of a compound, and how many words may be between a verb and its particle.
_HALF: Final = 3
_BETWEEN: Final = 3
_CLAUSE: Final = lazy_re(r"[^.,;:!?()\n]+")
_WORD: Final = lazy_re(r"[A-Za-z]+")


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
