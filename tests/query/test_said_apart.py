"""A Chinese verb and its object may stand apart, or in the other order (supervisor/query/said_apart)."""

from __future__ import annotations

import pytest

from recalld.supervisor.query.said_apart import is_said_apart, is_separable, joined_verbs
from recalld.supervisor.text.tokenizer import tokens


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("停车", "我的车停在地下二层"),
        ("停车", "我的車停在地下二層"),
        ("请假", "跟领导请了三天假"),  # 请 is no word of an index
        ("开会", "下午和供应商开了个会"),  # 开了个 is a word of the dictionary
        ("买房", "房子最后买在了滨江"),
        ("寄信", "信已经用挂号寄出去了"),
        ("充电", "车在小区门口的桩上充了一夜电"),
    ],
)
def test_is_said_apart_finds_both_parts_in_a_clause(word, text):
    assert is_separable(word)
    assert is_said_apart(word, text, tokens(text))


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("停车", "车修好了，雨也停了"),  # another clause
        ("打车", "出租车的发票要打印"),  # parts of other words
        ("请客", "客厅的灯请人来看"),
        ("买房", "厨房买了新锅"),
        ("租车", "租了整整两年半的那套老房子门口没有车"),  # far apart
    ],
)
def test_is_said_apart_needs_them_as_words_and_near(word, text):
    assert is_separable(word)
    assert not is_said_apart(word, text, tokens(text))


@pytest.mark.parametrize("word", ["手机", "火车", "不会", "车位", "停车场", "parking", "画家", "照片", "发票", "出发", "生活"])
def test_is_separable_is_no_noun(word):
    assert not is_separable(word)


def test_joined_verbs_has_a_verb_that_the_question_parts():
    assert joined_verbs("我在哪理的发？") == {"理发": "理 发"}
    assert joined_verbs("在哪結的婚") == {"结婚": "结 婚"}
    assert not joined_verbs("我的车在哪，谁的发票")
