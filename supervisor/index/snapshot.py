"""
What is searched at one moment: a commit of the index, and in place of what has changed since, groups held in memory.

A view never changes; who brings the index up to date makes another. So a search goes on undisturbed while another thread
does so.

Whether the files of an index are as tantivy wrote them: it trusts them, and a wrong length in one can end the process.

Each ends with a checksum of its own. Only a file that was written to after the commit that names it is read for it: a fault
of the disk that leaves no trace is not looked for.

A commit of the index, opened to be searched: whether its files are whole, what it holds, and whether that still stands.

A view that holds in memory what has changed since its commit, for a process that can't write the index, or not now.
"""

from __future__ import annotations

import contextlib
import struct
import zlib
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final

from supervisor.index.bm25 import CONTEXT_WIDTHS, Corpus
from supervisor.index.commit import differing
from supervisor.index.documents import decode_passage
from supervisor.index.engine import Engine
from supervisor.index.hit import Hit
from supervisor.index.manifest import Manifest, parse_manifest
from supervisor.index.overlay import Overlay, OverlayGroup, hold
from supervisor.index.ranking import Scored, own, rank
from supervisor.protocol.errors import BadFile, SupervisorError
from supervisor.protocol.lenient_json import parse_json
from supervisor.text.tokenizer import tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from supervisor.index.bm25 import Candidate
    from supervisor.index.documents import Document
    from supervisor.index.hit import Tier
    from supervisor.index.manifest import Record
    from supervisor.protocol.clock import Deadline
    from supervisor.protocol.disk import Disk, Stat
    from supervisor.query.calendar import Days
    from supervisor.query.parse import Query

#: Candidates that are scored; words that they are found by, the most telling of the question.
CANDIDATES: Final = 80
_MOST_WORDS: Final = 10
#: Words whose frequencies are kept: those of an answer are asked for again and again.
_KNOWN: Final = 10_000
#: What the characters count of a word of two that stands nowhere (拔牙, where 智齿要拔 was said), a rare one the most.
_PAIR: Final = 2
_CHARACTER: Final = 0.5
_ORDER: Final[Mapping[Tier, int]] = {"long_term": 0, "dated": 1, "original": 2, "summary": 3}  # 003


