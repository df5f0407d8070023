"""recalld for LlamaIndex (docs/how-to/keep-a-long-conversation.md): the clone's extra, `pip install '.[llamaindex]'`."""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("llama_index") is None:
    raise ModuleNotFoundError(
        "recalld.llamaindex needs LlamaIndex; in the clone of recalld: pip install '.[llamaindex]'", name="llama_index"
    )

from recalld.supervisor.interfaces.llamaindex import load_memory_config
from recalld.supervisor.interfaces.llamaindex.chat_memory import build_chat_memory

__all__ = ["build_chat_memory", "load_memory_config"]

#: Classes of earlier versions, and what does their work now.
_LEFT = {
    "RecalldMemoryBlock": "RecalldMemoryBlock has left; `inject` and `append` of `recalld.Memory` do its work",
    "FileChatStore": "FileChatStore has left; give a chat store of LlamaIndex that keeps chats on a disk (SQLite, Redis, Postgres). "
    "Its chats are in .recalld/sessions/chat-*.jsonl, in each line but the first a message as LlamaIndex writes it",
}


def __getattr__(name: str) -> object:
    """Refuse a class of an earlier version with what does its work, and any other name."""
    if name in _LEFT:
        raise ImportError(_LEFT[name])
    raise AttributeError(name)
