"""
Puts the messages of a source in the order of their times, however many they are, in a database that the disk holds.

The database is SQLite's own temporary file: no other program can open it, and it is gone with the process, however that ends.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from ..context.spoken import spoken
from ..protocol.message import digest_of_text
from ..storage.clock import to_wire
from ..storage.lenient_json import parse_json, render_json

if TYPE_CHECKING:
    from .talk import Conversation, Said, Talk

#: Characters of a message; what is longer is a file that was pasted, and is cut with an ellipsis.
_MOST_CHARS: Final = 1_000_000
_MS: Final = timedelta(milliseconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
#: In place of a time: the first messages of a conversation get that of the first that has one. No time is before 2000.
_WAITS: Final = -1


class Staging:
    """
    The messages of one source, each once, oldest first; *folder* is where SQLite puts its temporary file.

    A message without a time, or with one after *latest*, gets that of the message before it in its conversation, else of the
    one behind it; if a conversation has none at all, *otherwise*. `undated` counts them. `names` counts the messages of each
    speaker with a name; the one whose name is `me` is the owner, whose messages have none.
    """

    def __init__(self, folder: Path, latest: datetime, otherwise: datetime) -> None:
        os.environ["SQLITE_TMPDIR"] = str(folder)  # the folder of the workspace: /tmp may be memory
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("PRAGMA cache_size = -16000")
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.execute(
            "CREATE TABLE said (at INTEGER, of INTEGER, place INTEGER, raw BLOB, PRIMARY KEY (at, of, place)) WITHOUT ROWID"
        )
        self._database.execute("CREATE TABLE keys (id TEXT, digest TEXT, PRIMARY KEY (id, digest)) WITHOUT ROWID")
        self._latest, self._otherwise = latest, otherwise
        self._waiting: set[int] = set()  # conversations whose first messages have no time yet
        self._last: dict[int, int] = {}
        self.conversations: dict[Conversation, int] = {}
        self._titled: set[int] = set()
        self.undated = 0
        self.names: Counter[str] = Counter()
        self.me = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        self._database.close()

    def add(self, talk: Talk) -> None:
        """Take in all messages of *talk*; OSError where the disk is full."""
        try:
            self._add(talk)
        except sqlite3.Error as error:  # those of what is read are not meant: a reader turns them into NotImported
            full = error.sqlite_errorcode == sqlite3.SQLITE_FULL
            number = errno.ENOSPC if full else errno.EIO
            raise OSError(number, os.strerror(number), os.environ["SQLITE_TMPDIR"]) from error

    def _add(self, talk: Talk) -> None:
        self._database.execute("BEGIN")
        for place, (conversation, entry) in enumerate(talk):
            of = self.conversations.setdefault(conversation, len(self.conversations))
            if entry.at is None or (entry.raw is None and entry.at > self._latest):
                self.undated += 1
                at = self._last.get(of, _WAITS)
                if at == _WAITS:
                    self._waiting.add(of)
            else:
                at = self._last[of] = (entry.at - _EPOCH) // _MS
                if of in self._waiting:
                    self._waiting.remove(of)
                    self._database.execute("UPDATE said SET at = ? WHERE at = ? AND of = ?", (at, _WAITS, of))
            self._put(at, of, place, conversation, entry)
        self._waiting.clear()
        otherwise = (self._otherwise - _EPOCH) // _MS
        self._database.execute("UPDATE said SET at = ? WHERE at = ?", (otherwise, _WAITS))
        self._database.execute("COMMIT")

    def _put(self, at: int, of: int, place: int, conversation: Conversation, entry: Said) -> None:
        text = entry.text
        if entry.raw is None:
            text = spoken(text)
            text = text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}…"
            if not text:
                return
        raw = dict(entry.raw) if entry.raw is not None else self._raw(text, of, conversation, entry)
        digest = digest_of_text(text)
        if entry.id and not self._database.execute("INSERT OR IGNORE INTO keys VALUES (?, ?)", (entry.id, digest)).rowcount:
            return  # a session that was resumed is in two logs
        if entry.name:
            self.names[entry.name] += 1
        self._database.execute("INSERT INTO said VALUES (?, ?, ?, ?)", (at, of, place, render_json(raw)))

    def _raw(self, text: str, of: int, conversation: Conversation, entry: Said) -> dict[str, Any]:
        """Return the fields of a message of another program; `messages` adds its time, which is known by then."""
        title = conversation.title if of not in self._titled else ""  # once, in its first message
        self._titled.add(of)
        raw = {
            "id": entry.id,
            "role": entry.role,
            "text": text,
            "channel": conversation.channel,
            "session": conversation.id,
            "chat": conversation.chat,
            "name": entry.name,
            "project": conversation.project,
            "title": title,
        }
        return {field: value for field, value in raw.items() if value}

    def messages(self) -> Iterator[dict[str, Any]]:
        """Yield the messages as history.json has them, oldest first; those of one moment in the order of their log."""
        for at, raw in self._database.execute("SELECT at, raw FROM said ORDER BY at, of, place"):
            raw_message = parse_json(raw) | {"createdAt": to_wire(_EPOCH + at * _MS)}
            if self.me and raw_message.get("name") == self.me:
                del raw_message["name"]
            yield raw_message

    def span(self) -> tuple[datetime | None, datetime | None]:
        """Return the times of the oldest and of the newest message; None without messages."""
        first, last = self._database.execute("SELECT min(at), max(at) FROM said").fetchone()
        return (None, None) if first is None else (_EPOCH + first * _MS, _EPOCH + last * _MS)

    def has(self, identity: str) -> bool:
        """Return whether one of the messages has this id."""
        return self._database.execute("SELECT 1 FROM keys WHERE id = ? LIMIT 1", (identity,)).fetchone() is not None

    def count(self) -> int:
        """Return how many messages there are."""
        number: int = self._database.execute("SELECT count(*) FROM said").fetchone()[0]
        return number
