"""
What the lines of the seen journal say (docs/protocol.md, 5): what was met, and where its words stand.

Each line adds to what those before it said; a line that can't be read says nothing, and what it said is found out anew.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from supervisor.policy.identity import Known
from supervisor.protocol.clock import from_wire, to_wire
from supervisor.protocol.json_text import parse_json
from supervisor.protocol.layout import day_of_name
from supervisor.protocol.message import Key, Message, read_message

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import tzinfo

#: Lines that say nothing any more, after which the journal is written anew.
_GARBAGE: Final = 2_000


class Met:
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
        """What identify() needs to know."""
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
