"""Texts of `recalld why`, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "same_now": "现在再问，得到的一样。",
    "no_memory": "（这一轮没有放入记忆）",
    "then": "--- 当时",
    "now": "+++ 现在",
    "spent": "{count} / {most} token",
    "shown_nothing": "给出的：无",
    "not_shown_nothing": "没有给出的：无",
    "shown": "给出的",
    "not_shown": "没有给出的",
    "group": "不能在群里给出",
    "in_the_history": "对话里已有",
    "project": "别的项目里说的",
    "the_question": "就是问题本身",
    "tokens": "超出 token 预算",
    "characters": "超出字数上限",
    "files": "文件数已满",
    "lines": "行数已满",
    "same_words": "更好的一条已有同样的话",
    "empty": "没有内容",
    "worth": "与最好的相比价值不大",
    "literal": "按原文找到",
    "window": "由前后的消息找到",
    "meaning": "意思相近",
    "wish": "长期的要求",
    "newest": "同一件事里最新的",
    "long": "长回答，分量打折",
    "words": "字词：{words}",
    "related": "相近的字词：{words}",
    "day": "日期 {label}",
    "role": "角色 {label}",
    "spent_of": "{count} / {most} token",
}
