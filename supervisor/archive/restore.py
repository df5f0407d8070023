"""
Restore a damaged or lost history.json, and take in the messages of another version of it (docs/reference/protocol.md, 5).

Nothing is overwritten before it has a copy. Whether the file counts as damaged is decided by `history`; when
to restore it, by the service.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from ..protocol.backup_file import is_tar
from ..protocol.config_keys import Archive
from ..protocol.message import History, Key, Message, read_message
from ..storage.errors import BadFile, BadRequest
from ..storage.lenient_json import not_utf8, recover
from ..storage.texts import Text
from .append import Stores
from .history import HistoryStore
from .identity import add_messages, assign_ids, renumbered
from .journal import SeenJournal
from .quarantine import Quarantine, Unread, unread_of


def keep_damaged(history: HistoryStore, quarantine: Quarantine) -> bool:
    """Keep a copy of a history.json that can't be read, once per content; return whether there is one, or no file at all."""
    version = history.version()
    return version is None or quarantine.keep("history.json", version.data) != "full"


def restore_history(ws: Stores, now: datetime) -> int:
    """
    Restore a damaged or lost history.json from its backup, the journal, and the messages that are whole in it.

    Returns how many messages it has now; 0 when it can be read, when the damaged file can't be kept, or when there is no
    message anywhere. What can't be read of it is recorded.
    """
    history, journal, quarantine, settings = ws.history, ws.journal, ws.quarantine, ws.config.archive
    with history.lock():
        version = history.version()
        try:
            history.read()
        except BadFile as error:
            why = error.why
        else:
            return 0
        is_kept = keep_damaged(history, quarantine)
        ws.events.transition("quarantine_full", not is_kept)
        if not is_kept:
            return 0
        backup = history.backup()
        messages = _known_messages(backup, journal, settings, now)
        entries = _entries(version.data if version else b"", journal, settings, now)
        messages = _with_missing(messages, entries, journal, settings, now)
        if version and not messages:
            return 0
        missed = unread_of(quarantine.name_of("history.json", version.data), version.data, messages) if version else None
        if missed:
            ws.unread.add(missed)
        journal.record_changed(backup, messages)
        history.overwrite(messages, version)
    counts = {"unread": missed.messages, "bytes": missed.bytes, "kept": missed.name} if missed else {}
    ws.events.emit("history_restored", messages=len(messages), why=why, **counts)
    return len(messages)


def add_missing(ws: Stores, source: Path, now: datetime) -> tuple[int, Unread | None]:
    """
    Add to history.json the messages of *source*, a copy of it, that are nowhere else; returns how many, and what was not read.

    BadRequest when it does not exist, or holds no message.
    """
    history, journal, settings = ws.history, ws.journal, ws.config.archive
    version = ws.files.read_stable(source)
    if version is None:
        raise BadRequest("--from", Text("{path} does not exist; check the path", path=source))
    if is_tar(version.data):
        raise BadRequest(
            "--from",
            Text(
                "{path} is a backup of a whole workspace, no copy of history.json; `recalld backup restore FILE --into DIR` unpacks it",
                path=source,
            ),
        )
    recovered = recover(version.data)
    if not recovered.elements:
        raise BadRequest("--from", not_utf8(version.data) or Text("{path} holds no array of messages", path=source))
    journal.refresh()
    entries = _entries(version.data, journal, settings, now)

    def recorded(present: History) -> History:
        after = _with_missing(present, entries, journal, settings, now)
        journal.record_changed(present, after)
        return after

    before = len(history.read())
    after = history.change(recorded)
    return len(after) - before, unread_of(str(source), version.data, after)


def _known_messages(backup: History, journal: SeenJournal, settings: Archive, now: datetime) -> History:
    """Return the messages of the backup, and the un-written messages of the journal that the backup lacks."""
    journal.refresh()
    messages = assign_ids(backup, journal.known, now, settings.future_limit)  # the backup may be older than the ids
    held = {*_first_keys(messages, journal).values()}
    return messages + tuple(journal.original(message) for key, message in journal.unwritten.items() if key not in held)


def _with_missing(present: History, entries: History, journal: SeenJournal, settings: Archive, now: datetime) -> History:
    present = assign_ids(present, journal.known, now, settings.future_limit)  # a program may have stripped it of its ids
    held = {*_first_keys(present, journal).values()}
    first = _first_keys(entries, journal)
    messages = [entry for entry in entries if isinstance(entry, Message)]
    return add_messages(present, messages, lambda key: first[key] in held or first[key] in journal.written)


def _first_keys(history: History, journal: SeenJournal) -> dict[Key, Key]:
    """Return by the key of each message the one that the journal knows it by: a program may have given it another number."""
    first = renumbered(history, journal.known)
    return {entry.key: first.get(entry.key, entry.key) for entry in history if isinstance(entry, Message)}


def _entries(data: bytes, journal: SeenJournal, settings: Archive, now: datetime) -> History:
    entries = tuple(read_message(raw, settings.zone) for raw in recover(data).elements)
    return assign_ids(entries, journal.known, now, settings.future_limit)
