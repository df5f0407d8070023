"""Ask a supervisor at its socket as the command does (docs/reference/cli.md): version 4; its first line only says that it has it."""

import json
import re
import shlex
import socket
from collections.abc import Callable
from pathlib import Path

#: The commands that a supervisor answers.
SERVED = ("search", "inject", "context")
_NO_PLAIN_COMMAND = re.compile(r"[|<>;&$`]")


def answer_of(command: str, home: Path, exported: Callable[[], dict[str, str]]) -> tuple[bytes, bytes, int] | None:
    """Return the output, the errors and the code that the socket gives for the command; None if it is not for the socket."""
    if _NO_PLAIN_COMMAND.search(command):
        return None
    name, *argv = shlex.split(command)
    if name != "recalld" or not argv or argv[0] not in SERVED or "--help" in argv:
        return None
    environ = exported()
    root = home / environ.get("RECALLD_WORKSPACE", "").replace("~", str(home))
    if not (root / ".recalld" / "socket").exists():
        return None
    found = root.stat()
    given = {key: value for key, value in environ.items() if key.startswith(("RECALLD_", "LC_", "LANG"))}
    asked = {"op": "command", "request": {"argv": argv, "env": given}, "caller": {}}
    request = {"version": 4, **asked, "folder": [found.st_dev, found.st_ino]}
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(30)
        line.connect(str(root / ".recalld" / "socket"))
        line.sendall(json.dumps(request).encode() + b"\n")
        _acknowledged, _, data = b"".join(iter(lambda: line.recv(1 << 16), b"")).strip().partition(b"\n")
    if not data:
        return b"", b"the command does it itself\n", 0
    answer = json.loads(data)
    return answer["out"].encode("utf-8", "backslashreplace"), answer["err"].encode("utf-8", "backslashreplace"), answer["code"]
