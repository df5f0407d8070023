"""
The drop-box, inbox.d/new: files that another program left there become messages of history.json (docs/protocol.md, 2).

The first look: what has come, by whatever door, gets a name, is remembered, and is found again if another program loses it.

Doors are history.json itself and the drop-box inbox.d/new. Source: docs/protocol.md, 2 (Identity) and 5.
"""

from __future__ import annotations

import hashlib
import stat as modes
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from supervisor.archive.identity import assign_ids, contains_message, reinsert_lost
from supervisor.protocol.clock import local_day
from supervisor.protocol.errors import ErrorCollector
from supervisor.protocol.lenient_json import parse_json, render_json
from supervisor.protocol.message import Archived, History, InvalidEntry, Key, Message, read_message, with_id, with_timestamp
from supervisor.protocol.paths import is_foreign

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from supervisor.archive.coverage import MemoryFile
    from supervisor.workspace import Workspace


def empty_drop_box(ws: Workspace, boxed: dict[Path, list[Key]]) -> None:
    """Append to history what was dropped; *boxed* gets each file that is in history now, and may go, with its messages."""
    each = ErrorCollector()
    for name in ws.files.disk.names(ws.paths.drop_box):
        stat = ws.files.disk.stat(ws.paths.drop_box / name)
        if name.endswith(".json") and not is_foreign(name) and stat and modes.S_ISREG(stat.mode):
            with each:
                _take_file(ws, name, boxed)
    each.raise_first()


def _take_file(ws: Workspace, name: str, boxed: dict[Path, list[Key]]) -> None:
    """Take in one finished file; a copy of one that can't be understood goes to quarantine, and it stays where it is."""
    path = ws.paths.drop_box / name
    look = ws.files.read_stable(path)
    if look is None:
        return
    try:
        messages = _dropped(ws, name, look.data, datetime.fromtimestamp(look.stat.mtime_ns / 1e9, UTC))
    except ValueError as error:
        if ws.quarantine.keep("dropped", look.data) == "new":
            ws.events.emit("file_quarantined", file=ws.paths.relative(path), why=str(error))
        return
    _take_in(ws, messages)
    boxed[path] = [message.key for message in messages]


def _take_in(ws: Workspace, messages: Sequence[Message]) -> None:
    """Append what is not known yet: harmless when a crash repeats it."""

    def grow(history: History) -> History:
        keys = {entry.key for entry in history if isinstance(entry, Message)} | ws.journal.unwritten.keys()
        new = tuple(m for m in messages if m.key not in keys and ws.journal.file_of(m.key) is None)
        return history + new if new else history

    ws.history.change(grow)


def _dropped(ws: Workspace, name: str, data: bytes, made_at: datetime) -> list[Message]:
    """Return the messages of a drop-box file: one object, or an array of them; ValueError when it is neither."""
    raw = parse_json(data)
    found = []
    for n, one in enumerate(raw if isinstance(raw, list) else [raw]):
        entry = read_message(one, ws.zone)
        if isinstance(entry, InvalidEntry):
            raise ValueError(entry.why)  # noqa: TRY004 - every fault of the file is one kind
        if not entry.id:
            # from the file, not from the clock: taken in twice it is still the same message
            digest = hashlib.sha256(f"{name}\n{n}\n".encode() + data).hexdigest()
            entry = with_id(entry, f"m-{digest[:16]}")
        found.append(entry if entry.created_at else with_timestamp(entry, made_at))
    return found


def intake(ws: Workspace, now: datetime) -> int:
    """Meet what is new; returns how many messages were."""
    # gather
    each = ErrorCollector()
    know_written(ws)
    boxed: dict[Path, list[Key]] = {}
    with each:
        empty_drop_box(ws, boxed)
    history = ws.history.read()
    _know_twins(ws, history)
    # decide and apply: names first, since everything else goes by them
    name = partial(assign_ids, known=ws.journal.known, now=now, future=ws.config.archive.future_limit)
    if name(history) is not history:
        history = ws.history.change(name)
    if ws.should_stop():
        return 0
    _set_odd_aside(ws, history)
    fresh = _fresh(ws, history)
    adopted = _adopt(ws, [message for message in fresh if message.archived is Archived.YES])
    unwritten = [message for message in fresh if message.key not in adopted]
    ws.journal.saw(unwritten)
    for path, keys in boxed.items():
        # not before the journal has the words: a program that rewrites history.json could lose them in between
        if all(key in ws.journal.unwritten or ws.journal.file_of(key) for key in keys):
            with each:
                ws.files.remove(path)
    if ws.should_stop():
        return len(fresh)
    _put_back(ws)
    ws.journal.looked(ws.history.read())
    if fresh:
        ws.events.emit("seen", messages=len(fresh), written_elsewhere=len(adopted))
    each.raise_first()
    return len(fresh)


