"""
The command `recalld`, as thin as it can be: a question goes to the running supervisor, everything else to the command line.

The turn waits for this, so it imports next to nothing. Over the supervisor's Unix socket go the arguments, the folder and the
RECALLD_* variables in one JSON line; output, errors and exit code come back in another. Without a supervisor, or when it
can't honour the request, the command does the work itself: one parser, one behaviour (docs/cli.md).
"""

from __future__ import annotations

import os
import sys
from typing import Final

from supervisor.adapters.where import socket_path, workspace_of

#: What a running supervisor answers from memory that is already open.
ASKED: Final = frozenset({"inject", "context", "search", "get", "why"})
#: Options of every command that have a value.
_WITH_VALUE: Final = frozenset({"-w", "--workspace", "--now"})
#: How long to wait for a supervisor that is alive but busy, before doing the work here. In seconds.
_WAIT_S: Final = 2.0


def main() -> None:
    """Run the command and end with its exit code."""
    code = _asked(sys.argv[1:])
    if code is None:
        from supervisor.adapters.cli import main as run

        run()
    sys.exit(code)


def _asked(argv: list[str]) -> int | None:
    """Return the exit code of a command that the supervisor has answered; None when it is to be done here."""
    if _command(argv) not in ASKED or "--help" in argv:
        return None
    root = workspace_of(argv, dict(os.environ))
    path = socket_path(os.path.abspath(os.path.expanduser(root))) if root else ""
    if not path or not os.path.exists(path):
        return None
    import json
    import socket

    environ = {key: value for key, value in os.environ.items() if key.startswith("RECALLD_")}
    request = json.dumps({"version": 1, "argv": argv, "cwd": os.getcwd(), "env": environ})
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(_WAIT_S)
            line.connect(path)
            line.sendall(request.encode("utf-8", "surrogateescape") + b"\n")
            answer = json.loads(b"".join(iter(lambda: line.recv(1 << 16), b"")))
        out, err, code = answer["out"], answer["err"], answer["code"]
    except (OSError, ValueError, KeyError):
        return None
    sys.stdout.write(out)
    sys.stderr.write(err)
    sys.stdout.flush()
    return code if isinstance(code, int) else None


def _command(argv: list[str]) -> str:
    """Return the first word that is no option and no option's value."""
    skip = False
    for word in argv:
        if skip:
            skip = False
        elif word in _WITH_VALUE:
            skip = True
        elif not word.startswith("-"):
            return word
    return ""


if __name__ == "__main__":
    main()
