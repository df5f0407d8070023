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
from functools import cached_property
from typing import Final

from ..query.calendar import Days
from ..storage.clock import Deadline
from ..storage.errors import SupervisorError
from .documents import CONTEXT_WIDTHS, Document
from .manifest import Manifest, Record, keys_of
from .ranking import SHORT

#: The most changed groups that an overlay holds; the newest are taken.
_MOST: Final = 50


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

    def __or__(self, other: Overlay) -> Overlay:
        """Return the groups of both."""
        return Overlay({**self.groups, **other.groups})

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
) -> tuple[Overlay, int]:
    """
    Return the groups in which the files *after* differ from the index, and the number of those that it lacks.

    *load* returns the documents of a group, which *before* may have. Groups are made until the *deadline*, those of files that
    are *cited* first, then the newest; one that can't be read is left out.
    """
    differing = after.differing()
    held = {name: OverlayGroup() for name in after.gone()}
    for name, files in sorted(differing.items(), key=lambda group: group[1].keys().isdisjoint(cited))[:_MOST]:
        known = before.groups.get(name)
        if known and known.keys == keys_of(files):
            held[name] = known
        elif not deadline.is_over:
            with contextlib.suppress(OSError, SupervisorError):
                held[name] = OverlayGroup(keys_of(files), tuple(load(name, files)))
    return Overlay(held), sum(name not in held for name in differing)
