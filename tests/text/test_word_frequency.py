"""How rare words are: the tables are in order, and equal what they are made from."""

from __future__ import annotations

import runpy
from itertools import pairwise
from pathlib import Path

import pytest

from recalld.supervisor.text import word_frequency
from recalld.supervisor.text.word_frequency import line_of

SCRIPT = Path(__file__).parents[2] / "script/stem-ranks"
TABLES = [word_frequency._STEM_RANKS, word_frequency._CHINESE_WORDS]


def test_ranks_of_stems_are_those_of_the_lists_of_words():
    assert word_frequency._STEM_RANKS.read_text(encoding="ascii") == runpy.run_path(str(SCRIPT))["table"]()


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.stem)
def test_tables_have_a_line_for_each_word_in_order(table):
    words = [line.split(b" ")[0] for line in table.read_bytes().splitlines()]

    assert all(one < other for one, other in pairwise(words))


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.stem)
def test_line_of_finds_every_line_and_no_other_word(table):
    lines = [line.split(" ") for line in table.read_text(encoding="utf-8").splitlines()]

    assert [word for word, value in lines if line_of(table, word) != value] == []
    assert [line_of(table, word) for word in ("", "a-", "zzz", "一一一", "\udc80", "𠮷")] == [None] * 6
