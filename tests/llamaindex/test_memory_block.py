"""RecalldMemoryBlock in LlamaIndex's Memory: it recalls for the last question, and takes in what is flushed, once."""

from __future__ import annotations

import asyncio
import json

import pytest

pytest.importorskip("llama_index.core", reason="LlamaIndex has an environment of its own: script/test-llamaindex")

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import Memory as LlamaMemory

from recalld import Memory
from recalld.llamaindex import RecalldMemoryBlock
from recalld.supervisor.protocol.config import make_workspace
from recalld.supervisor.text.llm_input import estimate_tokens


@pytest.fixture
def root(tmp_path):
    make_workspace(tmp_path, {})
    return tmp_path


def said(role, text):
    return ChatMessage(role=role, content=text)


def history(root):
    path = root / "history.json"
    return [one["text"] for one in json.loads(path.read_text())] if path.exists() else []


def test_memory_block_recalls_for_the_last_message_of_the_user(root):
    Memory(root).write("备份在书房的 NAS 上，端口 8443。")
    block = RecalldMemoryBlock(root)

    found = asyncio.run(block.aget([said("user", "备份在哪台机器上？"), said("assistant", "我查一下。")]))
    assert "端口 8443" in found
    assert asyncio.run(block.aget([said("assistant", "备份在哪？")])) == ""
    assert asyncio.run(block.aget(None)) == ""


def test_memory_block_takes_in_what_is_flushed_once(root):
    block = RecalldMemoryBlock(root)
    talk = [said("user", "对花生过敏"), said("assistant", "记住了。"), said("tool", "小雨"), said("user", "对花生过敏")]

    asyncio.run(block.aput(talk, from_short_term_memory=True, session_id="web-7"))
    asyncio.run(block.aput(talk, from_short_term_memory=True, session_id="web-7"))
    assert history(root) == ["对花生过敏", "记住了。", "对花生过敏"]
    asyncio.run(block.aput([said("user", "对花生过敏")]))
    assert len(history(root)) == 4
    assert {one.get("session") for one in json.loads((root / "history.json").read_text())} == {"web-7", None}


def test_memory_block_is_truncated_by_whole_lines(root):
    block, text = RecalldMemoryBlock(root), "## Memory\n[memory.md] 备份在书房\n[memory.md] 端口 8443"

    shorter = asyncio.run(block.atruncate(text, 3))
    assert shorter == "## Memory\n[memory.md] 备份在书房"
    assert estimate_tokens(shorter) <= estimate_tokens(text) - 3
    assert asyncio.run(block.atruncate(text, 10_000)) is None


def test_memory_block_gets_what_leaves_the_memory_of_llamaindex(root):
    async def talk():
        memory = LlamaMemory.from_defaults(
            session_id="web-7",
            token_limit=200,
            chat_history_token_ratio=0.5,
            token_flush_size=50,
            memory_blocks=[RecalldMemoryBlock(root)],
            tokenizer_fn=lambda text: [0] * estimate_tokens(text),
        )
        for n in range(20):
            await memory.aput(said("user", f"第 {n} 个问题：备份在哪台机器上？"))
            await memory.aput(said("assistant", f"第 {n} 个回答：在书房的 NAS 上。"))
        return await memory.aget()

    shown = asyncio.run(talk())
    left = history(root)
    assert "第 0 个问题：备份在哪台机器上？" in left
    assert len(left) == len(set(left))
    assert "第 19 个回答：在书房的 NAS 上。" in [one.content for one in shown]
