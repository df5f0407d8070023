"""A word may be written as one or as two: haircut and "hair cut", backup and "backed up" (supervisor/query/compounds)."""

from __future__ import annotations

import pytest

from recalld.supervisor.query.compounds import halves_of, is_in_halves, joined_words
from recalld.supervisor.text.tokenizer import tokens


def is_said_in_two(word, text):
    words = tokens(text)
    return any(is_in_halves(halves, lambda: text, " ".join(words)) for halves in halves_of(word, words.count))


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("haircut", "had my hair cut at Bruno's"),
        ("haircuts", "a hair cut is 24 euros"),
        ("backup", "I backed the laptop up to the blue drive"),
        ("checkup", "booked the check up with Dr. Patel"),
        ("checkin", "checked in online, seat 14A"),
        ("zahnarzt", "Zahn Arzt am Dienstag um neun"),
    ],
)
def test_halves_are_found_side_by_side_or_as_a_verb_with_its_particle(word, text):
    assert is_said_in_two(word, text)


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("haircut", "cut the grass, her hair is long"),
        ("carpet", "the car is with a pet sitter"),  # only stop words between them
        ("backup", "I am back. Up early tomorrow"),  # another clause
        ("backup", "on the way back we looked for a place to eat and stood up"),  # far apart
        ("lesson", "we have less on Monday"),  # on is a preposition
        ("season", "walked along the sea on Sunday"),
        ("nothing", "not a thing"),
    ],
)
def test_halves_are_not_found_where_they_only_meet(word, text):
    assert not is_said_in_two(word, text)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("where do I get my hair cut", "haircut"),
        ("what did I back the laptop up to?", "backup"),
        ("when is my check up", "checkup"),
        ("who is picking up", "pickup"),
        ("wann ist der Zahnarzt Termin", "zahnarzttermin"),
    ],
)
def test_joined_words_has_what_two_words_of_a_question_make(text, word):
    assert word in joined_words(text)


@pytest.mark.parametrize("text", ["the hair. Cut it", "in on up", "set the table"])
def test_joined_words_stays_within_a_clause(text):
    assert not {"haircut", "inon", "onup"} & joined_words(text).keys()
