"""The words of the MCP server."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "file": "A file of memory: memory.md, the conversation of a day, or a summary",
    "recall": "What memory has on a subject",
    "remember": "Remember something",
    "write": "Write this to long-term memory with memory_write, as one line, several items separated by ；: {words}",
    "nothing": "Nothing in memory matches.",
}
