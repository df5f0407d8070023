"""
What the dated files no longer hold of the messages that were written to them, and what follows for history.json.

The seen journal says which file each message was written to. What is missing from a file that is there was taken out by a
person, unless it is the end of the file: that may have been cut off. Where the head of a file is left and no words below it, a
person has deleted them; where its words are left and no message, something has taken their comments away. What is missing with
its whole file is lost. What a person has decided holds at once. A loss is reported until somebody repairs or accepts it, and so
is a file that has lost its head or its end. Source: docs/reference/protocol.md, 2.7 and 4.4.
"""

from __future__ import annotations

import stat as modes
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from itertools import takewhile
from pathlib import Path
from zlib import crc32

from ..protocol.dated_file import REVISION, Block, DatedFile, parse_dated, without_torn_end
from ..protocol.message import Entry, History, Key, Message
from ..protocol.paths import Period, WorkspacePaths, day_of_name, is_foreign
from ..storage.disk import Stat
from ..storage.errors import SupervisorError
from ..storage.files import Files
from .coverage import MemoryFile
from .history import HistoryStore, history_copies
from .journal import SeenJournal
from .memory_folder import MemoryFolder


@dataclass(frozen=True, slots=True)
class Absences:
    """
    The messages that their dated files no longer hold, and no other file does.

    *lost* has those of each file that is gone, *cut* those at the end of each file that ends early (none where nothing is known
    of them), *damaged* those of each file that recalld made and that has lost its head or its end. *removed* are those that a
    person took out, each with the block that has its words now, None where it was deleted. *moved* has the file that holds the
    messages of a file that is gone: a person has moved or renamed it.
    """

    lost: Mapping[str, Sequence[Key]] = field(default_factory=dict)
    cut: Mapping[str, Sequence[Key]] = field(default_factory=dict)
    removed: Mapping[Key, Block | None] = field(default_factory=dict)
    moved: Mapping[str, Path] = field(default_factory=dict)
    damaged: Mapping[str, Sequence[Key]] = field(default_factory=dict)

    @property
    def kept(self) -> frozenset[Key]:
        """The messages that stay in history.json: it may be the last that has their words."""
        return self.searched.union(*self.cut.values())

    @property
    def searched(self) -> frozenset[Key]:
        """The messages that nobody can have meant to delete: their words are searched in history.json and its copies."""
        return frozenset(key for keys in (*self.lost.values(), *self.damaged.values()) for key in keys)


_NOTHING = Absences()


