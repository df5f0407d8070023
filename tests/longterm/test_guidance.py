"""The section of the system prompt that tells a model of its memory."""

from __future__ import annotations

import pytest

from recalld.supervisor.longterm.memory_store import guidance

FOUR = ("memory_search", "memory_get", "memory_read", "memory_write")


@pytest.mark.feature("001.3")
def test_guidance_has_the_sentence_of_openclaw_to_the_letter():
    sentence = (
        "Before answering anything about prior work, decisions, dates, people, preferences, or todos: "
        "run memory_search on MEMORY.md + memory/*.md; then use memory_get to pull only the needed lines. "
        "If low confidence after search, say you checked."
    )
    assert sentence in guidance(FOUR).splitlines()
    assert sentence in guidance(["memory_get"]).splitlines()


@pytest.mark.feature("000.38")
def test_guidance_has_the_section_of_countbot_to_the_letter():
    section = guidance(FOUR, "zh", "lines")
    assert section.startswith(
        "## 记忆系统\n你有三个记忆工具: memory_write（写入）、memory_search（搜索）、memory_read（读取）。\n"
    )
    for line in (
        "格式: 日期|来源|事项1；事项2；事项3（一行一条，多事项用；分隔）",
        "**写入时机**: 用户偏好/习惯、重要决策/结论、项目配置/技术细节、用户明确要求记住的内容。",
        "**搜索时机**: 用户问到过往信息、需要了解偏好、不确定是否讨论过某话题时。",
        "**读取时机**: 搜索后查看上下文（按行号），或浏览最近记忆。",
        "**不记录**: 寒暄确认、敏感信息（密码/API key）、临时无长期价值的内容。",
        "**搜索技巧**:",
        "- 默认 OR 模式（任意关键词匹配）：适合广泛搜索",
        "- AND 模式（所有关键词匹配）：适合精确查找",
        "- 来源渠道由系统自动设置，无需手动指定",
    ):
        assert line in section.splitlines()


@pytest.mark.feature("001.4")
@pytest.mark.parametrize("tools", [[], ["web_search", "shell"]])
@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("dialect", ["recall", "lines"])
def test_guidance_is_empty_without_a_tool_of_memory(tools, language, dialect):
    assert guidance(tools, language, dialect) == ""
