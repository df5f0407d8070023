"""`recalld import`: bring in what other programs have kept: a client's own logs, the export of a chat, notes (cli.md)."""

from __future__ import annotations

import os
import signal
import sys
import threading
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final
from zoneinfo import ZoneInfo

from ...storage.errors import BadFile, BadRequest
from ...storage.texts import Text, msgid
from ...text.printable import printable_line, shortened
from .call import Call
from .output import in_local_times, progress, wire
from .parser import Argument, Option, command

if TYPE_CHECKING:
    from ...forgetting.wanted import Wanted
    from ...importing.notes import Copied
    from ...importing.run import Imported
    from ...storage.control import Control
    from ...workspace import Workspace

#: The exit code of a command that a signal ended.
_STOPPED = 130
#: People of a group, and files that were left out, that are named one by one.
_MOST_NAMED = 12

#: How many there are: a single one, and several.
_ONE: Final = {
    "messages": msgid("{count} message"),
    "conversations": msgid("{count} conversation"),
    "days": msgid("{count} day"),
}
_MANY: Final = {
    "messages": msgid("{count} messages"),
    "conversations": msgid("{count} conversations"),
    "days": msgid("{count} days"),
}


@command("import")
def import_logs(
    call: Call,
    what: Annotated[str, Argument(metavar="[CLIENT|PATH]", meaning="a client, or a file, folder or ZIP archive")] = "",
    dry_run: Annotated[bool, Option("--dry-run", meaning="show what would be added, and add nothing")] = False,
    dates: Annotated[
        str, Option("--dates", choices=("dmy", "mdy", "ymd"), meaning="WhatsApp's order of day and month: dmy, mdy or ymd")
    ] = "",
    me: Annotated[str, Option("--me", meaning="your name in WhatsApp, Telegram or WeChat: its words are yours")] = "",
    listed: Annotated[bool, Option("--list", meaning="show the sources of recalld.toml, and how far each is read")] = False,
    forget: Annotated[str, Option("--forget", metavar="SOURCE", meaning="forget here what was forgotten there")] = "",
    yes: Annotated[bool, Option("--yes", meaning="do it")] = False,
) -> int:
    """Add conversations from other programs; what memory has already is not added twice."""
    from ...importing.kinds import CLIENTS
    from ...importing.run import bring_in

    if not (what or listed or forget):
        _show_clients(call)
        return 0
    ws, at = call.opened()
    clients = {kind.name for kind in CLIENTS}
    is_source = any(what == source.name and (source.path or what not in clients) for source in ws.config.sources.take)
    if listed or forget or is_source:
        _sources(call, ws, at, forget or what, forgets=bool(forget), yes=yes, listed=listed)
        return 0
    is_whole = True
    who = partial(_who, call, me, asks=not (dry_run or call.json))
    for path in _paths(what):
        with _control() as control:
            done = bring_in(ws, Path(os.path.abspath(path)), at, control, dates=dates, who=who, dry_run=dry_run)
        call.answer(wire(asdict(done)), _told(done, ws.zone, dry_run=dry_run))
        if left := getattr(done, "unread", None):
            _tell_unread(call, sum(left.values()), getattr(done, "unread_file", None))
        if getattr(done, "left", 0):
            return _STOPPED
        is_whole &= not (left or done.left_out or getattr(done, "different", ()) or getattr(done, "too_large", ()))
    return 0 if is_whole else BadFile.exit_code


def _sources(call: Call, ws: Workspace, at: datetime, name: str, *, forgets: bool, yes: bool, listed: bool) -> None:
    """Show the sources; take in the one of this name, or have forgotten what was forgotten there."""
    from ...importing.sources import Taking, named, take_in

    if name and not listed and not forgets:
        with _control() as control:
            take_in(ws, at, control, name)
    rows: list[dict[str, Any]] = []
    for source in named(ws, "" if listed else name):
        taking = Taking(ws, source, at)
        taking.look()
        if forgets:
            unwanted = taking.forget(yes=yes)
            taking.keep()
            _show_meant(call, unwanted, source.name, yes=yes)
            return
        rows.append({"name": source.name, "from": source.kind, "path": source.path, **taking.state.shown()})
    lines = [line for row in rows for line in _told_source(row, ws.zone)]
    call.answer(rows, lines or Text("recalld.toml has no sources; docs/how-to/several-machines.md"))


