"""What is searched for: the words of the question, earlier ones where it refers back, those that memory has, and whose messages it asks for."""

import re
from datetime import date
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.query.memory_words import EVERYDAY, TABLE, known_words, related_words
from recalld.supervisor.query.parse import parse_query, weighed
from recalld.supervisor.text.tokenizer import tokens

TODAY = date(2026, 1, 31)
BEFORE = ("上次部署用了 Cloudflare Workers，超时了", "好的")


@pytest.mark.parametrize(
    "question",
    [
        "它多少钱？", "那个呢？", "为什么？", "后来呢", "继续", "What about that one?", "and why?", "刚才那个", "Where did she buy them?",
    ],
)  # fmt: skip
def test_parse_query_adds_earlier_words_at_half_weight_if_it_refers_back(question):
    query = parse_query(question, TODAY, BEFORE)
    assert query.words["cloudflar"] == query.words["超时"] == 0.5


@pytest.mark.parametrize(
    "question", ["那个喜欢下棋的人是谁", "where does it hurt after football, golf and a swim", "Where did Anna get her cats?"]
)
def test_parse_query_adds_no_earlier_words_to_a_complete_question(question):
    assert not set(parse_query(question, TODAY, BEFORE).words) & {"cloudflar", "超时"}


@pytest.mark.parametrize(
    "said", ["好的", "早上好呀", "Good morning", "？！", "", "   ", "😀", "今天几号", "what's the date today"]
)
def test_parse_query_is_empty_for_small_talk_and_todays_date(said):
    assert parse_query(said, TODAY, BEFORE).is_empty


@pytest.mark.parametrize(("asked", "is_input"), [("昨天干嘛了", True), ("oh yesterday, what a day", True), ("她哭了", False)])
def test_parse_query_asks_for_a_day_and_for_what_was_typed_to_search(asked, is_input):
    assert not parse_query(asked, TODAY, is_input=is_input).is_empty


def test_parse_query_searches_for_no_words_of_a_date_beside_others():
    assert {*parse_query("1月30号的猫 and the cat of 30 January", TODAY).words} == {"猫", "cat", "2026-01-30"}


@pytest.mark.parametrize(
    ("question", "role"),
    [
        ("你给我推荐了哪些电影？", "assistant"), ("What book did you recommend?", "assistant"), ("your advice on the visa", "assistant"),
        ("我向你推荐过哪本书？", "user"), ("Which song did I mention?", "user"), ("What have you told me about sleep?", "assistant"),
        ("the song that I told you about", "user"), ("How would you say goodbye in Polish?", ""),
        ("Would you recommend a book?", ""), ("你能推荐一部电影吗？", ""), ("我对什么过敏", ""), ("Where is the router?", ""),
    ],
)  # fmt: skip
def test_parse_query_detects_whose_words_are_asked_for(question, role):
    assert parse_query(question, TODAY).role == role


@pytest.mark.parametrize("question", ["帮我看看", "推荐", "麻烦", "find"])
def test_parse_query_gives_full_weight_to_request_words_alone(question):
    assert set(parse_query(question, TODAY).words.values()) == {1.0}


@pytest.mark.feature("003.15")
def test_parse_query_keeps_the_rarest_words_in_input_order():
    assert list(parse_query("谢谢你推荐的 rsync 备份 尿酸", TODAY, (), 2).words) == ["rsync", "尿酸"]


@given(st.text(max_size=200), st.lists(st.text(max_size=80), max_size=4), st.integers(0, 9))
def test_parse_query_accepts_any_text_and_keeps_the_word_limit(question, recent, most):
    query = parse_query(question, TODAY, recent, most)
    assert not most or len(query.words) <= most
    assert all(0 < counts <= 1 for counts in query.words.values())
    assert query == parse_query(question, TODAY, recent, most)


# ── words that memory does not have are read as words that it has ────────────────


def known(question, memory):
    there = tokens(memory)
    return known_words(parse_query(question, TODAY), there.count, lambda word: 1.0 if word in there else 0.0)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("srvice", "service"),
        ("boilerr", "boiler"),
        ("kowalksi", "kowalski"),  # two letters changed places
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
    ("question", "everyday", "rare"), [("did Oskar go by train", "train", "oskar"), ("谁弄丢了露营的伞", "伞", "露营")]
)
def test_an_everyday_word_weighs_less_than_a_rare_one_and_half_at_least(question, everyday, rare):
    found = weighed(parse_query(question, date(2026, 1, 31)))
    assert 0.5 <= found[everyday] < found[rare] <= 1.0
