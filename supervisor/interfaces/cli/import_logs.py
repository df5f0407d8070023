"""`recalld import`: bring in logs of clients, exports and notes, and show or read the sources of recalld.toml (cli.md)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from ...storage.clock import fixed_clock
from ...storage.errors import BadFile, BadRequest
from ...storage.texts import Text
from ...text.foreign_text import shortened
from ..output import as_json, as_text, by_name, in_local_times, wire
from .call import Call
from .parser import Argument, Option, command

if TYPE_CHECKING:
    from ...importing.run import Imported
    from ...workspace import Workspace

#: The exit code of a command that a signal ended.
_STOPPED = 130

#: What of an import is said in sentences, and not as a row.
_SAID: Final = ("forgotten", "leftOut", "unknown", "tooLarge", "people", "me", "unread", "daysOfCalls")
#: What the rows of a source are called, where the words of its keys mean something else in other answers.
_OF_SOURCE: Final = {"pending": "filesThatWaitUntilTheyAreQuiet", "waits": "forgottenThereAlone"}


@command("import")
def import_logs(
    call: Call,
    source: Annotated[str, Argument("a client, or a file, folder or ZIP archive")] = "",
    dry_run: Annotated[bool, Option("--dry-run", "show what would be added, and add nothing")] = False,
    dates: Annotated[
        str, Option("--dates", "WhatsApp's order of day and month: dmy, mdy or ymd", choices=("dmy", "mdy", "ymd"))
    ] = "",
    me: Annotated[str, Option("--me", "your name in WhatsApp, Telegram or WeChat: its words are yours")] = "",
    listed: Annotated[bool, Option("--list", "show the sources of recalld.toml, and how far each is read")] = False,
    forget: Annotated[str, Option("--forget", "the source of this name: forget here what was forgotten there")] = "",
    yes: Annotated[bool, Option("--yes", "do it")] = False,
) -> int:
    """Add conversations from other programs; what memory has already is not added twice."""
    from ...importing.kinds import CLIENTS
    from ...importing.run import bring_in

    if not (source or listed or forget):
        _show_clients(call)
        return 0
    ws, at = call.opened()
    clients = {kind.name for kind in CLIENTS}
    is_source = any(source == take.name and (take.path or source not in clients) for take in ws.config.sources.take)
    if forget:
        _forget(call, ws, at, forget, yes=yes)
        return 0
    if listed or is_source:
        _show_sources(call, ws, at, "" if listed else source)
        return 0
    is_whole = True
    for path in _paths(source):
        with call.control(stops=True) as control:
            done = bring_in(ws, Path(os.path.abspath(path)), at, control, dates=dates, me=me.strip(), dry_run=dry_run)
        per_day = max(ws.config.llm.max_calls_per_day, 1)
        fields = wire(vars(done) | {"left_out": [*done.left_out]})
        # no file names what could not be read any more
        fields |= {"daysOfCalls": None if done.calls is None else -(-done.calls // per_day), "unreadFile": None}
        counted = "copied" if done.folder else "added"  # a row even if it is 0
        rows = {key: value for key, value in fields.items() if key not in _SAID and (value or key == counted)}
        shown = in_local_times(json.loads(as_json(rows)), call.zone)
        call.answer(fields, [as_text(shown, call.renderer()), *_sentences(done, dry_run=dry_run)])
        if done.unread:
            call.say(Text("Entries that could not be read: {count}.", count=sum(done.unread.values())))
        if done.left:
            return _STOPPED
        is_whole &= not (done.unread or done.left_out or done.too_large or done.different)
    return 0 if is_whole else BadFile.exit_code


def _show_sources(call: Call, ws: Workspace, at: datetime, name: str) -> None:
    """Take one source in, or none of them, and show how far each is read."""
    from ...importing.sources import Taking, named, take_in

    if name:
        with call.control(stops=True) as control:
            list(take_in(ws, fixed_clock(at), control, name))
    data, shown = list[dict[str, Any]](), dict[str, dict[str, Any]]()
    for source in named(ws, name):
        taking = Taking(ws, source, fixed_clock(at))
        taking.look()
        row = {"from": source.kind, "path": source.path, **taking.state.shown()}
        row["leftOut"] = by_name(row["leftOut"])
        data.append({"name": source.name, **row})
        counted = {key: value for key, value in row.items() if value or key == "messages"}
        shown[source.name] = {_OF_SOURCE.get(key, key): value for key, value in counted.items()}
    call.answer(data, by_name(shown) or Text("recalld.toml has no sources; docs/how-to/several-machines.md"))


def _forget(call: Call, ws: Workspace, at: datetime, name: str, *, yes: bool) -> None:
    """Show what was forgotten in a source and stands here, or forget it here."""
    from ...archive.diary import amounts_of
    from ...importing.sources import Taking, named

    taking = Taking(ws, named(ws, name)[0], fixed_clock(at))
    taking.look()
    unwanted = taking.forget(yes=yes)
    counts = {"messages": len(unwanted.messages), "lines": len(unwanted.lines), "files": len(unwanted.files)}
    if not unwanted:
        call.answer(counts, Text("what was forgotten in {name} is forgotten here.", name=name))
        return
    messages = (shortened(message.entry.text) for message in unwanted.messages.values())
    texts = [*messages, *(line.text for line in unwanted.lines), *unwanted.files]
    lines: list[str] = [Text("to be forgotten: {amounts}", amounts=amounts_of(counts)), *(f"  {text}" for text in texts)]
    lines.append(Text("Nothing was forgotten. `recalld import --forget {name} --yes` does it, for good.", name=name))
    call.answer(counts, lines)


def _show_clients(call: Call) -> None:
    from ...importing.kinds import CLIENTS, labels, logs_of

    logs = {kind.name: [str(path) for path in logs_of(kind, os.environ)] for kind in CLIENTS}
    lines = [
        Text("{label}: logs in {folder}; `recalld import {name}` adds them.", label=kind.label, folder=folder, name=kind.name)
        for kind in CLIENTS
        for folder in logs[kind.name]
    ]
    lines = lines or [Text("No client of this machine has kept logs.")]
    others = Text(
        "`recalld import PATH` reads a file, a folder or a ZIP archive of: {kinds}; and copies Markdown notes.", kinds=labels()
    )
    call.answer(logs, [*lines, others])


def _sentences(done: Imported, *, dry_run: bool) -> Iterator[Text]:
    from ...importing.memories import TOO_LARGE

    left = {**done.left_out, **dict.fromkeys(done.too_large, TOO_LARGE)}
    for why in dict.fromkeys(left.values()):
        names = tuple(name for name, of in left.items() if of == why)
        yield Text("Left out ({count}): {why}: {names}", count=len(names), why=why, names=names)
    if done.unknown:
        yield Text(
            "Not read, since they are no logs and no exports that recalld knows ({count}): {names}",
            count=len(done.unknown),
            names=done.unknown,
        )
    if done.forgotten:
        yield Text("Messages that you have forgotten stay so ({count}): they are not added.", count=done.forgotten)
    if dry_run:
        yield Text("Nothing was added; without --dry-run it is.")
    if done.left:
        yield Text("Stopped before the end. The same command goes on there, and adds nothing twice.")
    if done.me:
        yield Text("The words of {name} are kept as yours, but for what was in memory already.", name=done.me)
    elif people := [Text("{name} ({count})", name=name, count=count) for name, count in done.people.items()]:
        yield Text(
            "Each is kept by name: {people}. With `--me NAME` at the first import the words of that one are kept as yours.",
            people=people,
        )
    if done.added and not (done.left or dry_run):
        yield Text("A running supervisor summarises them; without one, `recalld run --until-settled` does.")


def _paths(source: str) -> list[Path]:
    """Return the logs of a client, or the path that was given; BadRequest where a client has none."""
    from ...importing.kinds import CLIENTS, logs_of

    path = Path(source).expanduser()
    client = next((kind for kind in CLIENTS if kind.name == source), None)
    if path.exists() or client is None:
        return [path]
    if paths := logs_of(client, os.environ):
        return paths
    no_logs = Text("{client} has kept no logs on this machine; give the path of a file or folder", client=client.label)
    raise BadRequest("import", no_logs)
