"""What holds of a chat memory in any talk: tools, empty texts, any Unicode, restarts, and a model that fails by chance."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="LlamaIndex has an environment of its own: script/test-llamaindex")

from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.llms import ChatMessage
from llama_index.core.storage.chat_store import SimpleChatStore

from recalld.llamaindex import build_chat_memory
from recalld.supervisor.text.llm_input import MESSAGE_TOKENS, estimate_tokens
from tests.llamaindex.scripted import Scripted

LIMIT = 300
SUMMARY = "用户对花生过敏，备份在书房的 NAS 上，端口 8443。"
#: What the model does when it is asked; each but the first is a failure.
ANSWERS = (*[SUMMARY] * 5, RuntimeError("down"), "", "抱歉，我无法完成这个请求。", "<think>好</think>")

WORDS = st.sampled_from(
    ("备份在哪台机器上？", "在书房的 NAS 上，端口 8443。", "谢谢", "", " \n", "好的，", "这件事要多久才能办完？" * 3)
)
#: Half of a character, too, as the end of a streamed piece.
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=40)
TEXTS = st.one_of(WORDS, ANY_TEXT, st.builds(lambda text, n: text * n, WORDS, st.integers(1, 8)))


def plain_call(identity: str) -> ChatMessage:
    function = {"name": "weather", "arguments": '{"city": "泉州"}'}
    call = {"id": identity, "type": "function", "function": function}
    return ChatMessage(role="assistant", content=None, additional_kwargs={"tool_calls": [call]})


def block_call(identity: str) -> ChatMessage:
    call = ToolCallBlock(tool_call_id=identity, tool_name="weather", tool_kwargs={"city": "泉州"})
    return ChatMessage(role="assistant", blocks=[call])


def result(identity: str, text: str) -> ChatMessage:
    return ChatMessage(role="tool", content=text, additional_kwargs={"tool_call_id": identity})


@st.composite
def turns(draw, texts=TEXTS) -> list[ChatMessage]:
    """A question, calls with their results or without, an answer or none."""
    turn = [ChatMessage(role="user", content=draw(texts))]
    for _ in range(draw(st.integers(0, 2))):
        identity = f"c{draw(st.integers(0, 3))}"
        pair = [draw(st.sampled_from((plain_call, block_call)))(identity), result(identity, draw(texts))]
        turn += draw(st.sampled_from((pair, pair, pair[:1], pair[1:])))
    if draw(st.integers(0, 4)):
        turn.append(ChatMessage(role="assistant", content=draw(texts)))
    return turn


#: Some do not fit beside a question, and one that was there may be put again.
PROMPTS = st.builds(
    lambda n: [ChatMessage(role="system", content="你是一个有用的助手。" * n)], st.sampled_from((1, 1, 2, 12, 20, 40))
)
#: True for a restart of the process.
TALKS = st.lists(st.one_of(turns(), turns(), turns(), turns(), PROMPTS, st.just(True)), min_size=1, max_size=14)
MODELS = st.lists(st.sampled_from(ANSWERS), min_size=1, max_size=4)


class Fickle(Scripted):
    """A model that answers these in turn, and then from the first on."""

    def __init__(self, answers: list[Any]) -> None:
        super().__init__(lambda _: answers[(len(self.prompts) - 1) % len(answers)])


def tokens(messages: list[ChatMessage]) -> int:
    return sum(estimate_tokens(one.content or "") + MESSAGE_TOKENS for one in messages)


def calls(message: ChatMessage) -> list[str]:
    found = [one.tool_call_id for one in message.blocks if isinstance(one, ToolCallBlock)]
    return found + [one["id"] for one in message.additional_kwargs.get("tool_calls", [])]


def is_open(put: list[ChatMessage]) -> bool:
    """Whether the last question waits for its answer."""
    spoken = [one for one in put if one.role != "system"]
    is_answered = bool(spoken) and spoken[-1].role == "assistant" and not calls(spoken[-1])
    return any(one.role == "user" for one in put) and not is_answered


def assert_no_half(shown: list[ChatMessage]) -> None:
    """Each call has its result behind it, and each result its call before it."""
    waiting: Counter[str] = Counter()
    for one in shown:
        if answered := one.additional_kwargs.get("tool_call_id"):
            assert waiting[answered], shown
            waiting[answered] -= 1
        waiting.update(calls(one))
    assert not waiting.total(), shown


def assert_holds(memory: Any, put: list[ChatMessage]) -> list[ChatMessage]:
    """Everything is stored, and what is shown is whole, fits, has the question and costs nothing again."""
    shown = memory.get()
    assert memory.get_all() == put
    assert tokens(shown) <= LIMIT
    assert memory.get_token_count() <= LIMIT
    spoken = [one for one in shown if one.role != "system"]
    rest = iter(put)
    assert all(any(one is other or one == other for other in rest) for one in spoken), (spoken, put)
    if is_open(put):
        assert [one for one in put if one.role == "user"][-1] in spoken
    assert_no_half(shown)
    asked = len(memory.llm.prompts)
    assert memory.get() == shown
    assert len(memory.llm.prompts) == asked
    return shown


@pytest.mark.feature("002.5", "002.6")
@given(talk=TALKS, answers=MODELS)
@settings(max_examples=150)
def test_chat_memory_keeps_everything_and_its_window_in_any_talk(talk, answers):
    store, llm, put = SimpleChatStore(), Fickle(answers), []
    memory = build_chat_memory(llm, token_limit=LIMIT, chat_store=store)
    for step in talk:
        if step is True:
            store = SimpleChatStore(store=copy.deepcopy(store.store))
            memory = build_chat_memory(llm, token_limit=LIMIT, chat_store=store)
            continue
        for message in step:
            try:
                memory.put(message)
            except ValueError:  # a prompt or a question that has no room: nobody answers it
                break
            put.append(message)
            if message.role != "tool":
                assert_holds(memory, put)
    assert_holds(memory, put)
