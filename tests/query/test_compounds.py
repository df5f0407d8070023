"""A word may be written as one or as two: haircut and "hair cut" (supervisor/query/unknown_words)."""

from __future__ import annotations

import pytest

from recalld.supervisor.query.unknown_words import joined_words


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("where do I get my hair cut", "haircut"),
        ("the road trip in May", "roadtrip"),
        ("wann ist der Zahnarzt Termin", "zahnarzttermin"),
    ],
)
def test_joined_words_has_what_two_words_of_a_question_make(text, word):
    assert word in joined_words(text)
