"""
What the lines of the seen journal say, in memory: applied one by one, and written again in the fewest lines.

It has no file: `SeenJournal` reads and writes it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import tzinfo
from itertools import chain
from typing import Any, Final

from ..protocol.message import Key, Message, read_message
from ..protocol.paths import day_of_name
from ..storage.clock import from_wire, to_wire
from ..storage.lenient_json import parse_json
from .identity import Known

#: Obsolete lines after which the journal is compacted, and written messages that are worth another.
_GARBAGE: Final = 2_000
_WORTH_A_LINE: Final = 16


class JournalState:
    """What the lines of the journal say, applied one by one; times without an offset are of *zone*."""

    def __init__(self, zone: tzinfo) -> None:
        self._zone = zone
        self._lines = 0
        #: The format that the first line names.
        self.format = 0
        self._ids: dict[str, tuple[str, ...]] = {}  # the fingerprints of each id, in the order of first sight
        self._by_fingerprint: dict[str, list[str]] = {}  # ids in the order in which they were added
        #: The dated file of every written message.
        self.written: dict[Key, str] = {}
        self._filed_ids: set[str] = set()  # of written messages, also of those that are lost since
        self._times: dict[str, str] = {}
        self.in_history: dict[Key, None] = {}  # what history.json held when it was last read, in its order
        self.unwritten: dict[Key, Message] = {}
        self.reinserted: set[Key] = set()  # un-written messages that were put back into history.json once
        self.names: set[str] = set()  # of the dated files that recalld made
        self.notes: set[str] = set()  # of another program's files that hold messages
        self.removed: set[Key] = set()  # written messages that a person has deleted, or accepted as gone
        #: Dated files of which what is missing was accepted, or written again; a damaged one with the digest that it had then.
        self.accepted: dict[str, str] = {}
        self.pruned: set[str] = set()  # dated files that are in trash/, or were: their summary stands for them

    def file_of(self, key: Key) -> str | None:
        """Return the dated file that holds, or once held, this message; None when it is not written."""
        return self.written.get(key)

    def files_of(self, identities: Iterable[str]) -> list[str]:
        """Return the dated files that hold messages with these ids, each once."""
        wanted = {*identities}
        return [*dict.fromkeys(file for (identity, _), file in [*self.written.items()] if identity in wanted)]

    def holds(self, key: Key) -> bool:
        """Return whether the message is safe from other programs: it is written, or the journal has its words."""
        return key in self.unwritten or key in self.written

    def has_written(self, identity: str) -> bool:
        """Return whether a message with this id is written, whatever its text."""
        return identity in self._filed_ids

    @property
    def known(self) -> Known:
        """The messages seen before, as `assign_ids` needs them."""
        return Known(self._by_fingerprint, self.in_history, self._times, self._ids, self.holds)

    def is_bloated(self) -> bool:
        """Return whether most of its lines are obsolete."""
        lines = len(self.unwritten) + len(self.names)
        return self._lines > _GARBAGE + 2 * lines + len(self._ids) // _WORTH_A_LINE

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
                for key in _keys(value):
                    self.in_history.pop(key, None)
            case "here":
                for key in _keys(value):  # behind those before it
                    self.in_history.pop(key, None)
                    self.in_history[key] = None
            case "back":
                self.reinserted.update(_keys(value))
            case "known":
                for identity, *fingerprints in value:
                    self._learn(str(identity), fingerprints)
            case "times":
                for identity, time in value:
                    self._times[str(identity)] = to_wire(from_wire(time))
            case "lost":
                for key in _keys(value):
                    self.written.pop(key, None)
            case "renumbered":
                for raw, *before in value:
                    self._apply_seen(raw)
                    self._apply_dropped([before])
            case "dropped":
                self._apply_dropped(value)
            case "pruned":
                (self.pruned.difference_update if fields.get("back") else self.pruned.update)(map(str, value))
            case "removed":
                self.removed.update(_keys(value))
                if "file" in fields:
                    self.accepted[str(fields["file"])] = str(fields.get("digest", ""))

    def _apply_seen(self, raw: object) -> None:
        message = read_message(raw, self._zone)
        if not isinstance(message, Message) or not message.id:
            return
        self._learn(message.id, message.fingerprints)
        self.in_history.setdefault(message.key)
        if "createdAtFound" in message.raw and message.created_at:
            self._times[message.id] = to_wire(message.created_at)
        if message.key not in self.written:
            self.unwritten[message.key] = message

    def _apply_dropped(self, pairs: Iterable[Any]) -> None:
        for key in _keys(pairs):
            self.unwritten.pop(key, None)
            self.in_history.pop(key, None)

    def _apply_written(self, messages: Any, file: str, *, is_note: bool, moved: bool) -> None:
        if day_of_name(file) is None:
            return  # neither a dated file nor a note can have this name
        for identity, digest, *fingerprints in messages:
            key = (str(identity), str(digest))
            self._learn(key[0], fingerprints)
            if moved or key not in self.written:
                self.written[key] = file
            self._filed_ids.add(key[0])
            self.unwritten.pop(key, None)
            self.reinserted.discard(key)
            self.removed.discard(key)
        (self.notes if is_note else self.names).add(file)

    def _learn(self, identity: str, fingerprints: Iterable[str]) -> None:
        known = self._ids.setdefault(identity, ())
        new = tuple(fingerprint for fingerprint in map(str, fingerprints) if fingerprint not in known)
        if new:
            self._ids[identity] = (*known, *new)
        for fingerprint in new:
            self._by_fingerprint.setdefault(fingerprint, []).append(identity)

    def drop(self, is_unwanted: Callable[[Key], bool], renamed: Mapping[str, str]) -> None:
        """Forget these messages, and give files that were made anew their new names, "" for those of which nothing is left."""
        tables = (self.written, self.unwritten, self.in_history, self.removed, self.reinserted)
        dropped = {key for table in tables for key in table if is_unwanted(key)}
        self._apply_dropped(dropped)
        self.removed -= dropped
        self.reinserted -= dropped
        self.written = {key: renamed.get(name, name) for key, name in self.written.items() if key not in dropped}
        self._filed_ids = {identity for identity, _ in self.written}
        gone = {identity for identity, _ in dropped} - self._filed_ids
        gone -= {identity for identity, _ in (*self.unwritten, *self.in_history)}
        ids, self._ids, self._by_fingerprint = self._ids, {}, {}
        for identity, fingerprints in ids.items():
            if identity not in gone:
                self._learn(identity, fingerprints)
        for identity in gone:
            self._times.pop(identity, None)
        for names in (self.names, self.notes, self.pruned):
            forgotten = names & renamed.keys()
            names.difference_update(forgotten)
            if names is not self.pruned:  # what is left of it is memory again
                names.update(filter(None, (renamed[name] for name in forgotten)))
        for name in renamed.keys() & self.accepted.keys():
            del self.accepted[name]

    # ── compact form ─────────────────────────────────────────────────────────

    def lines(self) -> Iterator[Mapping[str, Any]]:
        """Yield the fewest lines that say all of this, without the head."""
        by_file: dict[str, list[Key]] = {}
        for key, file in self.written.items():
            by_file.setdefault(file, []).append(key)
        listed = {identity for identity, _ in chain(self.written, self.unwritten)}

        def written(file: str) -> list[list[str]]:
            return [[*key, *self._ids[key[0]]] for key in by_file.get(file, ())]

        yield from ({"written": written(file), "file": file} for file in sorted(self.names))
        yield from ({"written": written(file), "file": file, "by": "another"} for file in sorted(self.notes))
        yield from ({"seen": message.raw} for message in self.unwritten.values())
        left = (identity for identity in [*self._ids] if identity not in listed)  # another thread may add one
        yield from line_of("known", [[identity, *self._ids[identity]] for identity in left])
        yield from line_of("times", sorted(self._times.items()))
        yield from line_of("here", [*self.in_history])
        yield from line_of("back", sorted(self.reinserted))
        yield from line_of("removed", sorted(self.removed))
        yield from (accepted_line([], name, digest) for name, digest in sorted(self.accepted.items()))
        yield from line_of("pruned", sorted(self.pruned))
        yield from line_of("left", sorted(self.unwritten.keys() - self.in_history.keys()))


def accepted_line(keys: Sequence[Key], file: str, digest: str) -> Mapping[str, Any]:
    """Return the line that accepts that these messages are missing of a dated file; with a *digest* it is damaged."""
    return {"removed": keys, "file": file, **({"digest": digest} if digest else {})}


def _keys(pairs: Iterable[Any]) -> list[Key]:
    return [(str(identity), str(digest)) for identity, digest in pairs]


def line_of(verb: str, values: Sequence[object]) -> list[Mapping[str, Any]]:
    """Return one line, or none when there are no values."""
    return [{verb: values}] if values else []
