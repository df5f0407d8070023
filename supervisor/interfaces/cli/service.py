"""The commands that make and run a workspace: init, run, worker, append, summary redo (docs/reference/cli.md)."""

from __future__ import annotations

import os
import select
import sys
import threading
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from supervisor.archive.append import append as append_messages
from supervisor.archive.append import read_lines
from supervisor.interfaces.cli.app import Folder, Json, Now, moment, opened, root_of, say, unprinted
from supervisor.interfaces.cli.output import as_json, as_text, show, tree
from supervisor.protocol.clock import clock_from, fixed_clock, read_instant, to_wire, utc_now
from supervisor.protocol.errors import BadRequest, StorageError
from supervisor.service.workers import worker_command
from supervisor.workspace import make_workspace, open_workspace

if TYPE_CHECKING:
    from datetime import datetime

    from supervisor.service.round import Round
    from supervisor.workspace import Workspace

summary = typer.Typer(help="Daily and monthly summaries.", rich_markup_mode=None)

_BATCH: Final = 8_000_000  # bytes of --jsonl input that are appended in one write


def init(workspace: Folder = None, now: Now = None, json: Json = False) -> None:
    """Make a workspace; what is there is never changed."""
    moment(now)
    root = root_of(workspace)
    is_new = make_workspace(root, os.environ)
    ws = open_workspace(root, os.environ, utc_now)
    ws.prepare()
    if json:
        show(as_json({"workspace": str(root), "new": is_new, "timezone": ws.config.archive.timezone}))
    else:
        show(tree(root))


def run(
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
    until_settled: Annotated[bool, typer.Option("--until-settled", help="do all that is due, and end")] = False,
    no_worker: Annotated[bool, typer.Option("--no-worker", help="never start a worker")] = False,
) -> None:
    """Run the supervisor in the foreground."""
    from supervisor.interfaces.cli.output import progress
    from supervisor.interfaces.serve import serve
    from supervisor.protocol.signals import on_signals
    from supervisor.service.round import until_settled as run_until_settled
    from supervisor.service.workers import Workers

    at = moment(now)
    root = root_of(workspace)
    make_workspace(root, os.environ)
    if not until_settled:
        serve(root, utc_now if at is None else clock_from(at), json=json, has_worker=not no_worker)
        return
    clock = utc_now if at is None else fixed_clock(at)
    ws = open_workspace(root, os.environ, clock)
    stop = threading.Event()
    on_signals(stop.set)
    with progress() as ws.progress:
        total = run_until_settled(ws, clock(), None if no_worker else Workers(ws, clock, idle_s=1.0), stop)
    _print_total(ws, total, json=json, has_worker=not no_worker)


def _print_total(ws: Workspace, total: Round, *, json: bool, has_worker: bool) -> None:
    """Print the counts of `--until-settled`; raise the error that is left, or Exit(69) if summaries are left."""
    from supervisor.summaries.llm_state import provider_state

    waiting = ws.failures()
    counts = {
        "seen": total.seen,
        "archived": total.archived,
        "summaries": total.summaries,
        "trimmed": total.trimmed,
        "waitingForRetry": len(waiting),
        "unfinished": total.unfinished,
    }
    show(as_json(counts) if json else as_text(counts))
    if total.errors:
        raise next(iter(total.errors.values()))
    refused = provider_state(ws.task_queue)
    if refused.is_failing and refused.next_at and not total.summaries:
        reason = f"the model refused ({refused.reason}); nothing is asked of it before {to_wire(refused.next_at)}."
        raise typer.Exit(say(reason, 69))
    if total.unfinished and has_worker:
        sentence = (
            f"{total.unfinished} summaries are unfinished: the worker ended without a result; `recalld worker` shows why."
        )
        raise typer.Exit(say(sentence, 69))


def worker(
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
    idle: Annotated[float | None, typer.Option("--idle", help="leave after so many seconds without work")] = None,
) -> None:
    """Run a worker alone; any number may run."""
    moment(now)
    command = worker_command(root_of(workspace))
    options = [*(["--json"] if json else []), *([] if idle is None else ["--idle", str(idle)])]
    os.execv(sys.executable, [*command, *options])  # noqa: S606 - itself


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
    if sys.stdin is None and (jsonl or text == "-"):  # the file that gets its number is not what the caller says
        raise BadRequest("--jsonl" if jsonl else "--text", "standard input is closed")
    ws, moment_now = opened(workspace, now)
    ws.files.make_folder(ws.paths.state)
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
    _acknowledge(_append(ws, [raw], moment_now), json=json)


def _acknowledge(ids: list[str], *, json: bool) -> None:
    """Print the ids; Exit(74) if they can't be printed: who can't learn what is safe must not take 0 for an answer."""
    if not ids:
        return
    if sys.stdout is None:
        sentence = "standard output is closed: the ids of what was added can't be printed."
        raise typer.Exit(say(sentence, StorageError.exit_code))
    try:
        for identity in ids:
            show(as_json({"id": identity}) if json else identity)
        sys.stdout.flush()
    except OSError as error:
        raise typer.Exit(unprinted(error) or StorageError.exit_code) from error


def _append(ws: Workspace, raws: list[dict[str, Any]], now: datetime) -> list[str]:
    """Append the messages to the workspace and return their ids."""
    return append_messages(
        raws,
        now,
        os.urandom(10 * len(raws)),
        history=ws.history,
        journal=ws.journal,
        drop_box=ws.drop_box,
        settings=ws.config.archive,
    )


def _append_lines(ws: Workspace, now: datetime, *, json: bool) -> None:
    """Append the lines of standard input; all that can be read at once are one write."""
    rest, number = b"", 1
    while True:
        data, ended = _read_available()
        lines = (rest + data).split(b"\n")
        rest = b"" if ended else lines.pop()
        raws, fault = read_lines(lines, ws.zone, number)
        number += len(lines)
        _acknowledge(_append(ws, raws, now), json=json)
        if fault:
            raise BadRequest("--jsonl", f"{fault}; the lines before it were added")
        if ended:
            return


def _read_available() -> tuple[bytes, bool]:
    """Wait for input, return all that can be read from standard input by then, and whether it has ended."""
    data = os.read(0, 1 << 20)
    ended = not data
    while not ended and len(data) < _BATCH and select.select([0], [], [], 0.02)[0]:
        more = os.read(0, 1 << 20)
        data, ended = data + more, not more
    return data, ended


@summary.command("redo")
def summary_redo(
    period: Annotated[str, typer.Argument(help="a day like 2026-01-28, or a month like 2026-01")],
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """Have a summary written again; the old one is kept until the new one is there."""
    from supervisor.summaries.submit import submit_again

    ws, at = opened(workspace, now)
    group = submit_again(
        period,
        at,
        journal=ws.journal,
        memory=ws.memory,
        task_queue=ws.task_queue,
        config=ws.config,
        prepare=ws.prepare,
    )
    show(as_json({"group": group, "queued": True}) if json else f"{group} is queued; a supervisor takes it in.")


def register(app: typer.Typer) -> None:
    """Add the commands to *app*."""
    for command in (init, run, worker, append):
        app.command()(command)
    app.add_typer(summary, name="summary")
