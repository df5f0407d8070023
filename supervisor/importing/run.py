"""
Imports a source: reads all of it, puts it in the order of time, and adds it to the workspace by whole days.

Nothing is added before everything was read. A day is added in one write and filed at once, so that history.json does not grow,
the newest messages stay at its end, and an import that was killed goes on when it is called again: what is there is not added a
second time, which the seen journal says. The messages, however many they are, are put in order by a database in a file without
a name: no other program can open it, and it is gone with the process, however that ends.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import field, replace
from datetime import UTC, date, datetime
from itertools import chain, groupby
from pathlib import Path
from typing import Any, Final

from ..archive.append import append
from ..archive.tombstones import foreign_lists
from ..context.render import spoken
from ..host.round import archive_now
from ..longterm.lines import one_line
from ..protocol.message import Message, digest_of_text, read_message, text_of
from ..protocol.paths import summary_period
from ..storage.clock import from_wire, local_day, to_wire, wire_time
from ..storage.control import Control
from ..storage.lenient_json import parse_json, render_json
from ..storage.texts import Text
from ..text.record import record
from ..workspace import Workspace
from .kinds import Kind, kinds_of, labels
from .memories import copy_notes, notes_folder, notes_of
from .source import NotImported, Source
from .talk import Reading, Said

#: Messages and characters after which a day is the last of those that are added in one write.
_BATCH: Final = 1_000
_BATCH_CHARS: Final = 2_000_000
#: Characters after which a day is cut: a log without times may have all of its messages on one day.
_DAY_CHARS: Final = 6_000_000
#: Characters of a message; what is longer is a file that was pasted, and is cut with an ellipsis.
_MOST_CHARS: Final = 1_000_000
#: The messages until they are added, in a file that is not kept.
_TABLE: Final = (
    "PRAGMA journal_mode = OFF",
    "PRAGMA cache_size = -16000",
    "PRAGMA synchronous = OFF",
    "CREATE TABLE said (at TEXT, of INTEGER, id TEXT, digest TEXT, raw BLOB, UNIQUE (id, digest))",
    "CREATE INDEX in_time ON said (at, of)",
    "CREATE INDEX in_conversation ON said (of, at)",
)
#: Gives the messages before the first one with a time that one's, by the times of their conversation.
_DATE: Final = """
    UPDATE said SET at = coalesce((SELECT min(at) FROM said AS near WHERE near.of = said.of), ?) WHERE at IS NULL
