"""
Append messages: to history.json under its lock, and to the seen journal, before their ids are returned (protocol.md, 5).

A message whose id was returned survives a crash, and a program that rewrites history.json without the lock. While
history.json is damaged, locked, or rewritten again and again, messages wait in the drop-box; the intake takes them in.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat as modes
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from ..events import Events
from ..protocol.attachments import attachments_of, separated
from ..protocol.config import Config
from ..protocol.config_keys import Archive
from ..protocol.message import History, InvalidEntry, Message, is_role, read_message, with_id, with_timestamp, with_words
from ..protocol.paths import WorkspacePaths, is_unfinished
from ..storage.clock import to_wire, why_not_said_at
from ..storage.disk import Stat
from ..storage.errors import BadFile, BadRequest, Busy, Conflict, SupervisorError, as_supervisor_error, from_os_error
from ..storage.files import Files, FileVersion, digest_of
from ..storage.keeping import keep_by_content
from ..storage.lenient_json import parse_json, render_json
from ..storage.texts import Text
from ..text.foreign_text import printable
from ..text.lazy_re import lazy_re
from .history import Attachments, HistoryStore
from .identity import inserted, moment
from .journal import SeenJournal

if TYPE_CHECKING:
    from ..protocol.queue import TaskQueue
    from ..text.redact import Mark
    from .deletions import Deletions
    from .memory_folder import MemoryFolder
    from .plan import Caps
    from .quarantine import Quarantine

#: The name of a claimed file: with inode and time of last change, so that no two are the same.
_CLAIMED: Final = lazy_re(r"\.taken-[0-9]+--?[0-9]+-(?P<name>.+\.(?i:json))", re.DOTALL)
#: Bytes of a given name that a claimed one always has room for: a name has 255 at most, inode and time 20 digits each.
_LONGEST_KEPT: Final = 200
_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


class DropBox:
    """
    The drop-box inbox.d/new: each file holds messages that are to be added to history.json (protocol.md, 5.6).

    A file is claimed, which gives it a hidden name, and deleted by that name: a program may move its next file to the same name
    at any moment.
    """

    def __init__(self, files: Files, paths: WorkspacePaths, zone: tzinfo) -> None:
        self._files = files
        self._paths = paths
        self._folder = paths.drop_box
        self._zone = zone

    def put(self, messages: Sequence[Message]) -> None:
        """Write the messages to a file of the drop-box, durably."""
        for folder in (self._folder.parent, self._folder):
            self._files.make_folder(folder, lasting=True)
        data = render_json([message.raw for message in messages])
        keep_by_content(self._files, self._folder / f"append-{digest_of(data)}.json", data)

    def finished(self) -> Iterator[Path]:
        """
        Yield the files that their writers have finished, first those that were claimed before.

        A temporary file or an editor's is not yielded.
        """
        names = self._files.disk.names(self._folder)
        claimed = sorted(filter(_CLAIMED.fullmatch, names), key=_given_name)
        for name in (*claimed, *(name for name in names if name.lower().endswith(".json") and not is_unfinished(name))):
            stat = self._files.disk.stat(self._folder / name)
            if stat and modes.S_ISREG(stat.mode):
                yield self._folder / name

    def misnamed(self) -> Iterator[tuple[Path, Stat]]:
        """Yield the files that nobody takes in, since their names do not end in .json, each with its stat."""
        for name in self._files.disk.names(self._folder):
            stat = self._files.disk.stat(self._folder / name)
            if stat and modes.S_ISREG(stat.mode) and not (name.lower().endswith(".json") or is_unfinished(name)):
                yield self._folder / name, stat

    def read(self) -> tuple[list[Message], dict[str, str]]:
        """Return the messages of the files, which stay where they are, and why others can't be read, by their names."""
        messages, why = list[Message](), dict[str, str]()
        for path in self.finished():
            try:
                version = self._files.read_stable(path)
                messages += self.parse(path, version) if version else []
            except ValueError as error:
                why[path.name] = error.args[0]
            except (SupervisorError, OSError) as error:
                why[path.name] = as_supervisor_error(error, "intake", path).sentence
        return messages, why

    def parse(self, path: Path, version: FileVersion) -> list[Message]:
        """Return the messages of a file: one object, or an array of them; ValueError when it is neither."""
        raw, name, time_ns = parse_json(version.data), os.fsencode(_given_name(path.name)), version.stat.mtime_ns
        messages = []
        for n, value in enumerate(raw if isinstance(raw, list) else [raw]):
            entry = read_message(value, self._zone)
            if isinstance(entry, InvalidEntry):
                raise ValueError(entry.why)  # noqa: TRY004 - every fault of the file is one kind
            if not entry.id:
                # the id comes from the file, not from the clock: a file that is taken in twice gives the same message.
                # Equal words without a time are two messages when their files are of two times
                time = "" if entry.created_at else f"{time_ns}\n"
                digest = hashlib.sha256(name + f"\n{n}\n{time}".encode() + version.data).hexdigest()
                entry = with_id(entry, f"m-{digest[:16]}")
            if not entry.created_at:
                entry = with_timestamp(entry, datetime.fromtimestamp(time_ns / 1e9, UTC))
            messages.append(entry)
        return messages

    def claim(self, path: Path, version: FileVersion) -> Path | None:
        """
        Give a file that was read as *version* a name that no program replaces, and return its path; OSError where that fails.

        None when its writer had just deleted it, or replaced it: then the new file is claimed, and `finished` yields it the
        next time.
        """
        if _CLAIMED.fullmatch(path.name):
            return path
        claimed = path.with_name(f".taken-{version.stat.inode}-{version.stat.mtime_ns}-{_given_name(path.name)}")
        with suppress(FileNotFoundError):
            self._files.move(path, claimed)
        return claimed if self._files.disk.stat(claimed) == version.stat else None

    def relative(self, path: Path) -> str:
        """Return the path of a file from the workspace, as events name it."""
        return printable(self._paths.relative(path))


