"""
Puts the messages of a source in the order of their times, however many they are, in a database that the disk holds.

The database is a file without a name: no other program can open it, and it is gone with the process, however that ends.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from ..context.spoken import spoken
from ..protocol.message import digest_of_text
from ..storage.clock import to_wire, wire_time
from ..storage.lenient_json import parse_json, render_json
from .talk import Conversation, Said, Talk

#: Characters of a message; what is longer is a file that was pasted, and is cut with an ellipsis.
_MOST_CHARS: Final = 1_000_000
#: A message without a time gets that of the one before it in its conversation, which has one by then, else of the next.
_DATE: Final = """
    UPDATE said SET at = coalesce(
        (SELECT at FROM said AS near WHERE near.of = said.of AND near.rowid < said.rowid AND +near.at IS NOT NULL ORDER BY rowid DESC),
        (SELECT at FROM said AS near WHERE near.of = said.of AND near.rowid > said.rowid AND +near.at IS NOT NULL ORDER BY rowid),
        ?
    ) WHERE at IS NULL
"""


class Staging:
    """
    The messages of one source, each once, oldest first, in a file in *folder*: /tmp may be memory; it is for a read-only one.

    A message without a time, or with one after *latest*, gets that of the message before it in its conversation, else of the
    one behind it; if a conversation has none at all, *otherwise*. `undated` counts them. `names` counts the messages of each
    speaker with a name; the one whose name is `me` is the owner, whose messages have none.
    """

    def __init__(self, folder: Path, latest: datetime, otherwise: datetime) -> None:
        try:
            with tempfile.NamedTemporaryFile(dir=folder if os.access(folder, os.W_OK) else None) as file:
                self._folder = os.path.dirname(file.name)
                self._database = sqlite3.connect(file.name, isolation_level=None)  # by its name, which goes at once
        except OSError as error:
            raise OSError(error.errno, error.strerror, os.path.dirname(error.filename or "") or str(folder)) from error
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("PRAGMA cache_size = -16000")
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.execute("CREATE TABLE said (at TEXT, of INTEGER, id TEXT, digest TEXT, raw BLOB, UNIQUE (id, digest))")
        self._database.execute("CREATE INDEX in_time ON said (at, of)")
        self._database.execute("CREATE INDEX in_conversation ON said (of)")
        self._latest, self._otherwise = latest, otherwise
        self.conversations: dict[Conversation, int] = {}
        self.undated = 0
        self.names: Counter[str] = Counter()
        self.me = ""

    def close(self) -> None:
        """Delete the messages."""
        self._database.close()

    def add(self, talk: Talk) -> None:
        """Take in all messages of *talk*; OSError where the disk is full."""
        try:
            self._database.execute("BEGIN")
            for conversation, entry in talk:
                self._put(conversation, entry)
            self.undated += self._database.execute(_DATE, [to_wire(self._otherwise)]).rowcount
            self._database.execute("COMMIT")
        except sqlite3.Error as error:  # those of what is read are not meant: a reader turns them into NotImported
            full = error.sqlite_errorcode == sqlite3.SQLITE_FULL
            number = errno.ENOSPC if full else errno.EIO
            raise OSError(number, os.strerror(number), self._folder) from error

    def _put(self, conversation: Conversation, entry: Said) -> None:
        text, raw, is_dated = entry.text, entry.raw, entry.at is not None
        if raw is None:
            text = spoken(text)
            text = text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}…"
            if not text:
                return
            title = "" if conversation in self.conversations else conversation.title  # once, in its first message
            raw = _raw(entry, text, replace(conversation, title=title))
            is_dated = entry.at is not None and entry.at <= self._latest
        of = self.conversations.setdefault(conversation, len(self.conversations))
        at, key = to_wire(entry.at) if entry.at and is_dated else None, (entry.id or None, digest_of_text(text))
        # a session that was resumed is in two logs
        if not self._database.execute(
            "INSERT OR IGNORE INTO said VALUES (?, ?, ?, ?, ?)", (at, of, *key, render_json(raw))
        ).rowcount:
            self._database.execute("UPDATE said SET at = ? WHERE at IS NULL AND id = ? AND digest = ?", (at, *key))
        elif entry.name:
            self.names[entry.name] += 1

    def messages(self) -> Iterator[dict[str, Any]]:
        """Yield the messages as history.json has them, oldest first; those of one moment in the order of their log."""
        for at, raw in self._database.execute("SELECT at, raw FROM said ORDER BY at, of, rowid"):
            raw_message = parse_json(raw) | {"createdAt": at}
            if self.me and raw_message.get("name") == self.me:
                del raw_message["name"]
            yield raw_message

    def span(self) -> tuple[datetime | None, datetime | None]:
        """Return the times of the oldest and of the newest message; None without messages."""
        first, last = self._database.execute("SELECT min(at), max(at) FROM said").fetchone()
        return wire_time(first), wire_time(last)

    def has(self, identity: str) -> bool:
        """Return whether one of the messages has this id."""
        return self._database.execute("SELECT 1 FROM said WHERE id = ? LIMIT 1", (identity,)).fetchone() is not None

    def count(self) -> int:
        """Return how many messages there are."""
        return int(self._database.execute("SELECT count(*) FROM said").fetchone()[0])


def _raw(entry: Said, text: str, conversation: Conversation) -> dict[str, Any]:
    raw = {"id": entry.id, "role": entry.role, "text": text, "channel": conversation.channel, "session": conversation.id}
    raw |= {"chat": conversation.chat, "name": entry.name, "project": conversation.project, "title": conversation.title}
    return {field: value for field, value in raw.items() if value}
