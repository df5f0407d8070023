"""The rows of CountBot's own table of tests (000), each with its texts word for word, and the section of the system prompt."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recalld import MemoryReadTool, MemorySearchTool, MemoryStore, MemoryWriteTool, register_all_tools
from recalld.supervisor.longterm.memory_store import guidance

LINES = (
    "2026-02-14|web-chat|用户偏好Python开发；IDE使用VS Code",
    "2026-02-14|web-chat|项目使用FastAPI后端；Python 3.11",
    "2026-02-15|telegram|用户要求每天早上9点发送日报；已创建cron任务",
    "2026-02-15|dingtalk|用户偏好Python开发；项目用FastAPI",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "workspace" / "memory"


@pytest.fixture
def empty(folder: Path) -> MemoryStore:
    return MemoryStore(folder, clock=lambda: datetime(2026, 2, 15, 12, tzinfo=UTC))


@pytest.fixture
def store(empty: MemoryStore, folder: Path) -> MemoryStore:
    """Four lines, as CountBot left them."""
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return empty


def shown(*numbers: int) -> str:
    return "\n".join(f"[{number}] {LINES[number - 1]}" for number in numbers)


@pytest.mark.feature("000.48")
def test_countbot_empty_memory_answers_every_operation(empty):  # 空状态
    assert (empty.read_lines(1), empty.read_lines(1, 5), empty.get_recent()) == ("记忆为空", "记忆为空", "记忆为空")
    assert empty.search(["python"]) == "记忆为空"
    assert (empty.read_all(), empty.get_line_count(), empty.delete_lines([1])) == ("", 0, 0)
    assert empty.get_stats() == {"total": 0, "sources": {}, "date_range": ""}


@pytest.mark.feature("000.4")
def test_countbot_append_entry_returns_the_line_number(empty, folder):  # 写入
    assert empty.append_entry("web-chat", "用户偏好Python；项目用FastAPI") == 1
    assert empty.append_entry("telegram", "API限流\n100req/min") == 2
    assert (folder / "MEMORY.md").read_text(encoding="utf-8") == (
        "2026-02-15|web-chat|用户偏好Python；项目用FastAPI\n2026-02-15|telegram|API限流 100req/min\n"
    )


@pytest.mark.feature("000.5")
def test_countbot_read_lines_reads_one_or_a_range_within_bounds(store):  # 读取
    assert store.read_lines(2) == shown(2)
    assert store.read_lines(2, 3) == shown(2, 3)
    assert store.read_lines(0) == store.read_lines(-1) == shown(1)
    assert store.read_lines(3, 99999) == shown(3, 4)
    assert store.read_lines(99999) == shown(4)
    assert store.read_lines(3, 1) == shown(3)


@pytest.mark.feature("000.6")
def test_countbot_search_finds_any_or_all_keywords_in_any_case(store):  # 搜索
    assert store.search(["日报"]) == shown(3)
    assert store.search(["python", "fastapi"], match_mode="and") == shown(2, 4)
    assert store.search(["日报", "FASTAPI"]) == shown(2, 3, 4)
    assert store.search(["PYTHON"]) == store.search(["python"]) == shown(1, 2, 4)


@pytest.mark.feature("000.8")
def test_countbot_search_without_a_match_never_returns_all(store):  # 搜索
    assert store.search(["火星"]) == "未找到包含 火星 的记忆"
    assert store.search(["火星", "月球"]) == "未找到包含 火星 或 月球 的记忆"
    assert store.search(["python", "火星"], match_mode="and") == "未找到包含 python 和 火星 的记忆"
    assert store.search([]) == "请提供搜索关键词"
    assert store.search(["", "  "]) == "请提供有效的搜索关键词"


@pytest.mark.feature("000.7", "000.49")
def test_countbot_search_shows_the_newest_fifteen_unless_told(empty):  # 搜索限制
    for n in range(1, 21):
        empty.append_entry("web-chat", f"第{n}条：喝茶")
    shown = empty.search(["喝茶"]).splitlines()
    assert [line.partition("]")[0] for line in shown[:-1]] == [f"[{n}" for n in range(6, 21)]
    assert shown[-1] == "共 20 条匹配，仅显示前 15 条"
    assert empty.search(["喝茶"], max_results=2).splitlines()[1:] == [
        "[20] 2026-02-15|web-chat|第20条：喝茶",
        "共 20 条匹配，仅显示前 2 条",
    ]
    assert "条匹配" not in empty.search(["喝茶"], max_results=20)
    assert empty.search(["喝茶"], max_results=0) == "共 20 条匹配，仅显示前 0 条"


@pytest.mark.feature("000.10")
def test_countbot_get_recent_returns_the_last_lines(store):  # 最近记忆
    assert store.get_recent(2) == shown(3, 4)
    assert store.get_recent() == store.get_recent(99) == shown(1, 2, 3, 4)
    assert store.get_recent(0) == ""


@pytest.mark.feature("000.9")
def test_countbot_delete_lines_ignores_numbers_that_do_not_exist(store):  # 删除
    assert store.delete_lines([99, 0, -1]) == 0
    assert store.delete_lines([1, 3, 99]) == 2
    assert store.read_all() == f"{LINES[1]}\n{LINES[3]}\n"


@pytest.mark.feature("000.11")
def test_countbot_get_stats_counts_sources_and_spans_days(store):  # 统计
    assert store.get_stats() == {
        "total": 4,
        "sources": {"web-chat": 2, "telegram": 1, "dingtalk": 1},
        "date_range": "2026-02-14 ~ 2026-02-15",
    }


@pytest.mark.feature("000.12", "000.13", "000.14")
def test_countbot_write_all_replaces_all_and_keeps_the_old_text(store, folder):  # 覆盖写入
    old = store.read_all()
    assert store.write_all("2026-02-16|web-chat|只剩这一条") is None
    assert store.read_all() == "2026-02-16|web-chat|只剩这一条"
    assert store.get_line_count() == 1
    [kept] = (folder.parent / ".recalld" / "previous").iterdir()
    assert kept.read_text(encoding="utf-8") == old


# ── the tools ────────────────────────────────────────────────────────────────


@pytest.fixture
def execute(store):
    """Calls a tool as CountBot does, which sees the schemas of 000."""
    tools = {tool.name: tool for tool in register_all_tools(store, language="zh", dialect="lines")}

    def call(name: str, **arguments: object) -> str:
        return asyncio.run(tools[name].execute(**arguments))

    call.tools = tools
    return call


@pytest.mark.feature("000.48")
def test_countbot_tools_have_its_parameters(execute):  # 工具参数
    schemas = {name: execute.tools[name].parameters for name in ("memory_write", "memory_search", "memory_read")}
    assert {name: {key: one["type"] for key, one in schema["properties"].items()} for name, schema in schemas.items()} == {
        "memory_write": {"content": "string"},
        "memory_search": {"keywords": "string", "max_results": "integer", "match_mode": "string"},
        "memory_read": {"start_line": "integer", "end_line": "integer", "recent_count": "integer"},
    }
    assert {name: schema.get("required", []) for name, schema in schemas.items()} == {
        "memory_write": ["content"],
        "memory_search": ["keywords"],
        "memory_read": [],
    }


@pytest.mark.feature("000.26", "000.27", "000.48")
def test_countbot_tools_write_search_and_read(execute, store):  # 工具执行
    assert execute("memory_write", content="用户偏好Python；项目用FastAPI") == "已写入记忆第 5 行（共 5 条）"
    written = "[5] 2026-02-15|web-chat|用户偏好Python；项目用FastAPI"
    assert store.read_lines(5) == written
    assert execute("memory_search", keywords="python fastapi", match_mode="and") == (
        f"记忆库共 5 条\n\n{shown(2, 4)}\n{written}"
    )
    assert shown(2, 3) in execute("memory_read", start_line=2, end_line=3)
    execute.tools["memory_write"].set_channel("telegram")
    execute("memory_write", content="API限流100req/min")
    assert store.read_lines(6) == "[6] 2026-02-15|telegram|API限流100req/min"


@pytest.mark.feature("000.50")
def test_countbot_makes_and_registers_each_tool(store):
    tools = register_all_tools()
    memory_write = MemoryWriteTool(store)
    memory_write.set_channel("telegram")
    tools.register(memory_write)
    tools.register(MemorySearchTool(store))
    tools.register(MemoryReadTool(store))
    assert tools.names == ("memory_write", "memory_search", "memory_read")
    said = [
        asyncio.run(tool.execute(**given))
        for tool, given in zip(tools, ({"content": "喜欢茶"}, {"keywords": "日报 茶"}, {"start_line": 2}), strict=True)
    ]
    assert said[0] == "已写入记忆第 5 行（共 5 条）"
    assert said[1] == f"记忆库共 5 条\n\n{shown(3)}\n[5] 2026-02-15|telegram|喜欢茶"
    assert said[2] == f"记忆库共 5 条\n\n{shown(2)}"
    assert tools.call("memory_search", {"keywords": "日报"}).text.endswith(shown(3))
    assert tools.guidance().startswith("## 记忆系统\n你有三个记忆工具")
    assert [*tools.openai()[1]["function"]["parameters"]["properties"]] == ["keywords", "max_results", "match_mode"]


# ── the section of the system prompt ─────────────────────────────────────────

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
