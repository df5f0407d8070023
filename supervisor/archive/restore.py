"""
Restore a damaged or lost history.json, and keep a copy of everything that could not be read (docs/reference/protocol.md, 5).

Nothing is overwritten before `.recalld/quarantine/` holds a copy of it. A damaged file that is replaced keeps a second name in
`.recalld/replaced/`, since a program may still have it open and go on writing; what it writes is taken in. Whether the file
counts as damaged is decided by `history`; when to restore it, by the service.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from supervisor.archive.identity import add_messages, assign_ids, renumbered
from supervisor.protocol.errors import BadFile, BadRequest, Busy, NotFound
from supervisor.protocol.files import digest_of
from supervisor.protocol.lenient_json import parse_json, recover_prefix
from supervisor.protocol.message import Message, read_message

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from supervisor.archive.history import HistoryStore
    from supervisor.archive.journal import SeenJournal
    from supervisor.events import Events
    from supervisor.protocol.config_keys import Archive
    from supervisor.protocol.disk import Stat
    from supervisor.protocol.files import Files, FileVersion
    from supervisor.protocol.message import History, Key
    from supervisor.protocol.paths import WorkspacePaths

#: Whether the quarantine has a copy: a new one, an earlier one, or none because it holds as many as it may.
Kept: TypeAlias = Literal["new", "known", "full"]
#: No program takes longer than this between opening history.json for writing and its last byte.
_LONGEST_WRITE: Final = timedelta(days=1)


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


class ReplacedHistories:
    """
    The damaged files that were replaced, at most *limit*: each by a second name, since a program may still have it open.

    *quiet* is how long a file that can be read has to be unchanged until its writer counts as done with it.
    """

    def __init__(self, files: Files, paths: WorkspacePaths, limit: int, quiet: timedelta) -> None:
        self._files = files
        self._history = paths.history
        self._folder = paths.replaced
        self._limit = limit
        self._quiet = quiet
        self._unfinished: dict[Path, Stat] = {}
        self._taken: dict[Path, Stat] = {}

    def keep(self, damaged: FileVersion) -> bool:
        """Give history.json a second name before it is replaced; tell whether it has one, or there are too many files."""
        self._files.make_folder(self._folder, lasting=True)
        kept = self._files.disk.stats(self._folder).values()
        if any(stat.inode == damaged.stat.inode for stat in kept):
            return True
        if len(kept) >= self._limit:
            return False
        name = f"{self._history.name}.{damaged.stat.inode}.{damaged.stat.mtime_ns}"
        self._files.link(self._history, self._folder / name)
        return True

    def finished(self, now: datetime) -> Iterator[tuple[Path, FileVersion]]:
        """Yield the files that can be read, and those that nobody has written to for so long that nobody will, each once."""
        for name, stat in self._files.disk.stats(self._folder).items():
            path, is_abandoned = self._folder / name, _age(stat, now) >= _LONGEST_WRITE
            if self._taken.get(path) == stat or (self._unfinished.get(path) == stat and not is_abandoned):
                continue
            with suppress(Busy):  # it is being written
                version = self._files.read_stable(path, wait_s=0.0)
                if version and (is_abandoned or _is_array(version.data)):
                    yield path, version
                elif version:
                    self._unfinished[path] = version.stat

    def mark_taken(self, path: Path, version: FileVersion) -> None:
        """Note that the messages of this version are safe elsewhere."""
        self._taken[path] = version.stat

    def release_quiet(self, now: datetime) -> None:
        """Remove the second names of files that were taken in, once their writers are done with them."""
        for path, stat in list(self._taken.items()):
            if self._files.disk.stat(path) != stat:
                del self._taken[path]
            elif _age(stat, now) >= self._quiet:
                self._files.remove(path)


def keep_damaged(history: HistoryStore, quarantine: Quarantine) -> bool:
    """Keep a copy of a history.json that can't be read, once per content; tell whether there is one, or no file at all."""
    version = history.version()
    return version is None or quarantine.keep("history.json", version.data) != "full"


def restore_history(
    *,
    history: HistoryStore,
    journal: SeenJournal,
    quarantine: Quarantine,
    replaced: ReplacedHistories,
    settings: Archive,
    events: Events,
    now: datetime,
    unknown: bool = False,
) -> int:
    """
    Restore a damaged or lost history.json from its backup, the journal, and the messages before the damage.

    Returns how many messages it has now; 0 when it can be read, when the damaged file can't be kept, or when
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
        is_kept = keep_damaged(history, quarantine) and (version is None or replaced.keep(version))
        events.transition("quarantine_full", not is_kept)
        if not is_kept:
            return 0
        messages = _known_messages(history, journal, settings, now)
        if version and not messages and not unknown:
            return 0
        entries = _entries(version.data if version else b"", journal, settings, now)
        messages = _with_missing(messages, entries, journal, settings, now)
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
    entries = _entries(version.data, journal, settings, now)
    after = history.change(partial(_with_missing, entries=entries, journal=journal, settings=settings, now=now))
    return len(after) - len(before)


def take_in_replaced(
    *,
    replaced: ReplacedHistories,
    history: HistoryStore,
    journal: SeenJournal,
    quarantine: Quarantine,
    settings: Archive,
    now: datetime,
) -> int:
    """
    Add to history.json what programs have written into a file that was replaced meanwhile; returns how many messages.

    A file that can't be read counts as far as it can once it is abandoned, and a copy goes to the quarantine.
    """
    added = 0
    for path, version in replaced.finished(now):
        journal.refresh()
        before = history.read()
        # read once a version: repeated words without ids and times would get other ids the next time
        entries = _entries(version.data, journal, settings, now)
        after = history.change(partial(_with_missing, entries=entries, journal=journal, settings=settings, now=now))
        added += len(after) - len(before)
        journal.record_seen([one for one in after if isinstance(one, Message) and one.id and not journal.holds(one.key)])
        if _is_array(version.data) or quarantine.keep("history.json", version.data) != "full":
            replaced.mark_taken(path, version)
    replaced.release_quiet(now)
    return added


def _known_messages(history: HistoryStore, journal: SeenJournal, settings: Archive, now: datetime) -> History:
    """Return the messages of the backup, and the un-written messages of the journal that the backup lacks."""
    backup = history.backup()
    journal.refresh()
    messages = assign_ids(backup, journal.known, now, settings.future_limit)  # the backup may be older than the ids
    held = {*_first_keys(messages, journal).values()}
    return messages + tuple(message for key, message in journal.unwritten.items() if key not in held)


def _with_missing(present: History, entries: History, journal: SeenJournal, settings: Archive, now: datetime) -> History:
    """Return *present* with the messages among *entries* that are neither there nor in a dated file."""
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
    """Return the entries of *data* up to its damage, each message with an id."""
    entries = tuple(read_message(raw, settings.zone) for raw in recover_prefix(data))
    return assign_ids(entries, journal.known, now, settings.future_limit)


def _is_array(data: bytes) -> bool:
    try:
        return isinstance(parse_json(data), list)
    except ValueError:
        return False


def _age(stat: Stat, now: datetime) -> timedelta:
    return timedelta(seconds=now.timestamp() - stat.mtime_ns / 1e9)
