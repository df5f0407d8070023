"""
`recalld hook CLIENT`: a client's event on standard input, what the client should read on standard output.

The client waits for this process before each question, so it imports almost nothing, asks the supervisor's socket, and starts
no process. Whatever fails, it prints nothing and ends with 0 within two seconds: a broken memory is not the client's problem.
A workspace gets one event of it (`hook_failed`). Where no supervisor answers, it does the work itself.
"""

from __future__ import annotations

import json
import os
import signal
import sys

from recalld.supervisor.interfaces.locate import (
    HOOK,
    MAX_REQUEST,
    PROTOCOL,
    command_of,
    exchange,
    folder_id,
    socket_path,
    workspace_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, NoReturn

#: The most bytes of an event; an answer has some thousand.
MAX_EVENT: Final = 4 << 20
#: Seconds after which it gives up, and those that the event about it may take.
_PATIENCE_S: Final = 1.3
_LAST_S: Final = 0.6
#: Where a client says in which folder it was started.
_PROJECT_VARIABLES: Final = ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CURSOR_PROJECT_DIR")
#: What makes a folder a workspace: a hook makes none.
_MADE_WITH: Final = ("recalld.toml", "history.json")


def main(argv: list[str]) -> NoReturn:
    """Answer the event and end with 0."""
    os.umask(0o077)
    client, root = client_of(argv), os.path.abspath(workspace_of(argv, os.environ))
    is_made = any(os.path.exists(os.path.join(root, name)) for name in _MADE_WITH)
    # subtle: the process ends in the handler, as if it were killed there; an exception would be taken for a damaged index
    signal.signal(signal.SIGALRM, lambda *_: _give_up(root, client, "it took too long"))
    signal.setitimer(signal.ITIMER_REAL, _PATIENCE_S)
    try:
        if is_made:
            _print(_answer(root, client))
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is not the client's problem
        _give_up(root, client, f"{type(error).__name__}: {error}" if isinstance(error, OSError) else type(error).__name__)
    os._exit(0)


def client_of(argv: list[str]) -> str:
    """Return the client that the arguments name: the first word after `hook` that is no option."""
    return command_of(argv[argv.index(HOOK) + 1 :]) if HOOK in argv else ""


def project_of(event: object, environ: Any) -> str:
    """
    Return the folder of the project: that of the repository around the folder in which the client was started, else that one.

    The client says it in a variable or in its event; "" where it does neither.
    """
    given = next(filter(None, map(environ.get, _PROJECT_VARIABLES)), "")
    if not given and isinstance(event, dict):
        roots = event.get("workspace_roots")
        given = event.get("cwd") or (roots[0] if isinstance(roots, list) and roots else "")
    if not isinstance(given, str) or not os.path.isabs(given) or "\0" in given:
        return ""
    folder = start = os.path.normpath(given)
    while folder != os.path.dirname(folder):
        if os.path.exists(os.path.join(folder, ".git")):
            return folder
        folder = os.path.dirname(folder)
    return start


def _answer(root: str, client: str) -> str:
    """Return what the client should read, from the supervisor, or made here where none answers."""
    if sys.stdin is None:
        return ""
    data = sys.stdin.buffer.read(MAX_EVENT + 1)
    try:
        event = json.loads(data) if len(data) <= MAX_EVENT else None
    except (ValueError, RecursionError):
        event = None  # who answers reports it
    asked = {"client": client, "event": event, "size": len(data), "project": project_of(event, os.environ)}
    path, is_mute = socket_path(root), False
    if path:
        request = {"version": PROTOCOL, "op": HOOK, "request": asked, "caller": {}, "folder": folder_id(root)}
        line = json.dumps(request).encode() + b"\n"
        try:
            if len(line) <= MAX_REQUEST:
                return str(exchange(path, line)["answer"])
        except (TimeoutError, BlockingIOError):
            is_mute = True
        except (OSError, ValueError, KeyError, TypeError):
            pass
    return _answer_here(root, asked, is_mute=is_mute)


def _answer_here(root: str, asked: dict[str, Any], *, is_mute: bool) -> str:
    import gc

    gc.disable()  # the process ends before a collection could free anything
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # else numpy starts a thread for each core, which nothing here needs
    from pathlib import Path

    from recalld.supervisor.interfaces.hooks.turn import answer
    from recalld.supervisor.storage.clock import utc_now
    from recalld.supervisor.workspace import open_workspace

    ws = open_workspace(Path(root), os.environ, utc_now)
    if is_mute:
        ws.events.transition("supervisor_mute", True)
    return answer(ws, asked, utc_now, keep_fresh=True)


def _print(text: str) -> None:
    if text and sys.stdout:
        sys.stdout.write(text)
        sys.stdout.flush()


def _give_up(root: str, client: str, why: str) -> NoReturn:
    """Write the event into the log of the workspace, whose configuration may be what is wrong, and end with 0."""
    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    signal.setitimer(signal.ITIMER_REAL, _LAST_S)
    try:
        from pathlib import Path

        from recalld.supervisor.events import EventLog
        from recalld.supervisor.protocol.config_keys import Log
        from recalld.supervisor.protocol.paths import WorkspacePaths
        from recalld.supervisor.storage.clock import utc_now

        EventLog(WorkspacePaths(Path(root)).log, utc_now, Log()).emit("hook_failed", client=client, why=why)
    finally:
        os._exit(0)
