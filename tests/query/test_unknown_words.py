"""Words of a question that memory does not have are read as words that it has (supervisor/query/unknown_words)."""

from __future__ import annotations

from datetime import date

import pytest

from recalld.supervisor.query.parse import parse_query
from recalld.supervisor.query.unknown_words import known_words
from recalld.supervisor.text.tokenizer import tokens

TODAY = date(2026, 1, 28)


def known(question, memory):
    there = tokens(memory)
    return known_words(parse_query(question, TODAY), there.count, lambda word: 1.0 if word in there else 0.0)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("alotment", "allotment"),
        ("daugther", "daughter"),
        ("srvice", "service"),
        ("kowalksi", "kowalski"),
        ("boilerr", "boiler"),
    ],
)
def test_known_words_reads_a_typo_as_the_word_of_memory_too(typed, meant):
    query = known(f"where is the {typed} key?", f"the {meant} key is under the mat")
    assert {*tokens(typed), *tokens(meant)} <= query.words.keys()
    assert query.rarity[tokens(meant)[0]] < 0.5
    assert query.asked == ((*tokens(typed), "key", *tokens(meant)),)


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


def test_known_words_adds_the_characters_of_an_unknown_chinese_word():
    query = known("什么时候拔牙？", "智齿要拔")
    assert query.words["拔"] == 0.5
    assert known("什么时候拔牙？", "拔牙在周二").words == parse_query("什么时候拔牙？", TODAY).words
