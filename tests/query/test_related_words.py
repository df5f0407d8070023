"""Words of memory that mean nearly the same as those of a question (supervisor/query/related_words, and its table)."""

from __future__ import annotations

import re
from datetime import date
from itertools import pairwise

import pytest

from recalld.supervisor.query.parse import parse_query
from recalld.supervisor.query.related_words import TABLE, related_words, with_related_words
from recalld.supervisor.text.tokenizer import stem, tokens

TODAY = date(2026, 1, 28)
LINE = re.compile(r"[a-z]+( [a-z]+\d\d){1,11}")


def related(question, memory):
    return with_related_words(parse_query(question, TODAY), tokens(memory).count).related


@pytest.fixture(scope="module")
def table():
    return TABLE.read_text(encoding="ascii").splitlines()


def test_table_has_a_line_for_each_stem_in_order(table):
    assert len(table) > 15_000
    assert all(map(LINE.fullmatch, table))
    assert all(one.split()[0] < two.split()[0] for one, two in pairwise(table))
    assert max(map(len, table)) < 200


def test_table_has_the_nearest_first(table):
    for line in table:
        alike = [int(other[-2:]) for other in line.split()[1:]]
        assert alike == sorted(alike, reverse=True)
        assert alike[-1] >= 50


def test_related_words_finds_every_line_of_its_table(table):
    for line in (*table[:50], *table[::97], *table[-50:]):
        word, *others = line.split()
        assert [f"{other}{round(100 * alike)}" for other, alike in related_words(word)] == others


@pytest.mark.parametrize("word", ["", "a", "zzzz", "qqq", "自行车", "\ud800", "gpt-4o", "bicycl bike93"])
def test_related_words_has_none_for_what_is_not_in_its_table(word):
    assert related_words(word) == ()


@pytest.mark.parametrize(
    ("asked", "said"),
    [("bicycle", "bike"), ("fridge", "freezer"), ("therapy", "treatment"), ("car", "truck"), ("pottery", "ceramics")],
)
def test_with_related_words_takes_those_that_memory_has(asked, said):
    worth = related(f"where did I see the {asked}?", f"the {said} is in the shed")
    assert worth.keys() == {stem(asked)}
    assert 0.2 < worth[stem(asked)][stem(said)] < 0.4
    assert related(f"where did I see the {asked}?", "自行车在车库里") == {}


@pytest.mark.parametrize(
    ("question", "memory"),
    [
        ("Where does Michael live?", "David lives in Leeds"),  # a name
        ("which bicycle is the bike?", "a bike"),  # a word of the question itself
        ("我的自行车放在哪？", "the bike is in the shed"),  # Chinese has no table
    ],
)
def test_with_related_words_leaves_a_question_as_it_is(question, memory):
    assert related(question, memory) == {}


def test_with_related_words_takes_the_eight_nearest_of_six_words(table):
    everything = {line.split()[0] for line in table}
    words = "pottery bicycle refrigerator surgery chemotherapy motorcycle dishwasher kayak trombone"
    found = with_related_words(parse_query(f"{words}?", TODAY), everything.__contains__).related
    assert len(found) == 6
    assert max(map(len, found.values())) == 8
