"""
What a forgetting is after, and how it cleans what was made from the words: that is deleted, or loses the lines with them.

Doing it again is harmless. The name of a file may have a word in it: older logs, the lines of the log that name one, and what
`undo` needs go whatever is forgotten, so that nothing of them has to be known.
"""

from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final

from ..archive.places import place_of
from ..conversation.sessions import RunningSummary, session_digest
from ..longterm.lines import parse_entry
from ..protocol.attachments import attachments_of, separated
from ..protocol.dated_file import Block
from ..protocol.message import Message
from ..storage.errors import TEMPORARY, Conflict
from ..storage.lenient_json import parse_json, render_json
from ..text.lazy_re import lazy_re
from ..workspace import Workspace
from .wanted import Trace, Wanted, copies, decoded, files_below, text_at

#: In a log: the name of a dated file, or the path of a file of memory.
_FILE: Final = lazy_re(r"(?:\d{4}-\d{2}-\d{2}-|(?:memory|trash)/)(?:[^\"\\]|\\.)+\.md")
#: In an act: the lines that it changed, or the dated files that it moved.
_UNDOABLE: Final = lazy_re(r'"hunks": |"files": \[')
#: How often to write a file when other programs change it meanwhile.
_WRITE_TRIES: Final = 20


class Aim:
    """
    The messages, *lines* and *files* to forget; without *applies* it is only looked what would be done.

    *touched* has the paths of the files that were changed or deleted, by place.
    """

    def __init__(self, ws: Workspace, wanted: Wanted, now: datetime, *, applies: bool) -> None:
        self.ws, self.now, self.applies = ws, now, applies
        self.messages, self.files = wanted.messages, wanted.files
        #: The messages, also as they were before they got an id.
        self.keys = frozenset((*wanted.messages, *(("", words) for _, words in wanted.messages)))
        self.lines = tuple(line.text for line in wanted.lines)
        self.touched: dict[str, list[str]] = {}
        entries = [message.entry for message in wanted.messages.values()]
        recorded = map(ws.memory.path_of, filter(None, map(ws.journal.file_of, wanted.messages)))
        #: The dated files that have the messages, or had them, and their names.
        self.dated = frozenset(recorded).union(*(message.files for message in wanted.messages.values()))
        self.names = frozenset(path.name for path in self.dated)
        #: The pictures and files that nothing leads to once the words are gone.
        self.leaving = frozenset((*wanted.files, *attachments_in(entries)))
        contents = [entry.content if (entry := parse_entry(line)) else line for line in self.lines]
        begun = (message for act in ws.journal.tombstones.unfinished() for message in act.messages)
        ids = {*(key[0] for key in wanted.messages), *(message[0] for message in begun)}
        #: The words, and what stands for them: ids of messages and names of dated files.
        self.trace = Trace([*(entry.text for entry in entries), *contents], ids | self.names)
        #: The summaries that name the dated files, or have the words.
        self.summaries = tuple(
            period
            for period, summary in sorted(ws.memory.summaries().items(), key=lambda item: item[0].label)
            if any(source.name in self.names for source in summary.sources) or self.trace.is_in(summary.text)
        )
        notes = (ws.paths.root / name for name in self.files if name.startswith("memory/") and name.endswith(".md"))
        of_notes = (line for path in notes for line in text_at(ws, path).splitlines())
        #: What a receipt shows of the notes and summaries that go: their paths, of a note that had another name its lines.
        self.shown = Trace(of_notes, [*self.files, *(ws.paths.relative(ws.paths.summary(each)) for each in self.summaries)])

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
        if self.note(path):
            self.ws.files.remove(path)

    def clean(self, path: Path, rule: Callable[[bytes], bytes], lock: Path | None = None) -> None:
        """
        Replace the file by what the *rule* leaves of it, under its *lock*, or show that it would be.

        What another program writes meanwhile is read, too. Conflict where it does not stop: the words stay where they stand
        themselves, by which the next round finds them here.
        """
        version = self.ws.files.read_stable(path)
        if version is None or rule(version.data) == version.data or not self.note(path):
            return
        with self.ws.files.lock(lock) if lock else nullcontext():
            for _ in range(_WRITE_TRIES):
                version = self.ws.files.read_stable(path)
                if version is None or (after := rule(version.data)) == version.data:
                    return
                with suppress(Conflict):
                    self.ws.files.replace(path, after, version)
        raise Conflict(path)


