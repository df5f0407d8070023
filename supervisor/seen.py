"""
The seen journal, `.recalld/seen.jsonl`: what recalld has met, and where its words stand (docs/protocol.md, 5).

It answers three questions that history.json alone can't: are these words written (even where a person has since deleted
them from their file), whose message is this without an id, and which un-written words has another program lost. It holds
the words of un-written messages alone. It can be deleted: what is written is then read from the dated files again.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from supervisor.policy.identity import Known
from supervisor.protocol.errors import NewerFormat
from supervisor.protocol.json_text import parse_json, render_json
from supervisor.protocol.layout import day_of_name
from supervisor.protocol.message import Key, Message, read_message

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import tzinfo

    from supervisor.protocol.dated import Block
    from supervisor.protocol.files import Files
    from supervisor.protocol.layout import Layout

FORMAT: Final = 1
_HEAD: Final[Mapping[str, Any]] = {"recalld": FORMAT}
#: Lines that say nothing any more, after which the journal is written anew.
_GARBAGE: Final = 2_000


class SeenJournal:
    """The journal, and in memory what it says."""

    def __init__(self, files: Files, layout: Layout, zone: tzinfo) -> None:
        self._files = files
        self._layout = layout
        self._zone = zone
        #: An append failed: what it wrote can be read, yet no later fsync of this file makes it durable.
        self.is_doubtful = False
        #: The inode of the journal whose head was looked at without reading all of it.
        self._looked_at = 0
        self._forget()

    def _forget(self) -> None:
        self._inode, self._offset, self._lines = 0, 0, 0
        self._written: dict[Key, str] = {}
        self._bases: defaultdict[str, list[str]] = defaultdict(list)
        self._times: dict[str, str] = {}
        self._ids: dict[str, None] = {}
        self._with_words: set[str] = set()
        self.here: dict[str, None] = {}
        self.unwritten: dict[Key, Message] = {}
        self.back: set[Key] = set()
        self.names: set[str] = set()  # of the dated files that recalld made
        self.notes: set[str] = set()  # of another program's files that hold messages

    # ── questions ────────────────────────────────────────────────────────────

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
        """What identify() needs to know."""
        return Known(by_base=self._bases, here=self.here, times=self._times, ids=self._ids)

    @property
    def written(self) -> Mapping[Key, str]:
        """Every key that is written, with its file."""
        return self._written

    # ── reading ──────────────────────────────────────────────────────────────

    def refresh(self) -> None:
        """Read what was added since the last look, by whatever process."""
        stat = self._files.disk.stat(self._layout.seen)
        if stat is None or stat.inode != self._inode or stat.size < self._offset:
            self._forget()
            if stat is None:
                return
        if stat.size == self._offset:
            return
        data = self._files.disk.read(self._layout.seen, self._offset)
        whole = data[: data.rfind(b"\n") + 1]  # a line that a crash left unfinished says nothing
        self._inode, self._offset = stat.inode, self._offset + len(whole)
        for line in whole.split(b"\n"):
            if line:
                self._apply(line)

    def _apply(self, line: bytes) -> None:
        self._lines += 1
        try:
            fields = parse_json(line)
            verb, found = next(iter(fields.items()))
            if verb == "recalld":
                self._refuse(found)
            elif verb == "seen":
                self._saw(found)
            elif verb == "written":
                if day_of_name(fields["file"]) is None:
                    return  # no name that a dated file or a note can have
                for identity, words, *bases in found:
                    self._wrote((identity, words), bases, fields["file"])
                (self.notes if fields.get("by") else self.names).add(fields["file"])
            elif verb == "left":
                for identity in found:
                    self.here.pop(identity, None)
            elif verb == "here":
                self.here.update(dict.fromkeys(found))
            elif verb == "back":
                self.back.update((identity, words) for identity, words in found)
            elif verb == "known":
                for identity, *bases in found:
                    self._learn(identity, bases)
            elif verb == "times":
                self._times.update((identity, time) for identity, time in found)
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
        if "createdAtFound" in message.raw:
            self._times[message.id] = str(message.raw["createdAt"])
        if message.key not in self._written:
            self.unwritten[message.key] = message

    def _wrote(self, key: Key, bases: Sequence[str], file: str) -> None:
        identity = sys.intern(key[0])
        self._learn(identity, bases)
        self._written.setdefault((identity, key[1]), sys.intern(file))
        self._with_words.add(identity)
        self.unwritten.pop(key, None)
        self.back.discard(key)

    def _learn(self, identity: str, bases: Iterable[str]) -> None:
        self._ids[identity] = None
        for base in bases:
            if identity not in self._bases[base]:
                self._bases[base].append(identity)

    # ── writing ──────────────────────────────────────────────────────────────

    def refuse_newer(self) -> None:
        """Raise NewerFormat where a newer recalld wrote the journal: nothing is added to it. For who does not read it."""
        stat = self._files.disk.stat(self._layout.seen)
        if stat is None or stat.inode in (self._inode, self._looked_at):
            return
        first = self._files.disk.read(self._layout.seen).partition(b"\n")[0]
        with suppress(ValueError, TypeError, AttributeError):  # a line that a crash or a person broke says nothing
            self._refuse(parse_json(first).get("recalld", 0))
        self._looked_at = stat.inode

    def _refuse(self, made_by: int) -> None:
        if made_by > FORMAT:
            raise NewerFormat(self._layout.seen, made_by)

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
        self._record([*_line("left", left), *_line("here", came)])
        self.here = ids

    def put_back(self, keys: Sequence[Key]) -> None:
        """Remember, before it is done, that these words are put back: it happens once."""
        self._record(_line("back", [list(key) for key in keys]))

    def drop(self, keys: Sequence[Key]) -> None:
        """Remember that these un-written words were replaced by newer ones of the same message."""
        self._record(_line("dropped", [list(key) for key in keys]))

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
        head = [] if self._files.disk.stat(self._layout.seen) else [_HEAD]
        try:
            self._files.append(self._layout.seen, b"".join(render_json(line) + b"\n" for line in (*head, *lines)))
        except OSError:
            self.is_doubtful = True
            raise

    # ── keeping it small ─────────────────────────────────────────────────────

    def is_bloated(self) -> bool:
        """Tell whether most of its lines say nothing any more."""
        return self._lines > _GARBAGE + 2 * (len(self.unwritten) + len(self.names))

    def compact(self) -> None:
        """Write the journal anew, as short as it can be; the caller holds the history's lock, under which others append."""
        self.refresh()
        look = self._files.look(self._layout.seen)
        by_file: defaultdict[str, list[list[str]]] = defaultdict(list)
        bases: defaultdict[str, list[str]] = defaultdict(list)
        for base, ids in self._bases.items():
            for identity in ids:
                bases[identity].append(base)
        for key, file in self._written.items():
            by_file[file].append([*key, *bases[key[0]]])
        lines: list[Mapping[str, Any]] = [_HEAD]
        lines += [{"written": by_file.get(file, []), "file": file} for file in sorted(self.names)]
        lines += [{"written": by_file.get(file, []), "file": file, "by": "another"} for file in sorted(self.notes)]
        lines += [{"seen": message.raw} for message in self.unwritten.values()]
        told = {key[0] for key in self._written} | {key[0] for key in self.unwritten}
        lines += _line("known", [[identity, *bases[identity]] for identity in self._ids if identity not in told])
        lines += _line("times", [list(pair) for pair in sorted(self._times.items())])
        lines += [*_line("here", list(self.here)), *_line("back", [list(key) for key in sorted(self.back)])]
        gone = sorted({key[0] for key in self.unwritten} - self.here.keys())
        lines += _line("left", gone)
        self._files.replace(self._layout.seen, b"".join(render_json(line) + b"\n" for line in lines), look)
        self.is_doubtful = False
        self._forget()
        self.refresh()


def _line(verb: str, found: Sequence[object]) -> list[Mapping[str, Any]]:
    return [{verb: found}] if found else []
