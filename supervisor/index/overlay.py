"""
What has changed since the index's last commit, held in memory: cut, counted, and found like the rest.

It is made where another process has the index's lock, where a cited file has changed a moment ago, and where there is no
index to be read: then these are all that is searched by words.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from supervisor.index.bm25 import CONTEXT_WIDTHS
from supervisor.index.documents import candidate
from supervisor.index.ranking import AFTER, SHORT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date

    from supervisor.index.bm25 import Candidate
    from supervisor.index.documents import Document
    from supervisor.query.calendar import Days


@dataclass(frozen=True, slots=True)
class OverlayGroup:
    """One group: the contents it was cut from, its units (none: it is gone), and for each field which of them have a word."""

    keys: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    places: tuple[Mapping[str, Sequence[int]], ...] = ({},) * len(CONTEXT_WIDTHS)


def hold(keys: tuple[str, ...], documents: Iterable[Document]) -> OverlayGroup:
    """Return a group of these contents, made of its documents."""
    places: tuple[dict[str, list[int]], ...] = tuple(defaultdict(list) for _ in CONTEXT_WIDTHS)
    candidates = []
    for number, document in enumerate(documents):
        candidates.append(candidate(document.stored))
        for reach, words in enumerate(document.fields):
            for word in dict.fromkeys(words):
                places[reach][word].append(number)
    return OverlayGroup(keys, tuple(candidates), tuple(dict(found) for found in places))


@dataclass(frozen=True)
class Overlay:
    """The groups by name; each stands in place of what the index has of it."""

    groups: Mapping[str, OverlayGroup] = field(default_factory=dict)

    @cached_property
    def units(self) -> int:
        """How many units there are."""
        return sum(len(held.candidates) for held in self.groups.values())

    def words(self, reach: int) -> int:
        """Return how many words the units have within that reach, together."""
        return sum(one.lengths[reach] for held in self.groups.values() for one in held.candidates)

    def frequency(self, reach: int, word: str) -> int:
        """Return in how many units the word stands within that reach."""
        return sum(len(held.places[reach].get(word, ())) for held in self.groups.values())

    def candidates(self, words: Mapping[str, float], days: Sequence[Days], most: int) -> list[Candidate]:
        """Return the units that the engine would: with the *words* that weigh most together, and of each of the *days*."""
        weights: dict[tuple[str, int], float] = defaultdict(float)
        for group, held in self.groups.items():
            for word, weight in words.items():
                for number in held.places[-1].get(word, ()):
                    weights[group, number] += weight
        found = dict.fromkeys(sorted(weights, key=lambda place: -weights[place])[:most])
        for span in days:
            near = {place: day for place, day in self._days if -1 <= span.away(day) <= AFTER[-1][0]}
            if words and span.length > SHORT:
                near = {place: day for place, day in near.items() if place in weights}
            best = sorted(near, key=lambda place: (-weights.get(place, 0.0), -near[place].toordinal()))
            found |= dict.fromkeys(best[:most])
        return [self.groups[group].candidates[number] for group, number in found]

    @cached_property
    def _days(self) -> list[tuple[tuple[str, int], date]]:
        """The place of each unit that has a day, with the day."""
        return [
            ((group, number), one.day)
            for group, held in self.groups.items()
            for number, one in enumerate(held.candidates)
            if one.day is not None
        ]
