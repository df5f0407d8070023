"""The commands of a turn and of the index: append, inject, context, search, get, why, index (docs/reference/cli.md)."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...operations import recall, upkeep
from ...protocol.attachments import digest_in_name
from ...storage.texts import Text
from ..cli import recall as asked
from .app import Context, Folder, Json, Kind, Now, Session, new_app
from .output import Word, as_json, as_text, receipt_text, replay_text

if TYPE_CHECKING:
    from ...index.commit import Inventory
    from .call import Call

Query = Annotated[str | None, typer.Option("--query", help="the input; without it, what waits in inbox.json")]

index = typer.Typer(help="The search index, which can be deleted at any time.", rich_markup_mode=None)


def inject(
    ctx: Context,
    query: Query = None,
    session: Session = "",
    chat: Kind = "",
    known: Annotated[list[str], typer.Option("--known", help="the id of a message that you send yourself; repeatable")] = [],  # noqa: B006 - typer copies it
    project: Annotated[str, typer.Option("--project", metavar="DIR", help="the folder in which it is asked")] = "",
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> int:
    """Print the memory block for an input, and nothing else."""
    options: dict[str, Any] = {"query": query, "session": session, "chat": chat, "known": known, "project": project}
    return asked.inject(ctx.obj, **options, workspace=workspace, now=now, json=json)


def context(
    ctx: Context,
    query: Query = None,
    system: Annotated[str, typer.Option("--system", help="the system prompt, which stays as it is")] = "",
    text: Annotated[bool, typer.Option("--text", help="as text, in place of messages as JSON")] = False,
    session: Session = "",
    chat: Kind = "",
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> int:
    """Print the whole turn, memory and recent history in their budgets, as chat-completions messages."""
    options: dict[str, Any] = {"query": query, "system": system, "text": text, "session": session, "chat": chat}
    return asked.context(ctx.obj, **options, workspace=workspace, now=now, json=json)


def search(
    ctx: Context,
    query: Annotated[str, typer.Argument(help="words, a sentence, a date")],
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="hits at most")] = 10,
    session: Session = "",
    chat: Kind = "",
) -> int:
    """Find memories: path, lines, score."""
    options: dict[str, Any] = {"limit": limit, "session": session, "chat": chat}
    return asked.search(ctx.obj, query, **options, workspace=workspace, now=now, json=json)


def get(
    ctx: Context,
    path: Annotated[str, typer.Argument(help="memory/2026-01-28-deploy.md, with or without #L4-L6,L9")],
    start: Annotated[int, typer.Option("--from", help="first line, from 1")] = 1,
    lines: Annotated[int | None, typer.Option("--lines", help="how many")] = None,
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
    session: Session = "",
    chat: Kind = "",
) -> None:
    """Print exact lines of a memory file."""
    call: Call = ctx.obj
    request = recall.GetRequest(path=path, start=start, lines=lines)
    found = call.perform(recall.get, request, workspace, now, session, chat)
    if not json and digest_in_name(path) and not (session or chat):  # an absolute path opens from any folder
        found = replace(found, text=found.text.replace(path, str(call.opened(workspace, now)[0].paths.root / path)))
    call.show(as_json(asdict(found)) if json else found.text)


def why(
    ctx: Context,
    turn: Annotated[str | None, typer.Argument(help="a turn's id; without it, the newest")] = None,
    replay: Annotated[bool, typer.Option("--replay", help="also what would be shown now, and the difference")] = False,
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """Show what was put before the assistant in a turn, what was not, and why."""
    call: Call = ctx.obj
    request = recall.WhyRequest(turn=turn)
    again = call.perform(recall.replay, request, workspace, now) if replay else None
    receipt = again.receipt if again else call.perform(recall.why, request, workspace, now)
    if json:
        call.show(as_json(asdict(again or receipt)))
    else:
        from ...recall.embedders import words_alone

        missed = words_alone(call.opened(workspace, now)[0].config, receipt.how)
        call.show(replay_text(again, call.renderer()) if again else receipt_text(receipt, call.renderer(), missed))


def append(
    ctx: Context,
    role: Annotated[str | None, typer.Option("--role", help="user, assistant, system or tool")] = None,
    text: Annotated[str | None, typer.Option("--text", help="the words; - reads standard input")] = None,
    at: Annotated[str | None, typer.Option("--at", help="the time of the message, ISO 8601")] = None,
    session: Annotated[str | None, typer.Option("--session", help="the key of its conversation")] = None,
    channel: Annotated[str | None, typer.Option("--channel", help="through which it came, such as telegram")] = None,
    chat: Annotated[str | None, typer.Option("--chat", help="direct, group or channel")] = None,
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help="many on standard input, a JSON object a line: role, text, createdAt, …")
    ] = False,
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> int:
    """Add a message, or many; prints each id once the message is safe."""
    call: Call = ctx.obj
    from .append import append as add

    fields = {"role": role, "text": text, "at": at, "session": session, "channel": channel, "chat": chat}
    return add(call, **fields, jsonl=jsonl, workspace=workspace, now=now, json=json)


@index.command("status")
def index_status(
    ctx: Context,
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """Show what the index holds, and whether it is up to date."""
    call: Call = ctx.obj
    found = call.perform(upkeep.index_status, upkeep.StateRequest(), workspace, now)
    if json:
        call.show(as_json({**_held(found), "differing": found.differing}))
    else:
        state = (
            Text(
                "files of memory that are not in it as they are now: {count}; the next question takes them in, or `recalld index rebuild`",
                count=found.differing,
            )
            if found.differing
            else Word("up to date")
        )
        call.show(as_text({**_held(found), "state": state}, call.renderer()))


@index.command("rebuild")
def index_rebuild(
    ctx: Context,
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """Rebuild the index from the files, and compute the missing vectors; 69 if their server does not answer."""
    call: Call = ctx.obj
    from ...host.background import make_vectors
    from ...storage.clock import utc_now

    changes = asdict(call.perform(upkeep.index_rebuild, upkeep.RebuildRequest(), workspace, now))
    ws, _ = call.opened(workspace, now)
    _, fault = make_vectors(ws, utc_now)
    held = _held(ws.index.inventory())
    odd = {name: changes[name] for name in ("shared", "unread") if changes[name]}
    call.show(as_json({**changes, **held}) if json else as_text({**held, **odd}, call.renderer()))
    if fault:
        raise typer.Exit(call.say(Text("no vectors were made: {why}.", why=fault), 69))


def _held(found: Inventory) -> dict[str, int]:
    return {"files": found.files, "units": found.units, "bytes": found.size_bytes}


def register(app: typer.Typer) -> None:
    """Add the commands of a turn to *app*."""
    for command in (append, inject, context, search, get, why):
        app.command()(command)
    app.add_typer(index, name="index")


@cache
def commands() -> Any:
    """Return the command line with what a running supervisor answers, `SERVED_COMMANDS` and `index`, built once."""
    from ..cli import admin, long_term

    app = new_app()
    register(app)
    long_term.register(app)
    for command in (admin.status, admin.plan):
        app.command()(command)
    return typer.main.get_command(app)
