"""
The command `recalld`: a command of a turn is sent to the running supervisor, every other one is run in this process.

A turn waits for this module, so it imports almost nothing, not even `typing`: each import costs a millisecond, Python's own
start ten. The request is one JSON line over the supervisor's Unix socket: the arguments, the RECALLD_* variables, and which
folder is meant. The supervisor acknowledges it at once with an empty line, then sends output, errors and exit code in another
JSON line. Without a supervisor, or if it refuses the request or does not respond, the command is run here, by the same parser
(cli.md).
"""

from __future__ import annotations

import io
import os
import sys

from supervisor.interfaces.locate import folder_id, socket_path, workspace_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

#: Commands that a running supervisor answers, since it has the index open.
SERVED_COMMANDS: Final = frozenset({"inject", "context", "search", "get", "why"})
#: Options of every command that take a value.
_WITH_VALUE: Final = frozenset({"-w", "--workspace", "--now"})
#: Seconds to wait for the acknowledgement; a supervisor that is stopped or hangs never sends it.
_ACKNOWLEDGE_S: Final = 0.25
#: Seconds to wait for the answer after that: the supervisor may have to load a dictionary first.
_ANSWER_S: Final = 2.0


def main() -> None:
    """Run the command and end with its exit code."""
    if sys.getfilesystemencoding() == "ascii":  # LC_ALL=C without Python's UTF-8 mode: no Chinese in, none out
        os.environ["PYTHONUTF8"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - itself
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a memory may hold half an emoji, which UTF-8 can't encode
    answer, is_mute = _ask_supervisor(sys.argv[1:])
    if answer is None:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy would start a thread for each core, which nothing here needs
        from supervisor.interfaces.cli.app import run_and_exit

        if _is_served(sys.argv[1:]):
            import gc

            gc.disable()  # the process ends before a collection would free anything
            from supervisor.interfaces.cli.turn import commands
        else:
            from supervisor.interfaces.cli.main import commands
        run_and_exit(commands(), is_mute=is_mute)
        return
    out, err, code = answer
    if err and sys.stderr:
        sys.stderr.write(err)
    try:
        if out and sys.stdout:
            sys.stdout.write(out)
            sys.stdout.flush()
    except OSError as error:
        from supervisor.interfaces.cli.app import unprinted

        code = unprinted(error)
    sys.exit(code)


def _ask_supervisor(argv: list[str]) -> tuple[tuple[str, str, int] | None, bool]:
    """
    Return the supervisor's answer (output, errors, exit code), and whether a supervisor is there but does not respond.

    The answer is None if the command has to be run in this process.
    """
    if not _is_served(argv):
        return None, False
    root = workspace_of(argv, os.environ)
    path = socket_path(root)
    if not path:
        return None, False
    import json
    import socket

    environ = {key: value for key, value in os.environ.items() if key.startswith("RECALLD_")}
    request = json.dumps({"version": 2, "argv": argv, "env": environ, "folder": folder_id(root)})
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(_ACKNOWLEDGE_S)
            line.connect(path)
            line.sendall(request.encode() + b"\n")
            data = line.recv(1 << 16)
            line.settimeout(_ANSWER_S)
            answer = json.loads(data + b"".join(iter(lambda: line.recv(1 << 16), b"")))
        return (str(answer["out"]), str(answer["err"]), int(answer["code"])), False
    except (TimeoutError, BlockingIOError):  # the latter if the socket's backlog is full
        return None, True
    except (OSError, ValueError, KeyError, TypeError):
        return None, False


def _is_served(argv: list[str]) -> bool:
    return _command(argv) in SERVED_COMMANDS and "--help" not in argv


def _command(argv: list[str]) -> str:
    """Return the first argument that is neither an option nor an option's value."""
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
