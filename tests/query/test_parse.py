"""What is searched for: the words of the question, and those before it only where it refers back; whose words it asks for."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.query.parse import ask, refers_back

TODAY = date(2026, 1, 31)
BEFORE = ("上次部署用了 Cloudflare Workers，超时了", "好的")


def test_a_question_that_stands_alone_is_its_own_words():
    query = ask("我对花生过敏吗？", TODAY, BEFORE)
    assert query.words == {"花生": 1.0, "过敏": 1.0}
    assert not query.refers_back


@pytest.mark.parametrize(
    "question",
    [
        "它多少钱？",
        "那个呢？",
        "为什么？",
        "后来呢",
        "继续",
        "What about that one?",
        "and why?",
        "刚才那个",
        "Where did she buy them?",
    ],
)
def test_a_question_that_refers_back_takes_the_rarest_words_of_what_was_said_at_half_weight(question):
    query = ask(question, TODAY, BEFORE)
    assert query.refers_back
    assert query.words["cloudflar"] == query.words["超时"] == 0.5


@pytest.mark.parametrize(
    "question",
    [
        "那个喜欢下棋的人是谁",
        "我的猫叫什么",
        "where does it hurt after football and swimming practice",
        "Where did Anna get her cats?",
    ],
)
def test_a_question_with_words_enough_refers_to_nothing_before_it(question):
    assert not set(ask(question, TODAY, BEFORE).words) & {"cloudflar", "超时"}


def test_without_talk_before_it_a_question_that_refers_back_asks_nothing():
    assert ask("为什么？", TODAY).is_empty


@pytest.mark.parametrize("said", ["好的", "谢谢！", "早上好呀", "ok", "Good morning", "？！", "", "   ", "😀"])
def test_who_greets_or_thanks_asks_for_nothing_whatever_was_said_before(said):
    assert ask(said, TODAY, BEFORE).is_empty


@pytest.mark.parametrize(
    ("question", "role"),
    [
        ("你给我推荐了哪些电影？", "assistant"),
        ("你上次建议我怎么改的", "assistant"),
        ("What book did you recommend?", "assistant"),
        ("Which movies were recommended to me?", "assistant"),
        ("your advice on the visa", "assistant"),
        ("我向你推荐过哪本书？", "user"),
        ("我跟你说过我对什么过敏", "user"),
        ("Which song did I mention?", "user"),
        ("我对什么过敏", ""),
        ("Where is the router?", ""),
    ],
)
def test_a_question_says_whose_words_it_asks_for(question, role):
    assert ask(question, TODAY).role == role


def test_of_a_longer_input_the_sentences_that_ask_count_in_full_and_what_is_told_little():
    query = ask("今天的火锅很辣。钢琴老师叫什么？", TODAY)
    assert query.words["钢琴"] == 1.0
    assert query.words["火锅"] == 0.2


def test_the_days_are_those_of_the_sentence_that_asks():
    assert [days.label for days in ask("昨天下雨了。上周三我们吃了什么？", TODAY).days] == ["2026-01-21"]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("麻烦帮我看看房租多少", {"房租"}),
        ("你好，请问我的年糕在哪，谢谢", {"年糕"}),
        ("房租帮我查一下吧", {"房租"}),
        ("推荐一部电影", {"电影"}),
        ("帮我翻译一下合同", {"合同"}),
        ("今天是几号交房租", {"交", "房租"}),
        ("could you please help me find the router", {"router"}),
        ("recommend me a restaurant please", {"restaur"}),
        ("11月14号我订的机票", {"订", "机票"}),
        ("上周三的会议", {"会议"}),
        ("你给我推荐过什么电影", {"推荐", "电影"}),
        ("谁帮我写的简历", {"帮", "写", "简历"}),
        ("写的简历在哪", {"写", "简历"}),
        ("查理的药", {"查理", "药"}),
        ("Where did I find the router", {"find", "router"}),
    ],
)
def test_words_of_request_and_of_a_date_count_little_beside_others(question, words):
    assert {word for word, counts in ask(question, TODAY).words.items() if counts == 1.0} == words


@pytest.mark.parametrize("question", ["帮我看看", "推荐", "麻烦", "find"])
def test_words_of_request_count_in_full_where_there_are_no_others(question):
    assert set(ask(question, TODAY).words.values()) == {1.0}


@pytest.mark.parametrize(
    "question", ["今天几号", "请问今天星期几？", "今天是几月几号", "what day is it today?", "what's the date today"]
)
def test_who_asks_for_the_date_asks_for_no_memory(question):
    assert ask(question, TODAY, BEFORE).is_empty


@pytest.mark.parametrize(
    "question", ["今天", "今天做了什么", "昨天", "上周", "上周我做了什么", "what did I do today", "last week", "in June"]
)
def test_a_day_alone_and_what_happened_on_it_is_asked_for_without_other_words(question):
    query = ask(question, TODAY, BEFORE)
    assert query.only_days
    assert not query.is_now


@pytest.mark.parametrize(
    ("question", "is_now"),
    [
        ("今天天气怎么样", True),
        ("what should I cook tonight", True),
        ("今天订了什么票", False),
        ("昨天天气怎么样", False),
        ("今天聊的备份", False),
    ],
)
def test_today_is_mere_time_where_nothing_that_happened_is_asked_for(question, is_now):
    assert ask(question, TODAY).is_now == is_now


def test_a_day_that_refers_back_is_not_all_that_is_asked_for():
    query = ask("昨天那个呢", TODAY, BEFORE)
    assert query.words["超时"] == 0.5
    assert not query.only_days


def test_of_too_many_words_the_rarest_count_in_the_order_of_the_input():
    assert list(ask("谢谢你推荐的 rsync 备份 尿酸", TODAY, (), 2).words) == ["rsync", "尿酸"]


def test_a_lone_day_is_a_question_too():
    assert not ask("昨天", TODAY).is_empty


@given(st.text(max_size=200), st.lists(st.text(max_size=80), max_size=4), st.integers(0, 9))
def test_any_input_is_understood_somehow_and_never_with_more_words_than_wanted(question, recent, most):
    query = ask(question, TODAY, recent, most)
    assert not most or len(query.words) <= most
    assert all(0 < counts <= 1 for counts in query.words.values())
    assert query == ask(question, TODAY, recent, most)


def test_a_question_of_no_words_refers_back_and_one_of_many_does_not():
    assert refers_back("？", 0)
    assert not refers_back("它", 9)
