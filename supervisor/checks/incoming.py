"""The checks of what comes in: history.json, inbox.json, and the drop-box."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from shlex import quote
from typing import Final

from ..archive.quarantine import Unread
from ..protocol.inbox import count_unread
from ..protocol.message import InvalidEntry
from ..storage.lenient_json import not_utf8
from ..storage.texts import Text
from ..text.foreign_text import printable
from .check import Faults, Look, bad

#: How long a message may wait when no supervisor runs: some use recalld by a daily `run --until-settled`.
LONGEST_WAIT: Final = timedelta(days=1)
#: The time within which a program that writes in the drop-box itself gives its file the name that it is to have.
_WRITTEN_IN: Final = timedelta(minutes=1)


def newer_format(look: Look) -> Faults:
    """Raise NewerFormat if a newer recalld has written to the workspace."""
    look.ws.journal.refresh()
    look.ws.memory.summaries()
    yield from ()


def history(look: Look) -> Faults:
    """Yield why history.json can't be read."""
    if look.no_history:
        version = look.ws.files.read_stable(look.ws.paths.history)
        why = not_utf8(version.data, look.ws.paths.history) if version else None
        yield bad(
            "history.json can't be read: {why}; `recalld restore` puts it together again.", why=why or look.no_history.why
        )


def unread(look: Look) -> Faults:
    """Yield the unread parts of damaged histories, until a person has dealt with them."""
    for piece in look.ws.unread.read():
        yield bad(why_unread(piece, look.ws.unread.path_of(piece)))


def forgetting(look: Look) -> Faults:
    """Yield how much a forgetting has still to take out, after it was interrupted."""
    if count := sum(sum(act.counts.values()) for act in look.ws.journal.tombstones.unfinished()):
        yield bad(
            "something is still to be forgotten ({count}): the next round goes on with it, or `recalld run --until-settled`",
            count=count,
        )


def inbox(look: Look) -> Faults:
    """Yield that inbox.json is no JSON, so that nothing in it is read, or what in it is no input."""
    version = look.ws.files.read_stable(look.ws.paths.inbox)
    try:
        count = count_unread(version.data if version else b"[]", look.ws.zone)
    except ValueError:
        yield bad("inbox.json is no JSON, so what waits in it is not read; mend the file, or delete it.")
        return
    if count:
        yield bad(
            "entries of inbox.json without words are answered by nobody ({count}); give them a `text`, or delete them.",
            count=count,
        )


def why_unread(piece: Unread, kept: Path) -> Text:
    """Return how much of a file could not be read, where the file is kept, and the command that mends it."""
    path = piece.name if "/" in piece.name else f".recalld/quarantine/{piece.name}"
    fields = {"count": piece.messages, "bytes": piece.bytes, "path": path, "name": piece.name}
    if not piece.encoding:
        return Text(
            "messages of a damaged history.json could not be read (about {count}, {bytes} bytes); they are kept in {path}: mend a copy of it and `recalld restore --give-up {name} --from` that copy, or leave `--from` out if nothing in it is wanted.",
            **fields,
        )
    command = f"iconv -f {piece.encoding} -t UTF-8 {quote(str(kept))} > mended.json"
    return Text(
        "messages of a damaged history.json could not be read (about {count}, {bytes} bytes), since it is {encoding}, not UTF-8; they are kept in {path}: `{command}`, then `recalld restore --give-up {name} --from mended.json`, or leave `--from` out if nothing in it is wanted.",
        **fields,
        encoding=piece.encoding,
        command=command,
    )


def dropped(look: Look) -> Faults:
    """Yield the first file of the drop-box whose messages can't be read."""
    why = {**look.dropped[1]}
    for path, stat in look.ws.drop_box.misnamed():
        if look.now - datetime.fromtimestamp(stat.mtime_ns / 1e9, UTC) > _WRITTEN_IN:
            why[path.name] = Text("its name does not end in .json")
    for name in sorted(why)[:1]:
        yield bad(
            "files of inbox.d/new are not understood and are not taken in ({count}), the first is {name}: {why}; correct it, or delete it.",
            count=len(why),
            name=printable(name),
            why=why[name],
        )


def waiting(look: Look) -> Faults:
    """Yield a fault if messages have waited too long for their dated file."""
    oldest = min((entry.created_at for entry in look.waiting if entry.created_at), default=look.now)
    if look.is_running or look.now - oldest <= LONGEST_WAIT:
        return
    if look.unseen:
        yield bad(
            "no supervisor has looked at new messages ({count}), the oldest of {time}; start one with `recalld run`.",
            count=len(look.unseen),
            time=look.local_time(oldest),
        )
    else:
        yield bad(
            "messages wait to be written since {time}, and no supervisor runs; start one with `recalld run`.",
            time=look.local_time(oldest),
        )


def entries(look: Look) -> Faults:
    """Yield the first entry of history.json that is not a message."""
    invalid = [(n, entry.why) for n, entry in enumerate(look.history, 1) if isinstance(entry, InvalidEntry)]
    for number, why in invalid[:1]:
        yield bad(
            "entries of history.json can't be filed ({count}), the first is entry {number}: {why}; correct or delete them, `recalld fsck` counts what is left.",
            count=len(invalid),
            number=number,
            why=why,
        )
