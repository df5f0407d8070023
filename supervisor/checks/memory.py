"""The checks of the memory itself: its files, its index, and its open tasks."""

from __future__ import annotations

import stat as modes
from datetime import UTC, datetime, timedelta
from heapq import nlargest
from shlex import quote
from typing import TYPE_CHECKING, Final

from ..archive.deletions import history_copies, is_other
from ..longterm.lines import parse_entry
from ..protocol.attachments import attachments_of
from ..protocol.dated_file import undated_in
from ..protocol.inbox import count_unread
from ..protocol.marks import is_shared
from ..protocol.message import InvalidEntry, Message, why_undated
from ..protocol.paths import QUEUE_FOLDERS, is_unfinished
from ..storage.catalogue import Text
from ..storage.errors import Busy
from ..storage.instant import why_not_said_at
from ..storage.lenient_json import not_utf8
from ..text.decoding import encoding_of
from ..text.language import language_of
from ..text.printable import printable
from .check import Look, bad, odd
from .machine import walk, writable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ..archive.unread import Unread
    from ..protocol.message import Entry
    from ..workspace import Workspace
    from .check import Faults
    from .fsck import Ledger

#: How long a message may wait when no supervisor runs: some use recalld by a daily `run --until-settled`.
LONGEST_WAIT: Final = timedelta(days=1)
#: The time within which a running supervisor has a change in the index.
_INDEXED_IN: Final = timedelta(minutes=1)
#: The time within which a program that writes in the drop-box itself gives its file the name that it is to have.
_WRITTEN_IN: Final = timedelta(minutes=1)
#: `status` looks at the encoding of so many notes, those that were changed last, of at most so many bytes each.
_NEWEST_NOTES: Final = 100
_NEWEST_BYTES: Final = 1 << 20
#: Why the task of a group failed, by the reason in its result.
_REASONS: Final = {
    "timeout": Text("model.reason_timeout"),
    "empty": Text("model.reason_empty"),
    "refused": Text("model.reason_refused"),
    "truncated": Text("model.reason_cut_off"),
    "vague": Text("model.reason_poor"),
    "new": Text("model.reason_new"),
    "copy": Text("model.reason_copy"),
    "transcript": Text("model.reason_transcript"),
    "repeats": Text("model.reason_repeats"),
    "form": Text("model.reason_form"),
    "example": Text("model.reason_example"),
    "prompt": Text("model.reason_prompt"),
    "language": Text("model.reason_language"),
    "data": Text("model.reason_data"),
    "error": Text("model.reason_error"),
    "thought": Text("model.reason_thought"),
    "order": Text("model.reason_order"),
    "forged": Text("model.reason_forged"),
    "long": Text("model.reason_long"),
    "input": Text("model.reason_input"),
    "lost": Text("model.reason_unreadable"),
}
#: The damage in `fsck`'s list that a quick check finds, too.
_SEEN_QUICKLY: Final = frozenset({"error.bad_file", "fsck.not_whole", "fsck.ends_early"})

#: The sentences that say that messages are lost with their files.
_LOST: Final = ("status.days_lost", "status.redacted_lost")


# ── history.json ─────────────────────────────────────────────────────────────


def newer_format(look: Look) -> Faults:
    """Raise NewerFormat if a newer recalld has written to the workspace."""
    look.ws.journal.refresh()
    look.ws.memory.summaries()
    yield from ()


def history(look: Look) -> Faults:
    """Yield why history.json can't be read."""
    if look.no_history:
        version = look.ws.files.read_stable(look.ws.paths.history)
        why = not_utf8(version.data, look.ws.paths.history) if version else None
        yield bad(Text("status.history_invalid", why=why or look.no_history.why))


def unread(look: Look) -> Faults:
    """Yield the unread parts of damaged histories, until a person has dealt with them."""
    for one in look.ws.unread.read():
        yield bad(why_unread(one, look.ws.unread.path_of(one)))


def forgetting(look: Look) -> Faults:
    """Yield how much a forgetting has still to take out, after it was interrupted."""
    if count := sum(len(act.messages) + len(act.lines) + len(act.files) for act in look.ws.journal.tombstones.unfinished()):
        yield odd(Text("forget.unfinished", count=count))


def inbox(look: Look) -> Faults:
    """Yield that inbox.json is no JSON, so that nothing in it is read, or what in it is no input."""
    version = look.ws.files.read_stable(look.ws.paths.inbox)
    try:
        count = count_unread(version.data if version else b"[]", look.ws.zone)
    except ValueError:
        yield bad(Text("status.inbox_invalid"))
        return
    if count:
        yield bad(Text("status.inbox_unread", count=count))


