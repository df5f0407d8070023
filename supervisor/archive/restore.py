"""
`.recalld/quarantine/`: a copy of what could not be read, before anything is done about it.

A copy is named by its content, `history.json.<12 hex digits>`, so that what is met again and again is kept once; and of each
kind there are a few at most, so that a fault that never ends can't fill the disk (H31).

Settling, each round and after a crash: flags follow the evidence of the files, and what a crash left is tidied up.

No plan has to be remembered (docs/protocol.md, 3, Settling; holes.md A8 to A10, B9).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from supervisor.archive.identity import assign_ids
from supervisor.protocol.errors import BadFile, BadRequest, NotFound
from supervisor.protocol.files import digest_of
from supervisor.protocol.lenient_json import recover_prefix
from supervisor.protocol.message import Message, parse_history, read_message, render_history

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from supervisor.protocol.files import Files
    from supervisor.protocol.message import History
    from supervisor.workspace import Workspace

#: Whether there is a copy now: of this call, of an earlier one, or none, since there are as many as there may be.
Kept: TypeAlias = Literal["new", "known", "full"]


class Quarantine:
    """The copies in *folder*, at most *limit* of one kind."""

    def __init__(self, files: Files, folder: Path, limit: int) -> None:
        self._files = files
        self._folder = folder
        self._limit = limit

    def keep(self, kind: str, data: bytes, times: int = 1) -> Kept:
        """Keep a copy of *data*, durably, with up to *times* as many of this kind."""
        self._files.make_folder(self._folder, lasting=True)
        path = self._folder / f"{kind}.{digest_of(data)[:12]}"
        names = [name for name in self._files.disk.names(self._folder) if name.startswith(f"{kind}.")]
        if path.name in names:
            self._files.ensure_durable(path)
            return "known"
        if len(names) >= self._limit * times:
            return "full"
        self._files.create(path, data)
        return "new"


def keep_damaged(ws: Workspace) -> bool:
    """Keep a copy of a history.json that can't be read, once per content; tell whether there is one."""
    look = ws.files.read_stable(ws.paths.history)
    return look is None or ws.quarantine.keep("history.json", look.data) != "full"


def restore_history(ws: Workspace, now: datetime, *, unknown: bool = False) -> int:
    """
    Put a damaged or lost history.json together again, from its backup, the journal, and what stands before the damage.

    The damaged bytes go to quarantine first. Returns how many messages it has now; nothing happens when it can be read, nor
    where neither backup nor journal knows anything of it, unless *unknown*.
    """
    path = ws.paths.history
    with ws.files.lock(ws.paths.history_lock):
        look = ws.files.read_stable(path)
        try:
            ws.history.read()
        except BadFile as error:
            why = error.why
        else:
            return 0
        kept = keep_damaged(ws)
        ws.events.transition("quarantine_full", not kept)
        if not kept:
            return 0  # the quarantine is full: no byte goes that has no copy
        history = _known_history(ws, now)
        if look and not history and not unknown:
            return 0  # nothing is known that could stand in its place
        history += _saved(ws, look.data if look else b"", history, now)
        if look and not history:
            return 0
        ws.files.replace(path, render_history(history), look)
    ws.events.emit("history_restored", messages=len(history), why=why)
    return len(history)


def add_missing(ws: Workspace, source: Path, now: datetime) -> int:
    """
    Add to history.json what the copy *source* of it has and what stands nowhere else; returns how many messages.

    A copy that is damaged gives what stands before the damage. NotFound where there is none, BadRequest where it holds nothing.
    """
    look = ws.files.read_stable(source)
    if look is None:
        raise NotFound(source)
    if not recover_prefix(look.data):
        raise BadRequest("--from", f"{source} holds no array of messages")
    ws.journal.refresh()
    before = ws.history.read()
    after = ws.history.change(lambda history: history + _saved(ws, look.data, history, now))
    return len(after) - len(before)


def _known_history(ws: Workspace, now: datetime) -> History:
    """Return the backup, and the un-written words that the journal holds beside it."""
    backup = ws.files.read_stable(ws.paths.history_backup)
    try:
        history: History = parse_history(backup.data, ws.zone) if backup else ()
    except ValueError:
        history = ()
    ws.journal.refresh()
    history = _named(ws, history, now)  # it may be older than the ids
    keys = {entry.key for entry in history if isinstance(entry, Message)}
    return history + tuple(message for key, message in ws.journal.unwritten.items() if key not in keys)


def _saved(ws: Workspace, damaged: bytes, history: History, now: datetime) -> History:
    """Return the messages that stand before the damage and whose words are neither in *history* nor in a dated file."""
    keys = {entry.key for entry in history if isinstance(entry, Message)}
    found = _named(ws, tuple(read_message(raw, ws.zone) for raw in recover_prefix(damaged)), now)
    return tuple(e for e in found if isinstance(e, Message) and e.key not in keys and ws.journal.file_of(e.key) is None)


def _named(ws: Workspace, history: History, now: datetime) -> History:
    return assign_ids(history, ws.journal.known, now, ws.config.archive.future_limit)