class Deletions:
    """What the dated files of one workspace no longer hold; computed again when a file or the journal has changed."""

    def __init__(self, files: Files, paths: WorkspacePaths, journal: SeenJournal, memory: MemoryFolder, zone: tzinfo) -> None:
        self._files, self._paths, self._zone = files, paths, zone
        self._journal, self._memory, self.tombstones = journal, memory, journal.tombstones
        self._compared: tuple[object, Absences] = None, _NOTHING
        self._elsewhere: dict[Path, tuple[Stat, frozenset[Key]]] = {}
        #: The files and their names in the journal, when nothing was wrong with them.
        self._whole: object | None = None

    def absences(self, files: Sequence[MemoryFile] | None = None) -> Absences:
        """Return what the files no longer hold; *files* are the dated files, where the caller has just read them."""
        files = self._memory.dated() if files is None else files
        known = self._journal.file_names()
        damaged = [file for file in files if _lacks_head_or_end(file) and file.name in known]
        changed = [*damaged, *(file for file in files if file.edited and not file.broken)]
        missing = known - {file.name for file in files}
        # a file that was moved meanwhile is in neither list, and is where it was moved to
        missing = {name for name in missing if self._files.disk.stat(self._memory.path_of(name)) is None}
        if not changed and not missing:
            return _NOTHING
        elsewhere = self._read_elsewhere() if missing else {}
        versions = [(file.name, file.digest) for file in files]
        state = versions, self._journal.version, [(path, self._elsewhere[path][0]) for path in elsewhere]
        before, differences = self._compared
        if before != state:
            recorded: dict[str, list[Key]] = {name: [] for name in (*missing, *(file.name for file in changed))}
            for key, name in [*self._journal.written.items()]:
                if name in recorded:
                    recorded[name].append(key)
            differences = self._compare(files, recorded, {name: _holder(recorded[name], elsewhere) for name in missing})
            self._compared = state, differences
        return differences

    def as_filed(self, history: History) -> History:
        """Return the messages as the files have them: without those that a person deleted, the edited ones with their words."""
        absences = self._as_told()
        cut = {key for keys in absences.cut.values() for key in keys}
        if not absences.removed and not cut:
            return history
        shown: list[Entry] = []
        for entry in history:
            block = absences.removed.get(entry.key) if isinstance(entry, Message) else None
            if isinstance(entry, Message) and block and not same_words(entry.text, block.text):
                shown.append(replace(entry, raw={**entry.raw, block.text_field: block.text}, text=block.text))
            elif not isinstance(entry, Message) or block or not (entry.key in absences.removed or entry.key in cut):
                shown.append(entry)
        return tuple(shown)

    def lost_messages(self, history: Iterable[Message]) -> list[Message]:
        """Return the messages whose files are gone or damaged, from *history* or else from any copy of it that is kept."""
        if not self._journal.file_names():  # nothing is lost that was never there, and each search asks
            return []
        lost = self._as_told().searched
        if not lost:
            return []
        messages = {message.key: message for message in history if message.key in lost}
        if lost - messages.keys():
            copied = history_copies(self._files, self._paths, self._zone)
            messages = {**{message.key: message for message in copied if message.key in lost}, **messages}
        return [*messages.values()]

    def _as_told(self) -> Absences:
        """Return what is absent; a supervisor that is told of changes looks at nothing unchanged that was whole before."""
        watched = self._memory.watched()
        state = watched and (watched, self._journal.file_names())
        if state and state == self._whole:
            return _NOTHING
        absences = self.absences()
        self._whole = state if absences is _NOTHING else None
        return absences

    def record(self) -> None:
        """Record in the journal what a person has deleted since, so that no repair brings it back; also what is there again."""
        absences, journal = self.absences(), self._journal
        journal.record("removed", [key for key, now in absences.removed.items() if now is None and key not in journal.removed])
        whole = {file.name for file in self._memory.dated() if file.ours and not file.broken} if journal.removed else ()
        journal.record_there_again([key for key in journal.removed - absences.removed.keys() if journal.file_of(key) in whole])

    def taken_out(self, absences: Absences | None = None) -> set[Key]:
        """
        Return the messages that a person has deleted from dated files; one that has other words there now stays a message.

        A file that ends early counts where it ends behind a whole message, as it does when somebody has deleted the others.
        *absences* are the absences, where the caller has just asked for them.
        """
        absences = absences or self.absences()
        ends = {key for name, keys in absences.cut.items() if self._ends_whole(name) for key in keys}
        edited = {key for key, now in absences.removed.items() if now and now.text.strip()}
        return {*self._journal.removed, *ends, *absences.removed} - edited

    def _ends_whole(self, name: str) -> bool:
        path = self._memory.path_of(name)
        version = self._files.read_stable(path)
        if version is None or without_torn_end(version.data) != version.data:
            return False
        parsed = parse_dated(version.data, path)
        return bool(parsed and parsed.blocks)

    def drop_summaries(self) -> int:
        """
        Delete the summaries that name a file which a person has deleted, and has said so; return how many.

        They are made anew from what is left. One that a person has edited stays.
        """
        gone = {name for name in self._journal.accepted if self._files.disk.stat(self._memory.path_of(name)) is None}
        summaries = self._memory.summaries().values() if gone else ()
        stale = [summary for summary in summaries if not gone.isdisjoint(source.name for source in summary.sources)]
        outdated = [Period(summary.period) for summary in stale if not summary.kept]
        for period in outdated:
            self._memory.delete_summary(period)
        return len(outdated)

    # ── the comparison ───────────────────────────────────────────────────────

    def _read_elsewhere(self) -> dict[Path, frozenset[Key]]:
        """Return the messages of each file that recalld made and that a person has given another place or another name."""
        read: dict[Path, tuple[Stat, frozenset[Key]]] = {}
        folders = [self._paths.memory]
        while folders:
            folder = folders.pop()
            for name, stat in self._files.disk.stats(folder).items():
                path = folder / name
                if is_foreign(name) or (folder == self._paths.memory and day_of_name(name)):
                    continue
                if modes.S_ISDIR(stat.mode) and path not in {self._paths.originals, self._paths.summaries}:
                    folders.append(path)
                elif modes.S_ISREG(stat.mode) and name.endswith(".md"):
                    before = self._elsewhere.get(path)
                    if not before or before[0] != stat:
                        parsed, _ = self._parsed(path)
                        before = stat, frozenset(block.key for block in (parsed.blocks if parsed else ()))
                    read[path] = before
        self._elsewhere = read
        return {path: keys for path, (_, keys) in sorted(read.items()) if keys}

    def _compare(
        self, files: Sequence[MemoryFile], recorded: Mapping[str, Sequence[Key]], holders: Mapping[str, Path | None]
    ) -> Absences:
        """Return what is absent; *holders* are the files that are gone, each with the file that has its messages now."""
        damaged_files = {file.name: file for file in files if _lacks_head_or_end(file) and file.name in self._journal.names}
        # what stands in a file that can't be parsed is no message, whatever ids it has
        unparsed = {name for name in damaged_files if self._memory.parsed(name) is None}
        is_filed = _Filed([file for file in files if file.name not in unparsed], self._memory)
        lost: dict[str, list[Key]] = {}
        cut: dict[str, list[Key]] = {}
        damaged: dict[str, list[Key]] = {}
        removed: dict[Key, Block | None] = {}
        for name in sorted(recorded):
            holder = holders[name] if name in holders else self._memory.path_of(name)
            parsed, text = self._parsed(holder) if holder else (None, "")
            absent = self._absent(parsed, text, recorded[name], is_filed)
            left = [key for key in absent if key not in self._journal.removed]
            if holder is None:
                lost[name] = left
            elif name in damaged_files:
                is_accepted = self._journal.accepted.get(name) == damaged_files[name].digest
                left = [] if is_accepted else left
                damaged |= {} if is_accepted else {name: left}
            elif parsed:
                end = _end(recorded[name], absent) if len(parsed.blocks) < parsed.count and not parsed.is_emptied else []
                left = [key for key in end if key not in self._journal.removed]
                if left or self._ends_early(name, parsed, text, knows=bool(absent) or len(recorded[name]) >= parsed.count):
                    cut[name] = left
            else:
                continue
            removed |= {key: now for key, now in absent.items() if key not in left}
        moved = {name: path for name, path in sorted(holders.items()) if path}
        return Absences({name: keys for name, keys in lost.items() if keys}, cut, removed, moved, damaged)

    def _parsed(self, path: Path) -> tuple[DatedFile | None, str]:
        version = self._files.read_stable(path)
        if version is None:
            return None, ""
        return parse_dated(version.data, path), without_torn_end(version.data).decode("utf-8", "replace")

    def _absent(
        self, parsed: DatedFile | None, text: str, recorded: Sequence[Key], is_filed: _Filed
    ) -> dict[Key, Block | None]:
        """Return the recorded messages that the file no longer has, each with the block that a person has made of it."""
        blocks, has_more = (parsed.blocks, parsed.has_more) if parsed else ((), False)
        keys, words = {block.key for block in blocks}, {block.key[1] for block in blocks}
        by_id = {block.key[0]: block for block in blocks if self._journal.file_of(block.key) is None}
        absent: dict[Key, Block | None] = {}
        for key in recorded:
            # a program may have given the message another id since; a block that a person broke is there
            if key in keys or key[1] in words or (has_more and key[0] in text):
                continue
            if key[0] in by_id:
                absent[key] = by_id[key[0]]
            elif not is_filed(key):
                absent[key] = None
        return absent

    def _ends_early(self, name: str, parsed: DatedFile, text: str, *, knows: bool) -> bool:
        """
        Return whether the file had more messages, by its head, than are known, and ends like one that was cut off.

        *knows*: what is missing is known, or every message of it is in another file.
        """
        is_short = 0 < len(parsed.blocks) < parsed.count and not parsed.has_more
        return is_short and not (knows or name in self._journal.accepted) and not text.endswith(("\n\n", "\n\r\n"))