"""


@record(kw_only=True)
class Imported:
    """
    What an import did, or would do: *added* of *messages* were new; the rest was there already.

    *left* of them were not looked at, since it was told to stop; *first* and *last* are the times of the oldest and newest.

    *kinds* are what was read. *unread* counts what could not be read by kind. *calls* is how many summaries a model will be
    asked for, None without a model. *notes* is how many Markdown notes there are: next to messages, or alone; then so many of
    them were *copied* to the *folder*, and *different* ones have the name of one that is there with other words. *people* are
    the persons in the export of a messenger, and how much each said; *me* is the one whose words are the owner's, "" for none.
    *left_out* was not read: links, names that lead elsewhere, what may not be read; *too_large* are notes that no search would
    read. *no_talk* counts the entries that nobody said, by the name that their program has for their kind.
    """

    messages: int = 0
    added: int = 0
    left: int = 0
    conversations: int = 0
    days: int = 0
    first: datetime | None = None
    last: datetime | None = None
    undated: int = 0
    unread: dict[str, int] = field(default_factory=dict)
    calls: int | None = None
    kinds: tuple[str, ...] = ()
    notes: int = 0
    copied: int = 0
    different: tuple[str, ...] = ()
    folder: Path | None = None
    people: dict[str, int] = field(default_factory=dict)
    me: str = ""
    left_out: tuple[str, ...] = ()
    too_large: tuple[str, ...] = ()
    no_talk: dict[str, int] = field(default_factory=dict)


def of_no_kind(source: Source) -> NotImported:
    """Return that nothing in the source is of a kind that can be imported."""
    if encoded := next(filter(source.encoded, source.named("*.json*")), ""):
        return source.no_utf8(encoded)
    if undated := next((name for name in source.left_out if name in source.names), ""):
        why = Text("the first message in {name} has no time", name=undated)
        return NotImported(source.path, why, Text("if they are your conversations, import the files themselves"))
    has_bytes = any(source.beginning(name, 1) for name in source.names)
    why = Text("it is no log and no export that recalld knows") if has_bytes else Text("there is nothing in it")
    return NotImported(source.path, why, Text("these are read: {kinds}, Markdown notes; nothing was added", kinds=labels()))


def bring_in(
    ws: Workspace,
    path: Path,
    now: datetime,
    control: Control,
    *,
    dates: str = "",
    who: Callable[[Mapping[str, int]], str] = lambda _people: "",
    dry_run: bool = False,
) -> Imported:
    """
    Import the file, folder or archive at *path*, conversations or notes; with *dry_run* say what that would do.

    *who* is asked, before anything is added, which of the people in the export of a messenger the owner is, "" for none.
    NotImported, and nothing is added, if it is of no kind that is known, can't be read to its end, or holds no message.
    """
    with closing(Source(path)) as source:
        kinds, notes = kinds_of(source), notes_of(source)
        if not kinds and (notes or (source.left_out and not source.names)):
            copied = copy_notes(ws, source, {}, dry_run=dry_run)
            return Imported(
                notes=len(notes) + len(source.left_out),
                copied=len(copied["new"]),
                different=tuple(copied["different"]),
                folder=notes_folder(ws, source),
                left_out=(*source.left_out, *copied["left out"]),
                too_large=tuple(copied["too large"]),
            )
        if not kinds:
            raise of_no_kind(source)
        reading = reading_of(ws, source, now, dates)
        done = Import(ws, kinds, reading, now).run(control, who, dry_run=dry_run)
    if not done.messages:
        why = Text("{kinds} was recognised, but there is no message in it", kinds=done.kinds)
        raise NotImported(path, why, Text("export it again, or give another file; nothing was added"))
    return replace(done, notes=len(notes), left_out=tuple(source.left_out))


def reading_of(ws: Workspace, source: Source, now: datetime, dates: str = "", **about: Any) -> Reading:
    """Return what the readers of a source get that is imported into this workspace."""
    ws.journal.refresh()
    return Reading(
        source=source,
        zone=ws.zone,
        latest=now + ws.config.archive.future_limit,
        dates=dates,
        sessions=lambda: {session for file in ws.memory.dated() for session in file.sessions},
        is_known=ws.journal.has_written,
        **about,
    )


class Import:
    """One import: what a source has in these *files*, by their kinds."""

    def __init__(self, ws: Workspace, files: Mapping[Kind, Iterable[str]], reading: Reading, now: datetime) -> None:
        self._ws, self._files, self._reading, self._now = ws, files, reading, now
        ws.files.make_folder(ws.paths.state)
        changed = datetime.fromtimestamp(reading.source.path.stat().st_mtime, UTC)
        self._staged = Staging(ws.paths.state, reading.latest, min(changed, now))
        self._recorded: dict[str, Counter[tuple[str, str]]] = {}
        self._forgotten = (ws.journal.tombstones, *foreign_lists(ws.files, ws.paths))

    def run(
        self,
        control: Control,
        who: Callable[[Mapping[str, int]], str] = lambda _people: "",
        *,
        dry_run: bool = False,
    ) -> Imported:
        """Read all of it, add what is new, a batch of days after another, and return what was done."""
        ws, reading, done, added = self._ws, self._reading, 0, 0
        days: set[date] = set()
        with closing(self._staged) as staged:
            talk = chain.from_iterable(kind.read(reading, name) for kind, names in self._files.items() for name in names)
            staged.add(filter(reading.wanted, talk))
            people = dict(staged.names.most_common()) if any(kind.is_of_people for kind in self._files) else {}
            total, first, last = staged.span()
            staged.me = who(people) if total else ""
            for batch in self._whole_days():
                if control.should_stop():
                    break
                new, is_filed = self._new(batch)
                days |= set(map(self._day_of, new))
                if not dry_run and (new or not is_filed):
                    append(ws, new, self._now, os.urandom(10 * len(new)), is_import=True)
                    archive_now(ws, self._now)
                done, added = done + len(batch), added + len(new)
                control.progress("import", done, total)
        return Imported(
            messages=total,
            added=added,
            left=total - done,
            conversations=len(staged.conversations),
            days=len(days),
            first=first,
            last=last,
            undated=staged.undated,
            unread=dict(reading.unread),
            no_talk=dict(reading.left_out.most_common()),
            calls=None if ws.extracting else self._calls(days),
            kinds=tuple(dict.fromkeys(kind.label for kind in self._files)),
            people=people,
            me=staged.me,
        )

    def _day_of(self, raw: Mapping[str, Any]) -> date:
        return local_day(from_wire(raw["createdAt"]), self._ws.zone)

    def _whole_days(self) -> Iterator[list[dict[str, Any]]]:
        """Yield the messages in batches of whole local days, but for a huge one: a day in two pieces is two files."""
        batch: list[dict[str, Any]] = []
        chars = 0
        for _, messages in groupby(self._staged.messages(), self._day_of):
            is_next = len(batch) >= _BATCH or chars >= _BATCH_CHARS
            for raw in messages:
                if batch and (is_next or chars >= _DAY_CHARS):
                    yield batch
                    batch, chars, is_next = [], 0, False
                batch.append(raw)
                chars += len(text_of(raw) or "")
        if batch:
            yield batch

    def _new(self, batch: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], bool]:
        """Return the messages that the workspace does not have, and whether all that it has are in dated files."""
        journal, memory = self._ws.journal, self._ws.memory
        keys = [(raw.get("id", ""), digest_of_text(text_of(raw) or "")) for raw in batch]
        filed = journal.filed(keys)
        # such an id is a digest of the words as they were first read, which may be shown otherwise by now
        filed |= {key for key in keys if key[0].startswith(("whatsapp:", "wechat:")) and journal.has_written(key[0])}
        ids = [key[0] for key in keys if key not in filed and journal.has_written(key[0])]
        # a person may have given one other words in its dated file
        filed |= {block.key for name in (journal.files_of(ids) if ids else ()) for block in memory.blocks(name)}
        present = {entry.key for entry in self._ws.unfiled.messages(self._now)}
        unknown = [raw for raw, key in zip(batch, keys, strict=True) if key not in filed and key not in present]
        new = [raw for raw in unknown if not (self._is_recorded(raw) or self._is_forgotten(raw))]
        return new, present.isdisjoint(keys)

    def _is_forgotten(self, raw: dict[str, Any]) -> bool:
        entry = read_message(raw, self._ws.zone) if any(stones.acts() for stones in self._forgotten) else None
        return isinstance(entry, Message) and any(stones.has(entry) for stones in self._forgotten)

    def _is_recorded(self, raw: dict[str, Any]) -> bool:
        """Return whether the hook of a client has recorded this message of its session, under an id of its own."""
        if not any(kind.homes for kind in self._files):
            return False
        session = raw.get("session", "")
        if session not in self._recorded:
            blocks = self._ws.session_talk.messages(session, self._now)
            others = (block for block in blocks if not self._staged.has(block.revision_of or block.id))
            self._recorded[session] = Counter((block.role, one_line(block.text)) for block in others)
        words = raw["role"], one_line(text_of(raw) or "")
        known = self._recorded[session]
        known[words] -= 1
        return known[words] >= 0

    def _calls(self, days: Iterable[date]) -> int:
        today, recent = self._ws.today(self._now), self._ws.config.archive.recent_days
        return len({period.group for day in days if (period := summary_period(day, today, recent))})


# ── the order of time ────────────────────────────────────────────────────────


class Staging:
    """
    The messages of one source, each once, oldest first, in a file in *folder*: /tmp may be memory.

    A message without a time, or with one after *latest*, gets that of the message before it in its conversation, else the first
    one of that; if a conversation has none at all, *otherwise*. `undated` counts them. `names` counts the messages of each
    speaker with a name; the one whose name is `me` is the owner, whose messages have none.
    """

    def __init__(self, folder: Path, latest: datetime, otherwise: datetime) -> None:
        self._folder = folder
        with tempfile.NamedTemporaryFile(dir=folder) as file:
            self._database = sqlite3.connect(file.name, isolation_level=None)  # by its name, which goes at once
        with self._errors_of_disk():
            for statement in _TABLE:
                self._database.execute(statement)
        self._latest, self._otherwise = latest, otherwise
        self.conversations: dict[tuple[str, ...], int] = {}
        self._last: dict[int, datetime | None] = {}
        self.undated = 0
        self.names: Counter[str] = Counter()
        self.me = ""

    def close(self) -> None:
        """Delete the messages."""
        self._database.close()

    def add(self, talk: Iterable[Said]) -> None:
        """Take in all messages of *talk*; OSError where the disk is full."""
        with self._errors_of_disk():
            self._database.execute("BEGIN")
            for entry in talk:
                self._put(entry)
            self._database.execute(_DATE, [to_wire(self._otherwise)])
            self._database.execute("COMMIT")

    @contextlib.contextmanager
    def _errors_of_disk(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:  # those of what is read are not meant: a reader turns them into NotImported
            number = errno.ENOSPC if error.sqlite_errorcode == sqlite3.SQLITE_FULL else errno.EIO
            raise OSError(number, os.strerror(number), str(self._folder)) from error

    def _put(self, entry: Said) -> None:
        text, raw, at = entry.text, entry.raw, entry.at
        if raw is None:
            text = spoken(text)
            text = text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}…"
            if not text:
                return
            fields = {"id": entry.id, "role": entry.role, "text": text, "channel": entry.channel, "session": entry.session}
            fields |= {"chat": entry.chat, "name": entry.name, "project": entry.project}
            raw = {field: value for field, value in fields.items() if value}
            at = at if at and at <= self._latest else None
        conversation = (entry.session, entry.channel, entry.chat, entry.project)
        of = self.conversations.setdefault(conversation, len(self.conversations))
        time = self._last[of] = at or self._last.get(of)
        row = (time and to_wire(time), of, entry.id or None, digest_of_text(text), render_json(raw))
        # a session that was resumed is in two logs
        if self._database.execute("INSERT OR IGNORE INTO said VALUES (?, ?, ?, ?, ?)", row).rowcount:
            self.undated += at is None
            self.names.update([entry.name] if entry.name else [])

    def messages(self) -> Iterator[dict[str, Any]]:
        """Yield the messages as history.json has them, oldest first; those of one moment in the order of their log."""
        for at, raw in self._database.execute("SELECT at, raw FROM said ORDER BY at, of, rowid"):
            raw_message = parse_json(raw) | {"createdAt": at}
            if self.me and raw_message.get("name") == self.me:
                del raw_message["name"]
            yield raw_message

    def span(self) -> tuple[int, datetime | None, datetime | None]:
        """Return how many messages there are, and the times of the oldest and of the newest; None without messages."""
        count, first, last = self._database.execute("SELECT count(*), min(at), max(at) FROM said").fetchone()
        return int(count), wire_time(first), wire_time(last)

    def has(self, identity: str) -> bool:
        """Return whether one of the messages has this id."""
        return self._database.execute("SELECT 1 FROM said WHERE id = ? LIMIT 1", (identity,)).fetchone() is not None
