"""
The command line (docs/cli.md): arguments in, one step called, its answer printed.

Machine output goes to standard output, everything else to standard error. An error is one sentence with an exit code.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
from functools import cache
from io import StringIO
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from supervisor.adapters import care, turn
from supervisor.adapters.opening import CALL, GIVEN, MUTE, Call, Folder, Json, Now, moment, opened, root_of
from supervisor.adapters.show import as_json, as_line, as_text, tree
from supervisor.adapters.where import named
from supervisor.append import append as append_messages
from supervisor.append import read_lines
from supervisor.protocol.clock import frozen, read_instant, starting_at, to_wire, utc_now
from supervisor.protocol.errors import BadRequest, SupervisorError, from_os_error
from supervisor.workspace import make_workspace, open_workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from pathlib import Path

    from supervisor.adapters.door import Request
    from supervisor.protocol.clock import Clock
    from supervisor.workspace import Workspace

app = typer.Typer(
    name="recalld",
    help="The memory of a long-running local assistant, kept in files a person can read.",
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

_BATCH: Final = 8_000_000  # bytes of --jsonl input that are appended in one write

#: What typer raises for wrong arguments; older ones bring click's own, newer ones a copy of it.
_USAGE: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def _say_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"recalld {version('recalld')}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", callback=_say_version, is_eager=True, help="which version this is")]


@app.callback()
def _before(workspace: Folder = None, now: Now = None, _version: Version = False) -> None:
    GIVEN.update(workspace=workspace, now=now)


@app.command()
def init(workspace: Folder = None, now: Now = None, json: Json = False) -> None:
    """Make a workspace; what is there is never changed."""
    moment(now)
    root = root_of(workspace)
    is_new = make_workspace(root, os.environ)
    ws = open_workspace(root, os.environ, utc_now)
    ws.prepare()
    if json:
        print(as_json({"workspace": str(root), "new": is_new, "timezone": ws.config.archive.timezone}))
    else:
        print(tree(root))


@app.command()
def run(
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
    until_settled: Annotated[bool, typer.Option("--until-settled", help="do all that is due, and end")] = False,
    no_worker: Annotated[bool, typer.Option("--no-worker", help="never start a worker")] = False,
) -> None:
    """Run the supervisor in the foreground."""
    from supervisor.adapters.progress import progress
    from supervisor.model import provider_state
    from supervisor.oneshot import until_settled as settle
    from supervisor.workers import Workers

    at = moment(now)
    root = root_of(workspace)
    make_workspace(root, os.environ)
    if not until_settled:
        _serve(root, utc_now if at is None else starting_at(at), _teller(json=json), has_worker=not no_worker)
        return
    clock = utc_now if at is None else frozen(at)
    ws = open_workspace(root, os.environ, clock)
    stop = threading.Event()
    _on_signals(stop.set)
    with progress() as ws.progress:
        total = settle(ws, clock(), None if no_worker else Workers(ws, clock, idle_s=1.0), stop)
    waiting = ws.failures()
    counts = {
        "seen": total.seen,
        "archived": total.archived,
        "summaries": total.summaries,
        "trimmed": total.trimmed,
        "waitingForRetry": len(waiting),
        "unfinished": total.unfinished,
    }
    print(as_json(counts) if json else as_text(counts))
    if total.errors:
        raise next(iter(total.errors.values()))
    refused = provider_state(ws)
    if refused.is_failing and refused.next_at and not total.summaries:
        reason = f"the model refused ({refused.reason}); nothing is asked of it before {to_wire(refused.next_at)}."
        print(f"recalld: {reason}", file=sys.stderr)
        raise typer.Exit(69)
    if total.unfinished and not no_worker:
        sentence = (
            f"{total.unfinished} summaries are unfinished: the worker ended without a result; `recalld worker` shows why."
        )
        print(f"recalld: {sentence}", file=sys.stderr)
        raise typer.Exit(69)


def _on_signals(stop: Callable[[], None]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop())


def _serve(root: Path, clock: Clock, tell: Callable[[Mapping[str, object]], None], *, has_worker: bool) -> None:
    """Run the supervisor, with its door open once it has the workspace; recall is kept ready over workspaces of its own."""
    from supervisor.adapters.door import open_door
    from supervisor.adapters.heap import keep_one_pool
    from supervisor.alone import alone
    from supervisor.daemon import Supervisor
    from supervisor.keeper import Keeper
    from supervisor.workers import Workers

    keep_one_pool()
    ws = open_workspace(root, os.environ, clock, tell)
    served = open_workspace(root, os.environ, utc_now)
    keeper = Keeper(lambda: open_workspace(root, os.environ, clock, tell), clock)
    served.index_lost = keeper.memory_changed
    supervisor = Supervisor(ws, clock, Workers(ws, clock) if has_worker else None, keeper=keeper)
    _on_signals(supervisor.stop)

    def told(why: str) -> None:
        served.events.edge("error", why, what="the socket", why=why)

    with alone(ws) as held, open_door(ws.layout, ws.files, lambda request: _answer(request, served), told):
        supervisor.run(held)


def _answer(request: Request, served: Workspace) -> dict[str, Any]:
    """Run the command of a request here; ValueError when it can't be honoured, so that the asker does the work itself."""
    argv, given = request.argv, request.environ
    ours = {key: value for key, value in os.environ.items() if key.startswith("RECALLD_")}
    for passing in ("RECALLD_NOW", "RECALLD_WORKSPACE"):
        ours.pop(passing, None)
    if {key: value for key, value in given.items() if key not in {"RECALLD_NOW", "RECALLD_WORKSPACE"}} != ours:
        raise ValueError("another configuration")
    out, err = StringIO(), StringIO()
    token = CALL.set(Call(named(argv), given, served))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run_command(argv)
    finally:
        CALL.reset(token)
        GIVEN.clear()
    return {"out": out.getvalue(), "err": err.getvalue(), "code": code}


