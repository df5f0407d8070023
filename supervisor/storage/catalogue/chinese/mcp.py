"""The words of the MCP server, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "file": "一个记忆文件：memory.md、某天的对话或摘要",
    "recall": "关于某个话题，记忆里有什么",
    "remember": "记住一件事",
    "write": "请用 memory_write 写入长期记忆，写成一行，多事项用；分隔：{words}",
    "nothing": "记忆里没有相符的内容。",
}
