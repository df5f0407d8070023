"""The checks of the memory itself: what comes in (history.json, inbox.json, the drop-box), its files, index and summaries."""

import os
import stat as modes
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from heapq import nlargest
from pathlib import Path
from typing import Final

from ..archive.history import history_copies
from ..archive.quarantine import Unread
from ..host.last_night import LastFsck, read_last_fsck
from ..protocol.inbox import count_unread, parse_inbox
from ..protocol.llm import model_of
from ..protocol.message import InvalidEntry, Message
from ..protocol.paths import is_unfinished
from ..replies.failures import FailedInputs
from ..storage.errors import BadConfig, Busy, SupervisorError
from ..storage.lenient_json import not_utf8
from ..storage.texts import Text, msgid
from ..summaries.llm_state import configured_state, provider_state, why_failed
from ..text.foreign_text import encoding_of, printable
from .check import Faults, Look, bad, odd
from .machine import walk

#: How long a message may wait when no supervisor runs: some use recalld by a daily `run --until-settled`.
_LONGEST_WAIT: Final = timedelta(days=1)
#: The time within which a program that writes in the drop-box itself gives its file the name that it is to have.
_WRITTEN_IN: Final = timedelta(minutes=1)
#: Files that are named one by one.
_MOST_NAMED: Final = 5
#: `status` looks at the encoding of so many notes, those that were changed last, of at most so many bytes each.
_NEWEST_NOTES: Final = 100
_NEWEST_BYTES: Final = 1 << 20


# ── what comes in ────────────────────────────────────────────────────────────


def newer_format(look: Look) -> Faults:
    """Raise NewerFormat if a newer recalld has written to the workspace."""
    look.ws.journal.refresh()
    look.ws.memory.summaries()
    yield from ()


def history(look: Look) -> Faults:
    """Yield why history.json can't be read, what of a damaged one was not, and the first entry that is not a message."""
    if look.no_history:
        yield bad("history.json can't be read: {why}; `recalld restore` puts it together again.", why=look.no_history.why)
    yield from map(bad, map(why_unread, look.ws.quarantine.unread(look.ws.journal.known.ids)))
    invalid = [(n, entry.why) for n, entry in enumerate(look.history, 1) if isinstance(entry, InvalidEntry)]
    for number, why in invalid[:1]:
        yield bad(
            "entries of history.json can't be filed ({count}), the first is entry {number}: {why}; correct or delete them, `recalld fsck` counts what is left.",
            count=len(invalid),
            number=number,
            why=why,
        )


def why_unread(piece: Unread) -> Text:
    """Return how much of a file in the quarantine could not be read, and how it is mended."""
    return Text(
        "messages of a damaged history.json could not be read (about {count}, {bytes} bytes of {encoding}); they are kept in {path}: mend a copy of it, in UTF-8, and move that into inbox.d/new as a file .json, or want nothing in it; then delete {path}.",
        count=piece.messages,
        bytes=piece.bytes,
        encoding=piece.encoding or "UTF-8",
        path=f".recalld/quarantine/{piece.name}",
    )


def forgetting(look: Look) -> Faults:
    """Yield how much a forgetting has still to take out, after it was interrupted."""
    if count := sum(sum(act.counts.values()) for act in look.ws.journal.tombstones.unfinished()):
        yield bad(
            "something is still to be forgotten ({count}): the next round goes on with it, or `recalld run --until-settled`",
            count=count,
        )


def inbox(look: Look) -> Faults:
    """Yield what of inbox.json is not read, and which inputs have no answer."""
    ws = look.ws
    version, answers = ws.files.read_stable(ws.paths.inbox), ws.config.turns.reply != "off"
    if answers and (names := FailedInputs(ws.task_queue).set_aside()):
        yield bad(
            "inputs that got no answer that can be used: {count}, kept in {file}; ask again with another id, or delete the file and put the input back.",
            count=len(names),
            file=f"worker/failed/{names[0]}.json",
        )
    data = version.data if version else b"[]"
    try:
        count, times = count_unread(data, ws.zone), [message.created_at for message in parse_inbox(data, ws.zone)]
    except ValueError:
        yield bad("inbox.json is no JSON, so what waits in it is not read; mend the file, or delete it.")
        return
    if count:
        yield bad(
            "entries of inbox.json without words are answered by nobody ({count}); give them a `text`, or delete them.",
            count=count,
        )
    if late := [at for at in times if answers and at and look.now - at > ws.config.llm.timeout]:
        yield bad(
            "inputs in inbox.json that wait for an answer: {count}, the first since {time}.",
            count=len(late),
            time=look.local_time(min(late)),
        )


