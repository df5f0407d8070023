"""
Take in messages: give them ids, record them in the seen journal, and reinsert those that another program lost.

They come by history.json, by the files of the drop-box inbox.d/new, and from a history.json that is damaged, or another version
of it (protocol.md, 2, Identity, and 5). Which id a message gets is decided by `identity`. Nothing is written to dated files
here, nor over what has no copy.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime, tzinfo
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from ..events import Events
from ..protocol.attachments import attachments_of, separated
from ..protocol.message import Archived, History, InvalidEntry, Key, Message, read_message, with_timestamp
from ..storage.clock import local_day
from ..storage.control import UNLIMITED, Control, ErrorCollector
from ..storage.errors import BadFile
from ..storage.lenient_json import recover, render_json
from ..text.lazy_re import lazy_re
from .append import Stores, as_stored, tell_odd_times
from .coverage import MemoryFile
from .history import HistoryStore, history_copies
from .identity import add_messages, assign_ids, continues, reinsert_lost, renumbered
from .journal import SeenJournal
from .memory_folder import MemoryFolder
from .quarantine import Quarantine, unread_of

#: What other programs write before a message on its line: a list mark, a time, the speaker.
_LABEL: Final = lazy_re(r"[-*+>\s]*(?:\[?[\d:T.\-\sZ]{4,24}\]?\s*)?[*_]{0,2}(?:\w[\w -]{0,30}[*_]{0,2}\s*[:：][*_]{0,2})?\s*")
#: What a message becomes before it is stored; None for one that was forgotten.
Rule: TypeAlias = "Callable[[Message], Message | None]"


def intake(ws: Stores, now: datetime, control: Control = UNLIMITED) -> int:
    """
    Take in the new messages of history.json and the drop-box; returns how many there were.

    Where secrets are not stored their words are stored with marks, also in history.json and its backup.
    """
    # gather
    errors = ErrorCollector()
    history, journal, memory, settings = ws.history, ws.journal, ws.memory, ws.config.archive
    update_journal(journal, memory)
    dropped: dict[Path, list[Key]] = {}
    rule: Rule = partial(as_stored, mark=ws.mark, journal=journal, zone=settings.zone)
    with errors:
        _empty_drop_box(ws, dropped, rule)
    messages = _changed(history, rule) if ws.mark or journal.tombstones.acts() else history.read()
    _record_renumbered(messages, journal)
    # decide and apply: ids first, since everything else goes by them
    with_ids = partial(assign_ids, known=journal.known, now=now, future=settings.future_limit)
    named: dict[Key, Message] = {}

    def recorded_with_ids(recorded: History) -> History:
        after = with_ids(recorded)
        named.update((message.key, message) for message in journal.record_changed(recorded, after))
        return after

    if with_ids(messages) is not messages:
        messages = history.change(recorded_with_ids)
    if control.should_stop():
        return len(named)
    _quarantine_invalid(messages, ws.quarantine, ws.events)
    unseen = [*named.values(), *_unseen(messages, journal)]
    # also what waits to be written: the note that holds it may have arrived only now
    filed = [message for message in (*unseen, *journal.unwritten.values()) if message.archived is Archived.YES]
    adopted = _adopt(filed, journal, memory, settings.zone)
    journal.record_seen([message for message in unseen if message.key not in adopted and message.key not in named])
    tell_odd_times(unseen, ws.events)
    _remove_recorded(dropped, ws, errors)
    if control.should_stop():
        return len(unseen)
    _reinsert(ws)
    journal.record_history(history.read())
    if unseen:
        ws.events.emit("seen", messages=len(unseen), written_elsewhere=len(adopted))
    errors.raise_first()
    return len(unseen)


def _changed(history: HistoryStore, rule: Rule) -> History:
    """Return the messages of history.json, after the rule was applied there and to its backup, which anybody may put back."""

    def step(now: History) -> History:
        ruled = (rule(entry) if isinstance(entry, Message) else entry for entry in now)
        after = tuple(entry for entry in ruled if entry is not None)
        return now if after == now else after

    messages = history.read()
    if step(messages) is not messages:
        messages = history.change(step)
    backup = history.backup()
    if step(backup) is not backup:
        history.change_backup(step)
    return messages


def update_journal(journal: SeenJournal, memory: MemoryFolder) -> Sequence[MemoryFile]:
    """
    Record every dated file that the journal does not know, and return all dated files.

    OSError when the journal can't be written: then it is not known which messages are un-written.
    """
    if journal.is_doubtful:
        journal.compact()
    journal.ensure_durable()
    journal.refresh()
    files = memory.dated()
    _record_unknown_files(files, journal, memory)
    return files


def unwritten(history: History, journal: SeenJournal) -> list[Message]:
    """Return the messages that no dated file holds, oldest first; lost ones come from the journal's copy."""
    present = [e for e in history if isinstance(e, Message) and e.id and journal.file_of(e.key) is None]
    keys = {message.key for message in present}
    lost = [m for key, m in [*journal.unwritten.items()] if key in journal.reinserted and key not in keys]
    return lost + present


