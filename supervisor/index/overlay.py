"""
Files that have changed since the last commit of the index, held in memory and searched like the committed ones.

An overlay is made while another process has the lock of the index, and when a cited file has just changed. While the index
can't be read, only the overlay is searched. Messages that no file holds yet are an overlay of their own (`recall/unfiled`).
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Final

from ..query.calendar import Days
from ..storage.clock import Deadline
from ..storage.errors import SupervisorError
from ..text.record import record
from .documents import CONTEXT_WIDTHS, Document
from .manifest import Manifest, Record, keys_of
from .ranking import SHORT

#: The most changed groups that an overlay holds; the newest are taken.
_MOST: Final = 50


@record
class OverlayGroup:
    """One group: the keys of its contents, its passages (none: it is deleted), and the passages with each word, by field."""

    keys: tuple[str, ...] = ()
    candidates: tuple[Document, ...] = ()
    places: tuple[Mapping[str, Sequence[int]], ...] = ({},) * len(CONTEXT_WIDTHS)


def overlay_group(keys: tuple[str, ...], documents: Iterable[Document]) -> OverlayGroup:
    """Return the group of these documents; *keys* are those of its contents."""
    places: tuple[dict[str, list[int]], ...] = tuple(defaultdict(list) for _ in CONTEXT_WIDTHS)
    candidates = []
    for number, document in enumerate(documents):
        candidates.append(document)
        for reach, words in enumerate(document.fields):
            for word in dict.fromkeys(words.split()):
                places[reach][word].append(number)
    return OverlayGroup(keys, tuple(candidates), tuple(dict(place) for place in places))


@dataclass(frozen=True)
class Overlay:
    """The groups by name; each replaces the group of that name in the index."""

    groups: Mapping[str, OverlayGroup] = field(default_factory=dict)

    def __or__(self, other: Overlay) -> Overlay:
        """Return the groups of both."""
        return Overlay({**self.groups, **other.groups})

    @cached_property
    def units(self) -> int:
        """The number of passages."""
        return sum(len(held.candidates) for held in self.groups.values())

    def words(self, reach: int) -> int:
        """Return the number of words of all passages in field *reach*."""
        return sum(candidate.lengths[reach] for held in self.groups.values() for candidate in held.candidates)

    def frequency(self, reach: int, word: str) -> int:
        """Return how many passages have the word in field *reach*."""
        return sum(len(held.places[reach].get(word, ())) for held in self.groups.values())

    def candidates(self, words: Mapping[str, float], days: Sequence[Days], most: int) -> list[Document]:
        """Return the candidates, as the engine does: those with the best *words* by weight, and those of each of the *days*."""
        weights: dict[tuple[str, int], float] = defaultdict(float)
        for group, held in self.groups.items():
            for word, weight in words.items():
                for number in held.places[-1].get(word, ()):
                    weights[group, number] += weight
        places = dict.fromkeys(sorted(weights, key=lambda place: -weights[place])[:most])
        for span in days:
            near = {place: day for place, day in self._days if day in span}
            if words and span.length > SHORT:
                near = {place: day for place, day in near.items() if place in weights}
            best = sorted(near, key=lambda place: (-weights.get(place, 0.0), -near[place].toordinal()))
            places |= dict.fromkeys(best[:most])
        return [self.groups[group].candidates[number] for group, number in places]

    def same(self, units: Collection[int]) -> list[Document]:
        """Return the passages with these vectors (`Document.unit`)."""
        return [candidate for unit in units for candidate in self.by_unit.get(unit, ())]

    @cached_property
    def by_unit(self) -> Mapping[int, Sequence[Document]]:
        """The passages, by the name of their vectors."""
        units: dict[int, list[Document]] = defaultdict(list)
        for held in self.groups.values():
            for passage in held.candidates:
                units[passage.unit].append(passage)
        return dict(units)

    @cached_property
    def _days(self) -> list[tuple[tuple[str, int], date]]:
        return [
            ((group, number), candidate.day)
            for group, held in self.groups.items()
            for number, candidate in enumerate(held.candidates)
            if candidate.day is not None
        ]


NOTHING: Final = Overlay()


def overlay_of(
    before: Overlay, after: Manifest, made: Callable[[str, Mapping[str, Record]], Iterable[Document]], deadline: Deadline
) -> tuple[Overlay, int]:
    """
    Return the groups in which the files *after* differ from the index, and the number of those that it lacks.

    *made* returns the documents of a group, which *before* may have. Groups are made until the *deadline*, the newest first;
    one that can't be read is left out.
    """
    differing = after.differing()
    held = {name: OverlayGroup() for name in after.gone()}
    for name, files in [*differing.items()][:_MOST]:
        known = before.groups.get(name)
        if known and known.keys == keys_of(files):
            held[name] = known
        elif not deadline.is_over:
            with contextlib.suppress(OSError, SupervisorError):
                held[name] = overlay_group(keys_of(files), made(name, files))
    return Overlay(held), sum(name not in held for name in differing)