def dropped(look: Look) -> Faults:
    """Yield the files of the drop-box whose messages can't be read."""
    why = {**look.dropped[1]}
    for path, stat in look.ws.drop_box.misnamed():
        if look.now - datetime.fromtimestamp(stat.mtime_ns / 1e9, UTC) > _WRITTEN_IN:
            why[path.name] = Text("its name does not end in .json")
    if why:
        named = [Text("{name} ({why})", name=printable(name), why=why[name]) for name in sorted(why)[:_MOST_NAMED]]
        sentence = msgid(
            "files of inbox.d/new are not understood and are not taken in ({count}): {files}; correct or delete them."
        )
        yield bad(sentence, count=len(why), files=named)


def waiting(look: Look) -> Faults:
    """Yield a fault if messages have waited too long for their dated file."""
    oldest = min((entry.created_at for entry in look.waiting if entry.created_at), default=look.now)
    lock, filed = look.ws.files.disk.stat(look.ws.paths.history_lock), [file.created for file in look.files if file.created]
    begun = [datetime.fromtimestamp(lock.mtime_ns / 1e9, UTC)] if lock else []
    # one that says an old time came after the workspace was made, and after what was filed last
    since = max([oldest, *(time for time in (*begun, *filed) if time <= look.now)])
    if not look.is_running and look.now - since > _LONGEST_WAIT:
        yield bad(
            "messages wait to be written since {time}, and no supervisor runs; start one with `recalld run`.",
            time=look.local_time(since),
        )


# ── dated files ──────────────────────────────────────────────────────────────


def losses(look: Look) -> Faults:
    """Yield what has become of dated files that no longer hold their messages: they are gone, damaged, or end early."""
    absences = look.absences
    kept = {entry.key for entry in look.history if isinstance(entry, Message)} | look.ws.journal.unwritten.keys()
    lost = [name for name, keys in absences.lost.items() for key in keys if key not in kept]
    kinds = (
        (msgid("messages are lost ({count}), the first was in {name}, which is gone"), lost),
        (msgid("dated files are gone ({count}), the first is {name}"), absences.lost.keys() - lost),
        (msgid("dated files are damaged ({count}), the first is {name}"), absences.damaged),
        (msgid("dated files end before their last messages ({count}), the first is {name}"), absences.cut),
    )
    for what, names in kinds:
        if names:
            yield bad(
                "{what}; `recalld fsck` says more, and `recalld fsck --repair`, with the supervisor stopped, brings back what can be brought back. If you deleted it, `recalld fsck --accept {name}` says so, and `recalld forget --removed` takes it out of every other place, too.",
                what=Text(what, count=len(names), name=min(names)),
                name=min(names),
            )


def taken_out(look: Look) -> Faults:
    """Yield how many messages that a person deleted by hand still stand elsewhere."""
    ws = look.ws
    ends = {key for keys in look.absences.cut.values() for key in keys}  # reported as cut off
    taken = ws.deletions.taken_out(look.absences) - ends
    copies = history_copies(ws.files, ws.paths, ws.zone) if taken else ()
    if left := {copy.key for copy in copies if copy.key in taken}:
        yield odd(
            "messages that you deleted by hand stand in other places ({count}): `recalld forget --removed` shows them, and takes them out everywhere.",
            count=len(left),
        )


