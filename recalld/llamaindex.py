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
