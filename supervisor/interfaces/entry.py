"""
The command `recalld`, as thin as it can be: a question goes to the running supervisor, everything else to the command line.

The turn waits for this, so it imports next to nothing, not even `typing`: each module is a millisecond, Python's own start is
ten. Over the supervisor's Unix socket go the arguments, the folder and the RECALLD_* variables in one JSON line; output, errors
and exit code come back in another, after an empty line at once that says: understood. Without a supervisor, or when it can't
honour the request or is mute, the command does the work itself: one parser, one behaviour (docs/cli.md).
"""

from __future__ import annotations

import io
import os
import sys

from supervisor.interfaces.locate import socket_path, workspace_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

#: What a running supervisor answers from memory that is already open.
ASKED: Final = frozenset({"inject", "context", "search", "get", "why"})
#: Options of every command that have a value.
_WITH_VALUE: Final = frozenset({"-w", "--workspace", "--now"})
#: Seconds until a supervisor says that it has understood; one that is stopped or hangs never does, and the turn waits.
_SIGN_S: Final = 0.25
#: Seconds that it may then take: it may have to load its words, and the same work is not done twice for nothing.
_ANSWER_S: Final = 2.0


def main() -> None:
    """Run the command and end with its exit code."""
    if sys.getfilesystemencoding() == "ascii":  # LC_ALL=C without Python's UTF-8 mode: no Chinese in, none out
        os.environ["PYTHONUTF8"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - itself
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # half an emoji is no text to UTF-8, but it is some memory's
    answer, is_mute = _asked(sys.argv[1:])
    if answer is None:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy starts a thread a core, for nothing that is done here
        from supervisor.interfaces.cli.app import run_and_exit

        if _is_of_turn(sys.argv[1:]):
            import gc

            gc.disable()  # the process ends before there is anything worth a look at all that was loaded
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


def _asked(argv: list[str]) -> tuple[tuple[str, str, int] | None, bool]:
    """
    Return output, errors and exit code of a command that the supervisor has answered; None when it is to be done here.

    And whether that is so because the supervisor is there and says nothing.
    """
    if not _is_of_turn(argv):
        return None, False
    path = socket_path(workspace_of(argv, os.environ))
    if not path:
        return None, False
    import json
    import socket

    environ = {key: value for key, value in os.environ.items() if key.startswith("RECALLD_")}
    request = json.dumps({"version": 1, "argv": argv, "env": environ})
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(_SIGN_S)
            line.connect(path)
            line.sendall(request.encode() + b"\n")
            data = line.recv(1 << 16)
            line.settimeout(_ANSWER_S)
            answer = json.loads(data + b"".join(iter(lambda: line.recv(1 << 16), b"")))
        return (str(answer["out"]), str(answer["err"]), int(answer["code"])), False
    except (TimeoutError, BlockingIOError):  # the latter where so many ask that no more can wait
        return None, True
    except (OSError, ValueError, KeyError, TypeError):
        return None, False


def _is_of_turn(argv: list[str]) -> bool:
    return _command(argv) in ASKED and "--help" not in argv


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
