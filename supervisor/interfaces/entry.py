"""
The command `recalld`: commands of hooks and turns are sent to the running supervisor, every other command runs in this process.

Hooks and turns wait for this module, so it imports almost nothing, not even `typing`: each import costs a millisecond, Python's
own start ten. The request is one JSON line over the supervisor's Unix socket: the arguments, the variables of recalld and of
the locale, and the workspace's folder. The supervisor acknowledges it at once with a line that says how long the answer may
take, then sends output, errors and exit code in another JSON line. If no supervisor runs, or if it refuses the request or does
not respond, the command runs here (cli.md).

A supervisor may add a message and end before it answers. So the request contains what the message's id is made from: the
message that this process then adds has the same id, and is stored once.
"""

from __future__ import annotations

import io
import os
import sys

from .locate import HOOK, ask_supervisor, command_of, socket_path, version, workspace_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

#: Commands that a running supervisor answers, since it has the index open and its modules loaded.
SERVED_COMMANDS: Final = frozenset(
    {"inject", "context", "search", "get", "why", "append", "status", "write", "read", "delete", "invalidate"}
)
#: The exit code of a message whose id can't be printed (protocol.md, 8.2).
_UNPRINTED: Final = 74
#: The exit code of a command that Ctrl-C ended.
_STOPPED: Final = 130


def main() -> None:
    """Run the command and end with its exit code."""
    try:
        _run()
    except KeyboardInterrupt:  # before the command has begun: nothing is to be ended
        sys.exit(_STOPPED)


def _run() -> None:
    if command_of(sys.argv[1:]) == HOOK and not (sys.argv[-1] == "--help" or (sys.stdin and sys.stdin.isatty())):
        from .hooks.entry import main as answer_hook

        answer_hook(sys.argv[1:])
    if sys.getfilesystemencoding() == "ascii":  # LC_ALL=C without Python's UTF-8 mode can't read or print Chinese
        os.environ["PYTHONUTF8"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - this program again
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a memory may hold half an emoji, which UTF-8 can't encode
    argv = sys.argv[1:]
    once = _once(argv) if command_of(argv) == "append" else None
    answer, is_mute = _ask_supervisor(argv, once)
    if answer is None:
        _run_here(argv, once, is_mute=is_mute)
        return
    out, code = answer["out"], answer["code"]
    if answer["err"] and sys.stderr:
        sys.stderr.write(answer["err"])
    try:
        if out and sys.stdout:
            sys.stdout.write(out)
            sys.stdout.flush()
    except OSError as error:
        from .cli.call import Call, unprinted

        code = unprinted(Call(argv), error) or (_UNPRINTED if once else 0)
    sys.exit(code)


def _run_here(argv: list[str], once: dict[str, Any] | None, *, is_mute: bool) -> None:
    if argv == ["--version"]:
        print(version())
        return
    import gc

    if _is_served(argv):
        gc.disable()  # the process ends before a collection could free anything
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # else numpy starts a thread for each core, which nothing here needs
    from .cli.call import Call, Once, run_and_exit

    call = Call(argv, once=Once.of(once) if once else None, is_mute=is_mute)
    from .cli.main import run_command

    # an MCP client that has gone expects this process to be gone, too
    run_and_exit(call, lambda: run_command(call), at_once=_is_served(argv) or command_of(argv) == "mcp")


def _once(argv: list[str]) -> dict[str, Any] | None:
    """Return what the message's id is made from, with its words from standard input; None if no supervisor is asked."""
    import itertools
    import time

    if "--jsonl" in argv or not sys.stdout or not socket_path(workspace_of(argv, os.environ)):
        return None  # standard input is read as it comes, and each line is acknowledged before the next is read
    words = None
    if "--text=-" in argv or ("--text", "-") in itertools.pairwise(argv):
        if not sys.stdin:
            return None
        words = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    return {"at": time.time(), "entropy": os.urandom(10).hex(), "words": words}


def _ask_supervisor(argv: list[str], once: dict[str, Any] | None = None) -> tuple[dict[str, Any] | None, bool]:
    """
    Return the supervisor's answer (out, err, code), and whether a supervisor runs but does not respond.

    The answer is None if the command has to be run in this process.
    """
    if not _is_served(argv) or (command_of(argv) == "append" and once is None):
        return None, False
    environ = {key: value for key, value in os.environ.items() if key.startswith(("RECALLD_", "LC_", "LANG"))}
    if "TERM" in os.environ and sys.stderr and sys.stderr.isatty():
        environ["TERM"] = os.environ["TERM"]  # a person reads what it says
    answer, is_mute = ask_supervisor(workspace_of(argv, os.environ), {"argv": argv, "env": environ, "once": once})
    return (answer if answer and {"out", "err", "code"} <= {*answer} else None), is_mute


def _is_served(argv: list[str]) -> bool:
    return command_of(argv) in SERVED_COMMANDS and "--help" not in argv


if __name__ == "__main__":
    main()
