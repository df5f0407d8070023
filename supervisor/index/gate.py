"""
Decide how much memory has to say about a request: the whole budget is for strong evidence, a part of it for weak.

A request is about its rare words: rare in the language, not in memory. In a memory of travels "difference" is rare, but a
question about the difference between a mutex and a semaphore is not about that. So the gate measures how much of the rarity of
the request's words one passage has. Four tenths are enough, and so is one decisive name, however long the request; one word
that is nowhere in memory, such as a typo, stops nothing. So is a passage that stands out by meaning, whatever its words. What
is weak is shown all the same: a reader can pass over a line, but can't read one that is missing. Each number was measured
(docs/explanation/recall.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from ..query.parse import REQUEST_WEIGHT
from ..query.related_words import SAME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ..query.parse import Query

#: The share of the request's rarity that a passage must have, and the rarity that is enough for any request.
_SHARE: Final = 0.4
_ENOUGH: Final = 0.5
#: From so many standard deviations on a passage is enough by its meaning alone.
BY_MEANING: Final = 3.5
#: A request of less rarity asks nothing: "ok great, thank you!".
_LEAST: Final = 0.1
#: The worth of an everyday word, where that of a name is 1; it grows with the square of the rarity.
_EVERYDAY: Final = 0.03
#: The same where the passage has a word that means nearly the same: 亚铁 for 铁剂.
_NEARLY: Final = 0.5


@dataclass(frozen=True)
class Gate:
    """What a request is about: the worth of each of its words, by rarity."""

    worth: Mapping[str, float]

    @cached_property
    def needed(self) -> float:
        """The worth that a passage must have in its words."""
        return max(_LEAST, min(_ENOUGH, _SHARE * sum(self.worth.values())))

    def share(self, words: Iterable[str], near: Iterable[str] = ()) -> float:
        """
        Return the worth of a passage with these words of the request as a share of `needed`: 1.0 or more opens the gate.

        Of the words *near* the passage has others that mean nearly the same.
        """
        has = sum(self.worth.get(word, 0.0) for word in words) + _NEARLY * sum(self.worth[word] for word in near)
        return has / self.needed


def gate_of(query: Query, is_there: Callable[[str], bool]) -> Gate:
    """Return the gate of the request; *is_there* returns whether memory has a word."""
    words = [word for word, counts in query.words.items() if counts > REQUEST_WEIGHT and word not in query.meant]
    said = [word for word in words if word not in query.characters]
    spelled = {word for word, others in query.related.items() if SAME in others.values()}  # memory has another spelling of it

    def asked(word: str) -> float:
        """
        Return the part of the word that counts, 0.0 to 1.0.

        Memory may not have the word. For a compound its parts count, which are words of the request too; for a typo the word
        that it is read as. Of 发错 the half that memory does not have still counts; of 无线网, where memory has wifi, no part.
        """
        if is_there(word) or word in spelled:
            return 1.0
        if not word.isascii() and any(word in whole for whole in spelled):
            return 0.0
        if word in query.respelled or any(part != word and part in word for part in said):
            return 0.0
        return sum(char not in query.characters for char in word) / len(word)

    rarity = query.rarity
    worth = {
        word: asked(word) * query.words[word] * (_EVERYDAY + (1 - _EVERYDAY) * rarity.get(word, 1.0) ** 2) for word in words
    }
    return Gate(worth)