def why_unread(one: Unread, kept: Path) -> Text:
    """Return how much of a file could not be read, where the file is kept, and the command that mends it."""
    path = one.name if "/" in one.name else f".recalld/quarantine/{one.name}"
    code, command = "status.unread", ""
    if one.encoding:
        code, command = "status.unread_encoded", f"iconv -f {one.encoding} -t UTF-8 {quote(str(kept))} > mended.json"
    return Text(code, count=one.messages, bytes=one.bytes, path=path, name=one.name, encoding=one.encoding, command=command)


def dropped(look: Look) -> Faults:
    """Yield the first file of the drop-box whose messages can't be read."""
    box, why = look.ws.drop_box, {}
    for path in box.finished():
        version = box.read(path)
        try:
            _ = box.parse(path, version) if version else []
        except ValueError as error:
            why[path.name] = (not_utf8(version.data, path) if version else None) or error.args[0]
    for path, stat in box.misnamed():
        if look.now - datetime.fromtimestamp(stat.mtime_ns / 1e9, UTC) > _WRITTEN_IN:
            why[path.name] = Text("status.not_json")
    for name in sorted(why)[:1]:
        yield bad(Text("status.dropped_unread", count=len(why), name=printable(name), why=why[name]))


def waiting(look: Look) -> Faults:
    """Yield a fault if messages have waited too long for their dated file."""
    oldest = min((one.created_at for one in look.waiting if one.created_at), default=look.now)
    if not look.is_running and look.now - oldest > LONGEST_WAIT:
        yield bad(Text("status.waits_unsupervised", time=look.local_time(oldest)))


def entries(look: Look) -> Faults:
    """Yield the first entry of history.json that is not a message."""
    invalid = [(n, entry.why) for n, entry in enumerate(look.history, 1) if isinstance(entry, InvalidEntry)]
    for number, why in invalid[:1]:
        yield bad(Text("status.entries_odd", count=len(invalid), number=number, why=why))


# ── dated files ──────────────────────────────────────────────────────────────


def gone(look: Look) -> Faults:
    """Yield the dated files that are gone and whose messages no other file has: lost, redacted and lost, or kept elsewhere."""
    missing = {key: name for name, keys in look.absences.lost.items() for key in keys}
    if not missing:
        return
    kept = {entry.key for entry in look.history if isinstance(entry, Message)} | look.ws.journal.unwritten.keys()
    marked = look.ws.journal.tombstones.marked_ids()  # a redaction leaves no copy that a repair could find
    for code, is_marked in zip(_LOST, (False, True), strict=True):
        if lost := [name for key, name in missing.items() if key not in kept and (key[0] in marked) == is_marked]:
            yield bad(Text(code, count=len(lost), name=min(lost)))
    if left := {key: name for key, name in missing.items() if key in kept}:
        files = sorted(set(left.values()))
        yield bad(Text("status.days_gone", files=len(files), name=files[0], count=len(left)))


def moved(look: Look) -> Faults:
    """Yield the present places of dated files that a person has moved or renamed: they are read there."""
    for name, path in look.absences.moved.items():
        yield odd(Text("status.day_moved", name=name, path=printable(look.ws.paths.relative(path))))


def taken_out(look: Look) -> Faults:
    """Yield how many messages that a person deleted or changed by hand still stand elsewhere as they were."""
    ws = look.ws
    ends = {key for keys in look.absences.cut.values() for key in keys}  # reported as cut off
    taken = {key: now for key, now in ws.deletions.taken_out(look.absences).items() if key not in ends}
    copies = history_copies(ws.files, ws.paths, ws.zone) if taken else ()
    if left := {one.key for one in copies if one.key in taken and is_other(one, taken[one.key])}:
        yield odd(Text("forget.offer", count=len(left)))


def undated(look: Look) -> Faults:
    """Yield messages whose time can't be read: those in dated files, and those that wait for one."""
    ws = look.ws
    files = [file for file in look.files if file.undated and file.name not in ws.journal.dated]
    for file in files[:1]:
        version = ws.files.read_stable(ws.memory.path_of(file.name))
        reasons = [why for _, why in undated_in(version.data, ws.memory.path_of(file.name))] if version else []
        if reasons:
            yield odd(Text("status.times_unread", count=sum(one.undated for one in files), name=file.name, why=reasons[0]))
    waiting = [(n, why) for n, one in enumerate(look.history, 1) if (why := _why_undated(one, look))]
    for number, why in waiting[:1]:
        yield odd(Text("status.times_unread_yet", count=len(waiting), number=number, why=why))


