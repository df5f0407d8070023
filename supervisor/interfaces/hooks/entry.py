"""
`recalld hook CLIENT`: a client's event on standard input, what the client should read on standard output.

The client waits for this process before each question, so it imports almost nothing, and asks the supervisor's socket; where
none answers, it does the work itself. Whatever fails, it prints nothing and ends with 0 within two seconds: a broken memory is
not the client's problem. A child of it, which has more time, then puts the words into the drop-box, and logs `hook_failed`.
"""

import json
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NoReturn

from ..locate import HOOK, ask_supervisor, command_of, workspace_of
from . import MAX_EVENT

#: Bytes of the line in which git names a folder.
_MOST_OF_PATH: Final = 4096
#: Seconds after which it gives up, and those in which its child puts the words away: a busy machine may need them.
_PATIENCE_S: Final = 1.8
_LAST_S: Final = 60.0
#: Where Claude Code says in which folder it was started.
_PROJECT_VARIABLE: Final = "CLAUDE_PROJECT_DIR"
#: What makes a folder a workspace: a hook makes none.
_MADE_WITH: Final = ("recalld.toml", "history.json")


def main(argv: list[str]) -> NoReturn:
    """Answer the event and end with 0."""
    os.umask(0o077)
    client, root = client_of(argv), os.path.abspath(workspace_of(argv, os.environ))
    request: dict[str, Any] = {}
    is_made = any(os.path.exists(os.path.join(root, name)) for name in _MADE_WITH)
    # subtle: the process ends in the handler, as if it were killed there; an exception would be taken for a damaged index
    signal.signal(signal.SIGALRM, lambda *_: _give_up(root, client, "", request))
    signal.setitimer(signal.ITIMER_REAL, _PATIENCE_S)
    try:
        if is_made:
            print(_answer(root, client, request), end="", flush=True)
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is not the client's problem
        why = f"{type(error).__name__}: {error}" if isinstance(error, OSError) else type(error).__name__
        _give_up(root, client, why, request)
    os._exit(0)


def client_of(argv: list[str]) -> str:
    """Return the client that the arguments name: the first word after `hook` that is no option."""
    return command_of(argv[argv.index(HOOK) + 1 :])


def project_of(event: object, environ: Any) -> str:
    """
    Return the folder of the project: that of the repository around the folder in which the client was started, else that one.

    The client says it in a variable or in its event; "" where it does neither.
    """
    given = environ.get(_PROJECT_VARIABLE) or (event.get("cwd") if isinstance(event, dict) else "")
    if not isinstance(given, str) or not os.path.isabs(given):
        return ""
    from ...text.foreign_text import parts_of

    folder = start = os.path.normpath(given)
    if not parts_of(f"root{start}", from_here=True):  # it is absolute, but else as every name out of a file
        return ""
    while folder != os.path.dirname(folder):
        if os.path.exists(os.path.join(folder, ".git")):
            return folder
        folder = os.path.dirname(folder)
    return start


def repository_of(project: str) -> str:
    """
    Return the folder of the repository that *project* is a worktree of; *project* itself where it is none.

    A worktree names its repository, and counts only where the repository names it, too: a file that came with a download can't
    make a folder part of another project.
    """
    pointer = os.path.join(project, ".git")
    kept = _line(pointer).removeprefix("gitdir:").strip() if os.path.isfile(pointer) else ""
    repository = os.path.normpath(os.path.join(project, kept))
    common = _line(os.path.join(repository, "commondir"))
    names_it = os.path.realpath(_line(os.path.join(repository, "gitdir"))) == os.path.realpath(pointer)  # maybe through a link
    if not (kept and common and names_it):
        return project
    return os.path.dirname(os.path.normpath(os.path.join(repository, common)))


def _line(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.readline(_MOST_OF_PATH).strip()
    except (OSError, ValueError):
        return ""


def _answer(root: str, client: str, turn: dict[str, Any]) -> str:
    """Return what the client should read, from the supervisor, or made here; *turn* gets what is asked for."""
    if sys.stdin is None:
        return ""
    data, event = sys.stdin.buffer.read(MAX_EVENT + 1), None  # who answers reports what is none
    with suppress(ValueError, RecursionError):
        event = json.loads(data.decode("utf-8-sig", "replace")) if len(data) <= MAX_EVENT else None
    worktree = project_of(event, os.environ)
    turn |= {"client": client, "event": event, "at": time.time(), "size": len(data)}
    turn |= {"project": repository_of(worktree), "worktree": worktree}
    answer = ask_supervisor(root, {"op": HOOK, "request": turn, "caller": {}})
    return str(answer["answer"]) if answer else _answer_here(root, turn)


def _answer_here(root: str, request: dict[str, Any]) -> str:
    import gc

    gc.disable()  # the process ends before a collection could free anything
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # else numpy starts a thread for each core, which nothing here needs
    from ...storage.clock import utc_now
    from ...workspace import open_workspace
    from .turn import answer

    return answer(open_workspace(Path(root), os.environ, utc_now), request, utc_now, keep_fresh=True)


def _give_up(root: str, client: str, why: str, request: dict[str, Any]) -> NoReturn:
    """End with 0; a child puts the words into the drop-box and logs *why*, "" for the time, within `_LAST_S`."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    with suppress(OSError):  # where no process can be started, it does this itself
        reader, writer = os.pipe()
        if os.fork():
            os.close(writer)
            os.read(reader, 1)  # until the child is in a session of its own: a client may end all that it has started
            os._exit(0)
        os.setsid()
    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    signal.setitimer(signal.ITIMER_REAL, _LAST_S)
    os.closerange(0, 1024)  # it may hold a lock, and the client waits until its output is closed
    os.open(os.devnull, os.O_RDWR)
    try:
        from ...events import Events
        from ...protocol.config_keys import Log
        from ...protocol.connections import HOOK_LATE
        from ...protocol.paths import WorkspacePaths
        from ...storage.clock import utc_now

        paths = WorkspacePaths(Path(root))
        if request:
            _leave_words(paths.drop_box, request)
        # not with the configuration of the workspace, which may be what is wrong
        Events(paths.log, utc_now, Log()).emit("hook_failed", client=client, why=why or HOOK_LATE)
    finally:
        os._exit(0)


def _leave_words(drop_box: Path, request: dict[str, Any]) -> None:
    """Leave what was said as a file of the drop-box; what was kept already has the same id, and is not added twice."""
    from datetime import UTC, datetime

    from ...storage.clock import to_wire
    from ...storage.disk import RealDisk
    from ...storage.files import Files
    from ...storage.lenient_json import render_json
    from ..connect.clients import OddEvent, messages_of, read_event

    try:
        now = to_wire(datetime.fromtimestamp(request["at"], UTC))
        messages = messages_of(read_event(request["client"], request["event"]), request["client"], request["project"], now)
    except OddEvent:
        return
    if messages:
        files = Files(RealDisk())
        files.make_folder(drop_box)
        files.create(drop_box / f"{messages[0]['id']}.json", render_json(messages))
