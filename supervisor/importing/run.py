"""
Imports a source: reads all of it, puts it in the order of time, and adds it to the workspace by whole days.

Nothing is added before everything was read. A day is added in one write and filed at once, so that history.json does not grow,
the newest messages stay at its end, and an import that was killed goes on when it is called again: what is there is not added a
second time, which the seen journal says. Until then the words are in memory, however many they are; pictures and files are not.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import cache, cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from ..archive.append import append
from ..archive.tombstones import foreign_lists
from ..host.round import archive_now
from ..longterm.lines import one_line
from ..protocol.message import Key, Message, digest_of_text, read_message, text_of
from ..protocol.paths import summary_period
from ..storage.clock import from_wire, local_day, read_instant, to_wire
from ..storage.control import Control
from ..storage.errors import BadRequest
from ..storage.lenient_json import parse_json, render_json
from ..storage.texts import Text
from ..workspace import Workspace
from .kinds import CLIENTS, kinds_of, labels
from .memories import DIFFERENT, NEW, NO_NOTE, TOO_LARGE, copy_notes, notes_folder, notes_of, whole
from .source import NotImported, Source
from .talk import TIMES, Reading

#: Messages and bytes after which a day is the last of those that are added in one write.
_BATCH: Final = 1_000
_BATCH_BYTES: Final = 2_000_000
#: Bytes after which a day is cut: a log without times may have all of its messages on one day.
_DAY_BYTES: Final = 6_000_000
#: People that are named one by one.
_MOST_NAMED: Final = 12
#: The channels of clients whose hooks keep what is said, under ids of their own.
_CLIENTS: Final = frozenset(kind.name for kind in CLIENTS)
#: How ids begin that are a digest of the words as they were first read, which may be shown otherwise by now.
_BY_WORDS: Final = ("whatsapp:", "wechat:")


@dataclass(kw_only=True)
class Imported:
    """
    What an import did, or would do: *added* of *messages* were new, *forgotten* ones stay so; the rest was there already.

    *left* of them were not looked at, since it was told to stop; *first* and *last* are the times of the oldest and newest.

    *kinds* are what was read. *unread* counts what could not be read by kind. *calls* is how many summaries a model will be
    asked for, None without a model. *notes* is how many Markdown notes there are: next to messages, or alone; then so many of
    them were *copied* to the *folder*, and *different* ones have the name of one that is there with other words. *people* are
    the persons in the export of a messenger, and how much each said; *me* is the one whose words are the owner's, "" for none.
    *left_out* was not read: links, names that lead elsewhere, what is damaged; *unknown* files are of no kind that is read,
    though their names end so; *too_large* are notes that no search would read. *no_talk* counts the entries that nobody said,
    by the name that their program has for their kind.
    """

    messages: int = 0
    added: int = 0
    forgotten: int = 0
    left: int = 0
    conversations: int = 0
    days: int = 0
    first: datetime | None = None
    last: datetime | None = None
    undated: int = 0
    unread: Mapping[str, int] = field(default_factory=dict)
    calls: int | None = None
    kinds: tuple[str, ...] = ()
    notes: int = 0
    copied: int = 0
    different: tuple[str, ...] = ()
    folder: Path | None = None
    people: Mapping[str, int] = field(default_factory=dict)
    me: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    too_large: tuple[str, ...] = ()
    no_talk: Mapping[str, int] = field(default_factory=dict)


def bring_in(
    ws: Workspace,
    path: Path,
    now: datetime,
    control: Control,
    *,
    dates: str = "",
    me: str = "",
    dry_run: bool = False,
) -> Imported:
    """
    Import the file, folder or archive at *path*, conversations or notes; with *dry_run* say what that would do.

    *me* is which of the people in the export of a messenger the owner is, "" for none. Nothing is added by a BadRequest if
    nobody has that name, and by a NotImported if it is of no kind that is known, can't be read to its end, or has no message.
    """
    with closing(Source(path)) as source:
        work = Import(ws, source, now, dates=dates)
        if messages := work.read():
            return work.add(messages, control, me, dry_run=dry_run)
        became = {} if work.files else copy_notes(ws, source, {}, dry_run=dry_run)
        if not became:
            raise _nothing_in(work, source)
        names = {why: tuple(name for name in became if became[name] == why) for why in (NEW, DIFFERENT, NO_NOTE, TOO_LARGE)}
        return replace(
            work.done,
            notes=len({*work.notes, *source.left_out}),
            copied=len(names[NEW]),
            different=names[DIFFERENT],
            folder=notes_folder(ws, source),
            left_out=source.left_out | dict.fromkeys(names[NO_NOTE], NO_NOTE),
            too_large=names[TOO_LARGE],
        )


def _nothing_in(work: Import, source: Source) -> NotImported:
    why = Text("it is no log and no export that recalld knows; these are read: {kinds}, Markdown notes", kinds=labels())
    if work.files:
        why = Text("{kinds} was recognised, but there is no message in it", kinds=work.done.kinds)
    for name, of in source.left_out.items():
        return NotImported(source.path if name in ("", source.path.name) else source.path / name, of)
    return NotImported(source.path, why)


class Import:
    """
    One import: the *files* of a source by their kinds, or of the *kind* of this name alone, and its *notes*.

    What is read of it is said in `done`, and what is added.
    """

    def __init__(self, ws: Workspace, source: Source, now: datetime, kind: str = "", **about: Any) -> None:
        self.files, self.notes = kinds_of(source, kind), notes_of(source)
        ws.journal.refresh()
        self.reading = Reading(
            source=source,
            zone=ws.zone,
            latest=now + ws.config.archive.future_limit,
            sessions=lambda: {session for file in ws.memory.dated() for session in file.sessions},
            is_known=ws.journal.has_written,
            **about,
        )
        self.done = Imported(kinds=tuple(kind.label for kind in self.files), unread=self.reading.unread)
        self.done.left_out, self.done.unknown = source.left_out, tuple(source.unknown)
        self._ws, self._source, self._now = ws, source, now
        self._ids: set[str] = set()

    def read(self) -> list[tuple[str, bytes]]:
        """
        Return all messages, each once, with their times, oldest first; those of one moment in the order of their log.

        A message without a time, or with one that is not believed, gets that of the message before it in its conversation, else
        the first one of that; if a conversation has none at all, the time of the source's last change. A file that can't be
        read to its end gives none.
        """
        messages: list[tuple[str, tuple[str, ...], bytes]] = []
        people: Counter[str] = Counter()
        first: dict[tuple[str, ...], str] = {}
        last: dict[tuple[str, ...], str] = {}
        seen: set[str] = set()
        for kind, name in [(kind, name) for kind, names in self.files.items() for name in names]:
            read: list[tuple[str, tuple[str, ...], str, str, str, bytes]] = []
            with self._source.sparing(name):
                read = [*map(_parts_of, kind.messages(self.reading, name))]
            for given, talk, identity, digest, person, data in read:
                at = last[talk] = given or last.get(talk, "")
                if identity and digest in seen:  # a session that was resumed is in two logs
                    continue
                first[talk] = min(filter(None, (first.get(talk), at)), default="")
                seen.add(digest)
                self._ids.add(identity)
                people.update([person] if person else [])
                self.done.undated += not given
                messages.append((at, talk, data))
        self.done.conversations, self.done.no_talk = len(first), dict(self.reading.left_out.most_common())
        if any(kind.is_of_people for kind in self.files):
            self.done.people = dict(people.most_common())
        changed = to_wire(min(datetime.fromtimestamp(self._source.path.stat().st_mtime, UTC), self._now))
        return sorted(((at or first[talk] or changed, data) for at, talk, data in messages), key=itemgetter(0))

    def add(self, messages: list[tuple[str, bytes]], control: Control, me: str = "", *, dry_run: bool = False) -> Imported:
        """Add what is new of the messages that were read, a batch of days after another, and return what was done."""
        ws, done, total, days = self._ws, self.done, len(messages), set[date]()
        done.me, done.notes, done.messages, done.left = me, len(self.notes), total, total
        done.first, done.last = (from_wire(messages[n][0]) if messages else None for n in (0, -1))
        if me and me not in done.people:
            names = [*done.people][:_MOST_NAMED] or Text("nobody in it has a name")
            raise BadRequest(
                "--me", Text("{name} is none of the people in it: {people}; nothing was added", name=me, people=names)
            )
        known = Known(ws, self._now, self._ids, self.reading.placed)
        for batch in self._whole_days(messages, me):
            if control.should_stop():
                break
            new = known.without(batch)
            days |= {self._day_of(raw["createdAt"]) for raw in new}
            if new and not dry_run:
                append(ws, [whole(raw, self._source) for raw in new], self._now, os.urandom(10 * len(new)), is_import=True)
                archive_now(ws, self._now)
            done.left, done.added, done.forgotten = done.left - len(batch), done.added + len(new), known.forgotten
            control.progress("import", total - done.left, total)
        today, recent = ws.today(self._now), ws.config.archive.recent_days
        groups = {period.group for day in days if (period := summary_period(day, today, recent))}
        done.days, done.calls = len(days), None if ws.extracting else len(groups)
        return done

    def _day_of(self, at: str) -> date:
        return local_day(from_wire(at), self._ws.zone)

    def _whole_days(self, messages: list[tuple[str, bytes]], me: str) -> Iterator[list[dict[str, Any]]]:
        """
        Yield the messages in batches of whole local days, but for a huge one: a day in two pieces is two files.

        They are as history.json has them; those of the one whose name is *me* are the owner's, which have none.
        """
        batch, size, last = list[dict[str, Any]](), 0, ""
        for at, data in messages:
            is_enough = len(batch) >= _BATCH or size >= _BATCH_BYTES
            if size >= _DAY_BYTES or (is_enough and self._day_of(at) != self._day_of(last)):
                yield batch
                batch, size = [], 0
            raw, last = parse_json(data) | {"createdAt": at}, at
            if me and raw.get("name") == me:
                del raw["name"]
            batch.append(raw)
            size += len(data)
        if batch:
            yield batch


class Known:
    """What the workspace has already; *ids* are those of all messages that are imported, *placed* those that are places."""

    def __init__(self, ws: Workspace, now: datetime, ids: AbstractSet[str], placed: AbstractSet[str]) -> None:
        self._ws, self._now, self._ids, self._placed = ws, now, ids, placed
        #: How many messages it did not have because they were forgotten.
        self.forgotten = 0
        self._marks = cache(self._marks_of)
        self._forgotten = (ws.journal.tombstones, *foreign_lists(ws.files, ws.paths))

    @cached_property
    def _edited(self) -> set[Key]:
        """What stands in files that a person has changed: the journal does not know it."""
        memory = self._ws.memory
        return {block.key for file in memory.dated() if file.edited for block in memory.blocks(file.name)}

    def without(self, batch: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the messages that the workspace neither has nor has forgotten."""
        keys = [(raw.get("id", ""), digest_of_text(text_of(raw) or "")) for raw in batch]
        known = self._ws.journal.filed(keys) | self._edited | {entry.key for entry in self._ws.unfiled.messages(self._now)}
        ids = frozenset[str]().union(*(stones.ids() for stones in self._forgotten))
        known |= {key for key in keys if key[0] in ids and key[0].startswith(_BY_WORDS)}
        gone = [key[0] in ids if key in known else self._is_forgotten(raw) for raw, key in zip(batch, keys, strict=True)]
        self.forgotten += sum(gone)
        left = (raw for raw, key, is_gone in zip(batch, keys, gone, strict=True) if not is_gone and key not in known)
        return [raw for raw in left if not self._is_recorded(raw)]

    def _is_forgotten(self, raw: dict[str, Any]) -> bool:
        entry = read_message(raw, self._ws.zone) if any(stones.acts() for stones in self._forgotten) else None
        return isinstance(entry, Message) and any(stones.has(entry) for stones in self._forgotten)

    def _is_recorded(self, raw: dict[str, Any]) -> bool:
        """
        Return whether this message was recorded in other words, or by a client's hook or `append` under an id of its own.

        Of a hook that is one with the same words in its session, of several so many. Of `append` it is one of the same time,
        too, in the session or in none: that adds equal ones of one time once.
        """
        session, words = raw.get("session", ""), (raw["role"], digest_of_text(one_line(text_of(raw) or "")))
        identity = raw.get("id", "")
        if identity.startswith(_BY_WORDS):
            return self._ws.journal.has_written(identity)
        if not identity or identity in self._placed:
            return any((*words, raw["createdAt"]) in self._marks(of) for of in (session, ""))
        if raw.get("channel") not in _CLIENTS:
            return False
        self._marks(session)[words] -= 1
        return self._marks(session)[words] >= 0

    def _marks_of(self, session: str) -> Counter[tuple[str, ...]]:
        """Return how often each was said in a session under other ids: by role and words, and by these and a time."""
        marks = Counter[tuple[str, ...]]()
        for block in self._ws.session_talk.messages(session, self._now):
            if (block.revision_of or block.id) not in self._ids:
                words = (block.role, digest_of_text(one_line(block.text)))
                times = {block.created_at, *(read_instant(block.fields.get(name), self._ws.zone) for name in TIMES)}
                marks.update([words, *((*words, to_wire(t)) for t in times if t)])
        return marks


def _parts_of(message: dict[str, Any]) -> tuple[str, tuple[str, ...], str, str, str, bytes]:
    """Return its time, "" for none, what tells its conversation, its id, what it is known by, who said it, and all else."""
    at, identity = message.pop("createdAt"), message.get("id", "")
    talk = tuple(str(message.get(field, "")) for field in ("session", "channel", "chat", "project"))
    digest = digest_of_text(f"{identity}\0{text_of(message) or ''}")
    return to_wire(at) if at else "", talk, identity, digest, str(message.get("name") or ""), render_json(message)