def _empty_drop_box(ws: Stores, dropped: dict[Path, list[Key]], rule: Rule) -> None:
    """
    Append the messages of the drop-box to history.json, those of all files in one write: there may be thousands.

    *dropped* gets the keys of each file that was taken in. A file that can't be parsed stays, and a copy goes to quarantine.
    """
    errors = ErrorCollector()
    batch: list[Message] = []
    claimed: dict[Path, list[Key]] = {}
    for path in ws.drop_box.finished():
        with errors:
            version = ws.files.read_stable(path)
            if version is None:
                continue
            try:
                messages = [*filter(None, map(rule, ws.drop_box.parse(path, version)))]
            except ValueError as error:
                if ws.quarantine.keep("dropped", version.data) == "new":
                    ws.events.emit("file_quarantined", file=ws.drop_box.relative(path), why=str(error))
                continue
            try:
                place = ws.drop_box.claim(path, version)
            except OSError:  # it is taken in all the same, and stays
                batch += messages
                raise
            if place:
                batch += messages
                claimed[place] = [message.key for message in messages]
    with errors:
        if batch:
            # what is known already is left out, so that a repetition after a crash is harmless
            ws.history.change(partial(add_messages, messages=batch, is_known=ws.journal.holds))
        dropped.update(claimed)
    errors.raise_first()


def _remove_recorded(dropped: dict[Path, list[Key]], ws: Stores, errors: ErrorCollector) -> None:
    """Delete the drop-box files of which the journal has all messages: before that, another program could still lose them."""
    for path, keys in dropped.items():
        if all(ws.journal.holds(key) or ws.journal.tombstones.has_key(key) for key in keys):
            with errors:
                ws.files.remove(path)


def _record_unknown_files(files: Sequence[MemoryFile], journal: SeenJournal, memory: MemoryFolder) -> None:
    """Record the dated files that the journal misses: a crash came before the record, or the journal was deleted."""
    unknown = [file.name for file in files if file.ours and file.name not in journal.names]
    memory.ensure_names_durable(unknown)
    for name in unknown:
        journal.record_written(name, memory.blocks(name))


def _unseen(history: History, journal: SeenJournal) -> list[Message]:
    messages: dict[Key, Message] = {}
    for entry in history:
        if isinstance(entry, Message) and journal.file_of(entry.key) is None and entry.key not in journal.unwritten:
            messages.setdefault(entry.key, entry)
    return list(messages.values())


def _record_renumbered(history: History, journal: SeenJournal) -> None:
    """Record the ids that messages have now, where they were seen without an id or under another one."""
    written: defaultdict[str, list[Message]] = defaultdict(list)
    unwritten: dict[Key, Message] = {}
    first = renumbered(history, journal.known)
    for message in (entry for entry in history if isinstance(entry, Message) and entry.key in first):
        key = first[message.key]
        if file := journal.file_of(key):
            written[file].append(message)
        else:
            first_at = journal.unwritten[key].created_at
            unwritten[key] = message if message.created_at or not first_at else with_timestamp(message, first_at)
    for file, messages in written.items():
        journal.record_adopted(file, messages)
    journal.record_renumbered(list(unwritten.values()), list(unwritten))


def _adopt(archived: Sequence[Message], journal: SeenJournal, memory: MemoryFolder, zone: tzinfo) -> set[Key]:
    """
    Record as written what another program had flagged `true` and written to a note of the message's day.

    Returns the keys of these messages; each is judged until it is written.
    """
    adopted: set[Key] = set()
    if not archived:
        return adopted
    for note in (file for file in memory.dated() if not file.ours):
        of_day = [m for m in archived if m.created_at and local_day(m.created_at, zone) == note.day]
        text = memory.text(note.name) if of_day else ""
        held = [message for message in of_day if message.key not in adopted and contains_message(message.text, text)]
        if held:
            memory.ensure_durable(note.name)
            journal.record_adopted(note.name, held)
            adopted.update(message.key for message in held)
    return adopted


def contains_message(text: str, note: str) -> bool:
    """
    Return whether the note contains the text of a message whole: as paragraphs, or as a line after a label.

    >>> contains_message("对花生过敏", "- 09:02 user: 对花生过敏"), contains_message("花生", "- 09:02 user: 对花生过敏")
    (True, False)
    """
    text = text.strip().replace("\r\n", "\n")
    if not text:
        return False
    place = note.find(text)
    while place >= 0:
        before = note[note.rfind("\n", 0, place) + 1 : place]
        after = note[place + len(text) :]
        if _LABEL.fullmatch(before) and (not after.strip() or after.lstrip(" \t\r").startswith("\n")):
            return True
        place = note.find(text, place + 1)
    return False


