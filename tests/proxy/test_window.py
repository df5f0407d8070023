"""A request that does not fit the model's window: memory gives way first, then whole turns are cut."""

import json
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalld.supervisor.interfaces.proxy.talk import Room, Talk, read_talk, room, with_memory
from recalld.supervisor.text.llm_input import MESSAGE_TOKENS, estimate_tokens
from tests.proxy.conftest import Proxied
from tests.proxy.model_server import chat

CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def turns(count: int, words: int = 20) -> list[dict[str, Any]]:
    """So many turns of a question, a call of a tool, its result and an answer, each of some words."""
    said: list[dict[str, Any]] = [{"role": "system", "content": "简短"}]
    for n in range(count):
        said += [
            {"role": "user", "content": f"问题{n} " + "字" * words},
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "1", "content": "字" * words},
            {"role": "assistant", "content": f"回答{n} " + "字" * words},
        ]
    return [*said, {"role": "user", "content": "最后的问题？"}]


def talk_of(messages: list[dict[str, Any]], **more: Any) -> Talk:
    talk = read_talk("chat/completions", json.dumps({"messages": messages, **more}, ensure_ascii=False).encode())
    assert talk
    return talk


def size(messages: list[dict[str, Any]]) -> int:
    return sum(estimate_tokens(str(one.get("content") or "")) + MESSAGE_TOKENS for one in messages)


def sent(talk: Talk, space: Room) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(with_memory(talk, "", "question", space.begin))["messages"]
    return found


def test_last_turns_and_the_questions_own_stay_however_large():
    messages = turns(10, words=2000)
    talk = talk_of(messages)
    left = sent(talk, room(talk, 4096, 2560, keep_turns=3))
    assert left == [messages[0], *messages[-9:]]


def test_pictures_count_as_some_tokens_and_not_by_their_bytes():
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 500_000}}
    talk = talk_of([{"role": "user", "content": [picture, {"type": "text", "text": "这是什么？"}]}])
    assert room(talk, 8192, 2560) == (2560, 0)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 60), st.integers(0, 60), st.sampled_from([1024, 4096, 8192, 32768]), st.integers(0, 5))
def test_window_is_never_passed_where_the_last_turns_fit_it(count, words, tokens, keep):
    talk = talk_of(turns(count, words))
    space = room(talk, tokens, 2560, keep_turns=keep)
    left = sent(talk, space)
    last = size(turns(max(1, keep), words))
    assert size(left) + space.memory <= max(tokens * 3 // 4, last + tokens // 4)
    assert left[0]["role"] == "system"
    assert left[-1]["content"] == "最后的问题？"


# ── a talk of 150 turns, whose client sends its whole history each time ──────

WINDOW = 8192
FACTS = [f"{place}的{thing}" for place, thing in product(("厨房", "车库", "阁楼", "书房", "仓库"), ("灯泡", "窗帘", "柜子", "地毯", "花盆", "水管", "插座", "书架", "风扇", "钟"))]  # fmt: skip
SMALL = ("今天风很大", "邻居家在装修", "路上堵车了", "中午吃了面条", "猫又打翻了水杯", "下午开了两个会")


def received(proxied: Proxied, messages: list[dict[str, Any]], answer: str) -> list[dict[str, Any]]:
    """The messages that the model gets, and answers; they fit its window."""
    proxied.play(chat(answer))
    proxied.post("/v1/chat/completions", {"messages": messages}, **{"X-Recalld-Session": "long"}).raise_for_status()
    left: list[dict[str, Any]] = proxied.model.got[0].json["messages"]
    assert size(left) <= WINDOW
    return left


@pytest.mark.proof
def test_long_talk_stays_in_the_window_and_its_beginning_is_remembered(proxied: Proxied):
    proxied.configure(f"[recall]\ntimeout_ms = 5000\n[context]\nwindow_tokens = {WINDOW}\n")
    chance = Random(35)
    facts = dict(zip(FACTS, chance.sample(range(1000, 9999), len(FACTS)), strict=True))
    questions = [f"记一下：{fact}是 {number} 号。" for fact, number in facts.items()]
    questions += [f"第 {n} 件事：{chance.choice(SMALL)}，{chance.choice(SMALL)}。" for n in range(len(FACTS), 150)]
    messages: list[dict[str, Any]] = [{"role": "system", "content": "你是助手，回答要简短。"}]
    for n, question in enumerate(questions):
        messages.append({"role": "user", "content": question})
        received(proxied, messages, f"好的，第 {n} 条。")
        messages.append({"role": "assistant", "content": f"好的，第 {n} 条。"})
    proxied.service.world.settle()
    remembered = [
        f"{fact}是 {number} 号"
        in received(proxied, [*messages, {"role": "user", "content": f"{fact}是多少号？"}], "好。")[-1]["content"]
        for fact, number in facts.items()
    ]
    assert sum(remembered) >= 48
    proxied.service.world.settle()
    filed = proxied.service.world.archived_texts()
    assert {filed.count(question) for question in questions} == {1}
    assert not proxied.faults
