"""
What a forgetting is after, and how it cleans what was made from the words: that is deleted, or loses the lines with them.

Doing it again is harmless. What only the words lead to, names in logs and pictures, is known by the act once they are gone
(`Tombstones.has_name`).
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final

from ..archive.places import LEFT, place_of
from ..conversation.sessions import RunningSummary, session_digest
from ..longterm.lines import parse_entry
from ..protocol.attachments import attachments_of, separated
from ..protocol.dated_file import Block
from ..protocol.message import Message
from ..protocol.paths import SLUG, day_of_name
from ..storage.errors import TEMPORARY, Conflict
from ..storage.lenient_json import parse_json, render_json
from ..text.lazy_re import lazy_re
from ..workspace import Workspace
from .wanted import Trace, Wanted, changed_lines, copies, decoded, files_below, text_at, unescaped

#: In a log: a dated file by its name up to the end of the slug, in JSON with escapes; any file of memory by its path.
_DATED: Final = lazy_re(rf"\d{{4}}-\d{{2}}-\d{{2}}-(?:{SLUG}|\\u[0-9a-f]{{4}})+")
_PATH: Final = lazy_re(r"(?:memory|trash)/[^\"\n]+?\.md")
#: What a packed log that is cut off or no gzip raises.
_TORN: Final = (EOFError, gzip.BadGzipFile, zlib.error)
#: How often a file that another program changes meanwhile is read again.
_TIMES: Final = 3


class Aim:
    """
    The messages, *lines* and *files* to forget; without *applies* it is only looked what would be done.

    *touched* has the paths of the files that were changed or deleted, by place, and *removed* of those that were deleted.
    """

    def __init__(self, ws: Workspace, wanted: Wanted, now: datetime, *, applies: bool) -> None:
        self.ws, self.now, self.applies = ws, now, applies
        self.messages, self.files = wanted.messages, wanted.files
        self.lines = tuple(line.text for line in wanted.lines)
        self.touched: dict[str, list[str]] = {}
        self.removed: set[str] = set()
        entries = [message.entry for message in wanted.messages.values()]
        recorded = map(ws.memory.path_of, filter(None, map(ws.journal.file_of, wanted.messages)))
        #: The dated files that have the messages, or had them, and their names.
        self.dated = frozenset(recorded).union(*(message.files for message in wanted.messages.values()))
        self.names = frozenset(path.name for path in self.dated)
        logged = {ws.paths.relative(path) for path in self.dated}.union(
            match[0] for match in map(_DATED.match, self.names) if match
        )
        #: What nothing leads to once the words are gone: pictures by their names, files by the names that logs have of them.
        self.leaving = frozenset((*logged, *self.files, *attachments_in(entries)))
        contents = [entry.content if (entry := parse_entry(line)) else line for line in self.lines]
        begun = (message for act in ws.journal.tombstones.unfinished() for message in act.messages)
        ids = {*(key[0] for key in wanted.messages), *(message[0] for message in begun)}
        #: The words, and what stands for them: ids of messages and names of dated files.
        self.trace = Trace([*(entry.text for entry in entries), *contents], ids | self.names)
        notes = (name for name in self.files if name.startswith("memory/") and name.endswith(".md"))
        #: The words of those *files* that are notes: a receipt may have them under an earlier name.
        self.notes = Trace(line for name in notes for line in text_at(ws, ws.paths.root / name).splitlines())
        #: The summaries that name the dated files, or have the words.
        self.summaries = tuple(
            period
            for period, summary in sorted(ws.memory.summaries().items(), key=lambda item: item[0].label)
            if any(source.name in self.names for source in summary.sources) or self.trace.is_in(summary.text)
        )

    def leaves(self, name: str) -> bool:
        """True if this picture goes, or this name of a file, by what stands or by an act that is not finished."""
        return name in self.leaving or self.ws.journal.tombstones.has_name(name)

    def note(self, path: Path) -> bool:
        """Note that this file is changed or deleted; return whether that is to be done, not only shown."""
        relative = self.ws.paths.relative(path)
        place = place_of(relative)
        known = self.touched.setdefault(place.what if place else "others", [])
        if relative not in known:
            known.append(relative)
        return self.applies

    def remove(self, path: Path) -> None:
        """Delete the file, or show that it would be."""
        self.removed.add(self.ws.paths.relative(path))
        if self.note(path):
            self.ws.files.remove(path)

    def clean(self, path: Path, rule: Callable[[bytes], bytes], lock: Path | None = None) -> None:
        """
        Replace the file by what the *rule* leaves of it, under its *lock*, or show that it would be.

        What another program writes meanwhile is read, too, a few times; after that the words go, and what it wrote with them.
        """
        version = self.ws.files.read_stable(path)
        if version is None or rule(version.data) == version.data or not self.note(path):
            return
        with self.ws.files.lock(lock) if lock else nullcontext():
            for _ in range(_TIMES):
                version = self.ws.files.read_stable(path)
                after = rule(version.data) if version else b""
                if version is None or after == version.data:
                    return
                with suppress(Conflict):
                    self.ws.files.replace(path, after, version)
                    return
            self.ws.files.replace(path, after, self.ws.files.read_stable(path))


def attachments_in(messages: Iterable[Message | Block]) -> set[str]:
    """Return the pictures and files that the messages name."""
    fields = (message.fields if isinstance(message, Block) else separated(message.raw)[0] for message in messages)
    return {name for content in fields for name in attachments_of(content)}


# ── what was made from the words ─────────────────────────────────────────────


def clean_made(aim: Aim) -> None:
    """Clean what was made from the words, but for the index, tables and logs."""
    _drop_files(aim)
    _drop_unfinished(aim)
    _drop_running_summaries(aim)
    _clean_lines(aim)


def _drop_files(aim: Aim) -> None:
    """Delete the tasks, summaries, receipts and copies that have the words, or are made of a file that goes."""
    ws, paths, queue = aim.ws, aim.ws.paths, aim.ws.task_queue
    gone = [*(paths.relative(paths.summary(period)) for period in aim.summaries), *aim.files]
    naming = re.compile("|".join(rf"(?<![\w./-]){re.escape(name)}(?![\w~-]|\.\w)" for name in gone)) if gone else None
    folders = (queue.queue, queue.running, queue.results, queue.failed, paths.pieces, paths.summaries)
    derived = [path for folder in folders for path in files_below(ws, folder)]
    for path, is_copy in (*((path, False) for path in derived), *((path, True) for path in copies(ws))):
        text = text_at(ws, path)
        names_it = is_copy and naming and paths.drop_box not in path.parents and naming.search(text)
        shows_note = path.parent == paths.turns and aim.notes.is_in(text)
        if names_it or shows_note or _is_of_day(aim, path) or aim.trace.is_in(path.name) or aim.trace.is_in(text):
            aim.remove(path)


def _drop_unfinished(aim: Aim) -> None:
    """Delete what a killed program has not finished writing; one that keeps a message holds the lock, or uses the drop-box."""
    ws, paths = aim.ws, aim.ws.paths
    places = [paths.root / name for name in ws.files.disk.names(paths.root)]
    for folder in (paths.memory, paths.trash, paths.state, paths.turns, paths.attachments):
        places += files_below(ws, folder)
    unfinished = [(path, path.with_name(match["name"])) for path in places if (match := TEMPORARY.fullmatch(path.name))]
    for path, whole in unfinished:
        with ws.history.lock() if aim.applies else nullcontext():
            if ws.files.disk.stat(path) and (aim.leaves(paths.relative(whole)) or aim.trace.is_in(text_at(ws, path))):
                aim.remove(path)


def _is_of_day(aim: Aim, path: Path) -> bool:
    """True if the name says that it is made of a day or month whose files or summaries go."""
    labels = {name[:length] for name in aim.names for length in (len("2026-01-28"), len("2026-01"))}
    place = place_of(aim.ws.paths.relative(path))
    match place and place.what:
        case "tasks" | "pieces":
            return any(label in path.name for label in labels)
        case "summaries" | "previous":
            return path.name.partition(".")[0] in {period.label for period in aim.summaries}
    return False


def _drop_running_summaries(aim: Aim) -> None:
    store, paths = aim.ws.session_files, aim.ws.paths
    for session in sorted({message.session for message in aim.messages.values()}):
        path = paths.session(session_digest(session))
        if aim.ws.files.disk.stat(path) is None:
            continue
        with store.locked(session):
            progress = store.read(session)
            intent = None if progress.intent and aim.trace.is_in(progress.intent.text) else progress.intent
            after = replace(progress, running=RunningSummary(), intent=intent)
            if after != progress and aim.note(path):
                store.keep(session, after)


def _clean_lines(aim: Aim) -> None:
    """Take the words out of the chats of LlamaIndex, of what is no longer true, of what could be undone, and of what waits."""
    paths = aim.ws.paths
    chats = (path for path in files_below(aim.ws, paths.sessions) if path.name.startswith("chat-") and path.suffix == ".jsonl")
    for path in chats:
        aim.clean(path, partial(_without_lines, aim, head=1), path.with_suffix(".lock"))
    aim.clean(paths.acts, partial(_without_names, aim))
    for path in (paths.ended, paths.acts):
        aim.clean(path, partial(_without_lines, aim))
    with suppress(ValueError):  # what can't be read is reported, and stays
        aim.clean(paths.inbox, partial(_without_inputs, aim), paths.inbox_lock)


def _without_lines(aim: Aim, data: bytes, head: int = 0) -> bytes:
    return b"\n".join(
        line
        for number, line in enumerate(data.split(b"\n"))
        if number < head or not (aim.trace.is_in(decoded(line)) or _changed_line(line, aim.lines))
    )


def _without_names(aim: Aim, data: bytes) -> bytes:
    """Take the names of the dated files out of the acts that moved others, too: these can still be brought back."""
    lines = data.split(b"\n")
    for number, line in enumerate(lines):
        with suppress(ValueError, LookupError, TypeError):
            act = parse_json(line)
            left = [name for name in act["files"] if not aim.trace.is_in(name)]
            if left and left != act["files"]:
                lines[number] = render_json({**act, "files": left, "count": len(left)})
    return b"\n".join(lines)


def _changed_line(act: bytes, lines: Sequence[str]) -> bool:
    """Return whether the act, a line of acts.jsonl, wrote or took away one of the lines: one is too short for a trace."""
    try:
        return any(text in lines for text in changed_lines(parse_json(act)["hunks"] if lines else ()))
    except (ValueError, LookupError, TypeError):
        return False


def _without_inputs(aim: Aim, data: bytes) -> bytes:
    inputs = parse_json(data) if aim.trace.is_in(decoded(data)) else None
    if not isinstance(inputs, list):
        return data
    return render_json([entry for entry in inputs if not aim.trace.is_in(decoded(render_json(entry)))]) + b"\n"


def clean_tables(aim: Aim) -> None:
    """Delete the index, the vectors and the tables, which are made again, and take the names of files out of the logs."""
    paths, files = aim.ws.paths, aim.ws.files
    for folder, lock in ((paths.state / "index", "index.lock"), (paths.vectors, "vectors.lock")):
        if any(files_below(aim.ws, folder)) and aim.note(folder):
            with files.lock(paths.state / lock):  # listed under it: its writer deletes what it has merged
                listed = files_below(aim.ws, folder)
                for path in sorted(listed, key=lambda path: path.name != "meta.json"):  # the list before what it names
                    with suppress(FileNotFoundError):  # an engine that is still open deletes files of its own, too
                        files.disk.unlink(path)
                files.disk.sync_folder(folder)
    if aim.applies:
        aim.ws.index.close()  # it is opened again when it is made
    for table in (paths.root / name for name in LEFT):
        if files.disk.stat(table):
            aim.remove(table)
    logs = (name for name in files.disk.names(paths.root) if name.startswith("log") and name.endswith((".jsonl", ".jsonl.gz")))
    for path in (*(paths.root / name for name in logs), paths.fsck, paths.backup, paths.diary):
        try:
            aim.clean(path, partial(without_names, aim.names, aim.leaves, path.suffix == ".gz"))
        except _TORN:  # nobody can read which names it has
            aim.remove(path)


def without_names(names: Iterable[str], leaves: Callable[[str], bool], is_packed: bool, data: bytes) -> bytes:
    """Return *data* without the *names* of dated files, and without a name that *leaves*; one of _TORN for cut-off data."""
    text = (gzip.decompress(data) if is_packed else data).decode("utf-8", "surrogateescape")
    after = text
    for name in sorted(names):  # whole, since a person may have given it what no slug has
        if day_of_name(f"{name[:10]}.md"):
            for spelling in (name, json.dumps(name)[1:-1]):
                after = after.replace(spelling, f"{_nameless(name)}.md")

    def without(match: re.Match[str]) -> str:
        name = unescaped(match[0])
        top, slash, rest = name.partition("/")
        if not leaves(name):
            return match[0]
        return f"{top}/{_nameless(rest.rpartition('/')[2])}.md" if slash else _nameless(name)

    after = _DATED.sub(without, _PATH.sub(without, after))
    if after == text:
        return data
    new = after.encode("utf-8", "surrogateescape")
    return gzip.compress(new, mtime=0) if is_packed else new


def _nameless(name: str) -> str:
    return f"{name[:10]}-forgotten" if day_of_name(f"{name[:10]}.md") else "forgotten"
