"""
The seen journal `.recalld/seen.jsonl`: which messages recalld has seen, and which dated file holds each (protocol.md, 5).

It answers three questions that history.json alone can't: is a message written (even when a person has since deleted it from
its file), whose message is this without an id, and which un-written messages has another program lost. It holds the text of
un-written messages only. Each line adds to the lines before it; a broken line is skipped, and what it said is found again in
history.json and the dated files. For the same reason the journal may be deleted.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from recalld.supervisor.archive.attachments import Attachments
from recalld.supervisor.archive.identity import Known, renumbered
from recalld.supervisor.protocol.message import History, Key, Message, read_message
from recalld.supervisor.protocol.paths import day_of_name
from recalld.supervisor.storage.clock import from_wire, to_wire
from recalld.supervisor.storage.errors import NewerFormat
from recalld.supervisor.storage.lenient_json import parse_json, render_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import tzinfo

    from recalld.supervisor.protocol.dated_file import Block
    from recalld.supervisor.protocol.paths import WorkspacePaths
    from recalld.supervisor.storage.files import Files

FORMAT: Final = 1
_HEAD: Final[Mapping[str, Any]] = {"recalld": FORMAT}
#: How a line with the text of a message begins, after the line before it.
_SEEN: Final = b'\n{"seen":'
#: Obsolete lines after which the journal is compacted.
_GARBAGE: Final = 2_000
#: Up to so many ids are found more quickly in the bytes of the journal than by parsing it.
_FEW: Final = 10


class JournalState:
    """What the lines of the journal say, applied one by one; times without an offset are of *zone*."""

    def __init__(self, zone: tzinfo) -> None:
        self._zone = zone
        self._lines = 0
        #: The format that the first line names.
        self.format = 0
        self._written: dict[Key, str] = {}
        self._by_fingerprint: defaultdict[str, list[str]] = defaultdict(list)
        self._times: dict[str, str] = {}
        self._ids: dict[str, str] = {}  # each id to itself, so that equal strings are kept in memory once
        self._words: dict[str, str] = {}  # the digest of the words that were written last, by id
        self.in_history: dict[Key, None] = {}  # what history.json held when it was last read, in its order
        self.unwritten: dict[Key, Message] = {}
        self.reinserted: set[Key] = set()  # un-written messages that were put back into history.json once
        self.names: set[str] = set()  # of the dated files that recalld made
        self.notes: set[str] = set()  # of another program's files that hold messages

    def file_of(self, key: Key) -> str | None:
        """Return the dated file that holds, or once held, this message; None when it is not written."""
        return self._written.get(key)

    def holds(self, key: Key) -> bool:
        """Tell whether the message is safe from other programs: it is written, or the journal has its words."""
        return key in self.unwritten or key in self._written

    def has_written(self, identity: str) -> bool:
        """Tell whether a message with this id is written, whatever its text."""
        return identity in self._words

    @property
    def known(self) -> Known:
        """The messages seen before, as `assign_ids` needs them."""
        return Known(self._by_fingerprint, self.in_history, self._times, self._ids, self.holds)

    @property
    def written(self) -> Mapping[Key, str]:
        """The dated file of every written message."""
        return self._written

    def is_bloated(self) -> bool:
        """Tell whether most of its lines are obsolete."""
        return self._lines > _GARBAGE + 2 * (len(self.unwritten) + len(self.names))

    # ── line by line ─────────────────────────────────────────────────────────

    def apply_line(self, data: bytes) -> None:
        """Add what one more line says; a line that a crash or a person broke is skipped."""
        self._lines += 1
        with suppress(ValueError, TypeError, KeyError, AttributeError, StopIteration):
            fields = parse_json(data)
            verb, value = next(iter(fields.items()))
            self._apply(verb, value, fields)

    def _apply(self, verb: str, value: Any, fields: Mapping[str, Any]) -> None:
        match verb:
            case "recalld":
                self.format = max(self.format, value if type(value) is int else 0)
            case "seen":
                self._apply_seen(value)
            case "written":
                self._apply_written(value, fields["file"], is_note=bool(fields.get("by")), moved=bool(fields.get("moved")))
            case "left":
                for one in value:
                    self._apply_left(one)
            case "here":
                for one in value:
                    self._apply_here(one)
            case "back":
                self.reinserted.update((str(identity), str(digest)) for identity, digest in value)
            case "known":
                for identity, *fingerprints in value:
                    self._learn(str(identity), fingerprints)
            case "times":
                for identity, time in value:
                    self._times[str(identity)] = to_wire(from_wire(time))
            case "lost":
                for identity, digest in value:
                    self._written.pop((identity, digest), None)
            case "renumbered":
                for raw, identity, digest in value:
                    self._apply_seen(raw)
                    self._apply_dropped(identity, digest)
            case "dropped":
                for identity, digest in value:
                    self._apply_dropped(identity, digest)

    def _apply_seen(self, raw: object) -> None:
        message = read_message(raw, self._zone)
        if not isinstance(message, Message) or not message.id:
            return
        self._learn(message.id, message.fingerprints)
        self.in_history.setdefault(message.key)
        if "createdAtFound" in message.raw and message.created_at:
            self._times[message.id] = to_wire(message.created_at)
        if message.key not in self._written:
            self.unwritten[message.key] = message

    def _apply_dropped(self, identity: str, digest: str) -> None:
        self.unwritten.pop((identity, digest), None)
        self.in_history.pop((identity, digest), None)

    def _apply_here(self, one: object) -> None:
        """Add an id and the digest of its words behind those before it; an older line has the id alone."""
        identity, digest = (str(part) for part in one) if isinstance(one, list) else (str(one), self._words.get(str(one), ""))
        if digest:
            self.in_history.pop((identity, digest), None)
            self.in_history[identity, digest] = None

    def _apply_left(self, one: object) -> None:
        """Remove an id with the digest of its words; an older line has the id alone."""
        if isinstance(one, list):
            identity, digest = one
            self.in_history.pop((identity, digest), None)
        else:
            for key in [key for key in self.in_history if key[0] == one]:
                del self.in_history[key]

    def _apply_written(self, messages: Any, file: str, *, is_note: bool, moved: bool) -> None:
        if day_of_name(file) is None:
            return  # neither a dated file nor a note can have this name
        for identity, digest, *fingerprints in messages:
            key = self._ids.setdefault(str(identity), str(identity)), str(digest)
            self._learn(key[0], fingerprints)
            self._written[key] = file if moved else self._written.get(key, file)
            self._words[key[0]] = key[1]
            self.unwritten.pop(key, None)
            self.reinserted.discard(key)
        (self.notes if is_note else self.names).add(file)

    def _learn(self, identity: str, fingerprints: Iterable[str]) -> None:
        self._ids.setdefault(identity, identity)
        for fingerprint in fingerprints:
            if identity not in self._by_fingerprint[fingerprint]:
                self._by_fingerprint[fingerprint].append(identity)

    # ── compact form ─────────────────────────────────────────────────────────

    def lines(self) -> list[Mapping[str, Any]]:
        """Return the fewest lines that say all of this, without the head."""
        by_file: defaultdict[str, list[list[str]]] = defaultdict(list)
        fingerprints: defaultdict[str, list[str]] = defaultdict(list)
        for fingerprint, ids in self._by_fingerprint.items():
            for identity in ids:
                fingerprints[identity].append(fingerprint)
        for key, file in self._written.items():
            by_file[file].append([*key, *fingerprints[key[0]]])
        lines: list[Mapping[str, Any]] = [{"written": by_file.get(file, []), "file": file} for file in sorted(self.names)]
        lines += [{"written": by_file.get(file, []), "file": file, "by": "another"} for file in sorted(self.notes)]
        lines += [{"seen": message.raw} for message in self.unwritten.values()]
        listed = {key[0] for key in self._written} | {key[0] for key in self.unwritten}
        lines += _line("known", [[identity, *fingerprints[identity]] for identity in self._ids if identity not in listed])
        lines += _line("times", [list(pair) for pair in sorted(self._times.items())])
        lines += _line("here", [list(key) for key in self.in_history])
        lines += _line("back", [list(key) for key in sorted(self.reinserted)])
        return lines + _line("left", [list(key) for key in sorted(self.unwritten.keys() - self.in_history.keys())])


class SeenJournal(JournalState):
    """
    The journal file, and its content in memory; times without an offset are of *zone*.

    With *only_unwritten* it reads from the first line on that has the text of a message: what stands before it, most of a
    compacted journal, says nothing of un-written messages.
    """

    def __init__(self, files: Files, paths: WorkspacePaths, zone: tzinfo, *, only_unwritten: bool = False) -> None:
        super().__init__(zone)
        self._only_unwritten = only_unwritten
        self._files = files
        self._paths = paths
        self._attachments = Attachments(files, paths)
        self._inode, self._offset = 0, 0
        #: An append failed: what it wrote can be read, but no later fsync of this file makes it durable.
        self.is_doubtful = False

    # ── reading ──────────────────────────────────────────────────────────────

    def refresh(self) -> None:
        """Read the lines that any process has added since the last call. NewerFormat when a newer recalld wrote them."""
        stat = self._files.disk.stat(self._paths.seen)
        if stat is None or stat.inode != self._inode or stat.size < self._offset:
            self._forget()
            if stat is None:
                return
        data = self._files.disk.read(self._paths.seen, self._offset) if stat.size > self._offset else b""
        whole = data[: data.rfind(b"\n") + 1]  # a line that a crash left unfinished says nothing
        told = _from_first_seen(whole) if self._only_unwritten and not self._offset else whole
        self._inode, self._offset = stat.inode, self._offset + len(whole)
        for line in told.split(b"\n"):
            if line:
                self.apply_line(line)
        self._refuse(self.format)

    def refuse_newer(self) -> None:
        """Raise NewerFormat when a newer recalld wrote the journal; its lines are not parsed for it."""
        if self._offset:
            self.refresh()
            return
        if self._files.disk.stat(self._paths.seen) is None:
            return
        first = self._files.disk.read(self._paths.seen).partition(b"\n")[0]
        with suppress(ValueError, TypeError, AttributeError):  # a line that a crash or a person broke says nothing
            self._refuse(parse_json(first).get("recalld", 0))

    def filed(self, keys: Sequence[Key]) -> set[Key]:
        """
        Return those of the messages that a dated file holds, or once held.

        A few ids are looked for in the bytes of a journal that is not parsed yet: most are new, and then it need not be.
        """
        if self._files.disk.stat(self._paths.seen) is None:
            return set()
        is_parsed = bool(self._offset) or len(keys) > _FEW
        data = b"" if is_parsed else self._files.disk.read(self._paths.seen)
        if is_parsed or any(render_json(identity) in data for identity, _ in keys):
            self.refresh()
        return {key for key in keys if self.file_of(key) is not None}

    def original(self, message: Message) -> Message:
        """Return an un-written message of the journal as its writer made it, with the bytes of its pictures and files."""
        return self._attachments.original(message)

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
        then nobody could tell that the backup has the same message.
        """
        as_found = {id(entry) for entry in before}
        changed = [entry for entry in after if isinstance(entry, Message) and id(entry) not in as_found]
        renamed = renumbered(after, self.known)
        changed = [message for message in changed if not self.holds(message.key) and message.key not in renamed]
        self.record_seen(changed)
        return changed

    def record_written(self, file: str, blocks: Sequence[Block]) -> None:
        """Record that a dated file holds these messages."""
        self._record([{"written": [[*block.key, *block.fingerprints] for block in blocks], "file": file}])

    def record_moved(self, file: str, blocks: Sequence[Block]) -> None:
        """Record that these messages are in *file* now: the file that held them is set aside."""
        if blocks:
            self._record([{"written": [[*block.key, *block.fingerprints] for block in blocks], "file": file, "moved": True}])

    def record_adopted(self, file: str, messages: Sequence[Message]) -> None:
        """Record that *file* already held these messages when recalld first saw them."""
        written = [[*message.key, *message.fingerprints] for message in messages]
        by = {} if file in self.names else {"by": "another"}
        here = [list(message.key) for message in messages]
        self._record([{"written": written, "file": file, **by}, {"here": here}])

    def record_renumbered(self, messages: Sequence[Message], keys: Sequence[Key]) -> None:
        """
        Record that un-written messages have other ids now; *keys* are those they had.

        In one line: a power cut leaves no message under both ids.
        """
        pairs = zip(messages, keys, strict=True)
        self._record(_line("renumbered", [[self._attachments.keep(message.raw), *key] for message, key in pairs]))

    def record_history(self, history: Iterable[object]) -> None:
        """Record which messages history.json holds, and which have left it."""
        held = dict.fromkeys(entry.key for entry in history if isinstance(entry, Message))
        left = [key for key in self.in_history if key not in held and key not in self.unwritten]
        came = [key for key in held if key not in self.in_history]
        if [*(key for key in self.in_history if key in held), *came] != [*held]:
            came = [*held]  # a message without a time is known by its place among the others
        self._record([*_line("left", [list(key) for key in left]), *_line("here", [list(key) for key in came])])
        self.in_history = held

    def record_reinserted(self, keys: Sequence[Key]) -> None:
        """Record, before it is done, that these messages are put back into history.json: it happens once."""
        self._record(_line("back", [list(key) for key in keys]))

    def record_replaced(self, keys: Sequence[Key]) -> None:
        """Record that a newer text of the same message has replaced each of these un-written ones."""
        self._record(_line("dropped", [list(key) for key in keys]))

    def record_lost(self, messages: Sequence[Message]) -> None:
        """Record that no file holds these messages any more: they are un-written again."""
        if messages:
            lost = [list(message.key) for message in messages]
            self._record([{"lost": lost}, *self._seen(messages)])

    def ensure_durable(self) -> None:
        """Make the journal durable: a killed process may not have synced what it added."""
        self._files.ensure_durable(self._paths.seen)

    def compact(self) -> None:
        """Replace the journal by the fewest lines that say the same, under the lock of history.json."""
        with self._files.lock(self._paths.history_lock):  # other processes append under it
            self.refresh()
            version = self._files.read_stable(self._paths.seen)
            lines = [{"seen": self._attachments.keep(line["seen"])} if "seen" in line else line for line in self.lines()]
            self._files.replace(self._paths.seen, _rendered([_HEAD, *lines]), version)
            self.is_doubtful = False
            self._forget()
            self.refresh()

    # ── steps ────────────────────────────────────────────────────────────────

    def _seen(self, messages: Iterable[Message]) -> list[Mapping[str, Any]]:
        """Return the lines of un-written messages; the bytes of their pictures and files are durable before."""
        return [{"seen": self._attachments.keep(message.raw)} for message in messages]

    def _forget(self) -> None:
        super().__init__(self._zone)
        self._inode, self._offset = 0, 0

    def _refuse(self, made_by: int) -> None:
        if made_by > FORMAT:
            raise NewerFormat(self._paths.seen, made_by)

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


def _line(verb: str, values: Sequence[object]) -> list[Mapping[str, Any]]:
    """Return one line, or none when there are no values."""
    return [{verb: values}] if values else []


def _rendered(lines: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(render_json(one) + b"\n" for one in lines)


def _from_first_seen(data: bytes) -> bytes:
    """Return the lines from the first on that has the text of a message."""
    start = data.find(_SEEN)
    return data[start + 1 :] if start >= 0 else b""
