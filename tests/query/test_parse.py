"""What is searched for: the words of the question, earlier ones only where it refers back, and whose messages it asks for."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.query.parse import parse_query, refers_back, weight_terms

TODAY = date(2026, 1, 31)
BEFORE = ("上次部署用了 Cloudflare Workers，超时了", "好的")


def test_parse_query_returns_the_words_of_a_standalone_question():
    query = parse_query("我对花生过敏吗？", TODAY, BEFORE)
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
def test_parse_query_adds_earlier_words_at_half_weight_if_it_refers_back(question):
    query = parse_query(question, TODAY, BEFORE)
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
def test_parse_query_adds_no_earlier_words_to_a_complete_question(question):
    assert not set(parse_query(question, TODAY, BEFORE).words) & {"cloudflar", "超时"}


def test_parse_query_is_empty_for_a_reference_without_earlier_talk():
    assert parse_query("为什么？", TODAY).is_empty


@pytest.mark.parametrize("said", ["好的", "谢谢！", "早上好呀", "ok", "Good morning", "？！", "", "   ", "😀"])
def test_parse_query_is_empty_for_small_talk(said):
    assert parse_query(said, TODAY, BEFORE).is_empty


@pytest.mark.parametrize(
    "asked",
    [
        "Can you tell me when the meeting is?",
        "Do you have the code for the door?",
        "Did you recommend a restaurant?",
        "How are you going to fix the door?",
        "你今天说了什么",
        "你觉得孩子该上哪个学校",
    ],
)
def test_parse_query_takes_no_question_to_the_assistant_for_small_talk(asked):
    assert not parse_query(asked, TODAY).is_empty


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
        ("What have you told me about sleep?", "assistant"),
        ("the song that I told you about", "user"),
        ("How would you say goodbye in Polish?", ""),
        ("Would you recommend a book?", ""),
        ("你能推荐一部电影吗？", ""),
        ("我知道你要说什么", ""),
        ("我对什么过敏", ""),
        ("Where is the router?", ""),
    ],
)
def test_parse_query_detects_whose_words_are_asked_for(question, role):
    assert parse_query(question, TODAY).role == role


@pytest.mark.parametrize(
    ("question", "is_own"),
    [
        ("Where do I live?", True),
        ("I told you about a film once. What was it called?", True),
        ("给婆婆挑个礼物", True),  # one's own, without 我
        ("我说过的那部电影叫什么？", True),
        ("What is an index fund? I nod when people say it.", False),
        ("What does one wear at a wedding? I had to look it up.", False),
        ("What am I allergic to?", True),
        ("我先生叫什么名字", True),
        ("我来自哪里", True),
        ("你帮我推荐的餐厅是哪家", True),
        ("我爸的生日是哪天", True),
        ("帮我写一封信", False),
        ("帮我过滤名单里的空行", False),
        ("牛奶和豆浆哪个蛋白质高", False),
        ("国外公司怎么查", False),
        ("娃娃菜怎么做", False),
        ("你听说过量子计算吗", False),
        ("你认为哪部小说好看", False),
        ("你知道北京有哪些教堂吗", False),
        ("请你推荐几本书", False),
        ("麻烦你教我做红烧肉", False),
        ("Will it hurt if you give aspirin to a dog?", False),
    ],
)
def test_parse_query_detects_a_question_about_oneself(question, is_own):
    assert parse_query(question, TODAY).is_own is is_own


def test_parse_query_weights_asking_sentences_above_statements():
    query = parse_query("今天的火锅很辣。钢琴老师叫什么？", TODAY)
    assert query.words["钢琴"] == 1.0
    assert query.words["火锅"] == 0.2


def test_parse_query_takes_days_only_from_the_asking_sentence():
    assert [days.label for days in parse_query("昨天下雨了。上周三我们吃了什么？", TODAY).days] == ["2026-01-21"]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("麻烦帮我看看房租多少", {"房租"}),
        ("你好，请问我的年糕在哪", {"年糕"}),
        ("推荐一部电影", {"电影"}),
        ("帮我翻译一下合同", {"合同"}),
        ("今天是几号交房租", {"交", "房租"}),
        ("could you please help me find the router", {"router"}),
        ("recommend me a restaurant please", {"restaur"}),
        ("11月14号我订的机票", {"订", "机票", "2025-11-14"}),
        ("上周三的会议", {"会议"}),
        ("你给我推荐过什么电影", {"推荐", "电影"}),
        ("谁帮我写的简历", {"帮", "写", "简历"}),
        ("写的简历在哪", {"写", "简历"}),
        ("查理的药", {"查理", "药"}),
        ("Where did I find the router", {"find", "router"}),
    ],
)
def test_parse_query_gives_low_weight_to_request_and_date_words(question, words):
    assert {word for word, counts in parse_query(question, TODAY).words.items() if counts == 1.0} == words


@pytest.mark.parametrize("question", ["帮我看看", "推荐", "麻烦", "find"])
def test_parse_query_gives_full_weight_to_request_words_alone(question):
    assert set(parse_query(question, TODAY).words.values()) == {1.0}


@pytest.mark.parametrize(
    "question", ["今天几号", "请问今天星期几？", "今天是几月几号", "what day is it today?", "what's the date today"]
)
def test_parse_query_is_empty_for_a_question_about_todays_date(question):
    assert parse_query(question, TODAY, BEFORE).is_empty


@pytest.mark.parametrize(
    "question", ["今天", "今天做了什么", "昨天", "上周", "上周我做了什么", "what did I do today", "last week", "in June"]
)
def test_parse_query_sets_only_days_for_a_day_without_other_words(question):
    query = parse_query(question, TODAY, BEFORE)
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
def test_parse_query_sets_is_now_only_if_no_past_event_is_asked_for(question, is_now):
    assert parse_query(question, TODAY).is_now == is_now


def test_parse_query_clears_only_days_when_the_question_refers_back():
    query = parse_query("昨天那个呢", TODAY, BEFORE)
    assert query.words["超时"] == 0.5
    assert not query.only_days


@pytest.mark.feature("003.15")
def test_parse_query_keeps_the_rarest_words_in_input_order():
    assert list(parse_query("谢谢你推荐的 rsync 备份 尿酸", TODAY, (), 2).words) == ["rsync", "尿酸"]


def test_parse_query_accepts_a_day_alone():
    assert not parse_query("昨天", TODAY).is_empty


@given(st.text(max_size=200), st.lists(st.text(max_size=80), max_size=4), st.integers(0, 9))
def test_parse_query_accepts_any_text_and_keeps_the_word_limit(question, recent, most):
    query = parse_query(question, TODAY, recent, most)
    assert not most or len(query.words) <= most
    assert all(0 < counts <= 1 for counts in query.words.values())
    assert query == parse_query(question, TODAY, recent, most)


def test_refers_back_is_true_without_words_and_false_with_many():
    assert refers_back("？", 0)
    assert not refers_back("它", 9)


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("快递到哪了", "快递"),
        ("能力测试是几号", "能力"),
        ("先生的生日", "先生"),
        ("快餐店叫什么", "快餐"),
        ("要求是什么", "要求"),
    ],
)
def test_weight_terms_keeps_a_word_that_begins_like_a_request(question, word):
    assert weight_terms(question, ())[word] == 1.0


@pytest.mark.parametrize(
    ("question", "about"),
    [
        ("what did we say about kubernetes?", "kubernet"),
        ("do you know my blood type?", "blood"),
        ("whats my mums number", "mum"),
        ("我们聊过护照的事吗", "护照"),
        ("咋整这个路由器", "路由器"),
        ("啥时候去体检", "体检"),
        ("为啥换医生", "医生"),
        ("房租今天要干啥", "房租"),
    ],
)
def test_parse_query_is_about_what_was_said_not_about_saying(question, about):
    words = parse_query(question, TODAY).words
    assert words[about] == 1.0
    assert all(words.get(word, 0.0) <= 0.2 for word in ("say", "know", "聊过", "整", "啥", "干"))


def test_parse_query_asks_for_the_day_where_only_saying_is_asked():
    assert parse_query("what did we talk about on April 27th?", TODAY).only_days
    assert parse_query("昨天我们聊过什么", TODAY).only_days
