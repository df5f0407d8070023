"""Words of a question that memory does not have are read as words that it has (supervisor/query/memory_words)."""

from __future__ import annotations

import re
from datetime import date
from itertools import pairwise

import pytest

from recalld.supervisor.query.memory_words import EVERYDAY, TABLE, known_words, related_words
from recalld.supervisor.query.parse import parse_query, weighed
from recalld.supervisor.text.tokenizer import tokens

TODAY = date(2026, 1, 28)


def known(question, memory):
    there = tokens(memory)
    return known_words(parse_query(question, TODAY), there.count, lambda word: 1.0 if word in there else 0.0)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("srvice", "service"),
        ("boilerr", "boiler"),
        ("kowalksi", "kowalski"),  # two letters changed places
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


# ── related words ───────────────────────────────────────────────────────────────

LINE = re.compile(r"[a-z]+( [a-z]+\d\d){1,11}")


@pytest.fixture(scope="module")
def table():
    return TABLE.read_text(encoding="ascii").splitlines()


def test_table_has_a_line_for_each_stem_in_order(table):
    assert len(table) > 15_000
    assert all(map(LINE.fullmatch, table))
    assert all(one.split()[0] < two.split()[0] for one, two in pairwise(table))
    for line in table:  # the nearest first
        alike = [int(other[-2:]) for other in line.split()[1:]]
        assert alike == sorted(alike, reverse=True)
        assert alike[-1] >= 50


def test_related_words_finds_every_line_of_its_table(table):
    by_hand = EVERYDAY.read_text(encoding="utf-8").splitlines()
    everyday = {line.split()[0] for line in by_hand}
    for line in (*by_hand, *table[:50], *table[::97], *table[-50:]):
        word, *others = line.split()
        if line in by_hand or word not in everyday:
            found = {f"{other}{round(100 * alike):02}" for other, alike in related_words(word).items()}
            assert {*others} <= found


# ── what a word weighs ──────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("question", "light", "everyday", "rare"),
    [("did Oskar go by train", "go", "train", "oskar"), ("谁弄丢了露营的伞", "弄", "伞", "露营")],
)
def test_light_verb_weighs_less_than_an_everyday_word(question, light, everyday, rare):
    found = weighed(parse_query(question, date(2026, 1, 31)))
    assert found[light] == 0.2 < 0.5 <= found[everyday] < found[rare]
