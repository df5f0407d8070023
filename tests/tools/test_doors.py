"""One table of calls, good and bad, through Python, function calls and MCP: the same answer, the same sentence."""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from recalld import Memory
from recalld.supervisor.interfaces.tools.answers import as_text, as_wire
from recalld.supervisor.interfaces.tools.definitions import DEFINITIONS
from recalld.supervisor.interfaces.tools.registry import register_all_tools
from recalld.supervisor.storage.clock import fixed_clock, to_wire
from recalld.supervisor.storage.errors import SupervisorError
from tests.tools.memory import remembered
from tests.world import World, at

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.proof

DAY = "memory/2026-01-28-beifen-jiaoben-duankou.md"
#: The names of Python for arguments of JSON.
PYTHON = {"maxResults": "max_results", "minScore": "min_score", "from": "start"}
PATIENT = {"RECALLD_LANGUAGE": "en", "RECALLD_RECALL_TIMEOUT_MS": "60000"}


class Row(NamedTuple):
    """A call: the tool, its arguments, and what its answer has in it."""

    tool: str
    arguments: dict[str, Any]
    has: str


def search(query: str, has: str, **more: Any) -> Row:
    return Row("memory_search", {"query": query, **more}, has)


def keywords(words: str, has: str, **more: Any) -> Row:
    return Row("memory_search", {"keywords": words, **more}, has)


def get(path: str, has: str, **more: Any) -> Row:
    return Row("memory_get", {"path": path, **more}, has)


def read(has: str, **more: Any) -> Row:
    return Row("memory_read", more, has)


def write(content: str, has: str) -> Row:
    return Row("memory_write", {"content": content}, has)


def delete(has: str, *lines: str) -> Row:
    return Row("memory_delete", {"lines": [*lines]}, has)


TABLE = [
    search("备份在哪台机器上？", "NAS"),
    search("上传 端口", "8443"),
    search("2026-01-28", "2026-01-28"),
    search("Python", "Python 3.11", maxResults=1),
    search("Python", "FastAPI", minScore=0.1),
    search("Python", "nothing in memory matches", minScore=1000),
    search("zyxwvut", "nothing in memory about zyxwvut"),
    search("谢谢", "only small talk"),
    search("", "nothing was asked"),
    keywords("Python FastAPI", "[2] "),
    keywords("python fastapi", "[2] ", match_mode="and"),
    keywords("2026", "6 matches, only 3 of them are shown", max_results=3),
    keywords("海鲜 龙虾", "no entry contains 海鲜 and 龙虾", match_mode="and"),
    keywords("", "give keywords to search for"),
    get("memory.md", "VS Code"),
    get("memory.md", "9点", **{"from": 4, "lines": 20}),
    get("memory.md#L2-L3", "FastAPI"),
    get("memory.md#L1,L4-L5", "日报"),
    get(f"{DAY}#L14", "8443"),
    get("../x.md", "path: "),
    get("/etc/passwd", "path: "),
    get("history.json", "path: "),
    get("memory", "path: "),
    get("", "path: "),
    get("memory/link.md", "path: "),
    get("memory/folder.md", "is a folder"),
    get("memory.md#L3-L1", "path: "),
    get("memory.md#L2", "from: #L2 says already", lines=3),
    get("memory/%2E%2e/x.md", "path: "),
    get("memory.md", '"text": ""', **{"from": 99}),
    get("memory/none.md", '"text": ""'),
    get("history.json#none", '"text": ""'),
    read("[8] "),
    read("[8] ", recent_count=2),
    read("[4] ", start_line=2, end_line=4),
    read("[1] ", start_line=-1),
    read("[3] ", start_line=3, end_line=1),
    write("用户搬到了上海", "written to memory, line 9 (8 in all)"),
    write("用户搬到了上海", "in memory already, line 9 (8 in all)"),
    write("分\n两\r\n行  写 的\0", "written to memory, line 10 (9 in all)"),
    write("a|b；c", "written to memory, line 11 (10 in all)"),
    search("用户搬到了哪里", "上海"),
    read("分 两 行 写 的", start_line=10),
    write("", "content: it is empty"),
    write("长" * 20_001, "content: it has 20,001"),
    delete("lines: none is named"),
    delete("9 is not the name of the line that is there now: it is 9@", "9"),
    delete("lines: '0@1f3a9c0d' names no line", "0@1f3a9c0d"),
    delete("99999@00000000 is not the name of the line that is there now: there is none", "99999@00000000"),
]
#: What only a model can do wrong: a call by name, with JSON.
WRONG = [
    Row("memory_erase", {}, "memory_erase: there is no such tool"),
    Row("memory_search", {"query": "花生", "colour": "red"}, "colour: memory_search has no such argument"),
    Row("memory_search", {}, "query: memory_search needs it"),
    Row("memory_search", {"query": 7}, "query: it must be text, not a number"),
    Row("memory_search", {"query": "花生", "maxResults": "five"}, "maxResults: it must be a whole number, not text"),
    Row("memory_search", {"query": "花生", "maxResults": True}, "maxResults: it must be a whole number, not true or false"),
    Row("memory_search", {"query": "花生", "maxResults": 0}, "maxResults: 0 is not allowed, give 1 or more"),
    Row("memory_search", {"query": "花生", "session": "x"}, "session: memory_search does not take it"),
    Row("memory_search", {"keywords": "花生", "match_mode": "xor"}, "match_mode: 'xor' is not allowed, give or or and"),
    Row("memory_search", {"query": "花生", "maxResults": None, "minScore": None}, "花生过敏"),
    Row("memory_get", {"path": None}, "path: memory_get needs it"),
    Row("memory_get", {"path": "memory.md\0"}, "path: "),
    Row("memory_read", {"recent_count": 0}, "recent_count: 0 is not allowed, give 1 or more"),
    Row("memory_write", {"content": {"text": "x"}}, "content: it must be text, not an object"),
    Row("memory_write", {"content": "x", "channel": "root"}, "channel: memory_write does not take it"),
    Row("memory_forget", {"ref": "9"}, "ref: it must be an id or a number and a digest, such as 42@1f3a9c0d"),
    Row("memory_delete", {"lines": "9@00000000"}, "lines: it must be a list of texts, not text"),
    Row("memory_delete", {"lines": [9]}, "lines: it must be a list of texts, and each of them text"),
]
NAMES = [f"{n:02} {row.tool} {json.dumps(row.arguments, ensure_ascii=False)[:60]}" for n, row in enumerate(TABLE + WRONG)]


