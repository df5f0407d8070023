"""build_chat_memory with LlamaIndex's own classes: nothing is lost, whatever the model does."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("llama_index.core", reason="LlamaIndex has an environment of its own: script/test-llamaindex")

import llama_index.core
import pytest
from llama_index.core import SummaryIndex
from llama_index.core.agent import FunctionAgent
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.llms import ChatMessage, MockLLM
from llama_index.core.memory import ChatSummaryMemoryBuffer
from llama_index.core.schema import TextNode
from llama_index.core.storage.chat_store import SimpleChatStore
from llama_index.core.utils import get_tokenizer

from recalld.llamaindex import build_chat_memory
from recalld.supervisor.text.llm_input import estimate_tokens
from tests.llamaindex.scripted import Scripted, ScriptedTools

SUMMARY = "用户对花生过敏，备份在书房的 NAS 上，端口 8443。"
PROMPT = "请总结以下对话的关键信息，保留重要的上下文和结论。"


def said(role, text, **more):
    return ChatMessage(role=role, content=text, **more)


def turn(n):
    return [
        said("user", f"第 {n} 个问题：备份在哪台机器上？"),
        said("assistant", f"第 {n} 个回答：在书房的 NAS 上，端口 8443。"),
    ]


def texts(messages):
    return [one.content for one in messages]


def fill(memory, turns):
    """Put the turns as an engine does, with a get in each; return the messages that were put."""
    put = []
    for n in range(turns):
        for message in turn(n):
            memory.put(message)
            put.append(message)
        memory.get()
    return put


@pytest.mark.feature("002.1", "002.2")
def test_build_chat_memory_is_a_buffer_with_the_defaults_of_002():
    memory = build_chat_memory(MockLLM())

    assert isinstance(memory, ChatSummaryMemoryBuffer)
    assert (memory.token_limit, memory.chat_store_key, type(memory.chat_store)) == (64000, "default", SimpleChatStore)


@pytest.mark.feature("002.5")
def test_chat_memory_sums_up_above_the_limit_and_the_summary_counts():
    llm = Scripted(SUMMARY)
    memory = build_chat_memory(llm, token_limit=400, summarize_prompt=PROMPT)
    put = fill(memory, 30)

    first, *rest = memory.get()
    assert first.role == "system"
    assert SUMMARY in first.content
    assert rest == put[-len(rest) :]
    assert 0 < len(rest) < 20
    assert memory.get_token_count() <= 400
    assert all(PROMPT in prompt for prompt in llm.prompts)
    assert "示例" not in llm.prompts[0]


@pytest.fixture
def tokenizer():
    """What sets LlamaIndex's tokenizer for a test."""
    before = llama_index.core.global_tokenizer
    yield lambda own: setattr(llama_index.core, "global_tokenizer", own)
    llama_index.core.global_tokenizer = before


def counted(messages):
    return len(get_tokenizer()(" ".join(one.content for one in messages)))


@pytest.mark.feature("002.5")
@pytest.mark.parametrize("llm", [Scripted(SUMMARY), None], ids=["a model", "no model"])
def test_chat_memory_keeps_the_limit_as_llamaindex_counts_chinese(llm):
    memory = build_chat_memory(llm, token_limit=600)
    most = 0
    for n in range(40):
        for message in turn(n):
            memory.put(message)
        sent = memory.get()
        most = max(most, counted(sent))
        assert memory.get_token_count() == counted(sent)
    assert 300 < most <= 600


def test_chat_memory_estimates_where_the_tokenizer_fails(tokenizer):
    def failing(text):
        raise RuntimeError(text)

    tokenizer(failing)
    memory = build_chat_memory(None, token_limit=600)
    put = fill(memory, 20)
    assert sum(map(estimate_tokens, texts(memory.get()))) <= 600
    assert memory.get_all() == put


@pytest.mark.feature("002.6")
def test_chat_memory_reset_forgets_messages_and_summary():
    memory = build_chat_memory(Scripted(SUMMARY), token_limit=400)
    fill(memory, 30)
    memory.reset()
    assert (memory.get(), memory.get_all()) == ([], [])
    assert fill(memory, 1) == memory.get()


@pytest.mark.feature("002.8")
def test_chat_memory_keeps_sessions_apart_by_their_key():
    store = SimpleChatStore()
    one = build_chat_memory(Scripted(SUMMARY), token_limit=400, chat_store=store, chat_store_key="one")
    other = build_chat_memory(Scripted("不该出现的摘要，端口 1。"), token_limit=400, chat_store=store, chat_store_key="other")
    fill(one, 30)
    other.put(said("user", "另一个会话的问题"))

    assert texts(other.get()) == ["另一个会话的问题"]
    assert SUMMARY in one.get()[0].content


