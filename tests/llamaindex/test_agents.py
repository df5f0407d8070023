"""LlamaIndex's agents with the memory that `run` is given, streamed and not."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("llama_index.core", reason="LlamaIndex has an environment of its own: script/test-llamaindex")

from llama_index.core.agent import AgentStream, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.storage.chat_store import SimpleChatStore

from recalld.llamaindex import build_chat_memory
from tests.llamaindex.scripted import Scripted, ScriptedTools

SUMMARY = "用户每天询问泉州的天气怎么样，助手回答小雨，24 度，不冷。"
STEPS = (
    'Thought: I need to use a tool.\nAction: weather\nAction Input: {"city": "泉州"}',
    "Thought: I can answer without using any more tools.\nAnswer: 小雨，24 度。",
)


def weather(city: str) -> str:
    """The weather of a city."""
    return f"{city}小雨，24 度"


async def ask(agent, text, memory):
    """Return the answer, and what of it was streamed."""
    handler = agent.run(text, memory=memory)
    pieces = [event.delta async for event in handler.stream_events() if isinstance(event, AgentStream)]
    return str(await handler), "".join(pieces)


def texts(messages):
    return [one.content for one in messages]


@pytest.mark.parametrize("streaming", [False, True])
def test_react_agent_remembers_with_the_memory_that_run_is_given(streaming):
    async def talk():
        llm = Scripted(lambda prompt: STEPS["Observation: 泉州小雨" in prompt])
        memory = build_chat_memory(llm)
        agent = ReActAgent(tools=[weather], llm=llm, streaming=streaming)
        said = [await ask(agent, text, memory) for text in ("泉州天气怎么样？", "它冷吗？")]
        return said, memory.get_all(), llm.prompts

    said, everything, prompts = asyncio.run(talk())
    assert [answer for answer, _ in said] == ["小雨，24 度。"] * 2
    assert [piece.endswith(STEPS[1]) for _, piece in said] == [streaming] * 2
    assert texts(everything)[0] == "泉州天气怎么样？"
    assert "它冷吗？" in texts(everything)
    assert "泉州天气怎么样？" in prompts[-1]


@pytest.mark.parametrize("streaming", [False, True])
def test_function_agent_sees_whole_calls_while_its_memory_is_summed_up(streaming):
    store = SimpleChatStore()

    async def talk():
        llm = ScriptedTools()
        memory = build_chat_memory(Scripted(SUMMARY), token_limit=400, chat_store=store)
        agent = FunctionAgent(tools=[weather], llm=llm, streaming=streaming)
        for n in range(20):
            await ask(agent, f"第 {n} 天泉州的天气怎么样？", memory)
        return memory, llm.seen

    memory, seen = asyncio.run(talk())
    assert [one.role.value for one in memory.get_all()] == ["user", "assistant", "tool", "assistant"] * 20
    assert texts(memory.get_all())[::4] == [f"第 {n} 天泉州的天气怎么样？" for n in range(20)]
    assert store.get_messages("default") == memory.get_all()
    assert SUMMARY in seen[-1][0].content
    for n, messages in enumerate(seen):
        assert f"第 {n // 2} 天泉州的天气怎么样？" in texts(messages)
        calls = [block.tool_call_id for one in messages for block in one.blocks if isinstance(block, ToolCallBlock)]
        assert calls == [one.additional_kwargs["tool_call_id"] for one in messages if one.role == "tool"]
