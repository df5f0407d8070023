"""
A commit of the index, opened for searching: what it holds, what has changed since, and the answer to a question.

Files that have changed since the commit are held in memory as an overlay, and searched like the committed ones: while another
process has the lock of the index, and when a cited file has just changed. While the index can't be read, only the overlay is
searched. Messages that no file holds yet are an overlay of their own (`recall/unfiled`).
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final

from ..query.calendar import FEW, Days, day_tokens
from ..query.memory_words import known_words, with_related_words
from ..query.parse import REQUEST_WEIGHT, Query, weighed
from ..storage.clock import Deadline
from ..storage.disk import Disk, Stat
from ..storage.errors import SupervisorError
from .documents import CONTEXT_WIDTHS, Document
from .engine import Engine
from .hit import MEANING, Asked, Edge, Hit, Nearness, Passage, ScoreParts, SearchResult, Tier
from .manifest import Manifest, Record, keys_of
from .newest import BRING, LEAST_ALIKE, answered_by, is_of_user, names_in, newest_first, users_first
from .ranking import SHORT, Corpus, Scored, evidence_of, rank, related_words_in

#: The most changed groups that an overlay holds; the newest are taken.
_MOST: Final = 50
#: The most candidates that are scored, and the most words that find them, the rarest.
CANDIDATES: Final = 200
_MOST_WORDS: Final = 14
#: Words whose frequencies are cached: each step of a search asks for those of the same words.
_KNOWN: Final = 10_000
#: The order of tiers for equal scores.
_ORDER: Final[Mapping[Tier, int]] = {"long_term": 0, "unfiled": 1, "dated": 1, "original": 2, "summary": 3}


@dataclass(frozen=True)
class OverlayGroup:
    """One group: the keys of its contents, and its passages (none: it is deleted)."""

    keys: tuple[str, ...] = ()
    candidates: tuple[Document, ...] = ()

    @cached_property
    def places(self) -> tuple[Mapping[str, Sequence[int]], ...]:
        """The numbers of the passages with each word, by field."""
        places: tuple[dict[str, list[int]], ...] = tuple(defaultdict(list) for _ in CONTEXT_WIDTHS)
        for number, candidate in enumerate(self.candidates):
            for numbers, words in zip(places, candidate.fields, strict=True):
                for word in {*words.split()}:
                    numbers[word].append(number)
        return places


@dataclass(frozen=True)
class Overlay:
    """The groups by name; each replaces the group of that name in the index."""

    groups: Mapping[str, OverlayGroup] = field(default_factory=dict)

    @cached_property
    def passages(self) -> Mapping[tuple[str, int], Document]:
        """All passages, by the name of their group and their number in it."""
        return {(name, n): each for name, group in self.groups.items() for n, each in enumerate(group.candidates)}

    def frequency(self, reach: int, word: str) -> int:
        """Return how many passages have the word in field *reach*."""
        return sum(len(group.places[reach].get(word, ())) for group in self.groups.values())

    def candidates(self, words: Mapping[str, float], days: Sequence[Days], most: int) -> list[Document]:
        """Return the candidates, as the engine does: those with the best *words* by weight, and those of each of the *days*."""
        weights: dict[tuple[str, int], float] = defaultdict(float)
        for name, group in self.groups.items():
            for word, weight in words.items():
                for number in group.places[-1].get(word, ()):
                    weights[name, number] += weight
        places = dict.fromkeys(sorted(weights, key=lambda place: -weights[place])[:most])
        for span in days:
            near = {place: passage.day for place, passage in self.passages.items() if passage.day and passage.day in span}
            if words and span.length > SHORT:
                near = {place: day for place, day in near.items() if place in weights}
            best = sorted(near, key=lambda place: (-weights.get(place, 0.0), -near[place].toordinal()))
            places |= dict.fromkeys(best[:most])
        return [self.passages[place] for place in places]

    def same(self, units: Collection[int]) -> list[Document]:
        """Return the passages with these vectors (`Document.unit`)."""
        return [passage for passage in self.passages.values() if passage.unit in units]


NOTHING: Final = Overlay()


def overlay_of(
    before: Overlay,
    after: Manifest,
    cited: Collection[str],
    load: Callable[[str, Mapping[str, Record]], Iterable[Document]],
    deadline: Deadline,
) -> Overlay:
    """
    Return the groups in which the files *after* differ from the index.

    *load* returns the documents of a group, which *before* may have. Groups are made until the *deadline*, those of files that
    are *cited* first, then the newest; one that can't be read is left out.
    """
    held = {name: OverlayGroup() for name in after.gone()}
    for name, files in sorted(after.differing().items(), key=lambda group: group[1].keys().isdisjoint(cited))[:_MOST]:
        known = before.groups.get(name)
        if known and known.keys == keys_of(files):
            held[name] = known
        elif not deadline.is_over:
            with contextlib.suppress(OSError, SupervisorError):
                held[name] = OverlayGroup(keys_of(files), tuple(load(name, files)))
    return Overlay(held)


@dataclass(frozen=True)
class View:
    """
    An immutable state of the index: an open commit, and the overlay of the changes since it.

    *manifest* has the files of the last scan and the groups of the commit; *overlay* may have messages that no file holds yet.
    """

    engine: Engine | None = None
    manifest: Manifest = field(default_factory=Manifest)
    overlay: Overlay = field(default_factory=Overlay)
    #: Whether the files of the manifest are newer than the commit.
    is_ahead: bool = False

    @property
    def commit(self) -> Stat | None:
        """The commit, as the stat of its list of files."""
        return self.engine.commit if self.engine else None

    @cached_property
    def unmade(self) -> list[str]:
        """The groups of files that the commit lacks."""
        return self.manifest.unmade()

    @cached_property
    def left(self) -> int:
        """How many groups of files are not searched: neither the commit nor the overlay has them."""
        return sum(name not in self.overlay.groups for name in self.unmade)

    @cached_property
    def file_count(self) -> int:
        """The number of files that are searched."""
        return sum(not record.excluded for record in self.manifest.files.values())

    @cached_property
    def paths(self) -> Mapping[str, str]:
        """The path of each content, by key; the key of an unfiled message is its path."""
        return {key: key for group in self.overlay.groups.values() for key in group.keys} | self.manifest.paths()

    @cached_property
    def corpora(self) -> list[Corpus]:
        """The statistics of each field over all searched passages."""
        return [self._corpus(reach) for reach in range(len(CONTEXT_WIDTHS))]

    def _tier(self, path: str) -> Tier:
        record = self.manifest.files.get(path)
        return record.tier if record else "unfiled"

    def changed(self, disk: Disk, root: Path, paths: Iterable[str]) -> set[str]:
        """Return the files among *paths* that have changed since the view."""

        def is_same(path: str) -> bool:
            with contextlib.suppress(OSError):  # the folder of the file is not accessible any more
                stat = disk.stat(root / path)
                return stat is not None and self.manifest.files[path].is_as(stat)
            return False

        return {path for path in dict.fromkeys(paths) if path in self.manifest.files and not is_same(path)}

    @cached_property
    def _joined(self) -> list[tuple[Overlay, View]]:
        return []

    @cached_property
    def passages(self) -> tuple[Passage, ...]:
        """All passages of the overlay, which is all that there is of the part of an audience (`recall/visible`)."""
        return tuple(map(self.passage_of, self.overlay.passages.values()))

    def with_unfiled(self, unfiled: Overlay) -> View:
        """Return the view with the messages *unfiled*; for the same ones the same view, since it caches frequencies."""
        if not unfiled.groups:
            return self
        known = next((view for of, view in self._joined if of is unfiled), None)
        joined = known or replace(self, overlay=Overlay({**self.overlay.groups, **unfiled.groups}))
        self._joined[:] = [(unfiled, joined)]
        return joined

    def answer(
        self, query: Query, limit: int, least: float, meaning: Asked | None = None, *, originals: bool = True
    ) -> SearchResult:
        """
        Return at most *limit* passages, best first, or why there are none; those behind summaries too with *originals*.

        Equal scores are in the order of their tiers, then the newest first. Passages below the score *least* are dropped, or
        below that share of the best where it has less than 1: words that most of memory has score little wherever they are.
        *meaning* returns how near passages come to the question by meaning.
        """
        query = self._of_talk(query, meaning.talk) if meaning and meaning.talk and not query.days else query
        query = known_words(query, self.corpora[0].frequency, self.corpora[0].relative_idf)
        query = with_related_words(query, self.corpora[0].frequency)
        units = None if self.engine else [passage.unit for passage in self.overlay.passages.values()]
        near = meaning(units) if meaning and not query.only_days else None
        keys = self.paths.keys() if originals else {key for key, path in self.paths.items() if self._tier(path) != "original"}
        best = self._ranked(query, keys, near)
        if near and not near.stands_out and not any(hit.is_worded or hit.parts.days for hit in best):
            best = []
        evidence = evidence_of(query, best, self.corpora[0], near)
        least *= min(1.0, max((hit.score for hit in best), default=0.0))
        kept = [hit for hit in best if hit.score >= least and hit.score]
        if query.is_of_days:  # what stands next to a message about the day is about something else, but what it answers
            about = [hit for hit in kept if hit.matching(query.words) or related_words_in(query, hit)]
            kept = [hit for hit in kept if hit in [*about, *(answered_by(hit, kept) for hit in about)]]
        if not kept:
            words = [word for word, counts in query.words.items() if counts > REQUEST_WEIGHT and word not in query.day_words]
            return SearchResult(nowhere=tuple(word for word in words if not self.corpora[0].frequency(word)))
        return SearchResult(hits=tuple(self._hit(query, hit) for hit in kept[:limit]), evidence=evidence)

    def _of_talk(self, query: Query, ends: Sequence[Edge]) -> Query:
        """Return the query for what was said on the first day of memory, or on the last one before today and since."""
        files = (record.day for record in self.manifest.files.values() if record.kind == "dated") if self.engine else ()
        held = (passage.day for passage in self.overlay.passages.values() if passage.passage.message and passage.day)
        days = {*map(date.fromisoformat, files), *held}
        if not days:
            return query
        before = {day for day in days if day < query.today} or days
        spans = {"first": Days(min(days), min(days)), "last": Days(max(before), max(days))}
        return replace(query, words={}, sentences=(), days=tuple(spans[end] for end in ends), only_days=True)

    def _ranked(self, query: Query, keys: Collection[str], near: Nearness | None) -> list[Scored]:
        """Return the passages of these contents, best first; the *query* is in words of memory."""
        some = None if len(keys) == len(self.paths) else keys
        offered = self._of_days(query, some) if query.only_days else self._offered(query, some)
        offered += self._same({*near.nearest} - {candidate.unit for candidate in offered}, some) if near else []
        known = [candidate for candidate in offered if candidate.key in keys]
        known.sort(key=lambda each: (*each.passage.moment, each.passage.start), reverse=True)
        known.sort(key=lambda each: _ORDER[self._tier(self.paths[each.key])])
        best = users_first(query, rank(query, known, self.corpora, near))
        return self._with_newest(query, best, near, keys)

    def _with_newest(self, query: Query, best: Sequence[Scored], near: Nearness | None, reach: Collection[str]) -> list[Scored]:
        """Return the answers as `newest_first` orders them, with later statements of the contents *reach* that they bring."""
        if query.only_days or query.is_of_days:
            return list(best)
        statements = {hit.candidate.unit: hit for hit in best[:BRING] if is_of_user(hit)}
        alike = {unit: near.like(unit) for unit in statements} if near else None
        names = {unit: names_in(query, hit, self.corpora[0]) for unit, hit in statements.items()}
        units = {unit for some in (alike or {}).values() for unit, part in some.items() if part >= LEAST_ALIKE}
        sources = {hit.candidate.source for hit in best}
        others = self._same(units, None) + self._having(frozenset().union(*names.values()), None)
        more = {
            candidate.source: candidate for candidate in others if candidate.source not in sources and candidate.key in reach
        }
        brought = [Scored(other, ScoreParts(), [MEANING] if other.unit in units else []) for other in more.values()]
        return newest_first(query, [*best, *brought], alike, names)

    def _same(self, units: Collection[int], keys: Collection[str] | None) -> list[Document]:
        """Return the passages with these vectors (`Document.unit`), of the contents *keys* (None: all), in no order."""
        offered = self.engine.same(units, keys, CANDIDATES) if self.engine and units else []
        return self._without_old(offered) + self.overlay.same(units)

    def passage_of(self, candidate: Document) -> Passage:
        """Return the passage of a candidate of this view."""
        path = self.paths[candidate.key]
        return replace(candidate.passage, path=path, tier=self._tier(path))

    def _hit(self, query: Query, scored: Scored) -> Hit:
        words = scored.matching(query.words)
        reasons = ("words", words), ("related", related_words_in(query, scored))
        why = [f"{name}: {', '.join(words)}" for name, words in reasons if words]
        if not why and (scored.is_worded or not scored.because):
            why = ["window"]
        return Hit(self.passage_of(scored.candidate), round(scored.score, 4), (*why, *scored.because), scored.parts)

    def _offered(self, query: Query, keys: Collection[str] | None) -> list[Document]:
        counts, idf = weighed(query), self.corpora[0].idf
        telling = sorted(query.words, key=lambda word: -counts[word] * idf(word) * query.rarity.get(word, 1.0))
        known_words = [word for word in telling if self.corpora[-1].frequency(word) or word in query.related]
        words = {word: counts[word] for word in known_words[:_MOST_WORDS]}
        related = [(other, worth) for word in words for other, worth in query.related.get(word, {}).items()]
        # sorted by worth, so that a word related to two words of the question keeps the greater worth
        return self._candidates(words, dict(sorted(related, key=lambda pair: pair[1])), query.days, keys)

    def _of_days(self, query: Query, keys: Collection[str] | None) -> list[Document]:
        dated = self._candidates({}, {}, query.days, keys)
        tokens = [token for days in query.days if days.length <= FEW for token in day_tokens(days)]
        return [*dated, *(candidate for candidate in self._having(tokens, keys) if candidate not in dated)]

    def _having(self, words: Collection[str], keys: Collection[str] | None) -> list[Document]:
        offered = self._candidates(dict.fromkeys(words, 1.0), {}, (), keys) if words else []
        return [candidate for candidate in offered if not {*words}.isdisjoint(candidate.own_words)]

    def _candidates(
        self, words: Mapping[str, float], related: Mapping[str, float], days: Sequence[Days], keys: Collection[str] | None
    ) -> list[Document]:
        """
        Return the candidates of the overlay, and of the engine except for groups that the overlay has.

        *words* have their weights beside their idf, the words *related* to them their worth relative to them.
        """
        offered = self.engine.candidates(words, related, days, keys, CANDIDATES) if self.engine else []
        words = {word: weight * self.corpora[0].idf(word) for word, weight in {**words, **related}.items()}
        return self._without_old(offered) + self.overlay.candidates(words, days, CANDIDATES)

    def _without_old(self, committed: Iterable[Document]) -> list[Document]:
        return [candidate for candidate in committed if candidate.group not in self.overlay.groups]

    def _corpus(self, reach: int) -> Corpus:
        overlay, engine = self.overlay, self.engine
        groups = [group for name, group in self.manifest.groups.items() if name not in overlay.groups]
        held = [passage.lengths[reach] for passage in overlay.passages.values()]
        size, words = sum(group.units for group in groups) + len(held), sum(group.words[reach] for group in groups) + sum(held)

        @lru_cache(maxsize=_KNOWN)
        def frequency(word: str) -> int:
            return (engine.frequency(reach, word) if engine else 0) + overlay.frequency(reach, word)

        return Corpus(size, words / size if size else 0.0, frequency)


@dataclass(frozen=True, slots=True)
class Inventory:
    """
    The last commit: searched files, their passages, bytes on disk, and the number of files that differ from it now.

    *damage* says why the commit can't be read; "" if it can, or if there is none.
    """

    files: int
    units: int
    size_bytes: int
    differing: int
    damage: str = ""
