"""`recalld mcp`: a wire that is broken or cut, and who is named; what a client is offered is a scene of the golden corpus."""

import contextlib
import json
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from recalld import Memory, register_all_tools
from tests.patience import PATIENCE_S
from tests.tools.memory import remembered

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@pytest.fixture
def ask(world) -> Callable[..., Any]:
    """Run the question with a client of a server over that memory, in this process."""
    remembered(world)
    memory = Memory(world.root, environ={"RECALLD_RECALL_TIMEOUT_MS": "60000"}, clock=world.clock)

    from mcp import Client  # loading it takes seconds, in each process that only collects the tests

    from recalld.supervisor.interfaces.mcp import MemoryServer

    def run(question: Callable[[Any], Awaitable[Any]], **options: Any) -> Any:
        async def main() -> Any:
            registry = register_all_tools(memory, **{"language": "en", **options})
            async with Client(MemoryServer(registry, registry.tools)) as client:
                return await question(client)

        return anyio.run(main)

    return run


# ── the wire ─────────────────────────────────────────────────────────────────


class Wire:
    """A process of `recalld mcp` and its pipes."""

    def __init__(self, root: Path) -> None:
        command = [sys.executable, "-P", "-m", "recalld", "-w", str(root), "mcp"]
        environ = {"PATH": "/usr/bin:/bin", "RECALLD_LANGUAGE": "en", "PYTHONPATH": ":".join(filter(None, sys.path))}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=environ, stdin=pipe, stdout=pipe, stderr=pipe)
        assert self.asked("initialize", HELLO)["result"]["serverInfo"]["name"] == "recalld"
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message: object) -> None:
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def received(self) -> Any:
        return json.loads(self.process.stdout.readline())

    def asked(self, method: str, params: object, identity: int | str = 1) -> Any:
        self.send({"jsonrpc": "2.0", "id": identity, "method": method, "params": params})
        return self.received()

    def call(self, tool: str, **arguments: object) -> Any:
        return self.asked("tools/call", {"name": tool, "arguments": arguments})["result"]


@pytest.fixture
def wire(world) -> Iterator[Wire]:
    world.settle()
    made = Wire(world.root)
    yield made
    made.process.kill()
    made.process.wait()
    for pipe in (made.process.stdin, made.process.stdout, made.process.stderr):
        with contextlib.suppress(BrokenPipeError):
            pipe.close()


def test_mcp_answers_what_was_asked_before_its_input_ended(wire):
    for identity in range(2, 8):
        wire.send({"jsonrpc": "2.0", "id": identity, "method": "tools/call", "params": {"name": "memory_read"}})
    wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})
    wire.process.stdin.close()
    assert {*range(2, 7)} <= {json.loads(line)["id"] for line in wire.process.stdout}


@pytest.mark.proof
def test_mcp_answers_broken_lines_with_errors_and_goes_on(wire, world):
    for line, identity in [
        *((line, None) for line in (b"{", b"hello", b"", b"[]", b"7", b"\xff\xfe", b"[" * 100_000)),
        (b'{"jsonrpc":"2.0","id":"a"}', "a"),
        (b'{"jsonrpc":"2.0","id":6,"method":"no/such"}', 6),
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":7}}', 7),
    ]:
        wire.send(line)
        answer = wire.received()
        assert (answer["id"], "error" in answer) == (identity, True), line
    wrote = wire.call("memory_write", content="半个 \ud83d 表情")
    assert wrote["content"][0]["text"] == "written to memory, line 1 (entries: 1)"
    assert wire.call("memory_search", query="表情")["structuredContent"]["results"][0]["startLine"] == 1
    # the client goes in the middle of its calls
    for n in range(30):
        content = {"name": "memory_write", "arguments": {"content": f"第 {n} 条记忆"}}
        wire.send({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": content})
    told = [wire.received()["result"]["structuredContent"]["line"] for _ in range(10)]
    wire.process.stdout.close()
    wire.process.stdin.close()
    assert wire.process.wait(PATIENCE_S) == 0
    assert wire.process.stderr.read() == b""
    lines = (world.root / "memory.md").read_text(encoding="utf-8").splitlines()
    assert told == list(range(2, 12))
    assert [line.rpartition("|")[2] for line in lines[1:11]] == [f"第 {n} 条记忆" for n in range(10)]
    assert len(lines) == len({*lines})
    assert lines[-1].endswith("条记忆")


def test_mcp_names_its_client_in_the_diary(ask, world):
    async def write(client):
        return (await client.call_tool("memory_write", {"content": "对花生过敏"})).is_error

    assert not ask(write)
    assert re.search(r"write, mcp \d", (world.root / "CHANGES.md").read_text("utf-8"))
