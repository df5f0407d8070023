"""Words of a question that memory does not have are read as words that it has (supervisor/query/memory_words)."""

from __future__ import annotations

from datetime import date

import pytest

from recalld.supervisor.query.memory_words import known_words
from recalld.supervisor.query.parse import parse_query
from recalld.supervisor.text.tokenizer import tokens

TODAY = date(2026, 1, 28)


def known(question, memory):
    there = tokens(memory)
    return known_words(parse_query(question, TODAY), there.count, lambda word: 1.0 if word in there else 0.0)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("alotment", "allotment"),
        ("srvice", "service"),
        ("boilerr", "boiler"),
        ("daugther", "daughter"),  # two letters changed places
        ("kowalksi", "kowalski"),
        ("jba", "jab"),
    ],
)
def test_known_words_reads_a_typo_as_the_word_of_memory_too(typed, meant):
    query = known(f"where is the {typed} key?", f"the {meant} key is under the mat")
    assert {*tokens(typed), *tokens(meant)} <= query.words.keys()
    assert query.rarity[tokens(meant)[0]] <= 0.5
    assert query.sentences == ((*tokens(typed), "key", *tokens(meant)),)


@pytest.mark.parametrize(
    ("question", "memory"),
    [
        ("where is the table key?", "the cable key is here"),  # a word of English is meant
        ("where is anna's key?", "Anne has the key"),  # short
        ("where does Julia keep it?", "Julie keeps it"),  # a name
        ("where is the quartz key?", "the suartz key"),  # another first letter
        ("where is the chess key?", "my chest, her chesz"),  # either may be meant
        ("where is the allotment key?", "the allotment key, and the alotment"),  # memory has it
    ],
)
def test_known_words_keeps_a_word_that_is_no_typo(question, memory):
    assert known(question, memory) == parse_query(question, TODAY)


@pytest.mark.parametrize(
    ("typed", "meant", "memory"),
    [
        ("我的体捡是哪天", "体检", "体检约在周五早上，在家门口捡到一只猫"),
        ("护赵放在哪了", "护照", "护照在书房抽屉里"),
        ("跟方东约的几点", "房东", "房东周六来看水管"),
    ],
)
def test_known_words_reads_two_characters_as_a_word_that_sounds_so(typed, meant, memory):
    query = known(typed, memory)
    assert query.words[meant] == 1.0
    assert query.rarity[meant] < 0.5
    assert meant in query.sentences[0]


@pytest.mark.parametrize(
    ("question", "memory"),
    [
        ("体捡结果", "体检和替检"),  # cut in characters, 替检 is no word of memory
        ("体检结果", "体检"),  # memory has it
        ("他住哪", "她煮饭"),
    ],
)
def test_known_words_reads_no_other_characters_by_their_sound(question, memory):
    assert known(question, memory).words.keys() <= {*tokens(question), "体检"}