@dataclass(frozen=True)
class View:
    """
    *manifest* has the files as last looked at and the groups as committed.

    *commit* is the stat of that commit's list, *segments* are those of the files that it consists of.
    """

    engine: Engine | None = None
    manifest: Manifest = field(default_factory=Manifest)
    overlay: Overlay = field(default_factory=Overlay)
    commit: Stat | None = None
    segments: Mapping[Path, Stat] = field(default_factory=dict)
    #: Whether the manifest's files are newer than the commit.
    is_ahead: bool = False
    k1: float = 1.2
    b: float = 0.75

    @cached_property
    def file_count(self) -> int:
        """How many files are searched."""
        return sum(not record.excluded for record in self.manifest.files.values())

    @cached_property
    def paths(self) -> Mapping[str, str]:
        """The path of each content."""
        return self.manifest.paths()

    @cached_property
    def corpora(self) -> list[Corpus]:
        """The statistics of each field over all that is searched."""
        return [self._corpus(reach) for reach in range(len(CONTEXT_WIDTHS))]

    @cached_property
    def _of_tier(self) -> Mapping[Tier, frozenset[str]]:
        """The contents of each tier."""
        found: dict[Tier, set[str]] = defaultdict(set)
        for key, path in self.paths.items():
            found[self.manifest.files[path].tier].add(key)
        return {tier: frozenset(keys) for tier, keys in found.items()}

    @cached_property
    def _places(self) -> dict[str, Path]:
        return {}

    def place(self, root: Path, path: str) -> Path:
        """Return where the file lies; a path is put together once, for it takes longer than to look at the file."""
        if path not in self._places:
            self._places[path] = root / path
        return self._places[path]

    def found(
        self, query: Query, tiers: Sequence[Collection[Tier] | None], limit: int, least: float, share: float
    ) -> list[tuple[Scored, str]]:
        """Return what is ranked of each of *tiers*, one behind the other; *share* is of the best of those before."""
        found: list[tuple[Scored, str]] = []
        for some in tiers:
            floor = max(least, share * found[0][0].score) if found else least
            found += self.ranked(query, some, limit, floor, share)
        return found

    def ranked(
        self, query: Query, tiers: Collection[Tier] | None, limit: int, least: float, share: float
    ) -> list[tuple[Scored, str]]:
        """
        Return the units of *tiers* (None: all) that answer, each with its path, best first, at most *limit*.

        Ties stand in 003's order of tiers, the newest first. What scores below *least*, or that *share* of the best, is left
        out.
        """
        files, paths, held = self.manifest.files, self.paths, self._of_tier
        keys = frozenset().union(*(held.get(tier, frozenset()) for tier in tiers)) if tiers is not None else paths.keys()
        if not keys:
            return []
        query = self._in_characters(query)
        offered = self._offered(query, None if len(keys) == len(paths) else keys)
        known = [(one, paths[one.source[0]]) for one in offered if one.source[0] in keys]
        known.sort(key=lambda one: (_ORDER[files[one[1]].tier], -(one[0].day.toordinal() if one[0].day else 0)))
        best = rank(query, [one for one, _ in known], self.corpora, self.k1, self.b)
        floor = max(least, share * best[0].score) if best else 0.0
        return [(one, paths[one.candidate.source[0]]) for one in best[:limit] if one.score >= floor]

    def hit(self, query: Query, one: Scored, path: str) -> Hit:
        """Return the passage as recall shows it, with what raised it."""
        words = own(query.words, one.candidate)
        why = f"words: {', '.join(words)}" if words else "window"
        passage = decode_passage(one.candidate.source[1], path, self.manifest.files[path].tier)
        return Hit(passage, round(one.score, 4), (why, *one.because))

    def _offered(self, query: Query, keys: Collection[str] | None) -> list[Candidate]:
        """
        Return the candidates; where only days are asked for, the units of those days.

        If there are none, those that name the day themselves: 12月24日 may lie ahead.
        """
        weights = {word: query.words[word] * self.corpora[0].idf(word) for word in query.words}
        telling = sorted(query.words, key=lambda word: -weights[word])
        found = [word for word in telling if self.corpora[-1].frequency(word)][:_MOST_WORDS]
        words = {word: weights[word] or 1.0 for word in found}
        if query.only_days:
            of_days = self._found({}, query.days, keys)
            there = [one for one in of_days if one.day and any(one.day in days for days in query.days)]
            return there or [one for one in self._found(words, (), keys) if len(own(query.words, one)) == len(query.words) > 1]
        return self._found(words, query.days, keys)

    def _in_characters(self, query: Query) -> Query:
        """Return the query and the characters, where they stand somewhere, of its Chinese words of two that stand nowhere."""
        corpus = self.corpora[0]
        more = {
            # how rare by our own count: jieba's dictionary would have to be loaded for it, most of a second
            char: counts * corpus.relative_idf(char) * _CHARACTER
            for word, counts in query.words.items()
            if len(word) == _PAIR and not word.isascii() and not corpus.frequency(word)
            for char in tokens(" ".join(word))
            if char not in query.words and corpus.frequency(char)
        }
        return replace(query, words={**query.words, **more}) if more else query

    def _found(self, words: Mapping[str, float], days: Sequence[Days], keys: Collection[str] | None) -> list[Candidate]:
        """Return the candidates of the engine, without the groups that memory has newer, and of those."""
        offered = self.engine.candidates(list(words), days, keys, CANDIDATES) if self.engine else []
        if self.overlay.groups:
            offered = [one for one in offered if one.group not in self.overlay.groups]
            offered += self.overlay.candidates(words, days, CANDIDATES)
        return offered

    def _corpus(self, reach: int) -> Corpus:
        overlay, engine = self.overlay, self.engine
        groups = [group for name, group in self.manifest.groups.items() if name not in overlay.groups]
        size = sum(group.units for group in groups) + overlay.units
        words = sum(group.words[reach] for group in groups) + overlay.words(reach)

        @lru_cache(maxsize=_KNOWN)
        def frequency(word: str) -> int:
            return (engine.frequency(reach, word) if engine else 0) + overlay.frequency(reach, word)

        return Corpus(size, words / size if size else 0.0, frequency)


#: How tantivy ends a file: the length of a JSON object that stands before, and its magic number.
_END: Final = struct.Struct("<II")
_MAGIC: Final = 1337


def verify_checksums(disk: Disk, parts: Mapping[Path, Stat], committed: Stat) -> None:
    """Raise BadFile where one of *parts*, which the list of a commit names, as of *committed*, is not as tantivy wrote it."""
    for path, stat in parts.items():
        if stat.mtime_ns > committed.mtime_ns and not _is_whole(_read(disk, path)):
            raise BadFile(path, "its bytes are not those that were written")


def _read(disk: Disk, path: Path) -> bytes:
    try:
        return disk.read(path)
    except FileNotFoundError:
        raise BadFile(path, "it is gone") from None


