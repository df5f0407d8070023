"""
What the words of a question weigh where passages are compared, and which of them say what it is about.

A word of everyday weighs less, a verb of every sentence little. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from recalld.supervisor.query.parse import MOST_CHARS, REQUEST_WEIGHT
from recalld.supervisor.text.tokenizer import spelled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recalld.supervisor.query.parse import Query

#: The share of its weight that an everyday word of the language loses.
_EVERYDAY_LOSS: Final = 0.5
#: Verbs that say little in a question ("where do we go"), as stems and as they are; and what is left of their weight.
LIGHT_VERBS: Final = frozenset(
    (
        *("go", "goe", "went", "gone", "get", "got", "come", "came", "take", "took", "taken", "make", "made"),
        *("put", "do", "done", "give", "gave", "去", "来", "弄", "搞", "做", "有"),
    )
)
_LIGHT_LEFT: Final = 0.2

#: The most words that are named, the rarest, and the most characters of one.
_MOST_NAMED: Final = 3
_MOST_WORD: Final = 40
#: The share of the rarest word's rarity from which another word is named with it.
_SHARE_NAMED: Final = 0.5


def weighed(query: Query) -> dict[str, float]:
    """Return the words of the question with their weights where passages are compared."""

    def left(word: str) -> float:
        return _LIGHT_LEFT if word in LIGHT_VERBS else 1 - _EVERYDAY_LOSS * (1 - query.rarity.get(word, 1.0))

    return {word: counts * left(word) for word, counts in query.words.items()}


def subject_of(query: Query) -> tuple[str, ...]:
    """
    Return the rarest words of the question as they were typed, in its order; none if it has no word of its own.

    >>> from datetime import date
    >>> from recalld.supervisor.query.parse import parse_query
    >>> subject_of(parse_query("What did we say about Kubernetes?", date(2026, 1, 31)))
    ('Kubernetes',)
    >>> subject_of(parse_query("麻烦帮我查一下花生过敏", date(2026, 1, 31)))
    ('花生', '过敏')
    """
    words = {word: query.rarity.get(word, 1.0) for word, counts in query.words.items() if counts > REQUEST_WEIGHT}
    least = _SHARE_NAMED * max(words.values(), default=0.0)
    return as_typed(query.text, [word for word in words if words[word] >= least])[:_MOST_NAMED]


def as_typed(text: str, wanted: Sequence[str]) -> tuple[str, ...]:
    """Return those of the tokens *wanted* that are whole words of the text, as they are written there, in its order."""
    return tuple(dict.fromkeys(written[:_MOST_WORD] for written, token in spelled(text[:MOST_CHARS]) if token in wanted))
