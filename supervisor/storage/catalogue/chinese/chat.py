"""The chat in the terminal, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "begins": "会话 {session}。/help 列出命令，Ctrl-C 打断回答，Ctrl-D 结束聊天。",
    "no_model": "还没有设置模型（`llm.base_url`、`llm.model`）：只给出记忆里的内容。",
    "help": "/why               上一轮给模型看了哪些记忆，为什么\n"
    "/remember 内容     在长期记忆里加一行\n"
    "/forget 内容       收回所有含有这些字的话，也可以给行号\n"
    "/search 内容       查找记忆\n"
    "/session [名称]    显示当前会话，或换到另一个会话\n"
    "/quit              结束聊天，和 Ctrl-D 一样\n"
    "Alt-Enter 换行；方向键可以找回之前的输入。",
    "no_command": "没有这个命令，可用的有 {names}",
    "needs_words": "后面要写内容",
    "no_line": "长期记忆里没有第 {number} 行",
    "forget_sure": "永远忘掉这些吗？[y/N]",
    "forget_elsewhere": "什么也没忘掉：这里没法问你；请用 `recalld forget --{by} {value} --yes`。",
    "slashed": "`{line}` 当作普通消息发出；命令请单独输入，一行一条。",
    "no_json": "聊天里的命令没有 JSON 输出；请用 `recalld search`、`why`、`write` 或 `forget`",
    "session": "会话 {session}。",
    "much": "一共 {count} 个字符，要发送吗？[y/N]",
    "empty": "里面没有字，请写点内容",
    "no_input": "标准输入是空的：请通过标准输入传入消息，或者用 --message 给出，或者在终端里执行 `recalld chat`",
    "too_long": "超过 {most} MB，请缩短",
    "not_utf8": "不是 UTF-8，请先转换，例如用 `iconv`",
}