def know_written(ws: Workspace) -> Sequence[MemoryFile]:
    """Let the journal know of every dated file; gives them. OSError when it can't: then nobody can tell what is un-written."""
    if ws.journal.is_doubtful:
        compact_journal(ws)
    ws.files.ensure_durable(ws.paths.seen)
    ws.journal.refresh()
    files = ws.memory.dated()
    _reconcile(ws, files)
    return files


def compact_journal(ws: Workspace) -> None:
    """Write the journal anew, as short as it can be."""
    with ws.files.lock(ws.paths.history_lock):
        ws.journal.compact()


def unwritten(ws: Workspace, history: History) -> list[Message]:
    """Return the messages whose words stand in no dated file, oldest first; lost ones come from the journal's copy."""
    here = [e for e in history if isinstance(e, Message) and e.id and ws.journal.file_of(e.key) is None]
    ids = {entry.id for entry in history if isinstance(entry, Message)}
    lost = [m for key, m in ws.journal.unwritten.items() if key in ws.journal.back and m.id not in ids]
    return lost + here


def _reconcile(ws: Workspace, files: Sequence[MemoryFile]) -> None:
    """Tell the journal of dated files that it does not know: a crash fell between the two, or it was deleted."""
    unknown = [file.name for file in files if file.ours and file.name not in ws.journal.names]
    ws.memory.ensure_names_durable(unknown)
    for name in unknown:
        ws.journal.wrote(name, ws.memory.blocks(name))


def _fresh(ws: Workspace, history: History) -> list[Message]:
    """Return the messages whose words were never met; of one that an assistant is still writing, the newest text."""
    found: dict[Key, Message] = {}
    for entry in history:
        if isinstance(entry, Message) and ws.journal.file_of(entry.key) is None and entry.key not in ws.journal.unwritten:
            found.setdefault(entry.key, entry)
    return list(found.values())


def _know_twins(ws: Workspace, history: History) -> None:
    """Take words that were first met without an id, and now come with one and the same time, as the same message."""
    ids = {entry.id for entry in history if isinstance(entry, Message)}
    for message in _fresh(ws, history):
        if not message.id or "createdAt" not in message.raw or message.created_at is None:
            continue
        twins = [known for base in message.bases for known in ws.journal.known.by_base.get(base, ())]
        twin = next((t for t in twins if t.startswith("m-") and t not in ids and not ws.journal.knows(message.id)), None)
        if twin is None:
            continue
        key = (twin, message.words)
        file = ws.journal.file_of(key)
        if file:
            ws.journal.adopted(file, [message])
        elif key in ws.journal.unwritten:
            ws.journal.drop([key])


def _adopt(ws: Workspace, archived: Sequence[Message]) -> set[Key]:
    """Take as written what another program had flagged `true` and filed in a note of the message's day; decided once."""
    found: set[Key] = set()
    if not archived:
        return found
    notes = [file for file in ws.memory.dated() if not file.ours]
    for note in notes:
        of_day = [m for m in archived if m.created_at and local_day(m.created_at, ws.zone) == note.day]
        text = ws.memory.text(note.name) if of_day else ""
        held = [message for message in of_day if message.key not in found and contains_message(message.text, text)]
        if held:
            ws.memory.ensure_durable(note.name)
            ws.journal.adopted(note.name, held)
            found.update(message.key for message in held)
    return found


def _put_back(ws: Workspace) -> None:
    """Put un-written words back that another program's rewrite has lost, once; forget those that newer words replaced."""
    history = ws.history.read()  # after the journal was: who adds a message writes to history.json first
    if _lacks_ids(history):
        return  # a writer has just stripped the ids: what seems lost may be there under none, and is named in the next round
    keys = {entry.key for entry in history if isinstance(entry, Message)}
    ids = {identity for identity, _ in keys}
    gone = [key for key in ws.journal.unwritten if key not in keys]
    ws.journal.drop([key for key in gone if key[0] in ids])
    lost = [key for key in gone if key[0] not in ids and key not in ws.journal.back]
    if not lost:
        return
    ws.journal.note_reinserted(lost)
    messages = [ws.journal.unwritten[key] for key in lost]
    ws.history.change(lambda now: now if _lacks_ids(now) else reinsert_lost(now, messages, ws.journal.known.ids))
    ws.events.emit("put_back", messages=len(lost), ids=[identity for identity, _ in lost[:20]])


def _lacks_ids(history: History) -> bool:
    return any(isinstance(entry, Message) and not entry.id for entry in history)


def _set_odd_aside(ws: Workspace, history: History) -> None:
    for entry in history:
        if isinstance(entry, InvalidEntry) and ws.quarantine.keep("message", render_json(entry.raw), times=10) == "new":
            ws.events.emit("message_odd", why=entry.why)
