"""An agent of LlamaIndex with the memory that `run` is given, streamed and not."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("llama_index.core", reason="LlamaIndex has an environment of its own: script/test-llamaindex")

from llama_index.core.agent import FunctionAgent
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.storage.chat_store import SimpleChatStore

from recalld.llamaindex import build_chat_memory
from tests.llamaindex.scripted import Scripted, ScriptedTools

SUMMARY = "用户每天询问泉州的天气怎么样，助手回答小雨，24 度，不冷。"


def weather(city: str) -> str:
    """The weather of a city."""
    return f"{city}小雨，24 度"


def texts(messages):
    return [one.content for one in messages]


@pytest.mark.parametrize("streaming", [False, True])
def test_function_agent_sees_whole_calls_while_its_memory_is_summed_up(streaming):
    store = SimpleChatStore()

    async def talk():
        llm = ScriptedTools()
        memory = build_chat_memory(Scripted(SUMMARY), token_limit=400, chat_store=store)
        agent = FunctionAgent(tools=[weather], llm=llm, streaming=streaming)
        for n in range(20):
            await agent.run(f"第 {n} 天泉州的天气怎么样？", memory=memory)
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