def _teller(*, json: bool) -> Callable[[Mapping[str, object]], None]:
    """Return what prints an event: as the log has it, or as a line to read."""
    out = sys.stdout  # this one, whatever an answer at the door is printed to meanwhile
    return lambda event: print(as_json(event) if json else as_line(event), flush=True, file=out)


@app.command()
def worker(
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
    idle: Annotated[float | None, typer.Option("--idle", help="leave after so many seconds without work")] = None,
) -> None:
    """Run a worker alone; any number may run."""
    moment(now)
    command = [sys.executable, "-P", "-m", "worker", "--workspace", str(root_of(workspace))]
    options = [*(["--json"] if json else []), *([] if idle is None else ["--idle", str(idle)])]
    os.execv(sys.executable, [*command, *options])  # noqa: S606 - itself


@app.command()
def append(
    role: Annotated[str | None, typer.Option("--role", help="user, assistant, system or tool")] = None,
    text: Annotated[str | None, typer.Option("--text", help="the words; - reads standard input")] = None,
    at: Annotated[str | None, typer.Option("--at", help="when it was said, ISO 8601")] = None,
    session: Annotated[str | None, typer.Option("--session")] = None,
    channel: Annotated[str | None, typer.Option("--channel")] = None,
    chat: Annotated[str | None, typer.Option("--chat", help="direct, group or channel")] = None,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="many messages on standard input, a JSON object a line")] = False,
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """Add a message, or many; prints each id once the message is safe."""
    ws, moment_now = opened(workspace, now)
    ws.files.make_folder(ws.layout.state)
    if jsonl:
        _append_lines(ws, moment_now, json=json)
        return
    if not role or text is None:
        raise BadRequest("append", "it needs --role and --text, or --jsonl")
    if chat not in (None, "direct", "group", "channel"):
        raise BadRequest("--chat", f"{chat!r} is not direct, group or channel")
    if at is not None and read_instant(at, ws.zone) is None:
        raise BadRequest("--at", f"{at!r} is no time; write it like 2026-01-28T09:02:00+08:00")
    words = sys.stdin.buffer.read().decode("utf-8", "surrogateescape") if text == "-" else text
    fields = {"role": role, "text": words, "createdAt": at, "channel": channel, "session": session, "chat": chat}
    raw = {key: value for key, value in fields.items() if value is not None}
    for identity in append_messages(ws, [raw], moment_now, os.urandom(10)):
        print(as_json({"id": identity}) if json else identity)


