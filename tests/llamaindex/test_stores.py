"""
What LlamaIndex keeps in a workspace: a chat store, read again after a restart and after a crash, and a memory block.

The block recalls for the last question, and takes in what is flushed, once.
"""

from __future__ import annotations

import asyncio
import json

import pytest

pytest.importorskip("llama_index.core", reason="LlamaIndex has an environment of its own: script/test-llamaindex")

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import Memory as LlamaMemory
from llama_index.core.storage.chat_store import SimpleChatStore

from recalld import Memory
from recalld.llamaindex import FileChatStore, RecalldMemoryBlock, build_chat_memory
from recalld.supervisor.protocol.config import make_workspace
from recalld.supervisor.storage.errors import BadRequest
from recalld.supervisor.text.llm_input import estimate_tokens
from tests.llamaindex.scripted import Scripted

SUMMARY = "用户对花生过敏，备份在书房的 NAS 上，端口 8443。"


@pytest.fixture
def root(tmp_path):
    make_workspace(tmp_path, {})
    return tmp_path


def messages(*numbers):
    return [ChatMessage(role="user", content=f"第 {n} 句\n备份在哪台机器上？") for n in numbers]


def files(root):
    return sorted((root / ".recalld/sessions").glob("chat-*.jsonl"))


def test_file_chat_store_answers_as_the_simple_one(root):
    ours, theirs = FileChatStore(root), SimpleChatStore()

    def both(name, *arguments):
        said = getattr(ours, name)(*arguments)
        assert said == getattr(theirs, name)(*arguments), (name, arguments)

    both("get_messages", "一")
    both("get_keys")
    both("delete_messages", "一")
    both("delete_last_message", "一")
    both("set_messages", "一", messages(1, 2, 3))
    for one in messages(4, 5):
        ours.add_message("一", one)
        theirs.add_message("一", one)
    both("delete_message", "一", 1)
    both("delete_message", "一", 9)
    both("delete_last_message", "一")
    both("get_messages", "一")
    ours = FileChatStore(root)
    both("get_messages", "一")
    both("get_keys")
    both("delete_messages", "一")
    both("get_keys")


def test_file_chat_store_does_the_same_in_coroutines(root):
    async def use(store):
        await asyncio.gather(*(store.async_add_message("一", one) for one in messages(*range(8))))
        await store.aset_messages("二", messages(1))
        return await store.aget_keys(), sorted(one.content for one in await store.aget_messages("一"))

    assert asyncio.run(use(FileChatStore(root))) == (["一", "二"], sorted(one.content for one in messages(*range(8))))


@pytest.mark.parametrize("key", ["../../memory", "a/b", "", "甲|乙\n丙", "x" * 500, "/etc/passwd"])
def test_file_chat_store_takes_no_key_for_a_path(root, key):
    before = set(root.rglob("*"))
    store = FileChatStore(root)
    store.add_message(key, messages(1)[0])

    assert FileChatStore(root).get_messages(key) == messages(1)
    assert store.get_keys() == [key]
    made = set(root.rglob("*")) - before
    assert {path.parent for path in made if path.is_file()} == {root / ".recalld/sessions"}


@pytest.mark.parametrize("is_added_to", [False, True])
def test_file_chat_store_reads_the_whole_lines_of_a_cut_off_file(root, is_added_to):
    store = FileChatStore(root)
    for one in messages(1, 2, 3):
        store.add_message("一", one)
    (path,) = files(root)
    cut = path.read_bytes()[:-9]
    path.write_bytes(cut)
    if is_added_to:
        store.add_message("一", messages(4)[0])
        cut = path.read_bytes()

    left = messages(1, 2, 4) if is_added_to else messages(1, 2)
    again = FileChatStore(root)
    assert (again.get_messages("一"), again.get_messages("一")) == (left, left)
    (copy,) = (root / ".recalld/quarantine").glob("chat.*")
    assert copy.read_bytes() == cut
    events = [json.loads(line) for line in (root / "log.jsonl").read_text().splitlines()]
    assert [one["event"] for one in events if one["event"] == "file_quarantined"] == ["file_quarantined"]


def test_file_chat_store_refuses_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(BadRequest, match="recalld init"):
        FileChatStore(tmp_path / "none")


def test_chat_memory_continues_over_the_same_file_store_after_a_restart(root):
    llm = Scripted(SUMMARY)
    memory = build_chat_memory(llm, token_limit=400, chat_store=FileChatStore(root), chat_store_key="web-7")
    for n in range(30):
        memory.put(messages(n)[0])
        memory.put(ChatMessage(role="assistant", content=f"第 {n} 个回答：在书房的 NAS 上。"))
        memory.get()
    shown, calls = memory.get(), len(llm.prompts)

    again = build_chat_memory(llm, token_limit=400, chat_store=FileChatStore(root), chat_store_key="web-7")
    assert again.get() == shown
    assert len(again.get_all()) == 60
    assert len(llm.prompts) == calls
    assert "conversation_summarised" in (root / "log.jsonl").read_text()
    again.reset()
    assert files(root) == []


# ── the memory block ─────────────────────────────────────────────────────────


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
