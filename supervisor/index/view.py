"""
What is searched at one moment: a commit of the index, and in place of what has changed since, groups held in memory.

A view never changes; who brings the index up to date makes another. So a search goes on undisturbed while another thread
does so.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final

from supervisor.index.bm25 import REACH, Corpus
from supervisor.index.catalogue import Catalogue
from supervisor.index.documents import unit_of
from supervisor.index.fresh import Fresh
from supervisor.index.scoring import Scored, own, rank
from supervisor.policy.hit import Hit
from supervisor.text.words import tokens

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from supervisor.index.bm25 import Candidate
    from supervisor.index.engine import Engine
    from supervisor.policy.days import Days
    from supervisor.policy.hit import Tier
    from supervisor.policy.query import Query
    from supervisor.protocol.disk import Stat

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
    *catalogue* has the files as last looked at and the groups as committed.

    *commit* is the stat of that commit's list, *segments* are those of the files that it consists of.
    """

    engine: Engine | None = None
    catalogue: Catalogue = field(default_factory=Catalogue)
    fresh: Fresh = field(default_factory=Fresh)
    commit: Stat | None = None
    segments: Mapping[Path, Stat] = field(default_factory=dict)
    #: Whether the catalogue's files are newer than the commit.
    is_ahead: bool = False
    k1: float = 1.2
    b: float = 0.75

    @cached_property
    def file_count(self) -> int:
        """How many files are searched."""
        return sum(not record.silent for record in self.catalogue.files.values())

    @cached_property
    def paths(self) -> Mapping[str, str]:
        """The path of each content."""
        return self.catalogue.paths()

    @cached_property
    def corpora(self) -> list[Corpus]:
        """The statistics of each field over all that is searched."""
        return [self._corpus(reach) for reach in range(len(REACH))]

    @cached_property
    def _of_tier(self) -> Mapping[Tier, frozenset[str]]:
        """The contents of each tier."""
        found: dict[Tier, set[str]] = defaultdict(set)
        for key, path in self.paths.items():
            found[self.catalogue.files[path].tier].add(key)
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
        files, paths, held = self.catalogue.files, self.paths, self._of_tier
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
        """Return the unit as recall shows it, with what raised it."""
        words = own(query.words, one.candidate)
        why = f"words: {', '.join(words)}" if words else "window"
        unit = unit_of(one.candidate.source[1], path, self.catalogue.files[path].tier)
        return Hit(unit, round(one.score, 4), (why, *one.because))

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
            char: counts * corpus.rareness(char) * _CHARACTER
            for word, counts in query.words.items()
            if len(word) == _PAIR and not word.isascii() and not corpus.frequency(word)
            for char in tokens(" ".join(word))
            if char not in query.words and corpus.frequency(char)
        }
        return replace(query, words={**query.words, **more}) if more else query

    def _found(self, words: Mapping[str, float], days: Sequence[Days], keys: Collection[str] | None) -> list[Candidate]:
        """Return the candidates of the engine, without the groups that memory has newer, and of those."""
        offered = self.engine.candidates(list(words), days, keys, CANDIDATES) if self.engine else []
        if self.fresh.groups:
            offered = [one for one in offered if one.group not in self.fresh.groups]
            offered += self.fresh.candidates(words, days, CANDIDATES)
        return offered

    def _corpus(self, reach: int) -> Corpus:
        fresh, engine = self.fresh, self.engine
        groups = [group for name, group in self.catalogue.groups.items() if name not in fresh.groups]
        size = sum(group.units for group in groups) + fresh.units
        words = sum(group.words[reach] for group in groups) + fresh.words(reach)

        @lru_cache(maxsize=_KNOWN)
        def frequency(word: str) -> int:
            return (engine.frequency(reach, word) if engine else 0) + fresh.frequency(reach, word)

        return Corpus(size, words / size if size else 0.0, frequency)
