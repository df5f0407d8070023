"""
The index of memory under `.recalld/index/`: what is in it (catalogue), who finds the candidates (engine), the score (scoring).

It can be deleted or damaged at any moment and is made anew (architecture.md, rule 1). One writer at a time, under
`index.lock`; who does not get the lock searches the last commit, and what has changed since in memory. A search looks at the
files it is about to cite: where one has changed, the answer is made from what it says now.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from supervisor.catalogue import Catalogue, Group, Record, parse_catalogue, render_catalogue, scan
from supervisor.documents import Document, candidate, documents, unit_of
from supervisor.engine import VERSION as SCHEMA
from supervisor.engine import Engine
from supervisor.policy.hit import Hit, Tier
from supervisor.policy.units import VERSION as CUT
from supervisor.protocol.errors import Busy
from supervisor.scoring import REACH, Candidate, Corpus, Scored, own, rank
from supervisor.text.words import VERSION as WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from datetime import tzinfo

    from supervisor.memory import MemoryStore
    from supervisor.policy.query import Query
    from supervisor.protocol.disk import Stat
    from supervisor.protocol.files import Files
    from supervisor.protocol.layout import Layout

#: What an index must be made with to be read.
VERSION: Final = f"{SCHEMA}.{WORDS}.{CUT}"
#: Candidates that are scored; words that they are found by, the most telling of the question.
CANDIDATES: Final = 128
_MOST_WORDS: Final = 10
#: Changed groups that are held in memory where another process has the lock, the newest.
_MOST_FRESH: Final = 50
_ORDER: Final[Mapping[Tier, int]] = {"long_term": 0, "dated": 1, "original": 2, "summary": 3}  # 003


@dataclass(frozen=True, slots=True)
class Changes:
    """What an update found: files read, moved, gone; *rebuilt* where the index was made anew, *shared* without the lock."""

    read: int = 0
    moved: int = 0
    gone: int = 0
    rebuilt: bool = False
    shared: bool = False


class Index:
    """The index of the workspace of *layout*; *k1* and *b* are BM25's, days are those of *zone*."""

    def __init__(
        self, files: Files, layout: Layout, memory: MemoryStore, zone: tzinfo, k1: float = 1.2, b: float = 0.75
    ) -> None:
        self._files, self._layout, self._memory, self._zone = files, layout, memory, zone
        self._k1, self._b = k1, b
        self._folder = layout.state / "index"
        #: tantivy's own list of what is committed: another stat, another commit.
        self._commits = self._folder / "meta.json"
        self._stat: Stat | None = None
        self._engine: Engine | None = None
        self._catalogue = Catalogue()
        #: What has changed since the last commit, by group; a group without documents is gone.
        self._fresh: dict[str, list[Document]] = {}
        self._paths: dict[str, str] = {}
        self._corpora: list[Corpus] = []
        #: Asked between two groups of an update; told to stop, it leaves the last commit as it is.
        self.should_stop: Callable[[], bool] = lambda: False

    @property
    def file_count(self) -> int:
        """How many files are searched."""
        return sum(not record.silent for record in self._catalogue.files.values())

    def records(self) -> Mapping[str, Record]:
        """Return the files as they were last looked at, by path; the last commit's are read where nothing was yet."""
        self._open()
        return {path: record for path, record in self._catalogue.files.items() if not record.silent}

    # ── bringing it up to date ───────────────────────────────────────────────

    def update(self, wait_s: float = 0.0) -> Changes:
        """
        Bring the index up to date and return what has changed.

        Without the lock within *wait_s* seconds the changes are held in memory, for this process alone. OSError where the
        disk refuses.
        """
        self._files.make_folder(self._folder)
        try:
            with self._files.lock(self._layout.state / "index.lock", wait_s):
                return self._write()
        except Busy:
            return self.freshen()

    def freshen(self) -> Changes:
        """Take in memory what has changed since the last commit, for this process alone."""
        self._open()
        before = self._catalogue
        after = replace(before, files=self._scan(), version=VERSION)
        members = after.members()
        changed, gone = _differing(before.groups, after.planned())
        newest = sorted(changed, reverse=True)[:_MOST_FRESH]
        fresh = {name: self._made(name, members[name]) for name in newest} | {name: [] for name in gone}
        self._show(self._engine, after, fresh)
        return replace(_difference(before.files, after.files), shared=True)

    def forget(self) -> None:
        """Take the index for damaged: the next update makes it anew."""
        self._show(None, Catalogue())
        self._files.remove(self._commits)

    def _write(self) -> Changes:
        is_open = self._open()
        rebuilt = not is_open and bool(self._files.disk.names(self._folder))
        if not is_open:
            for name in self._files.disk.names(self._folder):
                self._files.disk.unlink(self._folder / name)
        before = self._catalogue
        files = self._scan()
        if self._engine is None or files != before.files:
            self._commit(Catalogue(VERSION, files), before)
        elif self._fresh:
            self._show(self._engine, self._catalogue)
        return replace(_difference(before.files, files), rebuilt=rebuilt)

    def _commit(self, after: Catalogue, before: Catalogue) -> None:
        """Put into the index what differs, and into its note what it now holds."""
        engine = self._engine or Engine(str(self._folder), new=True)
        plan, members = after.planned(), after.members()
        changed, gone = _differing(before.groups, plan)
        groups = {name: group for name, group in before.groups.items() if name in plan}

        def made() -> Iterator[Document]:
            for name in changed:
                if self.should_stop():
                    raise InterruptedError(errno.EINTR, "told to stop")
                of_group = self._made(name, members[name])
                words = tuple(sum(one.lengths[n] for one in of_group) for n in range(len(REACH)))
                groups[name] = Group(plan[name], len(of_group), words)
                yield from of_group

        engine.write((*changed, *gone), made(), lambda: render_catalogue(replace(after, groups=groups)))
        self._show(engine, replace(after, groups=groups))

    def _made(self, group: str, members: Mapping[str, Record]) -> list[Document]:
        return documents(self._files, self._layout, group, members, self._zone)

    def _scan(self) -> dict[str, Record]:
        return scan(self._files, self._layout, self._catalogue.files, self._memory.summaries())

    def _open(self) -> bool:
        """Open the last commit, where another is open; tell whether there is one that can be read."""
        stat = self._files.disk.stat(self._commits)
        if stat is not None and stat == self._stat and self._engine:
            return True
        self._show(None, Catalogue())
        if stat is None:
            return False
        try:
            engine = Engine(str(self._folder), new=False)
            catalogue = parse_catalogue(engine.note())
        except (ValueError, OSError):
            return False
        if catalogue.version != VERSION:
            return False
        self._show(engine, catalogue)
        self._stat = stat
        return True

    def _show(self, engine: Engine | None, catalogue: Catalogue, fresh: Mapping[str, list[Document]] | None = None) -> None:
        """Search this from now on."""
        self._engine, self._catalogue, self._fresh = engine, catalogue, dict(fresh or {})
        self._stat = self._files.disk.stat(self._commits) if engine else None
        self._paths = catalogue.paths()
        self._corpora = self._counted()

    # ── searching it ─────────────────────────────────────────────────────────

    def search(
        self, query: Query, limit: int, tiers: Collection[Tier] | None = None, least: float = 0.0, share: float = 0.0
    ) -> list[Hit]:
        """
        Return what answers, best first, ties in 003's order of tiers, the newest first; *tiers* None searches all.

        What scores below *least*, or below that *share* of the best, is left out. Whatever the engine raises comes through:
        then the index is damaged.
        """
        self._open()
        found = self._ranked(query, limit, tiers, least, share)
        if any(self._has_changed(path) for path in {path for _, path in found}):
            self.freshen()
            found = self._ranked(query, limit, tiers, least, share)
        return [self._hit(one, query, path) for one, path in found]

    def frequency(self, word: str) -> int:
        """Return in how many units the word stands."""
        return self._corpora[0].frequency(word) if self._corpora else 0

    def _ranked(
        self, query: Query, limit: int, tiers: Collection[Tier] | None, least: float, share: float
    ) -> list[tuple[Scored, str]]:
        files, paths = self._catalogue.files, self._paths
        keys = {key for key, path in paths.items() if files[path].tier in tiers} if tiers is not None else paths.keys()
        if not keys:
            return []
        corpora = self._corpora
        telling = sorted(query.words, key=lambda word: -query.words[word] * corpora[0].idf(word))
        words = [word for word in telling if corpora[-1].frequency(word)][:_MOST_WORDS]
        offered: list[Candidate] = []
        if self._engine:
            offered = self._engine.candidates(words, query.days, None if len(keys) == len(paths) else keys, CANDIDATES)
        offered = [one for one in offered if one.group not in self._fresh]
        offered += [candidate(one.stored) for group in self._fresh.values() for one in group]
        known = [(one, paths[one.source[0]]) for one in offered if one.source[0] in keys]
        known.sort(key=lambda one: (_ORDER[files[one[1]].tier], -(one[0].day.toordinal() if one[0].day else 0)))
        best = rank(query, [one for one, _ in known], corpora, self._k1, self._b)
        floor = max(least, share * best[0].score) if best else 0.0
        return [(one, paths[one.candidate.source[0]]) for one in best[:limit] if one.score >= floor]

    def _hit(self, one: Scored, query: Query, path: str) -> Hit:
        words = own(query.words, one.candidate)
        why = f"words: {', '.join(words)}" if words else "window"
        unit = unit_of(one.candidate.source[1], path, self._catalogue.files[path].tier)
        return Hit(unit, round(one.score, 4), (why, *one.because))

    def _counted(self) -> list[Corpus]:
        """Return the statistics of each field over all that is searched."""
        fresh = [one for group in self._fresh.values() for one in group]
        groups = [group for name, group in self._catalogue.groups.items() if name not in self._fresh]
        size = sum(group.units for group in groups) + len(fresh)
        engine = self._engine

        def corpus(reach: int) -> Corpus:
            words = sum(group.words[reach] for group in groups) + sum(one.lengths[reach] for one in fresh)

            def frequency(word: str) -> int:
                there = engine.frequency(reach, word) if engine else 0
                return there + sum(word in one.fields[reach] for one in fresh)

            return Corpus(size, words / size if size else 0.0, frequency)

        return [corpus(reach) for reach in range(len(REACH))]

    def _has_changed(self, path: str) -> bool:
        stat = self._files.disk.stat(self._layout.root / path)
        return stat is None or not self._catalogue.files[path].is_as(stat)


def _differing(groups: Mapping[str, Group], plan: Mapping[str, tuple[str, ...]]) -> tuple[list[str], list[str]]:
    """Return the groups that the index holds otherwise than planned, and those that it should not hold."""
    changed = [name for name in plan if name not in groups or groups[name].keys != plan[name]]
    return changed, [name for name in groups if name not in plan]


def _difference(before: Mapping[str, Record], after: Mapping[str, Record]) -> Changes:
    known = {record.digest for record in before.values()}
    new = [record for path, record in after.items() if path not in before or before[path].digest != record.digest]
    moved = sum(record.digest in known for record in new)
    return Changes(read=len(new) - moved, moved=moved, gone=sum(path not in after for path in before) - moved)
