"""`recalld import`: bring in what other programs have kept: a client's own logs, the export of a chat, notes (cli.md)."""

from __future__ import annotations

import os
import signal
import sys
import threading
import unicodedata
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...storage.catalogue import Text
from ...storage.errors import BadFile, BadRequest
from ...text.printable import printable_line
from .app import Context, Folder, Json, Now  # noqa: TC001 - typer reads the annotations
from .output import as_json, progress, wire

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from zoneinfo import ZoneInfo

    from ...importing.notes import Copied
    from ...importing.run import Imported
    from ...storage.control import Control
    from .call import Call

#: The exit code of a command that a signal ended.
_STOPPED = 130
#: The orders that `--dates` takes.
_ORDERS = ("dmy", "mdy", "ymd")
#: People of a group, and files that were left out, that are named one by one.
_MOST_NAMED = 12


def import_logs(
    ctx: Context,
    what: Annotated[str, typer.Argument(metavar="[CLIENT|PATH]", help="a client, or a file, folder or ZIP archive")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="say what would be added, and add nothing")] = False,
    branches: Annotated[bool, typer.Option("--branches", help="also what was edited away, or answered anew")] = False,
    dates: Annotated[str, typer.Option("--dates", help="WhatsApp's order of day and month: dmy, mdy or ymd")] = "",
    me: Annotated[str, typer.Option("--me", help="your name in WhatsApp, Telegram or WeChat: its words are yours")] = "",
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """Add conversations that other programs have kept; what is there already is not added twice."""
    call: Call = ctx.obj
    from ...importing.kinds import CLIENTS, LEFT, logs_of
    from ...importing.run import bring_in

    if not what:
        _show_clients(call, json=json)
        return
    if dates and dates not in _ORDERS:
        raise BadRequest("--dates", Text("argument.not_allowed", value=dates, allowed=", ".join(_ORDERS)))
    client = next((kind for kind in CLIENTS if kind.name == what), None)
    paths = [Path(what).expanduser()]
    if what in LEFT and not paths[0].exists():
        raise BadRequest("import", Text("importing.left_client", client=LEFT[what]))
    if client and not paths[0].exists():
        paths = logs_of(client, os.environ)
        if not paths:
            raise BadRequest("import", Text("importing.no_logs", client=client.label))
    ws, at = call.opened(workspace, now)
    is_whole, is_stopped = True, False
    who = partial(_who, call, me, asks=not (dry_run or json))
    for path in paths:
        with _control() as control:
            done = bring_in(
                ws, Path(os.path.abspath(path)), at, control, branches=branches, dates=dates, who=who, dry_run=dry_run
            )
        call.show(as_json(wire(asdict(done))) if json else _told(call, done, ws.zone, dry_run=dry_run))
        if left := getattr(done, "unread", None):
            file, count = getattr(done, "unread_file", None), sum(left.values())
            call.say(Text("importing.unread_in", count=count, file=file) if file else Text("importing.unread", count=count), 0)
        is_stopped |= bool(getattr(done, "left", 0))
        if is_stopped:
            break
        is_whole &= not (left or done.left_out or getattr(done, "different", ()) or getattr(done, "too_large", ()))
    if is_stopped:
        raise typer.Exit(_STOPPED)
    if not is_whole:
        raise typer.Exit(BadFile.exit_code)


def _who(call: Call, me: str, people: Mapping[str, int], *, asks: bool) -> str:
    """Return which of the people the owner is: *me*, else who a person at a terminal names; BadRequest for somebody else."""
    if not me and asks and people and sys.stdin.isatty() and sys.stderr.isatty():
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # Ctrl-C ends the question, too
        try:
            asked = printable_line(call.render(Text("importing.who", people=_people(people))))
            me = typer.prompt(asked, "", show_default=False, err=True)
        finally:
            signal.signal(signal.SIGINT, before)
    if not me.strip():
        return ""
    found = min((name for name in people if _folded(name) == _folded(me)), key=lambda name: name != me.strip(), default=None)
    if found is None:
        code = "importing.nobody" if people else "importing.no_people"
        raise BadRequest("--me", Text(code, name=me, **({"people": _people(people)} if people else {})))
    return found


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold().strip()


