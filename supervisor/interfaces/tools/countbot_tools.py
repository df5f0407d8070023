"""
The three tools of 000 as separate classes, as CountBot makes and registers them: each over a store, with 000's texts.

    tools = register_all_tools()
    memory_write = MemoryWriteTool(memory_store)
    memory_write.set_channel("telegram")
    tools.register(memory_write)
    tools.register(MemorySearchTool(memory_store))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from recalld.supervisor.interfaces.tools.definitions import READ, SEARCH, WRITE
from recalld.supervisor.interfaces.tools.registry import Tool, register_all_tools

if TYPE_CHECKING:
    import os

    from recalld.supervisor.interfaces.api import Memory
    from recalld.supervisor.interfaces.tools.definitions import Definition
    from recalld.supervisor.longterm.memory_store import MemoryStore


class _StoreTool(Tool):
    """A tool over one store: a `MemoryStore`, a `Memory` or the folder of a workspace."""

    _of: ClassVar[Definition]

    def __init__(self, memory_store: MemoryStore | Memory | str | os.PathLike[str]) -> None:
        super().__init__(register_all_tools(memory_store, language="zh", dialect="lines"), self._of)


class MemoryWriteTool(_StoreTool):
    """Writes an entry: `await tool.execute(content=…)`."""

    _of = WRITE


class MemorySearchTool(_StoreTool):
    """Searches the lines: `await tool.execute(keywords=…, max_results=15, match_mode="or")`."""

    _of = SEARCH


class MemoryReadTool(_StoreTool):
    """Reads lines by their numbers, or the most recent ones."""

    _of = READ
