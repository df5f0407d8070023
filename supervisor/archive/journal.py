"""
The seen journal `.recalld/seen.jsonl`: which messages recalld has seen, and which dated file holds each (protocol.md, 5).

It answers three questions that history.json alone can't: is a message written (even when a person has since deleted it from its
file), whose message is this without an id, and which un-written messages has another program lost. It holds the text of
un-written messages only. Each line adds to the lines before it; a broken line is skipped, and its content is found again in
history.json and the dated files. For the same reason the journal may be deleted.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import tzinfo
from itertools import chain
from typing import Any, Final

from ..protocol.dated_file import Block
from ..protocol.message import History, Key, Message
from ..protocol.paths import WorkspacePaths
from ..storage.errors import NewerFormat
from ..storage.files import Files
from ..storage.lenient_json import render_json
from .history import Attachments
from .journal_state import JournalState, accepted_line, line_of
from .tombstones import Tombstones

FORMAT: Final = 1
_HEAD: Final[Mapping[str, Any]] = {"recalld": FORMAT}
#: How a line with the text of a message begins, after the line before it.
_SEEN: Final = b'\n{"seen":'


class SeenJournal(JournalState):
    """
    The journal file, and its content in memory; times without an offset are of *zone*.

    Threads may share it: one that does not hold it iterates over copies of its mappings.

    With *only_unwritten* it reads from the first line on that has the text of a message: what is before it, most of a compacted
    journal, has nothing of un-written messages.
    """

    def __init__(self, files: Files, paths: WorkspacePaths, zone: tzinfo, *, only_unwritten: bool = False) -> None:
        super().__init__(zone)
        self._only_unwritten = only_unwritten
        self._files = files
        self._paths = paths
        self._attachments = Attachments(files, paths)
        #: What was forgotten, and must not be seen again.
        self.tombstones = Tombstones(files, paths)
        self._inode, self._offset = 0, 0
        self._reading = threading.RLock()
        #: The thread that holds the journal: it alone reads on. None for any.
        self._holder: int | None = None
        #: An append failed: what it wrote can be read, but no later fsync of this file makes it durable.
        self.is_doubtful = False

    # ── reading ──────────────────────────────────────────────────────────────

    def refresh(self) -> None:
        """
        Read the lines that any process has added since the last call. NewerFormat when a newer recalld wrote them.

        While another thread holds the journal it stays as that thread has read it.
        """
        with self._reading:
            if self._holder in (None, threading.get_ident()) or not self._inode:
                self._read_on()
        if self.format > FORMAT:
            raise NewerFormat(self._paths.seen, self.format)

    @property
    def version(self) -> tuple[int, int]:
        """What changes with each line that is read; equal to an earlier one: nothing was."""
        return self._inode, self._offset

    @contextmanager
    def held(self) -> Iterator[None]:
        """
        Hold the journal: no other thread reads on meanwhile.

        A round reads the journal before history.json, and what it misses there is lost. A message that another thread has read
        between the two would look so.
        """
        with self._reading:
            before, self._holder = self._holder, threading.get_ident()
        try:
            yield
        finally:
            self._holder = before

    def _read_on(self) -> None:
        stat = self._files.disk.stat(self._paths.seen)
        is_same = stat is not None and stat.inode == self._inode and stat.size >= self._offset
        state, offset = (self, self._offset) if is_same else (JournalState(self._zone), 0)
        data = self._files.disk.read(self._paths.seen, offset) if stat and stat.size > offset else b""
        whole = data[: data.rfind(b"\n") + 1]  # a line that a crash left unfinished says nothing
        for line in (_from_first_seen(whole) if self._only_unwritten and not offset else whole).split(b"\n"):
            if line:
                state.apply_line(line)
        if not is_same:
            vars(self).update(vars(state))  # at once: another thread may be asking
        self._inode, self._offset = stat.inode if stat else 0, offset + len(whole)
        now = self._files.disk.stat(self._paths.seen) if whole else None
        if stat and now and now.inode != stat.inode:  # another process has replaced it: these lines may be of either
            self._read_on()

    def filed(self, keys: Sequence[Key]) -> set[Key]:
        """Return those of the messages that a dated file holds, or once held."""
        self.refresh()
        return {key for key in keys if self.file_of(key) is not None}

    def file_names(self) -> set[str]:
        """Return the names of the files that hold, or once held, messages, and were not pruned."""
        self.refresh()
        return (self.names | self.notes) - self.pruned

    # ── writing ──────────────────────────────────────────────────────────────

    def append_seen(self, messages: Sequence[Message]) -> None:
        """Record un-written messages without reading the journal: for a command that only appends."""
        self._append(self._seen(messages))

    def record_seen(self, messages: Sequence[Message]) -> None:
        """Record un-written messages, durably, before anything else is done with them."""
        self._record(self._seen(messages))

    def record_changed(self, before: History, after: History) -> list[Message]:
        """
        Record the unknown messages that *after* adds to *before*, or gives an id or a time; returns these messages.

        It is called before history.json has them: a program may take the id away again before anything else is recorded, and
        then it would not be known that the backup has the same message.
        """
        as_found = {id(entry) for entry in before}
        changed = [entry for entry in after if isinstance(entry, Message) and id(entry) not in as_found]
        changed = [message for message in changed if not self.holds(message.key)]
        self.record_seen(changed)
        return changed

    def record(self, verb: str, values: Iterable[object], **more: object) -> None:
        """Record a line that says this of these values (docs/reference/protocol.md, 5.7); nothing without any."""
        self._record([{**line, **more} for line in line_of(verb, [*values])])

    def record_written(self, file: str, blocks: Sequence[Block | Message], **more: object) -> None:
        """Record that a dated file holds these messages; with *moved*, that the file that held them is set aside."""
        self._record([_written(file, blocks, more)])

    def record_adopted(self, file: str, messages: Sequence[Message]) -> None:
        """Record that *file* already held these messages when recalld first saw them."""
        by = {} if file in self.names else {"by": "another"}
        self._record([_written(file, messages, by), {"here": [message.key for message in messages]}])

    def record_renumbered(self, messages: Sequence[Message], keys: Sequence[Key]) -> None:
        """
        Record that un-written messages have other ids now; *keys* are those they had.

        In one line: a power cut leaves no message under both ids.
        """
        pairs = zip(messages, keys, strict=True)
        self.record("renumbered", [[self._attachments.keep(message.raw), *key] for message, key in pairs])

    def record_history(self, history: History) -> None:
        """Record which messages history.json holds, and which have left it."""
        held = dict.fromkeys(entry.key for entry in history if isinstance(entry, Message))
        left = [key for key in self.in_history if key not in held and key not in self.unwritten]
        came = [key for key in held if key not in self.in_history]
        if [*(key for key in self.in_history if key in held), *came] != [*held]:
            came = [*held]  # a message without a time is known by its place among the others
        self._record([*line_of("left", left), *line_of("here", came)])
        self.in_history = held

    def record_lost(self, messages: Sequence[Message]) -> None:
        """Record that no file holds these messages any more: they are un-written again."""
        if messages:
            self._record([{"lost": [message.key for message in messages]}, *self._seen(messages)])

    def record_accepted(self, keys: Sequence[Key], file: str, digest: str = "") -> None:
        """Record that all missing of the file is accepted, or written again; *digest* is that of a damaged file."""
        self._record([accepted_line(keys, file, digest)])

    def record_there_again(self, keys: Iterable[Key]) -> None:
        """Record that the files of these messages, which a person had deleted, hold them again."""
        self._record([{"written": [key], "file": self.file_of(key)} for key in sorted(keys)])

    def ensure_durable(self) -> None:
        """Make the journal durable: a killed process may not have synced what it added."""
        self._files.ensure_durable(self._paths.seen)

    def compact(self, change: Callable[[], None] = lambda: None) -> None:
        """Replace the journal by the fewest lines that say the same after the *change*, under the lock of history.json."""
        with self._files.lock(self._paths.history_lock):  # other processes append under it
            stat = self._files.disk.stat(self._paths.seen)
            self.refresh()
            change()
            lines = ({"seen": self._attachments.keep(line["seen"])} if "seen" in line else line for line in self.lines())
            self._files.replace(self._paths.seen, _rendered(chain([_HEAD], lines)), stat)
            self.is_doubtful, self._inode = False, 0
            self.refresh()

    # ── steps ────────────────────────────────────────────────────────────────

    def _seen(self, messages: Iterable[Message]) -> list[Mapping[str, Any]]:
        """Return the lines of un-written messages; the bytes of their pictures and files are durable before."""
        return [{"seen": self._attachments.keep(message.raw)} for message in messages]

    def _record(self, lines: Sequence[Mapping[str, Any]]) -> None:
        if not lines:
            return
        self._append(lines)
        self.refresh()

    def _append(self, lines: Sequence[Mapping[str, Any]]) -> None:
        head = [] if self._files.disk.stat(self._paths.seen) else [_HEAD]
        try:
            self._files.append(self._paths.seen, _rendered([*head, *lines]))
        except OSError:
            self.is_doubtful = True
            raise


def _written(file: str, blocks: Sequence[Block | Message], more: Mapping[str, object]) -> Mapping[str, Any]:
    return {"written": [[*block.key, *block.fingerprints] for block in blocks], "file": file, **more}


def _rendered(lines: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(render_json(entry) + b"\n" for entry in lines)


def _from_first_seen(data: bytes) -> bytes:
    if data.startswith(_SEEN[1:]):
        return data
    start = data.find(_SEEN)
    return data[start + 1 :] if start >= 0 else b""
