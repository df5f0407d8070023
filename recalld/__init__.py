"""
recalld: the memory of a long-running local assistant, kept in files a person can read.

`from recalld import Memory` is the Python API (api.md), `MemoryStore` the line store of CountBot, `MemoryWriteTool`,
`MemorySearchTool` and `MemoryReadTool` its tools, `MessageAnalyzer` and `ConversationSummarizer` its summariser,
`MemoryManager` the memory of a running conversation, `register_all_tools` gives the tools for a model, `AnthropicMemory` is
Anthropic's memory tool, `SupervisorError` is what they raise. Each is loaded when it is first used, so that a command which
needs none does not wait. In the repository `recalld.supervisor`, `recalld.worker` and `recalld.prompts` are links to the
folders of the top level.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` would cost the command more than all its other imports
if TYPE_CHECKING:
    from recalld.supervisor.conversation.memory_manager import MemoryManager as MemoryManager
    from recalld.supervisor.conversation.session_lines import ConversationSummarizer as ConversationSummarizer
    from recalld.supervisor.conversation.session_lines import MessageAnalyzer as MessageAnalyzer
    from recalld.supervisor.interfaces.api import Memory as Memory
    from recalld.supervisor.interfaces.tools.anthropic_memory import AnthropicMemory as AnthropicMemory
    from recalld.supervisor.interfaces.tools.registry import MemoryReadTool as MemoryReadTool
    from recalld.supervisor.interfaces.tools.registry import MemorySearchTool as MemorySearchTool
    from recalld.supervisor.interfaces.tools.registry import MemoryWriteTool as MemoryWriteTool
    from recalld.supervisor.interfaces.tools.registry import register_all_tools as register_all_tools
    from recalld.supervisor.longterm.memory_store import MemoryStore as MemoryStore
    from recalld.supervisor.storage.errors import SupervisorError as SupervisorError

_HOMES = {
    "AnthropicMemory": "recalld.supervisor.interfaces.tools.anthropic_memory",
    "ConversationSummarizer": "recalld.supervisor.conversation.session_lines",
    "Memory": "recalld.supervisor.interfaces.api",
    "MemoryManager": "recalld.supervisor.conversation.memory_manager",
    "MemoryReadTool": "recalld.supervisor.interfaces.tools.registry",
    "MemorySearchTool": "recalld.supervisor.interfaces.tools.registry",
    "MemoryStore": "recalld.supervisor.longterm.memory_store",
    "MemoryWriteTool": "recalld.supervisor.interfaces.tools.registry",
    "MessageAnalyzer": "recalld.supervisor.conversation.session_lines",
    "SupervisorError": "recalld.supervisor.storage.errors",
    "register_all_tools": "recalld.supervisor.interfaces.tools.registry",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
