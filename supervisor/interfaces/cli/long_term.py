"""The commands of the long-term lines: write, read, delete, stats, summarize (docs/reference/cli.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from recalld.supervisor.interfaces.cli.app import Folder, Json, Kind, Now, Session  # noqa: TC001 - typer reads the annotations
from recalld.supervisor.interfaces.cli.call import opened, refuse_other_chats, say, spoken, teller
from recalld.supervisor.interfaces.cli.output import as_json, as_text, show
from recalld.supervisor.longterm.lines import DEFAULT_SOURCE
from recalld.supervisor.storage.errors import BadRequest

if TYPE_CHECKING:
    from pathlib import Path

    from recalld.supervisor.interfaces.api import Memory


def write(
    text: Annotated[str, typer.Argument(help="what is to last; several things are separated by ；")],
    source: Annotated[
        str, typer.Option("--source", help="where it comes from: a channel, or a session's name")
    ] = DEFAULT_SOURCE,
    session: Session = "",
    chat: Kind = "",
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """Add a line to the long-term memory; it is safe when this comes back."""
    memory, heard = _memory(workspace, now), _heard(session, chat)
    made = memory.write(text, source, **heard)
    if not made.is_shown:
        from recalld.supervisor.interfaces.tools.definitions import not_shown

        note = not_shown(memory.audience(**heard), "en")
        fields = {"path": made.path, "total": made.total, "new": made.is_new, "note": note}
        show(as_json(fields) if json else f"{spoken('written to memory.')}\n{spoken(note)}")
    elif json:
        fields = {"path": made.path, "line": made.line, "total": made.total, "digest": made.digest, "new": made.is_new}
        show(as_json(fields))
    else:
        said = "written to memory, line" if made.is_new else "in memory already, line"
        show(spoken(f"{said} {made.line} ({made.total} in all)"))


def read(
    line: Annotated[int | None, typer.Argument(help="one line, by its number")] = None,
    start: Annotated[int | None, typer.Option("--start", help="the first line")] = None,
    end: Annotated[int | None, typer.Option("--end", help="the last line")] = None,
    recent: Annotated[int | None, typer.Option("--recent", help="the last so many lines (10)")] = None,
    session: Session = "",
    chat: Kind = "",
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """Print lines of the long-term memory with their numbers; without any option the last ten."""
    if sum((line is not None, (start, end) != (None, None), recent is not None)) > 1:
        raise BadRequest("read", "it takes a line, or --start and --end, or --recent")
    first = line if line is not None else start
    found = _memory(workspace, now).read(first, end, 10 if recent is None else recent, **_heard(session, chat))
    if json:
        lines = [{"line": one.number, "text": one.text, "digest": one.digest} for one in found.lines]
        show(as_json({"path": found.path, "total": found.total, "lines": lines}))
    elif found.lines:
        show(str(found))
    elif not found.total:
        say("the long-term memory is empty.", 0)


def delete(
    lines: Annotated[list[str], typer.Argument(help="number and digest, as in 42@1f3a9c0d; `read --json` has them")],
    session: Session = "",
    chat: Kind = "",
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """Delete lines of the long-term memory, all of them or, if one is no longer what it was, none."""
    done = _memory(workspace, now).delete(lines, **_heard(session, chat))
    fields = {"deleted": done.count, "total": done.total}
    show(as_json({"path": done.path, **fields}) if json else as_text(fields, teller()))


def stats(
    session: Session = "",
    chat: Kind = "",
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """Count the lines of the long-term memory, by source, and tell from which day to which they are."""
    found = _memory(workspace, now).stats(**_heard(session, chat))
    if json:
        show(as_json(found))
    else:
        show(
            as_text({"total": found["total"], "sources": found["sources"], "dateRange": found["date_range"] or None}, teller())
        )


def summarize(
    session: Annotated[str, typer.Option("--session", help='the session\'s name, as its messages have it; "": those without')],
    again: Annotated[bool, typer.Option("--again", help="all of it, not only what is new")] = False,
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """Write a session, or what is new in it, as one line of the long-term memory."""
    made = _memory(workspace, now).summarize(session, again=again)
    if json:
        fields: dict[str, object] = {"session": session, "line": None, "new": False}
        if made:
            found = {"path": made.path, "total": made.total, "digest": made.digest, "text": made.text}
            fields |= {"line": made.line, "new": made.is_new, **found}
        show(as_json(fields))
    elif made is None:
        say("nothing in this session is new and worth a line; `--again` takes all of it.", 0)
    else:
        said = "saved to memory, line" if made.is_new else "in memory already, line"
        show(spoken(f"{said} {made.line} ({made.total} in all)"))


def _memory(workspace: Path | None, now: str | None) -> Memory:
    from recalld.supervisor.interfaces.api import Memory

    ws, at = opened(workspace, now)
    return Memory(ws, clock=lambda: at)


def _heard(session: str, chat: str) -> dict[str, str]:
    """Return who listens, as the options say; BadRequest if `--chat` is none of the three kinds."""
    if chat:
        refuse_other_chats(chat)
    return {"session": session, "chat": chat}


def register(app: typer.Typer) -> None:
    """Add the commands of the long-term lines to *app*."""
    for command in (write, delete, stats, summarize):
        app.command()(command)
    app.command(context_settings={"ignore_unknown_options": True})(read)  # -1 is a line, the first one
