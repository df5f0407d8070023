"""Words of memory that mean nearly the same as those of a question (supervisor/query/related_words, and its table)."""

from __future__ import annotations

import re
import runpy
from datetime import date
from itertools import pairwise
from pathlib import Path

import pytest

from recalld.supervisor.query.parse import parse_query
from recalld.supervisor.query.related_words import EVERYDAY, SAME, TABLE, related_words, same_words, with_related_words
from recalld.supervisor.text.tokenizer import stem, tokens

TODAY = date(2026, 1, 28)
LINE = re.compile(r"[a-z]+( [a-z]+\d\d){1,11}")
SCRIPT = Path(__file__).parents[2] / "script/everyday-words"


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
    by_hand = EVERYDAY.read_text(encoding="utf-8").splitlines()
    everyday = {line.split()[0] for line in by_hand}
    for line in (*by_hand, *table[:50], *table[::97], *table[-50:]):
        word, *others = line.split()
        if line in by_hand or word not in everyday:
            found = {f"{other}{round(100 * alike)}" for other, alike in related_words(word)}
            assert {*others} <= {*found, *(f"{other}00" for other in same_words(word))}


def test_everyday_words_are_those_of_their_source():
    made = runpy.run_path(str(SCRIPT))["table"]()
    assert EVERYDAY.read_text(encoding="utf-8") == made, "script/everyday-words makes the table again"
    lines = made.splitlines()
    assert all(one.split()[0].encode() < two.split()[0].encode() for one, two in pairwise(lines))


@pytest.mark.parametrize("word", ["", "a", "zzzz", "qqq", "青霉素", "小宇", "\ud800", "gpt-4o", "bicycl motorcycl83"])
def test_related_words_has_none_for_what_is_not_in_a_table(word):
    assert related_words(word) == same_words(word) == ()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("岳母", "丈母娘"), ("爸爸", "爸"), ("妈妈", "母亲"), ("姥姥", "外婆"), ("春节", "过年"), ("房租", "租金"), ("周三", "礼拜三"),
        ("大夫", "医生"), ("西红柿", "番茄"), ("mom", "mum"), ("telly", "tv"), ("xmas", "christmas"), ("colour", "color"),
        ("swim", "swam"), ("bought", "buying"), ("driven", "drove"), ("tooth", "teeth"),
    ],
)  # fmt: skip
def test_with_related_words_counts_one_word_in_two_spellings_as_itself(asked, said):
    (one,), (other,) = tokens(asked)[-1:], tokens(said)[-1:]
    assert related(f"{asked} {asked}?", f"x {said} x")[one][other] == SAME
    assert related(f"{said} {said}?", f"x {asked} x")[other][one] == SAME


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("手机", "电话"), ("房东", "押金"), ("医院", "看病"), ("牙医", "口腔"), ("车", "汽车"), ("钱", "费用"), ("买", "下单"),
        ("工资", "奖金"), ("孩子", "宝宝"), ("快递", "包裹"), ("体检", "检查"), ("健身", "锻炼"), ("旅行", "度假"),
        ("住", "租"), ("检测", "测"), ("空气", "甲醛"), ("车位", "停车"), ("护照", "签证"), ("社保", "公积金"),
        ("physio", "knee"), ("dentist", "filling"),
    ],
)  # fmt: skip
def test_with_related_words_counts_what_means_nearly_the_same_for_less(asked, said):
    (one,), (other,) = tokens(asked)[-1:], tokens(said)[-1:]
    assert 0.3 < related(f"{asked}?", said)[one][other] < 0.4
    assert 0.3 < related(f"{said}?", asked)[other][one] < 0.4


@pytest.mark.parametrize(
    ("question", "memory"),
    [("领导的电话是什么", "老板的地址"), ("小宇在哪上学", "小宝宝"), ("老师姓什么", "教授姓王")],
)
def test_with_related_words_takes_no_title_and_no_name_for_another(question, memory):
    assert not related(question, memory).keys() & {"领导", "老师", "小宇", "宇", "小"}


@pytest.mark.parametrize(
    ("asked", "said"),
    [("bicycle", "motorcycle"), ("fridge", "freezer"), ("therapy", "treatment"), ("car", "truck"), ("pottery", "ceramics")],
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
        ("我的自行车放在哪？", "the bike is in the shed"),  # another language
    ],
)
def test_with_related_words_leaves_a_question_as_it_is(question, memory):
    assert related(question, memory) == {}


def test_with_related_words_takes_the_eight_nearest_of_six_words(table):
    everything = {line.split()[0] for line in table} - {*same_words("bicycl"), *same_words("refriger")}
    words = "pottery bicycle refrigerator surgery chemotherapy motorcycle dishwasher kayak trombone"
    found = with_related_words(parse_query(f"{words}?", TODAY), everything.__contains__).related
    assert len(found) == 6
    assert max(map(len, found.values())) == 8