def _append_lines(ws: Workspace, now: datetime, *, json: bool) -> None:
    """Append standard input in batches as large as what is ready, so that one write carries many messages."""
    rest, number = b"", 1
    while True:
        data, ended = _ready()
        lines = (rest + data).split(b"\n")
        rest = b"" if ended else lines.pop()
        raws, fault = read_lines(lines, ws, number)
        number += len(lines)
        for identity in append_messages(ws, raws, now, os.urandom(10 * len(raws))) if raws else ():
            print(as_json({"id": identity}) if json else identity)
        sys.stdout.flush()
        if fault:
            raise BadRequest("--jsonl", f"{fault}; the lines before it were added")
        if ended:
            return


def _ready() -> tuple[bytes, bool]:
    """Return what can be read from standard input without waiting for more, and whether it has ended."""
    found = os.read(0, 1 << 20)
    ended = not found
    while not ended and len(found) < _BATCH and select.select([0], [], [], 0.02)[0]:
        more = os.read(0, 1 << 20)
        found, ended = found + more, not more
    return found, ended


summary = typer.Typer(help="Daily and monthly summaries.", rich_markup_mode=None)
app.add_typer(summary, name="summary")


@summary.command("redo")
def summary_redo(
    period: Annotated[str, typer.Argument(help="a day like 2026-01-28, or a month like 2026-01")],
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """Have a summary made anew; what stands is kept until the new one is there."""
    from supervisor.redo import redo

    ws, at = opened(workspace, now)
    group = redo(ws, period, at)
    print(as_json({"group": group, "queued": True}) if json else f"{group} is queued; a supervisor takes it in.")


care.register(app)
turn.register(app)


def main(*, is_mute: bool = False) -> None:
    """Run a command and end with its exit code; whatever goes wrong is one sentence. *is_mute* is told (`supervisor_mute`)."""
    MUTE.set(is_mute)
    os.umask(0o077)  # the engine of the index makes files of its own, and they hold what was said
    code = run_command(None)
    try:
        if sys.stdout:  # None where the caller has closed it
            sys.stdout.flush()
    except OSError as error:
        code = unprinted(error)
    sys.exit(code)


def unprinted(error: OSError) -> int:
    """Return the exit code where the output could not be printed: a reader that has heard enough is no fault."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still held goes there at the end of the process
    return 0 if isinstance(error, BrokenPipeError) else _refused(error, "standard output")


@cache
def _parser() -> Any:
    """Return the commands, put together once: a supervisor runs them for others again and again."""
    return typer.main.get_command(app)


def run_command(argv: list[str] | None) -> int:
    """Run the command line *argv* (None: that of this process) and return its exit code."""
    try:
        ended_with = _parser()(args=argv, prog_name="recalld", standalone_mode=False)
    except SupervisorError as error:
        return _say(str(error), error.exit_code)
    except typer.Exit as ended:
        return ended.exit_code
    except typer.Abort:
        return _say("interrupted.", 130)
    except _USAGE as error:
        sentence = getattr(error, "format_message", error.__str__)().rstrip(".")
        return _say(f"{sentence}. See `recalld --help`.", BadRequest.exit_code)
    except SystemExit:
        return 0  # so typer ends where the reader of the output has gone
    except OSError as error:
        return _refused(error, error.filename or "the workspace")
    return ended_with if isinstance(ended_with, int) else 0


def _refused(error: OSError, where: str) -> int:
    refused = from_os_error(error, where)
    return _say(str(refused), refused.exit_code)


def _say(sentence: str, code: int) -> int:
    print(f"recalld: {sentence}", file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
