"""The checks of the memory itself: its files, its index, and its open tasks."""

from __future__ import annotations

import stat as modes
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from heapq import nlargest
from pathlib import Path
from typing import Final

from ..archive.deletions import is_other
from ..archive.history import history_copies
from ..host.last_night import read_last_fsck
from ..protocol.attachments import attachments_of
from ..protocol.dated_file import undated_in
from ..protocol.message import Message
from ..protocol.paths import QUEUE_FOLDERS, is_unfinished
from ..query.parse import Query
from ..recall.ended import read_ended
from ..storage.clock import within
from ..storage.errors import Busy, SupervisorError
from ..storage.lenient_json import not_utf8
from ..storage.texts import Text
from ..text.foreign_text import encoding_of, printable
from ..text.tokenizer import tokens
from ..text.word_frequency import rarity_asked
from .check import Faults, Look, bad, odd
from .incoming import LONGEST_WAIT
from .machine import walk, writable

#: The time within which a running supervisor has a change in the index.
_INDEXED_IN: Final = timedelta(minutes=1)
#: `status` looks at the encoding of so many notes, those that were changed last, of at most so many bytes each.
_NEWEST_NOTES: Final = 100
_NEWEST_BYTES: Final = 1 << 20
#: Words of the question; a message with fewer than two is no question.
_WORDS: Final = 4
#: A word below this rarity is an everyday word; one in more passages than this identifies none.
_RARE: Final = 0.5
_MOST_PASSAGES: Final = 20
#: Files in which a message is looked for, messages of a file, and characters of a message.
_MOST_FILES: Final = 20
_MOST_MESSAGES: Final = 100
_MOST_CHARS: Final = 4_000
#: Hits among which the message has to be, and the longest search, in seconds.
_HITS: Final = 100
_PATIENCE_S: Final = 10.0
#: Why the task of a group failed, by the reason in its result.
_REASONS: Final = {
    "timeout": Text("the model did not answer in time"),
    "empty": Text("the model's answer was empty"),
    "refused": Text("the model refused, or its answer was no summary"),
    "truncated": Text("the model's answer was cut off"),
    "vague": Text("the model's answer said less than an extract"),
    "copy": Text("the model's answer was a copy of its material"),
    "transcript": Text("the model's answer went on with the conversation, or wrote it down"),
    "repeats": Text("the model's answer repeated itself"),
    "form": Text("the model's answer filled in a form"),
    "language": Text("the model's answer was in another language"),
    "data": Text("the model's answer was data and no text"),
    "thought": Text("the model's answer was its thinking"),
    "forged": Text("the model's answer had marks of recalld, or characters that can't be written"),
    "long": Text("the model's answer was too long"),
    "input": Text("the server did not take the messages"),
    "lost": Text("its files can't be read"),
}


# ── dated files ──────────────────────────────────────────────────────────────


def gone(look: Look) -> Faults:
    """Yield the dated files that are gone and whose messages no other file has: lost, or kept elsewhere."""
    missing = {key: name for name, keys in look.absences.lost.items() for key in keys}
    if not missing:
        return
    kept = {entry.key for entry in look.history if isinstance(entry, Message)} | look.ws.journal.unwritten.keys()
    if lost := [name for key, name in missing.items() if key not in kept]:
        yield bad(
            "messages are lost ({count}), the first was in {name}, which is gone; `recalld fsck` lists them, `recalld fsck --repair`, with the supervisor stopped, looks for copies of them, `recalld fsck --accept {name}` accepts it if you deleted that one.",
            count=len(lost),
            name=min(lost),
        )
    if left := {key: name for key, name in missing.items() if key in kept}:
        files = sorted(set(left.values()))
        yield bad(
            "dated files are gone ({files}), the first is {name}, and messages of theirs are in no other ({count}); `recalld fsck --repair`, with the supervisor stopped, has the next run write them again, `recalld fsck --accept {name}` accepts it if you deleted that one.",
            files=len(files),
            name=files[0],
            count=len(left),
        )


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
    """Yield messages in dated files whose time can't be read."""
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


def accounting(look: Look) -> Faults:
    """Yield losses and damage that only reading every file can find."""
    if why := _unsound(look, len(look.ledger.lost), len(look.ledger.damage)):
        yield bad(why)


def known_losses(look: Look) -> Faults:
    """Yield losses and damage that the last `fsck` found."""
    last = read_last_fsck(look.ws)
    if last and (why := _unsound(look, last.lost, last.damage)):
        yield bad("found on {time}: {why}.", time=look.local_time(last.at), why=why)


def _unsound(look: Look, lost: int, damage: int) -> Text | None:
    """Return what an account found; None where nothing is wrong, or a quick check says already what is."""
    if not (lost or damage) or look.no_history or any(map(any, (gone(look), damaged(look), attachments(look)))):
        return None
    return Text(
        "messages lost: {lost}, files damaged: {damaged}; `recalld fsck` lists them, `recalld fsck --repair`, with the supervisor stopped, brings back what can be brought back, and `recalld fsck --accept FILE` says of a file that you changed it yourself.",
        lost=lost,
        damaged=damage,
    )


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
    ws, names = look.ws, {}
    for path in _newest_notes(look):
        with suppress(OSError, Busy):  # what is no file is reported by its reader, or it is being written
            version = ws.files.read_stable(path)
            if version and encoding_of(version.data) != "UTF-8":
                names[ws.paths.relative(path)] = not_utf8(version.data, path) or Text("it is not UTF-8")
    for name, why in sorted(names.items())[:1]:
        yield bad(
            "files are not in UTF-8 and can't be read ({count}), the first is {name}: {why}; save them as UTF-8, or put whole copies in their place.",
            count=len(names),
            name=printable(name),
            why=why,
        )


