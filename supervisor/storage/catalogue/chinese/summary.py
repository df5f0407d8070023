"""Texts of summaries that are asked for, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "pruned": "{label} 的按日文件已清理，内容只在摘要里：请先用 `recalld undo` 从 trash/ 拿回来",
    "no_text": "摘要的文字不能是空的；不要的摘要请删掉，不要清空",
    "no_dated_file": "记忆里没有 {label} 的按日文件，无从写摘要",
    "no_period": "{label!r} 不是一天（2026-01-28），也不是一个月（2026-01）",
    "queued": "{group} 已排队，由 supervisor 处理。",
    "nothing_without_model": "没有总结：这个对话没有可用的模型",
    "nothing_said": "没有总结：上次总结之后没有新的消息",
    "nothing_answered": "没有总结：问题还没有得到回答",
    "nothing_left": "没有总结：最近的几轮对话保留原话，最多 {turns} 轮（conversation.keep_turns）",
}
