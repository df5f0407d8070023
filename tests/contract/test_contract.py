"""Every operation says the same through Python, the command with and without a supervisor, the socket, REST and MCP."""

import json
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import httpx2
import pytest

from recalld import Memory, SupervisorError, register_all_tools
from recalld.supervisor.interfaces.http.server import HttpThread, Place
from recalld.supervisor.interfaces.locate import TOOL, ask_supervisor
from recalld.supervisor.interfaces.serve import Answers
from recalld.supervisor.operations.codec import from_json, to_json
from recalld.supervisor.operations.operation import Caller, find, perform
from recalld.supervisor.storage.texts import render
from tests.patience import PATIENCE_S
from tests.process.command import Command
from tests.world import message


class Row(NamedTuple):
    """One operation: its request as JSON, and the same as a command; *tool* is the same call of a model."""

    name: str
    request: dict[str, Any]
    argv: tuple[str, ...]
    tool: tuple[str, dict[str, Any]] | None = None


ANSWERS = [
    Row("search", {"query": "青霉素"}, ("search", "青霉素"), ("memory_search", {"query": "青霉素"})),
    Row("get", {"path": "memory.md"}, ("get", "memory.md"), ("memory_get", {"path": "memory.md"})),
    Row("read", {}, ("read",), ("memory_read", {})),
    Row(
        "read",
        {"start": 1, "end": 2},
        ("read", "--start", "1", "--end", "2"),
        ("memory_read", {"start_line": 1, "end_line": 2}),
    ),
    Row("stats", {}, ("read", "--stats")),
    Row("plan", {}, ("status", "--plan")),
    Row("index_status", {}, ("index", "status")),
    Row("prune", {"dry_run": True}, ("prune", "--dry-run")),
]
ERRORS = [
    Row("get", {"path": "memory/2020-01-01-none.md"}, ("get", "memory/2020-01-01-none.md")),
    Row("get", {"path": "recalld.toml"}, ("get", "recalld.toml"), ("memory_get", {"path": "recalld.toml"})),
    Row("delete", {"lines": ["1@00000000"]}, ("delete", "1@00000000"), ("memory_delete", {"lines": ["1@00000000"]})),
    Row("delete", {"lines": ["first"]}, ("delete", "first"), ("memory_delete", {"lines": ["first"]})),
    Row("forget", {"by": "match", "value": "的"}, ("forget", "--match", "的")),
    Row("write", {"content": "  "}, ("write", "  "), ("memory_write", {"content": "  "})),
    Row(
        "write",
        {"content": "x", "replaces": "1@00000000"},
        ("write", "x", "--replaces", "1@00000000"),
        ("memory_write", {"content": "x", "replaces": "1@00000000"}),
    ),
    Row("write", {"content": "x", "item": 2}, ("write", "x", "--item", "2"), ("memory_write", {"content": "x", "item": 2})),
    Row("invalidate", {"target": "1@00000000"}, ("invalidate", "1@00000000")),
    Row("undo", {"id": "w-00000000"}, ("undo", "w-00000000")),
    Row("why", {"turn": "20200101T000000000Z"}, ("why", "20200101T000000000Z")),
    Row("redo", {"period": "昨天"}, ("summary", "redo", "昨天")),
]


class Workspace(NamedTuple):
    """A workspace in which something is remembered: the command in it, and its memory."""

    command: Command
    memory: Memory


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    root = tmp_path_factory.mktemp("contract") / "工作区"
    environ = {"RECALLD_ARCHIVE_TIMEZONE": "Asia/Shanghai", "RECALLD_NOW": "2026-01-31T02:00:00Z"}
    # by words alone: a supervisor may have loaded its model for one of two answers, and not for the other
    command = Command.made(root, **environ, RECALLD_RECALL_BACKEND="bm25")
    private = [
        message("a", "2026-01-10T09:00", "我对青霉素过敏。"),
        message("b", "2026-01-10T09:01", "Penicillin makes me ill."),
    ]
    in_group = [message("c", "2026-01-11T09:00", "群里说好周六爬山。", session="telegram:group:家", chat="group")]
    (root / "history.json").write_text(json.dumps([*private, *in_group], ensure_ascii=False), encoding="utf-8")
    (root / "memory.md").write_text(
        "2026-01-20|web-chat|护照在保险柜里\n2026-01-21|web-chat|钥匙在信箱里 #shared\n", encoding="utf-8"
    )
    assert command("run", "--until-settled", "--no-worker").code in (0, 69)
    assert command("inject", "--query", "penicillin").code == 0
    # the language is that of who asks
    environ = {key: value for key, value in command.environ.items() if key.startswith("RECALLD_") and key != "RECALLD_LANGUAGE"}
    return Workspace(command, Memory(root, environ=environ, clock=_now))


@pytest.fixture(scope="module")
def supervisor(workspace: Workspace) -> Iterator[Path]:
    """The root of that workspace, while a supervisor runs in it."""
    with workspace.command.supervised():
        yield workspace.command.root


