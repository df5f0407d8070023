"""The drop-box, inbox.d/new: files that another program left there become messages of history.json (docs/protocol.md, 2)."""

from __future__ import annotations

import hashlib
import stat as modes
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from supervisor.protocol.errors import OneByOne
from supervisor.protocol.json_text import parse_json
from supervisor.protocol.layout import is_foreign
from supervisor.protocol.message import History, Key, Message, Odd, dated, named, read_message

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from supervisor.workspace import Workspace


def empty_drop_box(ws: Workspace, boxed: dict[Path, list[Key]]) -> None:
    """Append to history what was dropped; *boxed* gets each file that is in history now, and may go, with its messages."""
    each = OneByOne()
    for name in ws.files.disk.names(ws.layout.drop_box):
        stat = ws.files.disk.stat(ws.layout.drop_box / name)
        if name.endswith(".json") and not is_foreign(name) and stat and modes.S_ISREG(stat.mode):
            with each:
                _take_file(ws, name, boxed)
    each.raise_first()


def _take_file(ws: Workspace, name: str, boxed: dict[Path, list[Key]]) -> None:
    """Take in one finished file; a copy of one that can't be understood goes to quarantine, and it stays where it is."""
    path = ws.layout.drop_box / name
    look = ws.files.look(path)
    if look is None:
        return
    try:
        messages = _dropped(ws, name, look.data, datetime.fromtimestamp(look.stat.mtime_ns / 1e9, UTC))
    except ValueError as error:
        if ws.quarantine.keep("dropped", look.data) == "new":
            ws.events.emit("file_quarantined", file=ws.layout.relative(path), why=str(error))
        return
    _take_in(ws, messages)
    boxed[path] = [message.key for message in messages]


def _take_in(ws: Workspace, messages: Sequence[Message]) -> None:
    """Append what is not known yet: harmless when a crash repeats it."""

    def grow(history: History) -> History:
        keys = {entry.key for entry in history if isinstance(entry, Message)} | ws.seen.unwritten.keys()
        new = tuple(m for m in messages if m.key not in keys and ws.seen.file_of(m.key) is None)
        return history + new if new else history

    ws.history.change(grow)


def _dropped(ws: Workspace, name: str, data: bytes, made_at: datetime) -> list[Message]:
    """Return the messages of a drop-box file: one object, or an array of them; ValueError when it is neither."""
    raw = parse_json(data)
    found = []
    for n, one in enumerate(raw if isinstance(raw, list) else [raw]):
        entry = read_message(one, ws.zone)
        if isinstance(entry, Odd):
            raise ValueError(entry.why)  # noqa: TRY004 - every fault of the file is one kind
        if not entry.id:
            # from the file, not from the clock: taken in twice it is still the same message
            digest = hashlib.sha256(f"{name}\n{n}\n".encode() + data).hexdigest()
            entry = named(entry, f"m-{digest[:16]}")
        found.append(entry if entry.created_at else dated(entry, made_at))
    return found
