"""The running summary's rule: when a conversation is summed up, what stays, and what is sent; all of it pure."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalld.supervisor.conversation.running import (
    Conversation,
    Limits,
    commit_points,
    dialogue,
    is_full,
    is_open,
    read_said,
    recomposed,
    to_sum_up,
    tokens_of,
    turn_starts,
    whole_pairs,
)
from recalld.supervisor.summaries.schedule import Backoff
from recalld.supervisor.text.llm_input import MESSAGE_TOKENS, estimate_tokens
from tests.conversation.talk import answer, call, question, result

NOW = datetime(2026, 1, 28, 5, tzinfo=UTC)
SYSTEM = "你是一个聊天助手..."
LIMITS = Limits(context_tokens=1_000)


def conversation(*messages, summary="", system=SYSTEM):
    return Conversation(system, summary, tuple(map(read_said, messages)))


def turns(count, words="花"):
    return [one for n in range(count) for one in (question(f"问题{n}{words}？"), answer(f"回答{n}{words}。"))]


def summed_up(talk, count, summary):
    return replace(talk, summary=summary, messages=talk.messages[count:], failure=Backoff())


def due(talk, limits=LIMITS, *, by_hand=False):
    return to_sum_up(talk, limits, NOW, by_hand=by_hand)


# ── when ─────────────────────────────────────────────────────────────────────


@pytest.mark.feature("004.5", "004.12")
def test_is_full_counts_system_summary_and_messages_against_80_percent():
    talk = conversation(*turns(2))
    used = tokens_of(talk, LIMITS)

    assert used == estimate_tokens(SYSTEM) + MESSAGE_TOKENS + sum(one.tokens for one in talk.messages)
    assert not is_full(talk, Limits(context_tokens=used * 10, share=0.1))
    assert is_full(talk, Limits(context_tokens=used * 10 - 10, share=0.1))
    assert tokens_of(replace(talk, summary="对花生过敏。"), LIMITS) > used + estimate_tokens("对花生过敏。")
    assert LIMITS.window == 800


@pytest.mark.feature("004.5")
def test_to_sum_up_begins_above_fifty_messages_or_by_hand():
    wide = Limits(context_tokens=100_000)

    assert due(conversation(*turns(25)), wide) == 0
    assert due(conversation(*turns(25), question("还有？")), wide) == 44  # 3 turns and the question stay
    assert due(conversation(*turns(4)), wide) == 0
    assert due(conversation(*turns(4)), wide, by_hand=True) == 2


# ── what stays ───────────────────────────────────────────────────────────────


def test_to_sum_up_keeps_no_more_turns_than_two_fifths_of_the_window_hold():
    assert due(conversation(*turns(4, "花" * 60)), by_hand=True) == 4
    assert due(conversation(*turns(4)), replace(LIMITS, max_messages=6), by_hand=True) == 6


def test_to_sum_up_begins_where_a_turn_no_longer_shows_all_that_is_said():
    shown = Limits(context_tokens=100_000, shown_messages=8, shown_tokens=1_000)
    turns = [talk for n in range(4) for talk in (question(f"第 {n} 问"), call("c1"), result("c1"), answer(f"第 {n} 答"))]
    assert to_sum_up(conversation(*turns), shown, NOW) == 0  # what tools say is not shown
    assert to_sum_up(conversation(*turns, question("第 4 问")), shown, NOW) == 8  # two turns are half of what is shown
    long = conversation(*turns, summary="备份" * 400)
    assert not is_full(long, shown)
    assert is_full(replace(long, summary="备份" * 500), shown)
    assert shown.summary_tokens == 200


def test_limits_refuse_what_no_conversation_can_keep():
    for wrong in ({"context_tokens": 0}, {"context_tokens": -1}, {"context_tokens": True}, {"share": 1.5}, {"share": 0}):
        with pytest.raises(ValueError, match="must be"):
            Limits(**wrong)


# ── what is sent ─────────────────────────────────────────────────────────────


def test_recomposed_sends_the_question_even_where_nothing_else_fits():
    limits = Limits(context_tokens=300)
    talk = conversation(*turns(3), question("花" * 200), call("甲"), result("甲", "雨" * 300), summary="对花生过敏，" * 20)

    assert recomposed(talk, limits) == [{"role": "system", "content": SYSTEM}, question("花" * 200)]


# ── always ───────────────────────────────────────────────────────────────────

WORDS = st.text(max_size=30) | st.sampled_from(["", "好的", "{0} {messages}", "### System", "<|im_start|>", "花" * 150])


@st.composite
def talks(draw):
    """A talk with tools, some of whose results never come, and with texts of any kind."""
    messages = []
    for n in range(draw(st.integers(0, 9))):
        messages += [question(draw(WORDS)) for _ in range(draw(st.integers(0, 2)))]
        for k in range(draw(st.integers(0, 2))):
            ids = [f"{n}-{k}-{i}" for i in range(draw(st.integers(1, 2)))]
            messages.append(call(*ids))
            messages += [result(one, draw(WORDS)) for one in ids if draw(st.integers(0, 9))]
        messages += [answer(draw(WORDS)) for _ in range(draw(st.integers(0, 1)))]
    return messages


def sent_tokens(messages):
    return sum(read_said(one).tokens for one in messages)


def check(talk, limits, told, everything):
    """What holds at any time."""
    assert [*told, *talk.messages] == everything
    halves = {one for said in told for one in (*said.calls, *said.results)}
    assert not halves & {one for said in talk.messages for one in (*said.calls, *said.results)}
    sent = recomposed(talk, limits)
    assert sent_tokens(sent) <= limits.window
    assert all(whole_pairs([read_said(one) for one in sent]).is_whole)
    assert [one["role"] for one in sent].count("system") == bool(talk.system or talk.summary)
    starts = turn_starts(talk.messages)
    if starts and is_open(talk.messages[starts[-1] :]):
        asked = [one for one in talk.messages[starts[-1] :] if one.is_question][-1:]
        assert all(any(str(one.raw["content"]) in str(s["content"]) and s["role"] == "user" for s in sent) for one in asked)


@pytest.mark.feature("004.7")
@settings(max_examples=50, deadline=None)
@given(talks(), st.randoms(use_true_random=False), st.integers(0, 3))
def test_rule_loses_nothing_splits_no_pair_and_keeps_the_window(messages, chance, keep):
    limits = Limits(context_tokens=600, max_messages=12, keep_turns=keep)
    talk, told, everything = conversation(), [], []
    for n, message in enumerate(messages):
        talk = replace(talk, messages=(*talk.messages, read_said(message)))
        everything.append(talk.messages[-1])
        by_hand = chance.random() < 0.1
        count = due(talk, limits, by_hand=by_hand)
        assert count in commit_points(talk.messages) | {0}
        if count and chance.random() < 0.3:
            talk = replace(talk, failure=Backoff(1, NOW, NOW + timedelta(minutes=10)))
            assert due(talk, limits) == 0
        elif count:
            told += talk.messages[:count]
            talk = summed_up(talk, count, f"第 {n} 次总结，对花生过敏。")
            assert due(talk, limits, by_hand=by_hand) == 0
        check(talk, limits, told, everything)


# ── turns and pairs ──────────────────────────────────────────────────────────


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
