"""Words of memory that mean nearly the same as those of a question (supervisor/query/memory_words, and its tables)."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from recalld.supervisor.query.memory_words import EVERYDAY, TABLE, related_words

LINE = re.compile(r"[a-z]+( [a-z]+\d\d){1,11}")


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
    by_hand = EVERYDAY.read_text(encoding="utf-8").splitlines()
    everyday = {line.split()[0] for line in by_hand}
    for line in (*by_hand, *table[:50], *table[::97], *table[-50:]):
        word, *others = line.split()
        if line in by_hand or word not in everyday:
            found = {f"{other}{round(100 * alike):02}" for other, alike in related_words(word).items()}
            assert {*others} <= found
