"""
The command `recalld`: what a turn waits for is sent to the running supervisor, every other command runs in this process.

Turns wait for this module, so it imports almost nothing, not even `typing`: each import costs a millisecond, Python's own start
ten. The request is one JSON line over the supervisor's Unix socket: the arguments, the variables of recalld and of the locale,
and the workspace's folder. The supervisor acknowledges it at once with a line that says how long the answer may take, then
sends output, errors and exit code in another JSON line. If no supervisor runs, or if it refuses the request or does not
respond, the command runs here (cli.md).
"""

from __future__ import annotations

import io
import os
import sys

from .locate import COMMAND, HOOK, ask_supervisor, command_of, version, workspace_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

#: Commands that a running supervisor answers, since it has the index open and its modules loaded.
SERVED_COMMANDS: Final = frozenset({"inject", "context", "search", "get", "why", "status", "read", "append"})
#: Commands of which the process ends before a collection could free anything.
_SHORT: Final = SERVED_COMMANDS | {"write", "delete", "invalidate"}
#: Options and words with which `append` is not sent: it has a time of its own, or reads standard input.
_NOT_SENT: Final = frozenset({"--at", "--now", "--jsonl", "-", "--"})
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
    sent = _sent(argv)
    answer = _ask_supervisor(sent) if sent else None
    if answer is None:
        _run_here(sent or argv)
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

        code = unprinted(Call(argv), error) or (_UNPRINTED if command_of(argv) == "append" else code)
    sys.exit(code)


def _run_here(argv: list[str]) -> None:
    if argv == ["--version"]:
        print(version())
        return
    import gc

    is_short = command_of(argv) in _SHORT and "--help" not in argv
    if is_short:
        gc.disable()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # else numpy starts a thread for each core, which nothing here needs
    from .cli.call import Call, run_and_exit
    from .cli.main import run_command

    call = Call(argv)
    # an MCP client that has gone expects this process to be gone, too
    run_and_exit(call, lambda: run_command(call), at_once=is_short or command_of(argv) == "mcp")


def _sent(argv: list[str]) -> list[str] | None:
    """
    Return the arguments as a supervisor gets them; None for a command that runs in this process.

    A message is sent with its time: a supervisor may add it and end before it answers. The message that this process then adds
    has the same time and words, and is stored once.
    """
    if command_of(argv) not in SERVED_COMMANDS or "--help" in argv:
        return None
    if command_of(argv) != "append":
        return argv
    words = {*argv, *(word.partition("=")[0] for word in argv)}
    if "RECALLD_NOW" in os.environ or not sys.stdout or "--text=-" in words or words & _NOT_SENT:
        return None
    import time

    now, first = time.time_ns(), 0
    while argv[first].startswith("-"):  # the workspace may stand before the command
        first += 2 if argv[first] in {"-w", "--workspace"} else 1
    at = f"--at={time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now // 10**9))}.{now % 10**9 // 10**6:03}Z"
    return [*argv[: first + 1], at, *argv[first + 1 :]]


def _ask_supervisor(argv: list[str]) -> dict[str, Any] | None:
    """Return the supervisor's answer (out, err, code); None if the command has to be run in this process."""
    environ = {key: value for key, value in os.environ.items() if key.startswith(("RECALLD_", "LC_", "LANG"))}
    request = {"op": COMMAND, "request": {"argv": argv, "env": environ}, "caller": {}}
    answer = ask_supervisor(workspace_of(argv, os.environ), request)
    return answer if answer and {"out", "err", "code"} <= {*answer} else None


if __name__ == "__main__":
    main()