def _why_undated(message: Entry, look: Look) -> str:
    """Return why the time of an unwritten message is not used; "" if it is used, or if none was given."""
    if not isinstance(message, Message) or look.ws.journal.file_of(message.key) is not None:
        return ""
    if "createdAtFound" in message.raw and message.created_at:
        return why_undated(message.raw, message.created_at, look.ws.zone)
    given, latest = message.raw.get("createdAt"), look.now + look.ws.config.archive.future_limit
    return why_not_said_at(given, look.ws.zone, latest) if given is not None else ""


def damaged(look: Look) -> Faults:
    """Yield the dated files that have lost their head or their end, and those in which the last messages are missing."""
    if broken := look.absences.damaged:
        yield bad(Text("status.days_damaged", count=len(broken), name=min(broken)))
    if cut := look.absences.cut:
        yield bad(Text("status.days_cut", count=len(cut), name=min(cut)))


def accounted(look: Look) -> Ledger:
    """Return the account of all messages, which is made once for each look."""
    from .fsck import fsck

    if look.ledger is None:
        look.ledger = fsck(look.ws)
    return look.ledger


def accounting(look: Look) -> Faults:
    """Yield losses and damage that only reading every file can find."""
    ledger = accounted(look)
    damage = [why for why in ledger.damage if isinstance(why, Text) and not _is_seen_quickly(why)]
    is_told = any(fault.why.code in _LOST for fault in gone(look) if isinstance(fault.why, Text))
    lost = [] if is_told else ledger.lost
    if lost or damage:
        yield bad(
            Text("doctor.damage", lost=len(lost), damaged=len(damage)) if lost else Text("doctor.damaged", damaged=len(damage))
        )


def _is_seen_quickly(damage: Text) -> bool:
    """Return whether a quick check finds this damage, too."""
    is_gone = getattr(damage.fields.get("state"), "code", "") == "fsck.is_gone"  # an attachment of a message
    return damage.code in _SEEN_QUICKLY or is_gone


# ── other files ──────────────────────────────────────────────────────────────


def attachments(look: Look) -> Faults:
    """Yield the missing pictures and files that messages name; only dated files that name one are parsed."""
    ws = look.ws
    kept = {ws.paths.relative(ws.paths.attachments / name) for name in ws.files.disk.names(ws.paths.attachments)}
    named = {name for message in [*ws.journal.unwritten.values()] for name in attachments_of(message.raw)}
    for file in look.files:
        if not file.attachments <= kept:
            named.update(name for block in ws.memory.blocks(file.name) for name in attachments_of(block.fields))
    if missing := sorted(named - kept):
        yield bad(Text("status.attachments_gone", count=len(missing), name=missing[0]))


def quarantine(look: Look) -> Faults:
    """Yield a fault if the quarantine is full, so that no more damaged files can be kept."""
    kept = len(look.ws.files.disk.names(look.ws.paths.quarantine))
    if kept >= look.ws.config.care.quarantine_limit:
        yield odd(Text("doctor.quarantine_full", count=kept))


def encodings(look: Look) -> Faults:
    """Yield the long-term file and those of the newest notes that are not in UTF-8: nothing can be added to such a file."""
    yield from _in_other_encodings(look, _newest_notes(look))


def older_encodings(look: Look) -> Faults:
    """Yield every other Markdown file that is not in UTF-8."""
    newest = {*_newest_notes(look)}
    notes = (path for path, _ in walk(look.ws.paths.memory) if path.suffix == ".md" and not is_unfinished(path.name))
    yield from _in_other_encodings(look, sorted({*notes} - newest))


def _newest_notes(look: Look) -> list[Path]:
    """Return the long-term file, and the newest notes in memory/ and in the folders that people make there."""
    ws, found = look.ws, []
    dated = ws.journal.file_names()  # one that is damaged is reported as that
    folders = {ws.paths.memory: ws.files.disk.stats(ws.paths.memory)}
    own = {ws.paths.originals, ws.paths.summaries, ws.paths.attachments}
    for name, stat in folders[ws.paths.memory].items():
        if modes.S_ISDIR(stat.mode) and (folder := ws.paths.memory / name) not in own:
            folders[folder] = ws.files.disk.stats(folder)
    for folder, stats in folders.items():
        for name, stat in stats.items():
            if name.endswith(".md") and name not in dated and stat.size <= _NEWEST_BYTES and not is_unfinished(name):
                found.append((stat.mtime_ns, folder / name))
    return [ws.paths.root / ws.long_term.path, *(path for _, path in nlargest(_NEWEST_NOTES, found))]


