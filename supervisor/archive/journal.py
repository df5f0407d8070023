"""
What the lines of the seen journal say (docs/protocol.md, 5): what was met, and where its words stand.

Each line adds to what those before it said; a line that can't be read says nothing, and what it said is found out anew.

The seen journal, `.recalld/seen.jsonl`: what recalld has met, and where its words stand (docs/protocol.md, 5).

It answers three questions that history.json alone can't: are these words written (even where a person has since deleted
them from their file), whose message is this without an id, and which un-written words has another program lost. It holds
the words of un-written messages alone. It can be deleted: what is written is then read from the dated files again.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from supervisor.archive.identity import Known
from supervisor.protocol.clock import from_wire, to_wire
from supervisor.protocol.errors import NewerFormat
from supervisor.protocol.lenient_json import parse_json, render_json
from supervisor.protocol.message import Key, Message, read_message
from supervisor.protocol.paths import day_of_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import tzinfo

    from supervisor.protocol.dated_file import Block
    from supervisor.protocol.files import Files
    from supervisor.protocol.paths import WorkspacePaths

#: Lines that say nothing any more, after which the journal is written anew.
_GARBAGE: Final = 2_000


class JournalState:
    """What the lines taken so far say; times without an offset are of *zone*."""

    def __init__(self, zone: tzinfo) -> None:
        self._zone = zone
        self._lines = 0
        #: The format that the head names.
        self.format = 0
        self._written: dict[Key, str] = {}
        self._bases: defaultdict[str, list[str]] = defaultdict(list)
        self._times: dict[str, str] = {}
        self._ids: dict[str, str] = {}  # each once, so that a year of them is held once
        self._with_words: set[str] = set()
        self.here: dict[str, None] = {}
        self.unwritten: dict[Key, Message] = {}
        self.back: set[Key] = set()
        self.names: set[str] = set()  # of the dated files that recalld made
        self.notes: set[str] = set()  # of another program's files that hold messages

    def file_of(self, key: Key) -> str | None:
        """Return the dated file that holds, or once held, these words; None when they are not written."""
        return self._written.get(key)

    def has_words(self, identity: str) -> bool:
        """Tell whether any words stand written under this id."""
        return identity in self._with_words

    def knows(self, identity: str) -> bool:
        """Tell whether a message of this id was met before."""
        return identity in self._ids

    @property
    def known(self) -> Known:
        """What assign_ids() needs to know."""
        return Known(by_base=self._bases, here=self.here, times=self._times, ids=self._ids)

    @property
    def written(self) -> Mapping[Key, str]:
        """Every key that is written, with its file."""
        return self._written

    def is_bloated(self) -> bool:
        """Tell whether most of its lines say nothing any more."""
        return self._lines > _GARBAGE + 2 * (len(self.unwritten) + len(self.names))

    # ── line by line ─────────────────────────────────────────────────────────

    def take(self, one: bytes) -> None:
        """Take what one more line says."""
        self._lines += 1
        try:
            fields = parse_json(one)
            verb, found = next(iter(fields.items()))
            if verb == "recalld":
                self.format = max(self.format, found if type(found) is int else 0)
            elif verb == "seen":
                self._saw(found)
            elif verb == "written":
                if day_of_name(fields["file"]) is None:
                    return  # no name that a dated file or a note can have
                for identity, words, *bases in found:
                    self._wrote((str(identity), str(words)), bases, fields["file"])
                (self.notes if fields.get("by") else self.names).add(fields["file"])
            elif verb == "left":
                for identity in found:
                    self.here.pop(identity, None)
            elif verb == "here":
                self.here.update(dict.fromkeys(map(str, found)))
            elif verb == "back":
                self.back.update((str(identity), str(words)) for identity, words in found)
            elif verb == "known":
                for identity, *bases in found:
                    self._learn(str(identity), bases)
            elif verb == "times":
                for identity, time in found:
                    self._times[str(identity)] = to_wire(from_wire(time))
            elif verb == "lost":
                for identity, words in found:
                    self._written.pop((identity, words), None)
            elif verb == "dropped":
                for identity, words in found:
                    self.unwritten.pop((identity, words), None)
        except (ValueError, TypeError, KeyError, AttributeError, StopIteration):
            return  # a line that a crash or a person broke: what it said is found out anew

    def _saw(self, raw: object) -> None:
        message = read_message(raw, self._zone)
        if not isinstance(message, Message) or not message.id:
            return
        self._learn(message.id, message.bases)
        self.here[message.id] = None
        if "createdAtFound" in message.raw and message.created_at:
            self._times[message.id] = to_wire(message.created_at)
        if message.key not in self._written:
            self.unwritten[message.key] = message

    def _wrote(self, key: Key, bases: Sequence[str], file: str) -> None:
        identity = self._ids.setdefault(key[0], key[0])
        self._learn(identity, bases)
        self._written.setdefault((identity, key[1]), file)
        self._with_words.add(identity)
        self.unwritten.pop(key, None)
        self.back.discard(key)

    def _learn(self, identity: str, bases: Iterable[str]) -> None:
        self._ids.setdefault(identity, identity)
        for base in bases:
            if identity not in self._bases[base]:
                self._bases[base].append(identity)

    # ── as short as it can be ────────────────────────────────────────────────

    def lines(self) -> list[Mapping[str, Any]]:
        """Return the lines that say all of this, as few as there can be, without the head."""
        by_file: defaultdict[str, list[list[str]]] = defaultdict(list)
        bases: defaultdict[str, list[str]] = defaultdict(list)
        for base, ids in self._bases.items():
            for identity in ids:
                bases[identity].append(base)
        for key, file in self._written.items():
            by_file[file].append([*key, *bases[key[0]]])
        found: list[Mapping[str, Any]] = [{"written": by_file.get(file, []), "file": file} for file in sorted(self.names)]
        found += [{"written": by_file.get(file, []), "file": file, "by": "another"} for file in sorted(self.notes)]
        found += [{"seen": message.raw} for message in self.unwritten.values()]
        told = {key[0] for key in self._written} | {key[0] for key in self.unwritten}
        found += line("known", [[identity, *bases[identity]] for identity in self._ids if identity not in told])
        found += line("times", [list(pair) for pair in sorted(self._times.items())])
        found += [*line("here", list(self.here)), *line("back", [list(key) for key in sorted(self.back)])]
        gone = sorted({key[0] for key in self.unwritten} - self.here.keys())
        found += line("left", gone)
        return found


def line(verb: str, found: Sequence[object]) -> list[Mapping[str, Any]]:
    """Return the line that says so of what was *found*, none where nothing was."""
    return [{verb: found}] if found else []


FORMAT: Final = 1
_HEAD: Final[Mapping[str, Any]] = {"recalld": FORMAT}


class SeenJournal(JournalState):
    """The journal, and in memory what it says; times without an offset are of *zone*."""

    def __init__(self, files: Files, paths: WorkspacePaths, zone: tzinfo) -> None:
        super().__init__(zone)
        self._files = files
        self._paths = paths
        self._inode, self._offset = 0, 0
        #: An append failed: what it wrote can be read, yet no later fsync of this file makes it durable.
        self.is_doubtful = False

    def _forget(self) -> None:
        super().__init__(self._zone)
        self._inode, self._offset = 0, 0

    # ── reading ──────────────────────────────────────────────────────────────

    def refresh(self) -> None:
        """Read what was added since the last look, by whatever process. NewerFormat where a newer recalld wrote it."""
        stat = self._files.disk.stat(self._paths.seen)
        if stat is None or stat.inode != self._inode or stat.size < self._offset:
            self._forget()
            if stat is None:
                return
        data = self._files.disk.read(self._paths.seen, self._offset) if stat.size > self._offset else b""
        whole = data[: data.rfind(b"\n") + 1]  # a line that a crash left unfinished says nothing
        self._inode, self._offset = stat.inode, self._offset + len(whole)
        for one in whole.split(b"\n"):
            if one:
                self.take(one)
        self._refuse(self.format)

    # ── writing ──────────────────────────────────────────────────────────────

    def refuse_newer(self) -> None:
        """Raise NewerFormat where a newer recalld wrote the journal: nothing is added to it. For who does not read it."""
        if self._files.disk.stat(self._paths.seen) is None:
            return
        first = self._files.disk.read(self._paths.seen).partition(b"\n")[0]
        with suppress(ValueError, TypeError, AttributeError):  # a line that a crash or a person broke says nothing
            self._refuse(parse_json(first).get("recalld", 0))

    def _refuse(self, made_by: int) -> None:
        if made_by > FORMAT:
            raise NewerFormat(self._paths.seen, made_by)

    def note(self, messages: Sequence[Message]) -> None:
        """Write down un-written words without reading the journal: for a command that only appends."""
        self._append([{"seen": message.raw} for message in messages])

    def saw(self, messages: Sequence[Message]) -> None:
        """Remember un-written words, durably, before anything else is done with them."""
        self._record([{"seen": message.raw} for message in messages])

    def wrote(self, file: str, blocks: Sequence[Block]) -> None:
        """Remember that a dated file holds these messages."""
        self._record([{"written": [[*block.key, *block.bases] for block in blocks], "file": file}])

    def adopted(self, file: str, messages: Sequence[Message]) -> None:
        """Remember that another program had written these messages to *file* before recalld came."""
        written = [[*message.key, *message.bases] for message in messages]
        by = {} if file in self.names else {"by": "another"}
        self._record([{"written": written, "file": file, **by}, {"here": [message.id for message in messages]}])

    def looked(self, history: Iterable[object]) -> None:
        """Remember which messages history.json holds, and which have left it."""
        ids = dict.fromkeys(entry.id for entry in history if isinstance(entry, Message))
        kept = {identity for identity, _ in self.unwritten}
        left = [identity for identity in self.here if identity not in ids and identity not in kept]
        came = [identity for identity in ids if identity not in self.here]
        self._record([*line("left", left), *line("here", came)])
        self.here = ids

    def note_reinserted(self, keys: Sequence[Key]) -> None:
        """Remember, before it is done, that these words are put back: it happens once."""
        self._record(line("back", [list(key) for key in keys]))

    def drop(self, keys: Sequence[Key]) -> None:
        """Remember that these un-written words were replaced by newer ones of the same message."""
        self._record(line("dropped", [list(key) for key in keys]))

    def found_again(self, messages: Sequence[Message]) -> None:
        """Remember that these words stand in no file any more, and what they are: they are to be written again."""
        if messages:
            lost = [list(message.key) for message in messages]
            self._record([{"lost": lost}, *({"seen": message.raw} for message in messages)])

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

    # ── keeping it small ─────────────────────────────────────────────────────

    def compact(self) -> None:
        """Write the journal anew, as short as it can be; the caller holds the history's lock, under which others append."""
        self.refresh()
        look = self._files.read_stable(self._paths.seen)
        self._files.replace(self._paths.seen, _rendered([_HEAD, *self.lines()]), look)
        self.is_doubtful = False
        self._forget()
        self.refresh()


def _rendered(lines: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(render_json(one) + b"\n" for one in lines)