class Said(NamedTuple):
    """What a door says: the text, and the JSON (None for an error)."""

    text: str
    data: Any


def tools_of(root: Path, clock: Any) -> Any:
    memory = Memory(root, environ={"RECALLD_RECALL_TIMEOUT_MS": "60000"}, clock=clock)
    return register_all_tools(memory, allow_delete=True, language="en")


def python(root: Path, clock: Any) -> list[Said]:
    """The plain functions."""
    functions = tools_of(root, clock).functions()
    found = []
    for row in TABLE:
        try:
            answer = functions[row.tool](**{PYTHON.get(key, key): value for key, value in row.arguments.items()})
            found.append(Said(as_text(answer), as_wire(answer)))
        except SupervisorError as error:
            found.append(Said(str(error), None))
    return found


def function_calls(root: Path, clock: Any) -> list[Said]:
    """The calls of a model's API, whose arguments are JSON."""
    tools = tools_of(root, clock)
    replies = [tools.call(row.tool, json.dumps(row.arguments)) for row in TABLE + WRONG]
    assert [reply.is_error for reply in replies] == [reply.data is None for reply in replies]
    return [Said(reply.text, reply.data) for reply in replies]


def over_mcp(root: Path, now: str) -> list[Said]:
    """A real process, and the SDK's own client, which holds each answer against the tool's output schema."""

    async def calls() -> list[Said]:
        arguments = ["-P", "-m", "recalld", "-w", str(root), "mcp", "--allow-delete"]
        environ = {**PATIENT, "RECALLD_NOW": now, "PYTHONPATH": ":".join(filter(None, sys.path))}
        server = StdioServerParameters(command=sys.executable, args=arguments, env=environ)
        found = []
        async with Client(stdio_client(server)) as client:
            for row in TABLE + WRONG:
                answer = await client.call_tool(row.tool, row.arguments)
                assert answer.is_error == (answer.structured_content is None)
                found.append(Said(answer.content[0].text, answer.structured_content))
        return found

    return anyio.run(calls)


@pytest.fixture(scope="module")
def doors(tmp_path_factory):
    """What each door says to each call, each in a memory of its own."""
    world = remembered(World(tmp_path_factory.mktemp("doors") / "world", at("2026-01-31T10:00")))
    (world.root / "memory/link.md").symlink_to(world.root / "recalld.toml")
    (world.root / "memory/folder.md").mkdir()
    roots = {name: world.root.parent / name for name in ("python", "calls", "mcp")}
    for root in roots.values():
        shutil.copytree(world.root, root, symlinks=True)
    clock = fixed_clock(world.clock())
    return {
        "python": python(roots["python"], clock),
        "calls": function_calls(roots["calls"], clock),
        "mcp": over_mcp(roots["mcp"], to_wire(clock())),
    }


def test_tools_have_a_call_of_each_in_the_table():
    assert {row.tool for row in TABLE + WRONG} - {"memory_erase"} == {*DEFINITIONS}


def test_tools_say_in_each_row_what_the_table_has(doors):
    rows = zip(NAMES, TABLE + WRONG, doors["calls"], strict=True)
    assert [(name, row.has, said.text) for name, row, said in rows if row.has not in said.text] == []


@pytest.mark.parametrize("door", ["python", "mcp"])
def test_tools_answer_alike_through_python_function_calls_and_mcp(doors, door):
    said = doors[door]
    rows = zip(NAMES[: len(said)], doors["calls"][: len(said)], said, strict=True)
    assert [(name, one, other) for name, one, other in rows if one != other] == []
