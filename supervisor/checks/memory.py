"""The checks of the memory itself: its files, its index, and its open tasks."""

from __future__ import annotations

import stat as modes
from datetime import UTC, datetime, timedelta
from heapq import nlargest
from typing import TYPE_CHECKING, Final

from ..archive.deletions import is_other
from ..archive.history import history_copies
from ..protocol.attachments import attachments_of
from ..protocol.dated_file import undated_in
from ..protocol.message import Message, why_undated
from ..protocol.paths import QUEUE_FOLDERS, is_unfinished
from ..storage.errors import BadFile, Busy
from ..storage.instant import why_not_said_at
from ..storage.lenient_json import not_utf8
from ..storage.texts import Text, msgid
from ..text.decoding import encoding_of
from ..text.printable import printable
from .check import Look, bad, odd
from .fsck import ENDS_EARLY, IS_GONE, NOT_WHOLE
from .incoming import LONGEST_WAIT
from .machine import walk, writable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ..protocol.message import Entry
    from .check import Faults
    from .fsck import Ledger

#: The time within which a running supervisor has a change in the index.
_INDEXED_IN: Final = timedelta(minutes=1)
#: `status` looks at the encoding of so many notes, those that were changed last, of at most so many bytes each.
_NEWEST_NOTES: Final = 100
_NEWEST_BYTES: Final = 1 << 20
#: Why the task of a group failed, by the reason in its result.
_REASONS: Final = {
    "timeout": Text("the model did not answer in time"),
    "empty": Text("the model's answer was empty"),
    "refused": Text("the model refused, or its answer was no summary"),
    "truncated": Text("the model's answer was cut off"),
    "vague": Text("the model's answer said less than an extract"),
    "new": Text("the model's answer said what its material does not"),
    "copy": Text("the model's answer was a copy of its material"),
    "transcript": Text("the model's answer went on with the conversation, or wrote it down"),
    "repeats": Text("the model's answer repeated itself"),
    "form": Text("the model's answer filled in a form"),
    "example": Text("the model's answer had words of its prompt's example"),
    "prompt": Text("the model's answer was its prompt"),
    "language": Text("the model's answer was in another language"),
    "data": Text("the model's answer was data and no text"),
    "thought": Text("the model's answer was its thinking"),
    "order": Text("the model's answer ordered its reader about"),
    "forged": Text("the model's answer had marks of recalld, or characters that can't be written"),
    "long": Text("the model's answer was too long"),
    "input": Text("the server did not take the messages"),
    "lost": Text("its files can't be read"),
}
#: The damage in `fsck`'s list that a quick check finds, too.
_SEEN_QUICKLY: Final = frozenset({BadFile.english, NOT_WHOLE, ENDS_EARLY})
#: The sentence that says that messages are lost with their files.
_LOST: Final = msgid(
    "messages are lost ({count}), the first was in {name}, which is gone; `recalld fsck` lists them, `recalld fsck --repair`, with the supervisor stopped, looks for copies of them, `recalld fsck --accept {name}` accepts it if you deleted that one."
)


# ── dated files ──────────────────────────────────────────────────────────────


def gone(look: Look) -> Faults:
    """Yield the dated files that are gone and whose messages no other file has: lost, or kept elsewhere."""
    missing = {key: name for name, keys in look.absences.lost.items() for key in keys}
    if not missing:
        return
    kept = {entry.key for entry in look.history if isinstance(entry, Message)} | look.ws.journal.unwritten.keys()
    if lost := [name for key, name in missing.items() if key not in kept]:
        yield bad(Text(_LOST, count=len(lost), name=min(lost)))
    if left := {key: name for key, name in missing.items() if key in kept}:
        files = sorted(set(left.values()))
        yield bad(
            "dated files are gone ({files}), the first is {name}, and messages of theirs are in no other ({count}); `recalld fsck --repair`, with the supervisor stopped, has the next run write them again, `recalld fsck --accept {name}` accepts it if you deleted that one.",
            files=len(files),
            name=files[0],
            count=len(left),
        )


def moved(look: Look) -> Faults:
    """Yield the present places of dated files that a person has moved or renamed: they are read there."""
    for name, path in look.absences.moved.items():
        yield odd("{name} is now {path}, and is read there.", name=name, path=printable(look.ws.paths.relative(path)))


