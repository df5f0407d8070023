"""
What the system prompt says to a model about its memory: when to write, search and read, and what not to record (000, 001).

OpenClaw's sentence and CountBot's section are kept to the letter. The section names only the tools that the model has; without
any of them there is no section, which is 001's only rule in code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

#: 001, to the letter.
SEARCH_FIRST: Final = (
    "Before answering anything about prior work, decisions, dates, people, preferences, or todos: "
    "run memory_search on MEMORY.md + memory/*.md; "
    "then use memory_get to pull only the needed lines. "
    "If low confidence after search, say you checked."
)
#: 000, to the letter.
COUNTBOT: Final = """\
## 记忆系统
你有三个记忆工具: memory_write（写入）、memory_search（搜索）、memory_read（读取）。
格式: 日期|来源|事项1；事项2；事项3（一行一条，多事项用；分隔）

**写入时机**: 用户偏好/习惯、重要决策/结论、项目配置/技术细节、用户明确要求记住的内容。
**搜索时机**: 用户问到过往信息、需要了解偏好、不确定是否讨论过某话题时。
**读取时机**: 搜索后查看上下文（按行号），或浏览最近记忆。
**不记录**: 寒暄确认、敏感信息（密码/API key）、临时无长期价值的内容。

**搜索技巧**:
- 默认 OR 模式（任意关键词匹配）：适合广泛搜索
- AND 模式（所有关键词匹配）：适合精确查找
- 来源渠道由系统自动设置，无需手动指定
"""
_OF_COUNTBOT: Final = frozenset({"memory_write", "memory_search", "memory_read"})
_HEADING: Final = {"zh": "## 记忆系统", "en": "## Memory"}
#: The sentences about each tool, where it is given.
_OF_TOOL: Final[Mapping[str, Mapping[str, str]]] = {
    "zh": {
        "memory_search": "**搜索时机**: 回答过往的事情、决定、日期、人物、偏好或待办之前，先用 memory_search 搜索。",
        "memory_get": "**查看原文**: 搜索后用 memory_get 只读取需要的行。查过仍不确定时，说明已经查过。",
        "memory_read": "**读取时机**: 用 memory_read 按行号读取长期记忆，或浏览最近的记忆。",
        "memory_write": (
            "**写入时机**: 用户偏好/习惯、重要决策/结论、项目配置/技术细节、用户明确要求记住的内容，用 memory_write 写入，"
            "一行一条，多事项用；分隔。\n"
            "**不记录**: 寒暄确认、敏感信息（密码/API key）、临时无长期价值的内容。来源渠道由系统自动设置，无需手动指定。"
        ),
        "memory_delete": "**删除时机**: 只在用户要求忘掉时，用 memory_delete 删除刚刚看到的那一行。",
    },
    "en": {
        "memory_read": "**Read** the long-term lines with memory_read: by their numbers, or the most recent ones.",
        "memory_write": (
            "**Write** with memory_write, one entry a line: preferences and habits of the user, important decisions, settings "
            "and technical details of a project, and what the user asks you to remember. Separate several items by ；.\n"
            "**Do not record** small talk, secrets (passwords, API keys), or what has no lasting value. The source is set "
            "automatically."
        ),
        "memory_delete": "**Delete** with memory_delete only what the user wants forgotten: a line that you have just seen.",
    },
}


def guidance(
    tools: Collection[str], language: Literal["zh", "en"] = "en", dialect: Literal["recall", "lines"] = "recall"
) -> str:
    """
    Return the section for the system prompt of a model that has these *tools*, "" if none of them is a tool of memory.

    In Chinese, where `memory_search` has 000's schema (*dialect* "lines"), it begins with 000's section.

    >>> guidance([])
    ''
    """
    given = {*tools}
    if language == "zh" and dialect == "lines" and given >= _OF_COUNTBOT:
        rest = [_OF_TOOL["zh"][name] for name in ("memory_get", "memory_delete") if name in given]
        return "\n".join([COUNTBOT, *(f"{one}\n" for one in rest)])
    sections = [text for name, text in _OF_TOOL[language].items() if name in given]
    if language == "en" and given & {"memory_search", "memory_get"}:
        sections.insert(0, SEARCH_FIRST)
    return "\n\n".join([_HEADING[language], *sections]) + "\n" if sections else ""