def _reinsert(ws: Stores) -> None:
    """Put un-written messages back that another program's rewrite lost, once; forget those whose text was replaced."""
    history, journal = ws.history, ws.journal
    messages = history.read()  # after the journal was read: whoever appends a message writes to history.json first
    if _lacks_ids(messages):
        return  # a program has just stripped the ids: what seems lost may be there, and gets its id in the next round
    present: defaultdict[str, list[Message]] = defaultdict(list)
    for entry in messages:
        if isinstance(entry, Message):
            present[entry.id].append(entry)
    gone = [m for m in journal.unwritten.values() if all(m.key != message.key for message in present.get(m.id, ()))]
    replaced = dict.fromkeys(m.key for m in gone if any(continues(m, message) for message in present.get(m.id, ())))
    lost = [m for m in gone if m.key not in replaced and m.key not in journal.reinserted]
    journal.record("dropped", replaced)
    # a lost message whose id another one has now can't be put back: the archive takes it from the journal
    journal.record("back", [message.key for message in lost])
    copies = [ws.attachments.original(message) for message in lost if message.id not in present]
    if not copies:
        return
    history.change(lambda now: now if _lacks_ids(now) else reinsert_lost(now, copies, journal.known.ids))
    ws.events.emit("put_back", messages=len(copies), ids=[message.id for message in copies[:20]])


def _lacks_ids(history: History) -> bool:
    return any(isinstance(entry, Message) and not entry.id for entry in history)


def _quarantine_invalid(history: History, quarantine: Quarantine, events: Events) -> None:
    copies = {render_json(entry.raw): entry.why for entry in history if isinstance(entry, InvalidEntry)}
    for data, why in copies.items():
        kept = quarantine.keep("message", data, times=10)
        if kept == "full":
            return  # else the folder would be read once for each of thousands
        if kept == "new":
            events.emit("message_odd", why=why)


# ── a damaged history.json, or another version of it ─────────────────────────


def keep_damaged(history: HistoryStore, quarantine: Quarantine) -> bool:
    """Keep a copy of a history.json that can't be read, once per content; return whether there is one, or nothing to keep."""
    version = history.version()
    is_kept = version is None or quarantine.keep("history.json", version.data) != "full"
    return is_kept or not (version and version.data.strip(b"\0 \t\r\n"))  # a power cut leaves zeros


def restore_history(ws: Stores, now: datetime) -> int:
    """
    Restore a damaged or lost history.json from its backup, the journal and what is whole in it; record what can't be read.

    Returns how many messages it has now; 0 when it can be read, when it can't be kept, or when there is no message anywhere.
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
        journal.refresh()
        messages = assign_ids(backup, journal.known, now, settings.future_limit)  # the backup may be older than the ids
        held = {*_first_keys(messages, journal).values()}
        messages += tuple(ws.attachments.original(message) for key, message in journal.unwritten.items() if key not in held)
        entries = tuple(read_message(raw, settings.zone) for raw in (recover(version.data).elements if version else ()))
        copies = (message for message in messages if isinstance(message, Message))
        entries = add_messages(entries, copies, lambda _: False)[: len(entries)]  # a program may have stripped their ids
        entries = assign_ids(entries, journal.known, now, settings.future_limit)
        first = _first_keys(entries, journal)
        known = held | journal.unwritten.keys() | journal.written.keys()
        whole = (entry for entry in entries if isinstance(entry, Message))
        messages = add_messages(messages, whole, lambda key: first[key] in known)
        if version and not messages:
            return 0
        ids = {entry.id for entry in messages if isinstance(entry, Message)}
        missed = unread_of("history.json", version.data, ids) if version else None
        kept = quarantine.keep_unread("history.json", version.data) if version and missed else ""
        journal.record_changed(backup, messages)
        history.overwrite(messages, version)
    counts = {"unread": missed.messages, "bytes": missed.bytes, "kept": kept} if missed else {}
    ws.events.emit("history_restored", messages=len(messages), why=why, **counts)
    return len(messages)


def _first_keys(history: History, journal: SeenJournal) -> dict[Key, Key]:
    """Return by the key of each message the one that the journal knows it by: a program may have given it another number."""
    first = renumbered(history, journal.known)
    return {entry.key: first.get(entry.key, entry.key) for entry in history if isinstance(entry, Message)}


def bring_pictures_back(ws: Stores) -> tuple[str, ...]:
    """
    Write pictures and files again that are gone or were changed, if a copy of their message has the bytes.

    A changed file is set aside first. No lock is needed: a file is only made where there is no right one.
    """
    messages = [message.raw for message in [*ws.journal.unwritten.values()]]
    messages += [block.fields for file in ws.memory.dated() for block in ws.memory.blocks(file.name)]
    named = {name for raw in messages for name in attachments_of(raw)}
    missing = {name for name in named if ws.attachments.read(name) is None}
    copies = history_copies(ws.files, ws.paths, ws.config.archive.zone) if missing else ()
    raws = {name: message.raw for message in copies for name in missing.intersection(separated(message.raw)[1])}
    for raw in raws.values():
        ws.attachments.keep(raw)
    return tuple(sorted(name for name in raws if ws.attachments.read(name) is not None))
