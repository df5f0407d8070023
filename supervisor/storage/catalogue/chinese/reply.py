"""Answers of recalld itself, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "from_memory": "还没有设置模型（`llm.base_url`、`llm.model`），以下是记忆里的内容：\n{passages}",
    "nothing_in_memory": "还没有设置模型（`llm.base_url`、`llm.model`），记忆里也没有合适的内容。",
    "how_to_remember": "要写进长期记忆，请在聊天里输入 `/remember {line}`，或者运行 `recalld write`。",
    "looking": "我查一下。",
    "remembered": "记住了。",
    "not_remembered": "这条消息里没有要我记住的内容。",
    "no_operation": "没有 {name}，可用的有 {names}。",
    "nothing_found": "没有查到",
    "odd_days": "日期写成 2026-01-15 的形式，一个或两个。",
}
