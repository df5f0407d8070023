"""What a question is about, in the words that were typed, for the answer "nothing in memory about …"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from recalld.supervisor.query.parse import MOST_CHARS, REQUEST_WEIGHT
from recalld.supervisor.text.tokenizer import spelled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recalld.supervisor.query.parse import Query

#: The most words that are named, the rarest, and the most characters of one.
_MOST: Final = 3
_MOST_WORD: Final = 40
#: The share of the rarest word's rarity from which another word is named with it.
_SHARE: Final = 0.5


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
    least = _SHARE * max(words.values(), default=0.0)
    telling = sorted((word for word in words if words[word] >= least), key=lambda word: -words[word])
    return as_typed(query.text, telling)[:_MOST]


def as_typed(text: str, wanted: Sequence[str]) -> tuple[str, ...]:
    """Return those of the tokens *wanted* that are whole words of the text, as they are written there, in its order."""
    return tuple(dict.fromkeys(written[:_MOST_WORD] for written, token in spelled(text[:MOST_CHARS]) if token in wanted))
