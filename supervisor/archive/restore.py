"""
Restore a damaged or lost history.json, and keep a copy of everything that could not be read (docs/reference/protocol.md, 5).

Nothing is overwritten before `.recalld/quarantine/` holds a copy of it. Whether the file counts as damaged is decided by
`history`; when to restore it, by the service.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from supervisor.archive.identity import assign_ids
from supervisor.protocol.errors import BadFile, BadRequest, NotFound
from supervisor.protocol.files import digest_of
from supervisor.protocol.lenient_json import recover_prefix
from supervisor.protocol.message import Message, read_message

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from supervisor.archive.history import HistoryStore
    from supervisor.archive.journal import SeenJournal
    from supervisor.events import Events
    from supervisor.protocol.config_keys import Archive
    from supervisor.protocol.files import Files
    from supervisor.protocol.message import History

#: Whether the quarantine has a copy: a new one, an earlier one, or none because it holds as many as it may.
Kept: TypeAlias = Literal["new", "known", "full"]


class Quarantine:
    """
    The copies in *folder*, at most *limit* of one kind, so that a fault that never ends can't fill the disk.

    A copy is named by its content, `history.json.<12 hex digits>`, so that the same bytes are kept once.
    """

    def __init__(self, files: Files, folder: Path, limit: int) -> None:
        self._files = files
        self._folder = folder
        self._limit = limit

    def keep(self, kind: str, data: bytes, times: int = 1) -> Kept:
        """Keep a copy of *data*, durably; of this kind there may be *times* the limit."""
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


def keep_damaged(history: HistoryStore, quarantine: Quarantine) -> bool:
    """Keep a copy of a history.json that can't be read, once per content; tell whether there is one, or no file at all."""
    version = history.version()
    return version is None or quarantine.keep("history.json", version.data) != "full"


def restore_history(
    *,
    history: HistoryStore,
    journal: SeenJournal,
    quarantine: Quarantine,
    settings: Archive,
    events: Events,
    now: datetime,
    unknown: bool = False,
) -> int:
    """
    Restore a damaged or lost history.json from its backup, the journal, and the messages before the damage.

    Returns how many messages it has now; 0 when it can be read, when the quarantine has no room for the damaged bytes, or when
    neither backup nor journal has a message. With *unknown*, the messages before the damage are enough.
    """
    with history.lock():
        version = history.version()
        try:
            history.read()
        except BadFile as error:
            why = error.why
        else:
            return 0
        is_kept = keep_damaged(history, quarantine)
        events.transition("quarantine_full", not is_kept)
        if not is_kept:
            return 0
        messages = _known_messages(history, journal, settings, now)
        if version and not messages and not unknown:
            return 0
        messages += _missing(version.data if version else b"", messages, journal, settings, now)
        if version and not messages:
            return 0
        history.overwrite(messages, version)
    events.emit("history_restored", messages=len(messages), why=why)
    return len(messages)


def add_missing(
    source: Path, *, files: Files, history: HistoryStore, journal: SeenJournal, settings: Archive, now: datetime
) -> int:
    """
    Add to history.json the messages of *source*, a copy of it, that are nowhere else; returns how many.

    Of a damaged copy the messages before the damage are used. NotFound when it does not exist, BadRequest when it is empty.
    """
    version = files.read_stable(source)
    if version is None:
        raise NotFound(source)
    if not recover_prefix(version.data):
        raise BadRequest("--from", f"{source} holds no array of messages")
    journal.refresh()
    before = history.read()
    after = history.change(lambda messages: messages + _missing(version.data, messages, journal, settings, now))
    return len(after) - len(before)


def _known_messages(history: HistoryStore, journal: SeenJournal, settings: Archive, now: datetime) -> History:
    """Return the messages of the backup, and the un-written messages of the journal that the backup lacks."""
    backup = history.backup()
    journal.refresh()
    messages = assign_ids(backup, journal.known, now, settings.future_limit)  # the backup may be older than the ids
    keys = {entry.key for entry in messages if isinstance(entry, Message)}
    return messages + tuple(message for key, message in journal.unwritten.items() if key not in keys)


def _missing(data: bytes, present: History, journal: SeenJournal, settings: Archive, now: datetime) -> History:
    """Return the messages of *data*, up to its damage, that are neither *present* nor in a dated file."""
    keys = {entry.key for entry in present if isinstance(entry, Message)}
    entries = tuple(read_message(raw, settings.zone) for raw in recover_prefix(data))
    entries = assign_ids(entries, journal.known, now, settings.future_limit)
    return tuple(e for e in entries if isinstance(e, Message) and e.key not in keys and journal.file_of(e.key) is None)
