"""What the words of a question weigh where passages are compared: a word of everyday less, a verb of every sentence little."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
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


def weighed(query: Query) -> dict[str, float]:
    """Return the words of the question with their weights where passages are compared."""

    def left(word: str) -> float:
        return _LIGHT_LEFT if word in LIGHT_VERBS else 1 - _EVERYDAY_LOSS * (1 - query.rarity.get(word, 1.0))

    return {word: counts * left(word) for word, counts in query.words.items()}