def _people(people: Mapping[str, int]) -> tuple[Text, ...]:
    """Return who said how much, the first of many."""
    shown = (Text("importing.person", name=name, count=count) for name, count in [*people.items()][:_MOST_NAMED])
    rest = len(people) - _MOST_NAMED
    return (*shown, *([Text("importing.other_people", count=rest)] if rest > 0 else []))


@contextmanager
def _control() -> Iterator[Control]:
    """Yield what ends an import at a signal, and shows how far it is."""
    from ...storage.control import Control
    from ...storage.signals import on_signals

    stop = threading.Event()
    on_signals(stop.set)
    with progress() as shown:
        yield Control(stop.is_set, shown)


def _show_clients(call: Call, *, json: bool) -> None:
    """Show the clients of this machine that have logs, and how each is imported."""
    from ...importing.kinds import CLIENTS, labels, logs_of

    found = {kind.name: [str(path) for path in logs_of(kind, os.environ)] for kind in CLIENTS}
    if json:
        call.show(as_json(found))
        return
    lines = [
        call.render(Text("importing.client", label=kind.label, folder=folder, name=kind.name))
        for kind in CLIENTS
        for folder in found[kind.name]
    ]
    lines = lines or [call.render(Text("importing.no_client"))]
    call.show("\n".join([*lines, call.render(Text("importing.what", kinds=labels()))]))


def _told(call: Call, done: Imported | Copied, zone: ZoneInfo, *, dry_run: bool) -> str:
    """Return in sentences what an import did."""
    from ...importing.notes import Copied

    told = _told_notes(done, dry_run=dry_run) if isinstance(done, Copied) else _told_talk(done, zone, dry_run=dry_run)
    if done.left_out:
        names = [*done.left_out[:_MOST_NAMED], *("…" for _ in done.left_out[_MOST_NAMED:][:1])]
        told.append(Text("importing.left_out", count=len(done.left_out), names=names))
    return "\n".join(map(call.render, told))


def _told_notes(done: Copied, *, dry_run: bool) -> list[Text]:
    code = "importing.notes_would" if dry_run else "importing.notes"
    known = done.notes - done.copied - len(done.different) - len(done.too_large) - len(done.left_out)
    told = [Text(code, notes=done.notes, copied=done.copied, known=known, folder=done.folder)]
    told += [Text("importing.note_differs", name=name) for name in done.different]
    return told + [Text("importing.note_too_large", name=name) for name in done.too_large]


def _told_talk(done: Imported, zone: ZoneInfo, *, dry_run: bool) -> list[Text]:
    first, last = (f"{t.astimezone(zone):%Y-%m-%d}" if t else "-" for t in (done.first, done.last))
    counts = {
        "messages": _counted("messages", done.messages),
        "conversations": _counted("conversations", done.conversations),
    }
    told = [Text("importing.found", kinds=done.kinds, **counts, first=first, last=last)]
    code = "importing.known" if not done.added and not done.left else "importing.would_add" if dry_run else "importing.added"
    told.append(Text(code, added=_counted("messages", done.added), days=_counted("days", done.days)))
    if done.left:
        told.append(Text("importing.stopped", count=done.left))
    if done.people:
        is_all_new = done.added == done.messages or done.left
        named = "importing.me" if is_all_new else "importing.me_from_now"
        code = named if done.me else "importing.me_would" if dry_run else "importing.me_unknown"
        told.append(Text(code, **({"name": done.me} if done.me else {"people": _people(done.people)})))
    if done.undated:
        told.append(Text("importing.undated", count=done.undated))
    if done.no_talk:
        kinds = [f"{kind} ({count})" for kind, count in [*done.no_talk.items()][:_MOST_NAMED]]
        told.append(Text("importing.no_talk", count=sum(done.no_talk.values()), kinds=kinds))
    if done.notes:
        told.append(Text("importing.notes_left", count=done.notes))
    if done.calls:
        told.append(Text("importing.calls", calls=done.calls, days=done.days_of_calls))
    elif done.added and not done.left and not dry_run:
        told.append(Text("importing.next"))
    return told


def _counted(what: str, count: int) -> Text:
    return Text(f"importing.one.{what}" if count == 1 else f"importing.many.{what}", count=count)


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    app.command("import")(import_logs)