def _is_whole(data: bytes) -> bool:
    if len(data) < _END.size:
        return False
    size, magic = _END.unpack_from(data, len(data) - _END.size)
    body = len(data) - _END.size - size
    if magic != _MAGIC or body < 0:
        return False
    try:
        said = parse_json(data[body : -_END.size])
        return bool(said["crc"] == zlib.crc32(memoryview(data)[:body]))
    except (ValueError, TypeError, KeyError):
        return False


def open_commit(disk: Disk, commits: Path, stat: Stat, before: View) -> View | None:
    """
    Return what is searched once the last commit is opened, its list being *commits* as of *stat*; settings as *before*.

    None where nothing has been committed yet: somebody is about to, or was killed before. BadFile where it can't be read.
    """
    parts = _parts(disk, commits)
    if parts is None:
        return None
    verify_checksums(disk, parts, stat)
    engine = Engine(str(commits.parent), new=False)
    try:
        manifest = parse_manifest(engine.note())
    except ValueError:
        raise BadFile(commits.parent, "its manifest is none") from None
    # as of before the opening: where another commit or another file has come since, the next look sees that it is another
    return _over(engine, manifest, parts, stat, before)


def view_after_commit(engine: Engine, manifest: Manifest, disk: Disk, commits: Path, before: View) -> View:
    """Return what is searched once *engine* has made a commit; BadFile where its list is gone already."""
    stat = disk.stat(commits)
    return _over(engine, manifest, _parts(disk, commits) or {}, stat, before)


def _over(engine: Engine, manifest: Manifest, parts: Mapping[Path, Stat], commit: Stat | None, before: View) -> View:
    return replace(before, engine=engine, manifest=manifest, overlay=Overlay(), commit=commit, segments=parts, is_ahead=False)


def _parts(disk: Disk, commits: Path) -> dict[Path, Stat] | None:
    """
    Return the files of the last commit that are there, by its list; None where nothing has been committed.

    What another process is writing, to commit it next, is none of them.
    """
    try:
        named = [(one["segment_id"].replace("-", ""), one["deletes"]) for one in parse_json(disk.read(commits))["segments"]]
        deleted = {stem: f"{stem}.{deletes['opstamp']}.del" if deletes else "" for stem, deletes in named}
    except (ValueError, TypeError, KeyError, AttributeError, FileNotFoundError):
        raise BadFile(commits, "it is no list of a commit") from None

    def belongs(name: str) -> bool:
        stem = name.partition(".")[0]
        return stem in deleted and (not name.endswith(".del") or name == deleted[stem])

    found = disk.stats(commits.parent) if deleted else {}
    return {commits.parent / name: stat for name, stat in found.items() if belongs(name)} if deleted else None


def refuse_truncated(disk: Disk, view: View) -> None:
    """Raise BadFile where a file of the index is another in place than was opened: reading on could end the process."""
    for path, opened in view.segments.items():
        stat = disk.stat(path)
        # one that is gone was merged away, and is still there for who has it open
        if stat and stat.inode == opened.inode and stat != opened:
            raise BadFile(path, "it was cut off or written over")


def has_changed(disk: Disk, root: Path, view: View, path: str) -> bool:
    """Tell whether the file is another than the view knows."""
    try:
        stat = disk.stat(view.place(root, path))
    except OSError:
        return True  # its folder may not be looked into any more
    return stat is None or not view.manifest.files[path].is_as(stat)


#: Changed groups that are held at most, the newest.
_MOST: Final = 50


def with_overlay(
    view: View,
    files: Mapping[str, Record],
    made: Callable[[str, Mapping[str, Record]], Iterator[Document]],
    deadline: Deadline,
) -> tuple[View, int]:
    """
    Return the view over the *files* as they now are, and how many changed groups it lacks.

    Groups are *made* of their files, the newest first, until the *deadline*; one that can't be read is lacking.
    """
    after = replace(view.manifest, files=files)
    plan, members = after.planned(), after.members()
    changed, gone = differing(after.groups, plan)
    changed.sort(key=lambda name: -max(record.mtime_ns for record in members[name].values()))
    held = {name: OverlayGroup() for name in gone}
    for name in changed[:_MOST]:
        known = view.overlay.groups.get(name)
        if known and known.keys == plan[name]:
            held[name] = known
        elif not deadline.is_over:
            with contextlib.suppress(OSError, SupervisorError):
                held[name] = hold(plan[name], made(name, members[name]))
    is_ahead = view.is_ahead or files != view.manifest.files
    return replace(view, manifest=after, overlay=Overlay(held), is_ahead=is_ahead), sum(name not in held for name in changed)