class Stores(Protocol):
    """What the steps of the archive use of a workspace."""

    config: Config
    files: Files
    paths: WorkspacePaths
    events: Events
    history: HistoryStore
    journal: SeenJournal
    memory: MemoryFolder
    drop_box: DropBox
    quarantine: Quarantine
    attachments: Attachments
    deletions: Deletions
    task_queue: TaskQueue

    @property
    def caps(self) -> Caps: ...
    @property
    def mark(self) -> Mark | None: ...
    def slugs(self, days: Sequence[Sequence[tuple[str, str]]], /) -> Sequence[str]: ...


def append(ws: Stores, raws: Sequence[dict[str, Any]], now: datetime, entropy: bytes, *, is_import: bool = False) -> list[str]:
    """
    Add the messages, durably, and return their ids; a message without an id or a time gets one.

    They are added at the end; those of an import, which has judged their times, each before the first message that is later.

    A message that is given twice, or was added before, is added once, also where it was filed and has left history.json. One
    with an id is known by id and text, one with only a time by time, role, text and pictures. Of equal messages with neither,
    each is added. One that was forgotten is not stored again: its id is "".

    Where secrets are not stored, its words are stored with marks, unless they were stored as they are before.

    *entropy* holds 10 random bytes for each message. BadRequest when one is no valid message; NewerFormat when a newer recalld
    wrote the journal.
    """
    if not raws:
        return []
    journal, mark, settings = ws.journal, ws.mark, ws.config.archive
    settings = replace(settings, future_limit=timedelta.max) if is_import else settings
    messages = _messages(raws, now, entropy, settings)
    if mark:
        known = journal.filed([message.key for message in messages])
        kept = [message.key in known or journal.tombstones.has(message) for message in messages]
        raws = [raw if is_kept else with_words(raw, mark) for raw, is_kept in zip(raws, kept, strict=True)]
        messages = _messages(raws, now, entropy, settings)
    filed = journal.filed([message.key for message in messages])
    kept_out = {message.key for message in messages if journal.tombstones.has(message)}
    ids = ["" if message.key in kept_out else message.id for message in messages]
    places = [n for n, message in enumerate(messages) if message.key not in filed | kept_out]
    if not places:
        return ids
    nameless = {message.id for raw, message in zip(raws, messages, strict=True) if raw.get("id") in (None, "")}

    def distinct(present: History) -> list[Message]:
        return _with_pictures_apart([messages[n] for n in places], present, nameless)

    new = distinct(())

    def add(before: History) -> History:
        new[:] = distinct(before)
        keys = {entry.key for entry in before if isinstance(entry, Message)}
        added = [*{message.key: message for message in new if message.key not in keys}.values()]
        return inserted(before, added, moment) if is_import else (*before, *added)

    try:
        ws.history.change(add, then=lambda _: journal.append_seen(new))
    except (BadFile, Busy, Conflict):
        ws.drop_box.put(new)
    except OSError as error:
        if not isinstance(from_os_error(error, "history.json"), BadFile):  # else the lock or the file is a folder or a link
            raise
        ws.drop_box.put(new)
    tell_odd_times(new, ws.events)
    added = dict(zip(places, (message.id for message in new), strict=True))
    return [added.get(n, identity) for n, identity in enumerate(ids)]


