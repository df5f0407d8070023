"""
A chat with a real, if small, model of llama.cpp, in a process that ends, and continued in another over the same store.

What is shown is the wire and the store. The words of the model are worth nothing, and are not looked at.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("llama_index.core", reason="LlamaIndex has an environment of its own: script/test-llamaindex")
pytest.importorskip("llama_index.llms.openai_like", reason="LlamaIndex's client is not installed: script/test-llamaindex")

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.storage.chat_store import SimpleChatStore
from llama_index.llms.openai_like import OpenAILike

from recalld.llamaindex import build_chat_memory
from tests.llm.llama import CONTEXT, IS_THERE, Llama

pytestmark = [
    pytest.mark.llm,
    pytest.mark.skipif(not IS_THERE, reason="needs a model, which script/test-llm makes"),
    pytest.mark.timeout(300),
]
LIMIT = 150
KEY = "web-7"
#: English, since a Chinese character costs this model four tokens and more.
QUESTIONS = [f"Day {n}: the backup is in /srv/backup-{n}, on port {8400 + n}. Is that right?" for n in range(5)]


def talk(url, path, questions):
    """Ask the questions in a chat engine over the store that is kept at *path*; return its memory."""
    llm = OpenAILike(
        model="smollm2",
        api_base=url,
        api_key="none",
        is_chat_model=True,
        context_window=CONTEXT,
        max_tokens=8,
        temperature=0,
        timeout=120,
    )
    store, wording = SimpleChatStore.from_persist_path(path), "Summarise the conversation in one sentence."
    memory = build_chat_memory(llm, token_limit=LIMIT, summarize_prompt=wording, chat_store=store, chat_store_key=KEY)
    engine = SimpleChatEngine.from_defaults(llm=llm, memory=memory)
    for question in questions:
        engine.chat(question)
    store.persist(path)
    return memory


@pytest.fixture
def server():
    found = Llama(18082)
    found.start()
    yield found
    found.kill()


def test_chat_memory_of_a_real_model_goes_on_after_a_restart(tmp_path, server):
    path = str(tmp_path / "chats.json")
    program = "import json, sys; from tests.llamaindex.test_real import talk; talk(*sys.argv[1:3], json.loads(sys.argv[3]))"
    first, last = QUESTIONS[:-1], QUESTIONS[-1:]
    subprocess.run([sys.executable, "-c", program, server.url, path, json.dumps(first)], check=True)
    before = SimpleChatStore.from_persist_path(path).get_messages(KEY)

    memory = talk(server.url, path, last)
    everything, shown = memory.get_all(), memory.get()
    assert everything[: len(before)] == before
    assert [one.content for one in everything if one.role == "user"] == QUESTIONS
    assert [one.role.value for one in everything] == ["user", "assistant"] * len(QUESTIONS)
    assert memory.get_token_count() <= LIMIT
    spoken = [one for one in shown if one.role != "system"]
    assert spoken == everything[-len(spoken) :]
    assert spoken[0] in before
