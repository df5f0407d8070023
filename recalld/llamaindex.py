"""recalld for LlamaIndex (docs/how-to/use-with-llamaindex.md); needs the extra: `pip install '.[llamaindex]'` in the clone."""

from __future__ import annotations

from importlib.util import find_spec

from recalld import refuse_foreign_supervisor

refuse_foreign_supervisor()
if find_spec("llama_index") is None:
    raise ModuleNotFoundError(
        "recalld.llamaindex needs LlamaIndex; in the clone of recalld: pip install '.[llamaindex]'", name="llama_index"
    )

from supervisor.interfaces.llamaindex.chat_memory import build_chat_memory  # noqa: E402 - after the check
from supervisor.interfaces.llamaindex.chat_store import FileChatStore  # noqa: E402
from supervisor.interfaces.llamaindex.memory_block import RecalldMemoryBlock  # noqa: E402
from supervisor.interfaces.llamaindex.memory_config import load_memory_config  # noqa: E402

__all__ = ["FileChatStore", "RecalldMemoryBlock", "build_chat_memory", "load_memory_config"]