def leave(raws: Sequence[dict[str, Any]], now: datetime, entropy: bytes, *, drop_box: DropBox, settings: Archive) -> list[str]:
    """Write the messages to the drop-box, durably, and return their ids; a message without an id or a time gets one."""
    messages = _messages(raws, now, entropy, settings)
    if messages:
        drop_box.put(messages)
    return [message.id for message in messages]


def as_stored(message: Message, mark: Mark | None, journal: SeenJournal, zone: tzinfo) -> Message | None:
    """
    Return a message that came in by a file as it is stored: with *mark*, that puts marks in the place of its secrets.

    One that was stored as it is before is returned as it is: it is known by these words. None for one that was forgotten, which
    may have had its marks by then, or be from before there were any.
    """
    if journal.tombstones.has(message):
        return None
    if mark is None or journal.holds(message.key) or (raw := with_words(message.raw, mark)) == message.raw:
        return message
    if any(fingerprint in journal.known.by_fingerprint for fingerprint in message.fingerprints):
        return message
    marked = read_message(raw, zone)
    if not isinstance(marked, Message):
        return message
    return None if journal.tombstones.has(marked) else marked


def tell_odd_times(new: Iterable[Message], events: Events) -> None:
    """Emit an event if the createdAt of one of the *new* messages was not believed."""
    ids = [message.id for message in new if message.raw.get("createdAtFound") is not None]
    if ids:
        events.emit("time_odd", messages=len(ids), ids=ids[:20])


def refuse_odd(raws: Iterable[Mapping[str, Any]], zone: tzinfo, latest: datetime) -> None:
    """Raise BadRequest when a message has an unknown role, or a createdAt that is no time or after *latest*."""
    for raw in raws:
        if raw.get("role") and not is_role(raw["role"]):
            raise BadRequest("role", Text("{role!r} is no role; give user, assistant, system or tool", role=raw["role"]))
        given = raw.get("createdAt")
        if given is not None and (why := why_not_said_at(given, zone, latest)):
            raise BadRequest("createdAt", why)


def new_id(now: datetime, entropy: bytes) -> str:
    """Return a ULID: 26 characters that sort by time, from *now* and the first 10 bytes of *entropy*."""
    number = int(now.timestamp() * 1000) << 80 | int.from_bytes(entropy[:10])
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))


def _given_name(name: str) -> str:
    """Return the name that the writer of a file gave it; in place of a long one its digest, before the claim as after it."""
    claimed = _CLAIMED.fullmatch(name)
    given = claimed["name"] if claimed else name
    return given if len(os.fsencode(given)) <= _LONGEST_KEPT else f"{digest_of(os.fsencode(given))[:16]}.json"


def _messages(raws: Sequence[dict[str, Any]], now: datetime, entropy: bytes, settings: Archive) -> list[Message]:
    return [_message(raw, now, entropy[10 * n : 10 * n + 10], settings) for n, raw in enumerate(raws)]


def _message(raw: dict[str, Any], now: datetime, entropy: bytes, settings: Archive) -> Message:
    fields = {name: value for name, value in raw.items() if value is not None or name not in {"createdAt", "archived"}}
    is_timed = "createdAt" in fields
    fields.setdefault("createdAt", to_wire(now))
    fields.setdefault("archived", False)
    entry = read_message(fields, settings.zone)
    if isinstance(entry, InvalidEntry):
        raise BadRequest("message", entry.why)
    if not entry.id and is_timed and entry.created_at:  # it is the same message when it is sent again
        entry = with_id(entry, new_id(entry.created_at, hashlib.sha256(entry.fingerprint.encode()).digest()))
    elif not entry.id:
        entry = with_id(entry, new_id(now, entropy))
    is_possible = entry.created_at is not None and entry.created_at - now <= settings.future_limit
    return entry if is_possible else with_timestamp(entry, now)


def _with_pictures_apart(messages: Sequence[Message], present: History, nameless: Collection[str]) -> list[Message]:
    """
    Return the messages; one of *nameless*, the ids made here, gets another id where it differs by its pictures alone.

    The photos of an album have the same second, and the same words or none.
    """
    by_key = {entry.key: entry for entry in present if isinstance(entry, Message)}
    pictures = []
    for message in messages:
        same, other = by_key.get(message.key), message
        if same is not None and message.id in nameless and message.created_at and _pictures(same) != _pictures(message):
            digest = hashlib.sha256("\n".join((message.fingerprint, *_pictures(message))).encode()).digest()
            other = with_id(message, new_id(message.created_at, digest))
        by_key.setdefault(other.key, other)
        pictures.append(other)
    return pictures


def _pictures(message: Message) -> tuple[str, ...]:
    return tuple(attachments_of(separated(message.raw)[0]))