@pytest.fixture(scope="module")
def rest(workspace: Workspace) -> Iterator[httpx2.Client]:
    """A client of the HTTP service over that workspace, with the token."""
    opened = threading.Event()
    answers = Answers(lambda: workspace.memory.workspace)
    service = HttpThread(Place("127.0.0.1", 0, False), answers, _now, lambda _: opened.set())
    service.start()
    assert opened.wait(PATIENCE_S)
    token = (workspace.command.root / ".recalld" / "token").read_text().strip()
    headers = {"Authorization": f"Bearer {token}"}
    with httpx2.Client(base_url=f"http://127.0.0.1:{service.port}/api/", headers=headers, timeout=PATIENCE_S) as client:
        yield client
    service.end()


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine answers late, and the same."""
    monkeypatch.setattr(socket.socket, "settimeout", lambda *_: None)


def _now() -> Any:
    from recalld.supervisor.storage.clock import from_wire

    return from_wire("2026-01-31T02:00:00.000Z")


def by_python(workspace: Workspace, row: Row, language: str = "en", **who: str) -> Any:
    """The answer as JSON, or the sentence of the error."""
    operation = find(row.name)
    try:
        caller = Caller(**who, clock=_now, keep_fresh=False)  # type: ignore[arg-type]
        return to_json(perform(operation, workspace.memory.workspace, from_json(operation, row.request), caller))
    except SupervisorError as error:
        return render(error, language)  # type: ignore[arg-type]


def by_socket(root: Path, row: Row, language: str = "en", **who: str) -> Any:
    caller = {**who, "language": language, "now": "2026-01-31T02:00:00Z"}
    found = ask_supervisor(str(root), {"op": row.name, "request": row.request, "caller": caller})
    assert found is not None
    return found["answer"] if "answer" in found else found["error"]["sentence"]


def by_rest(rest: httpx2.Client, row: Row, language: str = "en", **who: str) -> Any:
    answer = rest.post(row.name, json=row.request, params=who, headers={"Accept-Language": language})
    return answer.json() if answer.status_code == 200 else answer.json()["detail"]


def by_mcp(workspace: Workspace, row: Row, language: str, ask: Any = lambda _: None) -> str:
    from mcp import Client  # loading it takes seconds, in each process that only collects the tests

    from recalld.supervisor.interfaces.mcp import MemoryServer

    async def main() -> Any:
        registry = register_all_tools(workspace.memory, language=language, allow_delete=True)  # type: ignore[arg-type]
        assert registry.tools
        assert row.tool
        async with Client(MemoryServer(registry, registry.tools, ask)) as session:
            answer = await session.call_tool(*row.tool)
            return answer.content[0].text

    return anyio.run(main)


def without_options(sentence: str) -> str:
    """A sentence of a command, with an option named as an argument, and commands in it without their workspace."""
    return re.sub(r"`recalld -w '[^']+' ", "`recalld ", sentence.strip()).removeprefix("recalld: ").removeprefix("--")


@pytest.mark.parametrize("row", ANSWERS, ids=lambda row: " ".join(row.argv))
def test_operation_answers_alike_through_python_command_and_socket(workspace, supervisor, rest, row):
    served = workspace.command(*row.argv, "--json")
    alone = workspace.command("-w", str(supervisor), *row.argv, "--json", RECALLD_RECALL_TIMEOUT_MS="59999")
    assert (served.code, served.out) == (alone.code, alone.out)
    assert (served.err, served.code) == ("", 0)

    answer = by_python(workspace, row)
    by_the_socket, by_http = by_socket(supervisor, row), by_rest(rest, row)
    for timed in (answer, by_the_socket, by_http):
        if isinstance(timed, dict):
            timed.pop("ms", None)
            timed.pop("at", None)
    assert by_the_socket == answer
    assert by_http == answer


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("row", ERRORS, ids=lambda row: " ".join(row.argv))
def test_operation_refuses_with_one_sentence_through_every_interface(workspace, supervisor, rest, row, language):
    said = by_python(workspace, row, language)
    assert isinstance(said, str)
    assert by_socket(supervisor, row, language) == said
    assert by_rest(rest, row, language) == said
    for more in ({}, {"RECALLD_RECALL_TIMEOUT_MS": "59999"}):  # by the supervisor, and by a process with other settings
        done = workspace.command(*row.argv, **more, RECALLD_LANGUAGE=language)
        assert done.code in (64, 65)
        of_command = re.sub("^[a-z]+：", "", said)  # in Chinese a command leaves out the name of an argument
        assert without_options(done.err) == of_command.removeprefix("--")
    if row.tool:
        assert by_mcp(workspace, row, language) == said


@pytest.mark.parametrize("row", [row for row in ANSWERS if row.tool], ids=lambda row: " ".join(row.argv))
def test_mcp_passes_calls_on_to_a_supervisor_and_answers_the_same(workspace, supervisor, row):
    def ask(request: dict[str, Any]) -> dict[str, Any] | None:
        return ask_supervisor(str(supervisor), {"op": TOOL, "request": request, "caller": {"language": "en"}})

    assert by_mcp(workspace, row, "en", ask) == by_mcp(workspace, row, "en")
