"""
Decide whether memory has anything to say to a request: most of what people type has nothing to do with it.

A request is about what is rare in it, by the language and not by memory: in a memory of travels "difference" is rare, but who
asks for the difference between a mutex and a semaphore does not mean that. So the gate asks how much of the rarity of the
request's words one passage has. Three tenths are enough, and so is one decisive name, however long the request; one word that
is nowhere, a typo or another word for it, stops nothing. Who asks about themselves asks memory, in everyday words too. Each
number was measured (docs/explanation/recall.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from recalld.supervisor.query.parse import REQUEST_WEIGHT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from recalld.supervisor.query.parse import Query

#: The share of the request's rarity that a passage must have, and the rarity that is enough of any request. A plain question
#: has no other words than those it is about: there it is more, a whole name.
_SHARE: Final = 0.3
_ENOUGH: Final = 0.6
_SHARE_OF_A_QUESTION: Final = 0.35
_ENOUGH_OF_A_QUESTION: Final = 1.0
#: The rarity without which a request asks nothing: "ok great, thank you!".
_LEAST: Final = 0.1
#: What an everyday word is worth beside a name; above it the worth grows with the square of the rarity. And what it is worth to
#: ask about oneself, as if one more word were there.
_EVERYDAY: Final = 0.03
_OWN: Final = 0.5


@dataclass(frozen=True, slots=True)
class Gate:
    """What a request is about: the worth of each of its words, by rarity; *is_own* and *is_question* are those of `Query`."""

    worth: Mapping[str, float]
    is_own: bool = False
    is_question: bool = False

    @property
    def needed(self) -> float:
        """The worth that a passage must have in its words."""
        is_plain = self.is_question and not self.is_own
        share, enough = (_SHARE_OF_A_QUESTION, _ENOUGH_OF_A_QUESTION) if is_plain else (_SHARE, _ENOUGH)
        return max(_LEAST, min(enough, share * self._with_own(self.worth)))

    def share(self, words: Iterable[str]) -> float:
        """Return what a passage with these of the request's words has of what it needs: with 1.0 or more it is let through."""
        return self._with_own(words) / self.needed

    def known(self, words: Mapping[str, float]) -> float:
        """
        Return what a passage with these words, each counting for a part, has of what it needs without being about oneself.

        With 1.0 or more the question's own words open the gate.
        """
        there = sum(self.worth.get(word, 0.0) * counts for word, counts in words.items())
        return there / max(_LEAST, min(_ENOUGH, _SHARE * sum(self.worth.values())))

    def _with_own(self, words: Iterable[str]) -> float:
        return sum(self.worth.get(word, 0.0) for word in words) + _OWN * self.is_own


def gate_of(query: Query, is_there: Callable[[str], bool]) -> Gate:
    """Return the gate of the request; *is_there* tells whether memory has a word."""
    words = [word for word, counts in query.words.items() if counts > REQUEST_WEIGHT]
    said = [word for word in words if word not in query.characters]

    def asked(word: str) -> float:
        """
        Return how much of the word the request asks for.

        A compound that memory does not have counts by its parts, which are words of the request too, and a typo by the word
        that it is read as. Of 发错, of which memory has only 发, the other half still counts.
        """
        if is_there(word):
            return 1.0
        if word in query.respelled or any(part != word and part in word for part in said):
            return 0.0
        return sum(char not in query.characters for char in word) / len(word)

    rarity = query.rarity
    worth = {
        word: asked(word) * query.words[word] * (_EVERYDAY + (1 - _EVERYDAY) * rarity.get(word, 1.0) ** 2) for word in words
    }
    return Gate(worth, query.is_own, query.is_question)
