"""
The five prompts of CountBot by its names, in the Chinese wording that recalld ships; each is loaded when it is first used.

    recalld.prompts.HEARTBEAT_GREETING_PROMPT

A workspace may have wordings of its own; `workspace_prompt` returns those.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in `recalld`
if TYPE_CHECKING:
    from recalld import Memory
    from recalld.supervisor.protocol.llm import PromptTemplate
    from recalld.supervisor.text.language import Language

    CONVERSATION_TO_MEMORY_PROMPT: str
    RECURSIVE_SUMMARY_PROMPT: str
    OVERFLOW_SUMMARY_PROMPT: str
    MEMORY_ENTRY_TEMPLATE: str
    HEARTBEAT_GREETING_PROMPT: str

_TEMPLATES = {
    "CONVERSATION_TO_MEMORY_PROMPT": "conversation-to-memory",
    "RECURSIVE_SUMMARY_PROMPT": "recursive-summary",
    "OVERFLOW_SUMMARY_PROMPT": "overflow-summary",
    "MEMORY_ENTRY_TEMPLATE": "memory-entry",
    "HEARTBEAT_GREETING_PROMPT": "heartbeat-greeting",
}

__all__ = [*_TEMPLATES, "workspace_prompt"]  # noqa: PLE0604 - names of _TEMPLATES


def __getattr__(name: str) -> str:
    if name not in _TEMPLATES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from recalld.supervisor.protocol.llm import shipped_template

    return shipped_template(_TEMPLATES[name], "zh").fill().strip()


def workspace_prompt(memory: Memory, name: str, language: Language = "zh") -> PromptTemplate:
    """Return the workspace's wording of a prompt ("heartbeat-greeting"), else the shipped one; `fill` gives its text."""
    from recalld.supervisor.protocol.llm import load_template

    return load_template(name, language, memory.workspace.files, memory.workspace.paths)