def test_chat_memory_continues_over_the_same_store_after_a_restart():
    store, llm = SimpleChatStore(), Scripted(SUMMARY)
    memory = build_chat_memory(llm, token_limit=400, chat_store=store)
    put = fill(memory, 30)
    shown, calls = memory.get(), len(llm.prompts)

    again = build_chat_memory(llm, token_limit=400, chat_store=SimpleChatStore(store=store.store))
    assert (again.get(), again.get_all()) == (shown, put)
    assert len(llm.prompts) == calls


def test_chat_memory_does_not_use_the_summary_of_replaced_messages():
    store = SimpleChatStore()
    fill(build_chat_memory(Scripted(SUMMARY), token_limit=400, chat_store=store), 30)
    store.set_messages("default", turn(99))

    assert build_chat_memory(Scripted(SUMMARY), token_limit=400, chat_store=store).get() == turn(99)


def test_chat_memory_without_a_model_cuts_by_whole_turns_and_warns_once():
    memory = build_chat_memory(None, token_limit=400)
    with pytest.warns(UserWarning, match="no model sums up") as warned:
        put = fill(memory, 30)

    shown = memory.get()
    assert shown == put[-len(shown) :]
    assert shown[0].role == "user"
    assert len([one for one in warned if "no model" in str(one.message)]) == 1


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, None])
def test_build_chat_memory_refuses_a_limit_that_is_none(limit):
    with pytest.raises(ValueError, match=r"token_limit is .* whole number"):
        build_chat_memory(MockLLM(), token_limit=limit)


def test_chat_memory_stores_no_question_larger_than_the_window():
    memory = build_chat_memory(MockLLM(), token_limit=100)
    for put in (memory.put, lambda one: memory.put_messages([*turn(1), one]), lambda one: asyncio.run(memory.aput(one))):
        with pytest.raises(ValueError, match="the window is 100"):
            put(said("user", "备份在哪台机器上？" * 100))

    assert memory.get_all() == []


# ── a chat engine ────────────────────────────────────────────────────────────


@pytest.mark.feature("002.7")
def test_chat_engine_resolves_it_in_the_second_question():
    def answer(prompt):
        if "standalone question" in prompt.lower():
            return "糖尿病有哪些症状？" if "什么是糖尿病？" in prompt else "？"
        return (
            "多饮、多尿、消瘦。" if "糖尿病有哪些症状？" in prompt or "它有哪些症状？" in prompt else "糖尿病是一种代谢疾病。"
        )

    llm = Scripted(answer)
    memory = build_chat_memory(llm=llm, token_limit=64000)
    index = SummaryIndex([TextNode(text="糖尿病：多饮、多尿、消瘦。")])
    engine = index.as_chat_engine(chat_mode="condense_plus_context", memory=memory, llm=llm)

    engine.chat("什么是糖尿病？")
    assert str(engine.chat("它有哪些症状？")) == "多饮、多尿、消瘦。"
    condensed = next(prompt for prompt in llm.prompts if "standalone question" in prompt.lower() and "它有哪些症状" in prompt)
    assert "什么是糖尿病？" in condensed
    assert len(memory.get_all()) == 4
    engine.reset()
    assert memory.get_all() == []


# ── an agent, streamed and not ───────────────────────────────────────────────


WEATHER = "用户每天询问泉州的天气怎么样，助手回答小雨，24 度，不冷。"


def weather(city: str) -> str:
    """The weather of a city."""
    return f"{city}小雨，24 度"


@pytest.mark.parametrize("streaming", [False, True])
def test_function_agent_sees_whole_calls_while_its_memory_is_summed_up(streaming):
    store = SimpleChatStore()

    async def talk():
        llm = ScriptedTools()
        memory = build_chat_memory(Scripted(WEATHER), token_limit=400, chat_store=store)
        agent = FunctionAgent(tools=[weather], llm=llm, streaming=streaming)
        for n in range(20):
            await agent.run(f"第 {n} 天泉州的天气怎么样？", memory=memory)
        return memory, llm.seen

    memory, seen = asyncio.run(talk())
    assert [one.role.value for one in memory.get_all()] == ["user", "assistant", "tool", "assistant"] * 20
    assert texts(memory.get_all())[::4] == [f"第 {n} 天泉州的天气怎么样？" for n in range(20)]
    assert store.get_messages("default") == memory.get_all()
    assert WEATHER in seen[-1][0].content
    for n, messages in enumerate(seen):
        assert f"第 {n // 2} 天泉州的天气怎么样？" in texts(messages)
        calls = [block.tool_call_id for one in messages for block in one.blocks if isinstance(block, ToolCallBlock)]
        assert calls == [one.additional_kwargs["tool_call_id"] for one in messages if one.role == "tool"]
