"""The chat store that LlamaIndex keeps in a workspace, read again after a restart and after a crash."""

from __future__ import annotations

import asyncio
import json

import pytest

pytest.importorskip("llama_index.core", reason="LlamaIndex has an environment of its own: script/test-llamaindex")

from llama_index.core.llms import ChatMessage
from llama_index.core.storage.chat_store import SimpleChatStore

from recalld.llamaindex import FileChatStore, build_chat_memory
from recalld.supervisor.protocol.config import make_workspace
from recalld.supervisor.storage.errors import BadRequest
from tests.llamaindex.scripted import Scripted

SUMMARY = "用户从第 0 句到第 26 句都在问备份在哪台机器上；从第 0 个回答到第 26 个回答都说在书房的 NAS 上。"


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