def _newest_notes(look: Look) -> list[Path]:
    ws = look.ws
    dated, folders = ws.journal.file_names(), (ws.paths.originals, ws.paths.summaries)  # a damaged one is reported as that
    notes = [
        (stat.st_mtime_ns, path)
        for path, stat in walk(ws.paths.memory)
        if path.suffix == ".md" and modes.S_ISREG(stat.st_mode) and stat.st_size <= _NEWEST_BYTES
        if not (path.name in dated or is_unfinished(path.name) or any(map(path.is_relative_to, folders)))
    ]
    return [ws.paths.root / ws.long_term.path, *(path for _, path in nlargest(_NEWEST_NOTES, notes))]


def long_term(look: Look) -> Faults:
    """Yield a fault if the long-term file can't be read, or there are two."""
    try:
        look.ws.long_term.read()
    except SupervisorError as error:
        yield bad(error.sentence)
    if {"memory.md", "MEMORY.md"} <= {*look.ws.files.disk.names(look.ws.paths.root)}:
        yield odd(
            "memory.md and MEMORY.md are both there; `cat MEMORY.md >> memory.md && rm MEMORY.md` in the workspace makes one of them."
        )


def index(look: Look) -> Faults:
    """
    Yield a fault if the index is damaged, is not kept up to date by a running supervisor, or does not find a message.

    Without a supervisor the next search updates the index, so nothing is wrong. A change of the last minute may not be in yet.
    """
    ws = look.ws
    if ws.files.disk.is_read_only(ws.paths.root) or any(writable(look)):
        return  # the search engine can't open an index there
    inventory = ws.index.inventory()
    if inventory.damage:
        yield bad("the index can't be read: {why}; `recalld index rebuild` makes it again.", why=inventory.damage)
    elif not inventory.differing:
        yield from found_again(look)
    elif look.is_running:
        newest = max((stat.st_mtime for _, stat in walk(ws.paths.memory)), default=0.0)
        if look.now - datetime.fromtimestamp(newest, UTC) > _INDEXED_IN:
            yield odd(
                "the index is older than memory (files: {count}); `recalld index rebuild` brings it up to date.",
                count=inventory.differing,
            )


def found_again(look: Look) -> Faults:
    """
    Yield the dated file of a message that the index does not find by the message's own rarest words; another file each day.

    Another message that has all of these words will do, too.
    """
    ws = look.ws
    files = [file.name for file in look.files if file.ours]
    first, ended = look.now.toordinal() % max(len(files), 1), read_ended(ws.files, ws.paths).messages
    for name in (files[first:] + files[:first])[:_MOST_FILES]:
        blocks = [block for block in ws.memory.blocks(name)[:_MOST_MESSAGES] if block.id not in ended]
        rarest = [(block, _rarest_words(block.words, ws.index.frequency)) for block in blocks]
        telling = [(block, words) for block, words in rarest if len(words) > 1]
        if not telling:
            continue
        message, words = min(telling, key=lambda pair: sum(map(ws.index.frequency, pair[1])) / len(pair[1]))
        query = Query(dict.fromkeys(words, 1.0), text=" ".join(words))
        hits = ws.index.search(query, _HITS, deadline=within(_PATIENCE_S)).hits
        if not any(hit.unit.message == message.id or {*words} <= {*tokens(hit.unit.text)} for hit in hits):
            yield bad(
                "a message of {file} is not found by its own rarest words; `recalld index rebuild` makes the index again.",
                file=name,
            )
        return


def _rarest_words(text: str, frequency: Callable[[str], int]) -> list[str]:
    """Return the tokens of *text* that are no everyday words and in the fewest passages by *frequency*, rarest first."""
    rare = {token for token in tokens(text[:_MOST_CHARS]) if rarity_asked(token) >= _RARE}
    counts = {token: count for token in sorted(rare) if (count := frequency(token)) <= _MOST_PASSAGES}
    return sorted(counts, key=counts.__getitem__)[:_WORDS]


def tasks(look: Look) -> Faults:
    """Yield summaries that fail or wait after a failure, and tasks that no worker takes."""
    ws = look.ws
    failing = [(group, f) for group, f in sorted(ws.failures().items()) if f.attempts < ws.config.archive.max_attempts]
    for group, failure in failing[:1]:
        yield odd(
            "summaries wait after a failure ({count}), the first is {label}, since {since}: {why}; it is tried again at {time}, `recalld summary redo {label}` tries now.",
            count=len(failing),
            label=group.partition("-")[2],
            since=look.local_time(failure.failed_at),
            why=why_failed(failure.reason),
            time=look.local_time(failure.next_at),
        )
    newer = len(ws.task_queue.newer())
    for folder in QUEUE_FOLDERS[:3]:
        stats = ws.files.disk.stats(ws.paths.worker / folder)
        times_ns = [stat.mtime_ns for name, stat in stats.items() if name.endswith(".json")]
        since = datetime.fromtimestamp(min(times_ns) / 1e9, UTC) if times_ns else look.now
        if look.now - since <= LONGEST_WAIT:
            continue
        if newer and folder == QUEUE_FOLDERS[0]:
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
