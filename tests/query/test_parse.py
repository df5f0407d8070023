"""What is searched for: the words of the question, earlier ones only where it refers back, and whose messages it asks for."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.query.parse import parse_query

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