class _Filed:
    """Knows whether any dated file holds a message."""

    def __init__(self, files: Sequence[MemoryFile], memory: MemoryFolder) -> None:
        self._ids = frozenset[int]().union(*(file.ids or () for file in files))
        unknown = [file.name for file in files if file.ours and file.ids is None]
        self._keys = {block.key for name in unknown for block in memory.blocks(name)}

    def __call__(self, key: Key) -> bool:
        identity, digest = key
        ids = (identity, f"{identity}~{digest[:REVISION]}")  # or as a later text of the message
        return key in self._keys or any(crc32(identity.encode("utf-8", "surrogatepass")) in self._ids for identity in ids)


def _lacks_head_or_end(file: MemoryFile) -> bool:
    return file.broken or not file.ours


def _holder(recorded: Sequence[Key], elsewhere: Mapping[Path, frozenset[Key]]) -> Path | None:
    """Return the file that holds the most of the messages; None if none holds any."""
    best = max(elsewhere, key=lambda path: len(elsewhere[path].intersection(recorded)), default=None)
    return best if best and elsewhere[best].intersection(recorded) else None


def same_words(text: str, other: str) -> bool:
    """Return whether two texts differ in blank lines and the ends of lines alone, which formatters change."""
    return _filled_lines(text) == _filled_lines(other)


def _filled_lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def _end(recorded: Sequence[Key], absent: Mapping[Key, Block | None]) -> list[Key]:
    """Return the messages at the end of the file that were deleted or cut off: the file is the same in both cases."""
    return [*takewhile(lambda key: key in absent and absent[key] is None, reversed(recorded))][::-1]


class ShownHistory:
    """history.json as its dated files have it: what is put before the assistant."""

    def __init__(self, history: HistoryStore, deletions: Deletions) -> None:
        self._history, self._deletions = history, deletions

    def read(self, *patience_s: float) -> History:
        """Return the messages; as `HistoryStore.read`."""
        history, stones = self._history.read(*patience_s), self._deletions.tombstones
        known = tuple(entry for entry in history if not (isinstance(entry, Message) and stones.has(entry)))
        if len(known) < len(history):  # a program has put some back
            history = known
        with suppress(OSError, SupervisorError):  # the supervisor reports why; the turn has its history
            return self._deletions.as_filed(history)
        return history