def _told_source(row: dict[str, Any], zone: ZoneInfo) -> Iterator[Text]:
    """Yield what `--list` says of one source."""
    read, away = (in_local_times(row[key], zone) if row[key] else "" for key in ("read", "away"))
    place = row["path"] or row["from"]
    counts = {"messages": _counted("messages", row["messages"]), "pending": row["pending"]}
    head = (
        msgid("{name} ({place}): read last on {time}, {messages}; files that wait: {pending}.")
        if read
        else msgid("{name} ({place}): not read yet; files that wait: {pending}.")
    )
    yield Text(head, name=row["name"], place=place, time=read, **counts)
    if row["trouble"]:
        yield Text("  nothing of it is read: {why}.", why=row["trouble"])
    elif away:
        yield Text("  away since {time}.", time=away)
    if row["unread"]:
        yield Text("  entries that could not be read: {count}.", count=row["unread"])
    for name, why in row["leftOut"].items():
        yield Text("  left out: {name}: {why}.", name=name, why=why)
    if row["waits"]:
        yield Text(
            "  forgotten there, and waits here: {count}; `recalld import --forget {name}` shows it.",
            count=row["waits"],
            name=row["name"],
        )


def _show_meant(call: Call, unwanted: Wanted, name: str, *, yes: bool) -> None:
    """Show what was forgotten in a source and stands here, or that it is forgotten here now."""
    from ...archive.diary import amounts_of

    counts = {"messages": len(unwanted.messages), "lines": len(unwanted.lines), "files": len(unwanted.files)}
    if not unwanted:
        none = Text("what was forgotten in {name} is forgotten here.", name=name) if yes else Text("nothing waits.")
        call.answer(counts, none)
        return
    said = (shortened(message.said.text) for message in unwanted.messages.values())
    texts = [*said, *(line.text for line in unwanted.lines), *unwanted.files]
    rest = [Text("{count} more", count=len(texts) - _MOST_NAMED)] if len(texts) > _MOST_NAMED else []
    lines: list[str] = [Text("to be forgotten: {amounts}", amounts=amounts_of(counts))]
    lines += [f"  {call.render(line)}" for line in [*texts[:_MOST_NAMED], *rest]]
    lines.append(Text("Nothing was forgotten. `recalld import --forget {name} --yes` does it, for good.", name=name))
    call.answer(counts, lines)


def _who(call: Call, me: str, people: Mapping[str, int], *, asks: bool) -> str:
    """Return which of the people the owner is: *me*, else who a person at a terminal names; BadRequest for somebody else."""
    if not me and asks and people and sys.stdin.isatty() and sys.stderr.isatty():
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # Ctrl-C ends the question, too
        try:
            question = printable_line(
                call.render(Text("Who of them are you? {people}. Your name, or Enter for none of them", people=_people(people)))
            )
            me = call.ask(f"{question}: ")
        finally:
            signal.signal(signal.SIGINT, before)
    if not me.strip():
        return ""
    match = min((name for name in people if _folded(name) == _folded(me)), key=lambda name: name != me.strip(), default=None)
    if match is None:
        nobody = (
            Text("{name} is none of the people in it: {people}; nothing was added", name=me, people=_people(people))
            if people
            else Text("{name} can't be told from others, since nobody in it has a name; nothing was added", name=me)
        )
        raise BadRequest("--me", nobody)
    return match


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold().strip()


def _people(people: Mapping[str, int]) -> tuple[Text, ...]:
    """Return who said how much, the first of many."""
    shown = (Text("{name} ({count})", name=name, count=count) for name, count in [*people.items()][:_MOST_NAMED])
    rest = len(people) - _MOST_NAMED
    return (*shown, *([Text("{count} more", count=rest)] if rest > 0 else []))


@contextmanager
def _control() -> Iterator[Control]:
    """Yield what ends an import at a signal, and shows how far it is."""
    from ...storage.control import Control
    from ...storage.process import on_signals

    stop = threading.Event()
    on_signals(stop.set)
    with progress() as shown:
        yield Control(stop.is_set, shown)


def _show_clients(call: Call) -> None:
    """Show the clients of this machine that have logs, and how each is imported."""
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


def _told(done: Imported | Copied, zone: ZoneInfo, *, dry_run: bool) -> list[Text]:
    """Return in sentences what an import did."""
    from ...importing.notes import Copied

    sentences = _told_notes(done, dry_run=dry_run) if isinstance(done, Copied) else _told_talk(done, zone, dry_run=dry_run)
    if done.left_out:
        names = [*done.left_out[:_MOST_NAMED], *("…" for _ in done.left_out[_MOST_NAMED:][:1])]
        sentences.append(
            Text(
                "Left out: {count}. These are links, or their names lead elsewhere or can't be those of files: {names}",
                count=len(done.left_out),
                names=names,
            )
        )
    return sentences