def _in_other_encodings(look: Look, paths: Iterable[Path]) -> Faults:
    """Yield one fault for those of the files that are not in UTF-8; the encoding of the first is guessed."""
    ws, found = look.ws, {}
    for path in paths:
        try:
            version = ws.files.read_stable(path)
        except (OSError, Busy):
            continue  # a link, a folder, a pipe, somebody else's file: whatever reads it reports that; or it is being written
        if version and encoding_of(version.data) != "UTF-8":
            found[ws.paths.relative(path)] = not_utf8(version.data, path) or Text("file.not_utf8")
    for name, why in sorted(found.items())[:1]:
        yield bad(Text("status.not_utf8", count=len(found), name=printable(name), why=why))


def long_term(look: Look) -> Faults:
    """Yield a fault if there are two long-term files."""
    if {"memory.md", "MEMORY.md"} <= {*look.ws.files.disk.names(look.ws.paths.root)}:
        yield odd(Text("doctor.two_long_term_files"))


def marked_by_machine(look: Look) -> Faults:
    """Yield a fault if summaries among the long-term lines are marked for groups: programs could set the mark before 0.10.0."""
    ws = look.ws
    shared = [line for line in ws.long_term.read().lines if is_shared(line.text)]
    found = [str(line.number) for line in shared if (entry := parse_entry(line.text)) and _is_summary(entry.source, ws)]
    if found:
        yield odd(Text("doctor.marked_by_machine", path=ws.long_term.path, count=len(found), lines=", ".join(found)))


def _is_summary(source: str, ws: Workspace) -> bool:
    """Return whether a line of this source is a summary: `auto-overflow`, or the name of a session that was summed up."""
    from ..conversation.sessions import OVERFLOW  # imported here, since few memories have such a line

    return source == OVERFLOW or bool(ws.session_files.read(source).markers.get("summary"))


def index(look: Look) -> Faults:
    """
    Yield a fault if the index is damaged, or if a running supervisor does not keep it up to date.

    Without a supervisor the next search updates the index, so nothing is wrong. A change of the last minute may not be in yet.
    """
    ws = look.ws
    if ws.files.disk.is_read_only(ws.paths.root) or any(writable(look)):
        return  # the search engine can't open an index there
    found = ws.index.inventory()
    if found.damage:
        yield bad(Text("doctor.index_unreadable", why=found.damage))
    elif look.is_running and found.differing:
        newest = max((stat.st_mtime for _, stat in walk(ws.paths.memory)), default=0.0)
        if look.now - datetime.fromtimestamp(newest, UTC) > _INDEXED_IN:
            yield odd(Text("doctor.index_old", count=found.differing))


def tasks(look: Look) -> Faults:
    """Yield summaries that fail or wait after a failure, and tasks that no worker takes."""
    ws = look.ws
    last = ws.config.archive.max_attempts
    failing = {group.partition("-")[2]: one for group, one in sorted(ws.failures().items()) if one.attempts < last}
    for label, one in [*failing.items()][:1]:
        times = {"since": look.local_time(one.failed_at), "time": look.local_time(one.next_at)}
        yield odd(Text("doctor.summaries_wait", count=len(failing), label=label, why=why_failed(one.reason), **times))
    for folder in QUEUE_FOLDERS[:3]:
        stats = ws.files.disk.stats(ws.paths.worker / folder)
        times_ns = [stat.mtime_ns for name, stat in stats.items() if name.endswith(".json")]
        since = datetime.fromtimestamp(min(times_ns) / 1e9, UTC) if times_ns else look.now
        if look.now - since > LONGEST_WAIT:
            newer = len(ws.task_queue.newer()) if folder == QUEUE_FOLDERS[0] else 0
            if newer:
                yield odd(Text("doctor.tasks_newer", count=newer))
            else:
                yield odd(Text("doctor.tasks_wait", folder=folder, count=len(times_ns), since=look.local_time(since)))


def why_failed(reason: str) -> str:
    """Return the text of the *reason* in a result."""
    return _REASONS.get(reason, reason)


def uses_chinese(look: Look) -> bool:
    """Return whether any message of history.json is in Chinese."""
    return any(isinstance(entry, Message) and language_of(entry.text) == "zh" for entry in look.history)
