"""The commands of the long-term lines: write, read, delete, stats, summarize (docs/reference/cli.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ...longterm.lines import DEFAULT_SOURCE
from ...operations import long_term
from ...storage.errors import BadRequest
from ...storage.texts import Text, msgid
from .app import Context, Folder, Json, Kind, Now, Session  # noqa: TC001 - typer reads the annotations
from .output import as_json, as_text, wire

if TYPE_CHECKING:
    from .call import Call


def write(
    ctx: Context,
    text: Annotated[str, typer.Argument(help="what to remember; several things are separated by ；")],
    source: Annotated[
        str, typer.Option("--source", help="where it comes from: a channel, or a session's name")
    ] = DEFAULT_SOURCE,
    replaces: Annotated[
        str | None,
        typer.Option("--replaces", help="the line that is no longer true with it, as in 42@1f3a9c0d; `read` shows it"),
    ] = None,
    item: Annotated[
        int | None, typer.Option("--item", help="which item of that line ends, if it has several: 1 is the first")
    ] = None,
    session: Session = "",
    chat: Kind = "",
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """Add a line to the long-term memory; it is safe when the command returns."""
    call: Call = ctx.obj
    if replaces is not None and not replaces.strip():  # a variable of a shell that is empty
        raise BadRequest(
            "--replaces",
            Text("{ref!r} names no line, and nothing was changed; give number and digest, as in 42@1f3a9c0d", ref=replaces),
        )
    call.opened_made(workspace, now)
    request = long_term.WriteRequest(content=text, source=source, replaces=replaces or "", item=item)
    made = call.perform(long_term.write, request, workspace, now, session, chat)
    if not made.is_shown:
        from ..tools.definitions import not_shown

        ws, at = call.opened(workspace, now)
        note = not_shown(call.caller(at, session, chat).audience(ws))
        fields = {"path": made.path, "total": made.total, "new": made.is_new, "note": note}
        call.show(as_json(fields) if json else "\n".join(map(call.render, (Text("written to memory."), note))))
    elif json:
        fields = {"path": made.path, "line": made.line, "total": made.total, "digest": made.digest, "new": made.is_new}
        fields |= {name: ref for name in ("replaced", "others") if (ref := getattr(made, name))}
        call.show(as_json(fields | ({"act": call.acts[0]} if call.acts else {})))
    else:
        call.show(call.render(made.told()))
        for sentence in made.told_replaced():
            call.show(call.render(sentence))
        call.tell_undo()


def read(
    ctx: Context,
    line: Annotated[int | None, typer.Argument(help="one line, by its number")] = None,
    start: Annotated[int | None, typer.Option("--start", help="the first line")] = None,
    end: Annotated[int | None, typer.Option("--end", help="the last line")] = None,
    recent: Annotated[int | None, typer.Option("--recent", help="how many of the last lines (10)")] = None,
    session: Session = "",
    chat: Kind = "",
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """Print lines of the long-term memory, numbered as `delete` takes them; without any option the last ten."""
    call: Call = ctx.obj
    if sum((line is not None, (start, end) != (None, None), recent is not None)) > 1:
        raise BadRequest("read", Text("it takes a line, or --start and --end, or --recent"))
    first = line if line is not None else start
    request = long_term.ReadRequest(start=first, end=end, recent=10 if recent is None else recent)
    found = call.perform(long_term.read, request, workspace, now, session, chat)
    if json:
        lines = [{"line": one.number, "text": one.text, "digest": one.digest} for one in found.lines]
        call.show(as_json({"path": found.path, "total": found.total, "lines": lines}))
    elif found.lines:
        call.show("\n".join(f"[{one.number}@{one.digest}] {one.text}" for one in found.lines))
    elif not found.total:
        call.say(Text("the long-term memory is empty."), 0)


def delete(
    ctx: Context,
    lines: Annotated[list[str], typer.Argument(help="number and digest, as in 42@1f3a9c0d; `read` shows them")],
    session: Session = "",
    chat: Kind = "",
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """Delete lines of the long-term memory; none of them if one has changed."""
    call: Call = ctx.obj
    done = call.perform(long_term.delete, long_term.DeleteRequest(lines=lines), workspace, now, session, chat)
    fields = {"deleted": done.count, "total": done.total}
    call.show(as_json({"path": done.path, **fields}) if json else as_text(fields, call.renderer()))
    call.tell_undo()


def invalidate(
    ctx: Context,
    target: Annotated[
        str,
        typer.Argument(help="42@1f3a9c0d, the id of a message, or a line of a summary: memory/summary/2026-01-15.md#L7"),
    ],
    reason: Annotated[str, typer.Option("--reason", help="why it is no longer true")] = "",
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """End what is no longer true; it stays, and is shown only where the past is asked for."""
    call: Call = ctx.obj
    request = long_term.InvalidateRequest(target=target, reason=reason)
    done = call.perform(long_term.invalidate, request, workspace, now)
    if json:
        call.show(as_json({"place": done.place, "text": done.text, "until": str(done.until)}))
    else:
        call.show(
            call.render(
                Text(
                    "{place} is no longer true from {until} on; it is shown only where the past is asked for.",
                    place=done.place,
                    until=str(done.until),
                )
            )
        )
        call.tell_undo()


def stats(
    ctx: Context,
    session: Session = "",
    chat: Kind = "",
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """Count the lines of the long-term memory by source, and show their first and last day."""
    call: Call = ctx.obj
    found = call.perform(long_term.stats, long_term.StatsRequest(), workspace, now, session, chat)
    shown = wire({**found, "date_range": found["date_range"] or None})
    call.show(as_json(found) if json else as_text(shown, call.renderer()))


def summarize(
    ctx: Context,
    session: Annotated[str, typer.Option("--session", help='the session\'s name, as its messages have it; "": those without')],
    again: Annotated[bool, typer.Option("--again", help="all of it, not only what is new")] = False,
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """Write a session, or what is new in it, as one line of the long-term memory."""
    call: Call = ctx.obj
    request = long_term.SummarizeRequest(session=session, again=again)
    made = call.perform(long_term.summarize, request, workspace, now)
    if json:
        fields: dict[str, object] = {"session": session, "line": None, "new": False}
        if made:
            fields |= {"line": made.line, "new": made.is_new, "path": made.path}
            fields |= {"total": made.total, "digest": made.digest, "text": made.text}
        call.show(as_json(fields))
    elif made is None:
        call.say(Text("nothing in this session is new and worth a line; `--again` takes all of it."), 0)
    else:
        call.show(call.render(made.told(msgid("saved to memory, line {line} ({total} in all)"))))


def register(app: typer.Typer) -> None:
    """Add the commands of the long-term lines to *app*."""
    for command in (write, delete, invalidate, stats, summarize):
        app.command()(command)
    app.command(context_settings={"ignore_unknown_options": True})(read)  # -1 is a line, the first one