def attachments_in(messages: Iterable[Message | Block]) -> set[str]:
    """Return the pictures and files that the messages name."""
    fields = (message.fields if isinstance(message, Block) else separated(message.raw)[0] for message in messages)
    return {name for content in fields for name in attachments_of(content)}


def clean_made(aim: Aim) -> None:
    """Clean what was made from the words, but for the index and logs."""
    _drop_files(aim)
    _drop_unfinished(aim)
    _drop_running_summaries(aim)
    _clean_lines(aim)


def _drop_files(aim: Aim) -> None:
    """Delete the tasks, summaries, receipts and copies that have the words, or are made of a file that goes."""
    ws, paths, queue = aim.ws, aim.ws.paths, aim.ws.task_queue
    days = {name[:length] for name in aim.names for length in (len("2026-01-28"), len("2026-01"))}
    periods = {period.label for period in aim.summaries}
    folders = (queue.queue, queue.running, queue.results, queue.failed, paths.pieces)
    tasks = [path for folder in folders for path in files_below(ws, folder)]
    of_them = [path for path in tasks if any(day in path.name for day in days)]
    summaries = [*files_below(ws, paths.summaries)]
    of_them += [path for path in (*summaries, *files_below(ws, paths.previous)) if path.name.partition(".")[0] in periods]
    for path in (*tasks, *summaries, *copies(ws)):
        text = text_at(ws, path)
        shows = path.parent in (paths.turns, paths.previous) and aim.shown.is_in(text)
        if path in of_them or shows or aim.trace.is_in(path.name) or aim.trace.is_in(text):
            aim.remove(path)


def _drop_unfinished(aim: Aim) -> None:
    """Delete what a killed program has not finished writing; one that keeps a message holds the lock, or uses the drop-box."""
    ws, paths = aim.ws, aim.ws.paths
    places = [paths.root / name for name in ws.files.disk.names(paths.root)]
    for folder in (paths.memory, paths.trash, paths.state, paths.turns):
        places += files_below(ws, folder)
    for path in filter(lambda path: TEMPORARY.fullmatch(path.name), places):
        with ws.history.lock() if aim.applies else nullcontext():
            if aim.trace.is_in(text_at(ws, path)):
                aim.remove(path)


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
    for path in files_below(aim.ws, paths.sessions):
        if path.name.startswith("chat-") and path.suffix == ".jsonl":
            aim.clean(path, partial(_without, aim.trace.is_in, head=1), path.with_suffix(".lock"))
    aim.clean(paths.ended, partial(_without, aim.trace.is_in))
    aim.clean(paths.acts, partial(_without, lambda act: bool(_UNDOABLE.search(act)) or aim.trace.is_in(act)))
    with suppress(ValueError):  # what can't be read is reported, and stays
        aim.clean(paths.inbox, partial(_without_inputs, aim), paths.inbox_lock)


def _without(is_unwanted: Callable[[str], bool], data: bytes, head: int = 0) -> bytes:
    """Return the lines but for the unwanted ones behind the *head*."""
    lines = data.split(b"\n")
    return b"\n".join([*lines[:head], *(line for line in lines[head:] if not is_unwanted(decoded(line)))])


def _without_inputs(aim: Aim, data: bytes) -> bytes:
    inputs = parse_json(data) if aim.trace.is_in(decoded(data)) else None
    if not isinstance(inputs, list):
        return data
    return render_json([entry for entry in inputs if not aim.trace.is_in(decoded(render_json(entry)))]) + b"\n"


def clean_tables(aim: Aim) -> None:
    """Delete the index and the vectors, which are made again, and what names files: older logs, and lines of the others."""
    paths, files = aim.ws.paths, aim.ws.files
    for folder, lock in ((paths.state / "index", "index.lock"), (paths.vectors, "vectors.lock")):
        if any(files_below(aim.ws, folder)) and aim.note(folder):
            with files.lock(paths.state / lock):  # its writer deletes what it has merged; the list goes before what it names
                for path in sorted(files_below(aim.ws, folder), key=lambda path: path.name != "meta.json"):
                    with suppress(FileNotFoundError):  # an engine that is still open deletes files of its own, too
                        files.disk.unlink(path)
                files.disk.sync_folder(folder)
    if aim.applies:
        aim.ws.index.close()  # it is opened again when it is made
    for name in files.disk.names(paths.root):
        if name.startswith("log-") and name.endswith((".jsonl", ".jsonl.gz")):
            aim.remove(paths.root / name)
    for path in (paths.log, paths.fsck, paths.backup):
        aim.clean(path, partial(_without, lambda line: bool(_FILE.search(line))))