def taken_out(look: Look) -> Faults:
    """Yield how many messages that a person deleted or changed by hand still stand elsewhere as they were."""
    ws = look.ws
    ends = {key for keys in look.absences.cut.values() for key in keys}  # reported as cut off
    taken = {key: now for key, now in ws.deletions.taken_out(look.absences).items() if key not in ends}
    copies = history_copies(ws.files, ws.paths, ws.zone) if taken else ()
    if left := {copy.key for copy in copies if copy.key in taken and is_other(copy, taken[copy.key])}:
        yield odd(
            "messages that you deleted or changed by hand stand in other places as they were ({count}): `recalld forget --removed` shows them, and takes them out everywhere.",
            count=len(left),
        )


def undated(look: Look) -> Faults:
    """Yield messages whose time can't be read: those in dated files, and those that wait for one."""
    ws = look.ws
    files = [file for file in look.files if file.undated and file.name not in ws.journal.dated]
    for file in files[:1]:
        version = ws.files.read_stable(ws.memory.path_of(file.name))
        reasons = [why for _, why in undated_in(version.data, ws.memory.path_of(file.name))] if version else []
        if reasons:
            yield odd(
                "the times of messages can't be read ({count}), and they are filed under the days they came; the first is in {name}: {why}. Correct createdAt there and delete createdAtFound; where the day is right, `recalld fsck --accept-times` says so of all.",
                count=sum(file.undated for file in files),
                name=file.name,
                why=reasons[0],
            )
    waiting = [(n, why) for n, message in enumerate(look.history, 1) if (why := _why_undated(message, look))]
    for number, why in waiting[:1]:
        yield odd(
            "the times of messages in history.json can't be read ({count}), and they will be filed under the days they came; the first is entry {number}: {why}. Correct createdAt there and delete createdAtFound.",
            count=len(waiting),
            number=number,
            why=why,
        )


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
        yield bad(
            "dated files are damaged ({count}), the first is {name}; `recalld fsck` says how, `recalld fsck --repair`, with the supervisor stopped, mends what can be mended.",
            count=len(broken),
            name=min(broken),
        )
    if cut := look.absences.cut:
        yield bad(
            "dated files end before their last messages ({count}), the first is {name}; if you deleted them, `recalld fsck --accept {name}` says so, or `recalld forget --removed` takes them out of every other place, too; if not, `recalld fsck --repair`, with the supervisor stopped, brings them back.",
            count=len(cut),
            name=min(cut),
        )


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
    is_told = any(fault.why.msgid == _LOST for fault in gone(look) if isinstance(fault.why, Text))
    lost = [] if is_told else ledger.lost
    if lost or damage:
        yield bad(
            Text(
                "messages are lost ({lost}) or files damaged ({damaged}); `recalld fsck` lists them, `recalld fsck --repair`, with the supervisor stopped, brings back what can be brought back, and `recalld fsck --accept FILE` says of a file that you changed it yourself.",
                lost=len(lost),
                damaged=len(damage),
            )
            if lost
            else Text(
                "files are damaged ({damaged}); `recalld fsck` lists them, `recalld fsck --repair`, with the supervisor stopped, brings back what can be brought back, and `recalld fsck --accept FILE` says of a file that you changed it yourself.",
                damaged=len(damage),
            )
        )


def _is_seen_quickly(damage: Text) -> bool:
    """Return whether a quick check finds this damage, too."""
    is_gone = getattr(damage.fields.get("state"), "msgid", "") == IS_GONE  # an attachment of a message
    return damage.msgid in _SEEN_QUICKLY or is_gone


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
        yield bad(
            "pictures or files of messages are gone ({count}), the first is {name}; `recalld fsck --repair`, with the supervisor stopped, brings back those of which there is a copy, `recalld fsck` lists the others.",
            count=len(missing),
            name=missing[0],
        )


def quarantine(look: Look) -> Faults:
    """Yield a fault if the quarantine is full, so that no more damaged files can be kept."""
    kept = len(look.ws.files.disk.names(look.ws.paths.quarantine))
    if kept >= look.ws.config.care.quarantine_limit:
        yield odd(
            "quarantine is full (files: {count}), and no more damaged files are kept; look at them and delete what you do not need, `ls .recalld/quarantine` in the workspace lists them.",
            count=kept,
        )


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
    ws, faults = look.ws, []
    dated = ws.journal.file_bodies()  # one that is damaged is reported as that
    folders = {ws.paths.memory: ws.files.disk.stats(ws.paths.memory)}
    own = {ws.paths.originals, ws.paths.summaries, ws.paths.attachments}
    for name, stat in folders[ws.paths.memory].items():
        if modes.S_ISDIR(stat.mode) and (folder := ws.paths.memory / name) not in own:
            folders[folder] = ws.files.disk.stats(folder)
    for folder, stats in folders.items():
        for name, stat in stats.items():
            if name.endswith(".md") and name not in dated and stat.size <= _NEWEST_BYTES and not is_unfinished(name):
                faults.append((stat.mtime_ns, folder / name))
    return [ws.paths.root / ws.long_term.path, *(path for _, path in nlargest(_NEWEST_NOTES, faults))]


