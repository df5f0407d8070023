"""
recalld: the memory of a long-running local assistant, kept in files a person can read.

`from recalld import Memory` is the Python API (api.md), `MemoryStore` the line store of CountBot, `MessageAnalyzer` and
`ConversationSummarizer` its summariser, `MemoryManager` the memory of a running conversation, `register_all_tools`
gives the tools for a model, `AnthropicMemory` is Anthropic's memory tool, `SupervisorError` is what they raise. Each is
loaded when it is first used. The code is in the packages `supervisor`, `worker` and `prompts` beside this one.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # `typing` would cost the command more than all its other imports
if TYPE_CHECKING:
    from supervisor import AnthropicMemory as AnthropicMemory
    from supervisor import ConversationSummarizer as ConversationSummarizer
    from supervisor import Memory as Memory
    from supervisor import MemoryManager as MemoryManager
    from supervisor import MemoryStore as MemoryStore
    from supervisor import MessageAnalyzer as MessageAnalyzer
    from supervisor import SupervisorError as SupervisorError
    from supervisor import register_all_tools as register_all_tools

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

#: The folder that holds this package and `supervisor`, `worker`, `prompts`.
HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    refuse_foreign_supervisor()
    import supervisor

    return getattr(supervisor, name)


def refuse_foreign_supervisor() -> None:
    """Raise ImportError with one sentence when `supervisor` is, or would be, another package than recalld's."""
    loaded = sys.modules.get("supervisor")
    if loaded is None:
        from importlib.util import find_spec

        found = find_spec("supervisor")
        path = found.origin if found else None
    else:
        path = getattr(loaded, "__file__", None)
    own = os.path.join(HOME, "supervisor", "__init__.py")
    if path is None or os.path.realpath(path) != os.path.realpath(own):
        raise ImportError(
            f"recalld needs its own package `supervisor`, but this process has another ({path or 'a folder without code'}): "
            "rename that one, or install recalld in an environment of its own and use its command"
        )
