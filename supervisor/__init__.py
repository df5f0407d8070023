"""
recalld: the memory of a long-running local assistant, kept in files a person can read.

`Memory` is the Python API (api.md), `MemoryStore` the line store of CountBot, `MessageAnalyzer` and `ConversationSummarizer`
its summariser, `MemoryManager` the memory of a running conversation, `register_all_tools` gives the tools for a model,
`AnthropicMemory` is Anthropic's memory tool, `SupervisorError` is what they raise. Each is loaded when it is first used, so
that a command which needs none does not wait.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` would cost the command more than all its other imports
if TYPE_CHECKING:
    from supervisor.conversation.analyzer import MessageAnalyzer as MessageAnalyzer
    from supervisor.conversation.memory_manager import MemoryManager as MemoryManager
    from supervisor.conversation.summarizer import ConversationSummarizer as ConversationSummarizer
    from supervisor.interfaces.api import Memory as Memory
    from supervisor.interfaces.tools.anthropic_memory import AnthropicMemory as AnthropicMemory
    from supervisor.interfaces.tools.registry import register_all_tools as register_all_tools
    from supervisor.longterm.memory_store import MemoryStore as MemoryStore
    from supervisor.protocol.errors import SupervisorError as SupervisorError

__all__ = [
    "AnthropicMemory",
    "ConversationSummarizer",
    "Memory",
    "MemoryManager",
    "MemoryStore",
    "MessageAnalyzer",
    "SupervisorError",
    "register_all_tools",
]

_MODULES = {
    "AnthropicMemory": "supervisor.interfaces.tools.anthropic_memory",
    "ConversationSummarizer": "supervisor.conversation.summarizer",
    "Memory": "supervisor.interfaces.api",
    "MemoryManager": "supervisor.conversation.memory_manager",
    "MemoryStore": "supervisor.longterm.memory_store",
    "MessageAnalyzer": "supervisor.conversation.analyzer",
    "SupervisorError": "supervisor.protocol.errors",
    "register_all_tools": "supervisor.interfaces.tools.registry",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULES[name]), name)
