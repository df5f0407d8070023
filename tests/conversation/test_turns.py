"""Turns and pairs of a conversation: where it may be divided, and what the model that sums it up is told of it."""

from __future__ import annotations

import pytest

from recalld.supervisor.conversation.running import dialogue, read_said, turn_starts, whole_pairs
from tests.conversation.talk import answer, call, question, result


def said(*messages):
    return [read_said(one) for one in messages]


def told(*messages, language="zh"):
    return [entry.shown(language) for _, entry in dialogue(said(*messages), language)]


def test_turn_starts_never_separates_a_call_from_its_result():
    talk = said(question("天气？"), call("甲"), answer("稍等"), question("快点"), result("甲"), answer("小雨"))

    assert turn_starts(talk) == [0]


@pytest.mark.parametrize(
    ("messages", "whole"),
    [
        ([call("甲"), result("甲")], (True, True)),
        ([call("甲")], (False,)),
        ([call("甲", "乙"), result("乙")], (False, False)),
        ([call("甲", "乙"), result("乙"), result("甲")], (True, True, True)),
        ([call("甲"), result("甲"), result("甲")], (True, True, False)),
        ([{"role": "assistant", "content": None, "function_call": {"name": "天气"}}, {"role": "function", "name": "天气", "content": "雨"}], (True, True)),
    ],
)  # fmt: skip
def test_whole_pairs_tells_halves_of_calls(messages, whole):
    assert whole_pairs(said(*messages)).is_whole == whole


@pytest.mark.feature("004.6")
def test_dialogue_names_who_speaks_as_004_does_and_tells_what_tools_found():
    assert told(question("泉州天气？"), call("甲", tool="weather"), result("甲", "小雨，24 度"), answer("有小雨。")) == [
        "用户：泉州天气？",
        '助手：(call 甲: weather {"city": "泉州"})',
        "工具：小雨，24 度\n    (result of 甲)",
        "助手：有小雨。",
    ]
    assert told(question("rain?"), answer("Light rain."), language="en") == ["User: rain?", "Assistant: Light rain."]


def test_read_said_reads_parts_pictures_and_a_call_without_words():
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/猫.png"}}
    one = read_said({"role": "user", "content": [{"type": "text", "text": "这是什么？"}, picture]})

    assert one.text == "这是什么？\n(image: https://example.org/猫.png)"
    assert one.tokens > 1_000
    assert read_said({"role": "assistant", "tool_calls": call("甲")["tool_calls"]}).calls == ("甲",)