def accounting(look: Look) -> Faults:
    """Yield losses and damage that only reading every file finds: now if the look is slow, else what the last `fsck` found."""
    absences = look.absences
    if look.no_history or absences.lost or absences.damaged or absences.cut:
        return  # a quick check says already what is wrong
    last = LastFsck(look.now, len(look.ledger.lost), len(look.ledger.damage)) if look.slow else read_last_fsck(look.ws)
    if last and not last.is_sound:
        ways = msgid("files damaged: {damaged}, no message lost"), msgid("messages lost: {lost}, files damaged: {damaged}")
        yield bad(
            "{found}, by the account of {time}; `recalld fsck` lists them, `recalld fsck --repair`, with the supervisor stopped, brings back what can be brought back, and `recalld fsck --accept FILE` says of a file that you changed it yourself.",
            found=Text(ways[last.lost > 0], lost=last.lost, damaged=last.damage),
            time=look.local_time(last.at),
        )


# ── other files ──────────────────────────────────────────────────────────────


def quarantine(look: Look) -> Faults:
    """Yield a fault if the quarantine is full, so that no more damaged files can be kept."""
    kinds = Counter(name.rpartition(".")[0] for name in look.ws.files.disk.names(look.ws.paths.quarantine))
    kept = max(kinds.values(), default=0)  # each kind has a room of its own
    if kept >= look.ws.config.care.quarantine_limit:
        yield (bad if look.no_history else odd)(
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
                names[ws.paths.relative(path)] = not_utf8(version.data) or Text("it is not UTF-8")
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
    """Yield a fault if the index is damaged; `lasting` says that a supervisor can't update it, `supervisor` that one hangs."""
    may_open = os.access(look.ws.paths.state, os.W_OK | os.X_OK)  # else the search engine can't
    if may_open and (why := look.ws.index.inventory().damage):
        yield bad("the index can't be read: {why}; `recalld index rebuild` makes it again.", why=why)


# ── the summaries, and the model that writes them ────────────────────────────


def paused(look: Look) -> Faults:
    """Yield why the configured model writes no summaries, and that most of its answers are refused."""
    ws, llm = look.ws, look.ws.config.llm
    if ws.extracting:
        return
    try:
        model_of(llm)
    except BadConfig as error:
        yield bad("no model writes summaries: {why}; `recalld model test` asks it then.", why=error.why)
    provider = configured_state(ws.task_queue, ws.endpoint)
    if provider.next_at and provider.next_at > look.now:
        yield bad(
            "no model writes summaries until {time}: {why}; `recalld model test` asks it now.",
            time=look.local_time(provider.next_at),
            why=provider.reason,
        )
    account = provider_state(ws.task_queue).answers.get(llm.model)
    if account and account.is_worse:
        yield odd(
            "of the last answers of {model} ({of}) most were refused ({refused}), and extracts stand in their place: {why}. A larger model, or none, serves you better.",
            model=llm.model,
            refused=account.recent.count("r"),
            of=len(account.recent),
            why=why_failed(max(account.refused, key=lambda reason: account.refused[reason])),
        )


def tasks(look: Look) -> Faults:
    """Yield the newest summary that was given up, and the first that waits after a failure."""
    most, failures = look.ws.config.archive.max_attempts, sorted(look.ws.failures().items())
    given_up, waiting = ([item for item in failures if (item[1].attempts >= most) == is_over] for is_over in (True, False))
    for group, failure in given_up[-1:]:
        yield bad(
            "the summary of {label} fails again and again: {why}; `recalld summary redo {label}` tries once more.",
            label=group.partition("-")[2],
            why=why_failed(failure.reason),
        )
    for group, failure in waiting[:1]:
        yield odd(
            "summaries wait after a failure ({count}), the first is {label}, since {since}: {why}; it is tried again at {time}, `recalld summary redo {label}` tries now.",
            count=len(waiting),
            label=group.partition("-")[2],
            since=look.local_time(failure.failed_at),
            why=why_failed(failure.reason),
            time=look.local_time(failure.next_at),
        )


def meaning(look: Look) -> Faults:
    """Yield why memories are found by their words alone, where a supervisor may find them by meaning too."""
    from ..recall.embedders import model_fault  # `status` does not need it

    if why := model_fault(look.ws.config, is_loaded=look.is_running):
        yield bad("{why}.", why=why)