def _in_other_encodings(look: Look, paths: Iterable[Path]) -> Faults:
    """Yield one fault for those of the files that are not in UTF-8; the encoding of the first is guessed."""
    ws, names = look.ws, {}
    for path in paths:
        try:
            version = ws.files.read_stable(path)
        except (OSError, Busy):
            continue  # a link, a folder, a pipe, somebody else's file: whatever reads it reports that; or it is being written
        if version and encoding_of(version.data) != "UTF-8":
            names[ws.paths.relative(path)] = not_utf8(version.data, path) or Text("it is not UTF-8")
    for name, why in sorted(names.items())[:1]:
        yield bad(
            "files are not in UTF-8 and can't be read ({count}), the first is {name}: {why}; save them as UTF-8, or put whole copies in their place.",
            count=len(names),
            name=printable(name),
            why=why,
        )


def long_term(look: Look) -> Faults:
    """Yield a fault if there are two long-term files."""
    if {"memory.md", "MEMORY.md"} <= {*look.ws.files.disk.names(look.ws.paths.root)}:
        yield odd(
            "memory.md and MEMORY.md are both there; `cat MEMORY.md >> memory.md && rm MEMORY.md` in the workspace makes one of them."
        )


def index(look: Look) -> Faults:
    """
    Yield a fault if the index is damaged, or if a running supervisor does not keep it up to date.

    Without a supervisor the next search updates the index, so nothing is wrong. A change of the last minute may not be in yet.
    """
    ws = look.ws
    if ws.files.disk.is_read_only(ws.paths.root) or any(writable(look)):
        return  # the search engine can't open an index there
    inventory = ws.index.inventory()
    if inventory.damage:
        yield bad("the index can't be read: {why}; `recalld index rebuild` makes it again.", why=inventory.damage)
    elif look.is_running and inventory.differing:
        newest = max((stat.st_mtime for _, stat in walk(ws.paths.memory)), default=0.0)
        if look.now - datetime.fromtimestamp(newest, UTC) > _INDEXED_IN:
            yield odd(
                "the index is older than memory (files: {count}); `recalld index rebuild` brings it up to date.",
                count=inventory.differing,
            )


def tasks(look: Look) -> Faults:
    """Yield summaries that fail or wait after a failure, and tasks that no worker takes."""
    ws = look.ws
    last = ws.config.archive.max_attempts
    failing = {group.partition("-")[2]: failure for group, failure in sorted(ws.failures().items()) if failure.attempts < last}
    for label, one in [*failing.items()][:1]:
        times = {"since": look.local_time(one.failed_at), "time": look.local_time(one.next_at)}
        yield odd(
            "summaries wait after a failure ({count}), the first is {label}, since {since}: {why}; it is tried again at {time}, `recalld summary redo {label}` tries now.",
            count=len(failing),
            label=label,
            why=why_failed(one.reason),
            **times,
        )
    for folder in QUEUE_FOLDERS[:3]:
        stats = ws.files.disk.stats(ws.paths.worker / folder)
        times_ns = [stat.mtime_ns for name, stat in stats.items() if name.endswith(".json")]
        since = datetime.fromtimestamp(min(times_ns) / 1e9, UTC) if times_ns else look.now
        if look.now - since > LONGEST_WAIT:
            newer = len(ws.task_queue.newer()) if folder == QUEUE_FOLDERS[0] else 0
            if newer:
                yield odd(
                    "tasks in worker/queue are of a newer recalld ({count}), and wait for it; upgrade recalld, or delete them.",
                    count=newer,
                )
            else:
                yield odd(
                    "tasks wait in worker/{folder} ({count}) since {since}, and nobody takes them; `recalld run --until-settled` does.",
                    folder=folder,
                    count=len(times_ns),
                    since=look.local_time(since),
                )


def why_failed(reason: str) -> str:
    """Return the text of the *reason* in a result."""
    return _REASONS.get(reason, reason)
