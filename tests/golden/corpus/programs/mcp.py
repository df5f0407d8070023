"""`mcp OPTIONS`: an MCP client of `recalld mcp OPTIONS`; each line of standard input is a method and its parameters as JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import IO, Any

_HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "corpus", "version": "1"}}


def answered(server: subprocess.Popen[str], number: int) -> dict[str, Any] | None:
    """Return the server's next answer to that request."""
    out: IO[str] = server.stdout  # type: ignore[assignment]
    for line in out:
        found: dict[str, Any] = json.loads(line)
        if found.get("id") in (number, None) and ("result" in found or "error" in found):
            return found
    return None


def main() -> int:
    server = subprocess.Popen(["recalld", "mcp", *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    writer: IO[str] = server.stdin  # type: ignore[assignment]
    for number, raw in enumerate(sys.stdin):
        line = raw.rstrip("\n")
        method, _, params = line.partition(" ")
        asked = {"jsonrpc": "2.0", "id": number, "method": method}
        if params or method == "initialize":
            asked["params"] = json.loads(params) if params else _HELLO
        try:
            writer.write((line.removeprefix("raw ") if method == "raw" else json.dumps(asked)) + "\n")
            if method == "initialize":
                writer.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
            writer.flush()
        except BrokenPipeError:
            break
        found = answered(server, number)
        if found is None:
            break
        print(f">>> {line}")
        told = found.get("result", found.get("error"))
        for key in ("content", "structuredContent", "isError") if method == "tools/call" and "content" in told else ():
            print(f"{key}: {json.dumps(told.get(key), ensure_ascii=False)}")
            told = {name: one for name, one in told.items() if name != key}
        if told or "error" in found:
            print(json.dumps(told, ensure_ascii=False))
    server.stdin = None
    writer.close()
    return server.wait(30)


sys.exit(main())