def _told_notes(done: Copied, *, dry_run: bool) -> list[Text]:
    known = done.notes - done.copied - len(done.different) - len(done.too_large) - len(done.left_out)
    notes = (
        msgid("Notes {notes}: would be copied to {folder} {copied}, there already {known}.")
        if dry_run
        else msgid("Notes {notes}: copied to {folder} {copied}, there already {known}.")
    )
    sentences = [Text(notes, notes=done.notes, copied=done.copied, known=known, folder=done.folder)]
    sentences += [
        Text("{name} was not copied: another note has its name; rename one of them.", name=name) for name in done.different
    ]
    return sentences + [
        Text("{name} was not copied: notes of more than 20 MB are not searched.", name=name) for name in done.too_large
    ]


def _paths(what: str) -> list[Path]:
    """Return the logs of a client, or the path that was given; BadRequest where a client has none."""
    from ...importing.kinds import CLIENTS, LEFT, logs_of

    path = Path(what).expanduser()
    client = next((kind for kind in CLIENTS if kind.name == what), None)
    if path.exists() or (client is None and what not in LEFT):
        return [path]
    if client is None:
        raise BadRequest(
            "import",
            Text(
                "recalld no longer reads the logs of {client}, and what was imported stays; a package can bring a reader for them, docs/how-to/import-what-you-have.md",
                client=LEFT[what],
            ),
        )
    if paths := logs_of(client, os.environ):
        return paths
    no_logs = Text("{client} has kept no logs on this machine; give the path of a file or folder", client=client.label)
    raise BadRequest("import", no_logs)


def _tell_unread(call: Call, count: int, file: str | None) -> None:
    """Say how many entries could not be read, and which *file* names them."""
    named = msgid("Entries that could not be read: {count}; {file} names them.")
    call.say(Text(named if file else msgid("Entries that could not be read: {count}."), count=count, file=file), 0)


def _told_people(done: Imported) -> Text:
    """Return whose words are the owner's, or that this was not said."""
    if done.me:
        return Text("The words of {name} are kept as yours, but for what was in memory already.", name=done.me)
    return Text(
        "Each is kept by name: {people}. With `--me NAME` at the first import the words of that one are kept as yours.",
        people=_people(done.people),
    )


def _told_summaries(done: Imported) -> Text:
    """Return when the days of what was added are summarised."""
    if not done.calls:
        return Text("A running supervisor summarises them; without one, `recalld run --until-settled` does.")
    return Text(
        "The model will be asked for summaries: {calls}; days that takes by `llm.max_calls_per_day`: {days}.",
        calls=done.calls,
        days=done.days_of_calls,
    )


def _told_talk(done: Imported, zone: ZoneInfo, *, dry_run: bool) -> list[Text]:
    first, last = (f"{t.astimezone(zone):%Y-%m-%d}" if t else "-" for t in (done.first, done.last))
    counts = {name: _counted(name, getattr(done, name)) for name in ("messages", "conversations")}
    sentences = [
        Text("{kinds}: {messages} in {conversations}, {first} to {last}.", kinds=done.kinds, **counts, first=first, last=last)
    ]
    counts = {"added": _counted("messages", done.added), "days": _counted("days", done.days)}
    added = (
        msgid("New: {added}, on {days}. Without --dry-run they are added.")
        if dry_run
        else msgid("New, and in memory now: {added}, on {days}.")
    )
    sentences.append(Text(added if done.added or done.left else msgid("All of them are in memory already."), **counts))
    if done.left:
        sentences.append(
            Text(
                "Stopped before the end; not looked at yet: {count}. The same command goes on there, and adds nothing twice.",
                count=done.left,
            )
        )
    if done.people:
        sentences.append(_told_people(done))
    sentences += _told_rest(done)
    if done.calls or (done.added and not done.left and not dry_run):
        sentences.append(_told_summaries(done))
    return sentences


def _told_rest(done: Imported) -> list[Text]:
    """Return what became of entries that have no time, or are no talk, and of notes."""
    sentences: list[Text] = []
    if done.undated:
        sentences.append(
            Text("Messages without a time of their own: {count}; they got that of their neighbours.", count=done.undated)
        )
    if done.no_talk:
        kinds = [f"{kind} ({count})" for kind, count in [*done.no_talk.items()][:_MOST_NAMED]]
        sentences.append(
            Text(
                "Entries that are no talk, and were left out: {count}; {kinds}.", count=sum(done.no_talk.values()), kinds=kinds
            )
        )
    if done.notes:
        sentences.append(
            Text(
                "Markdown notes in it that were not copied: {count}; a source of recalld.toml takes them, too.",
                count=done.notes,
            )
        )
    return sentences


def _counted(what: str, count: int) -> Text:
    return Text((_ONE if count == 1 else _MANY)[what], count=count)
