"""
The part of memory that one audience may see, as an index of its own: nothing else counts in it.

Hits of all memory that are filtered afterwards still tell of the rest: their scores do, by how often all of memory has a word,
and so does a typo that is read as a word of it, a hit that others crowd out, a search that takes longer. So the passages that a
group may see are taken from the index by a mark of theirs, and what a search counts and compares it counts and compares among
them: their neighbours are one another's, their lines are numbered among themselves, and the headings above them are left out.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

from recalld.supervisor.index.chunking import Chunk, neighbours
from recalld.supervisor.index.documents import Document, talk_documents, with_neighbours, words_in
from recalld.supervisor.index.overlay import NOTHING, Overlay, overlay_group

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from recalld.supervisor.index.bm25 import Candidate
    from recalld.supervisor.index.hit import Passage
    from recalld.supervisor.index.overlay import OverlayGroup
    from recalld.supervisor.index.snapshot import View


class Listeners(Protocol):
    """Those who may not see all of memory."""

    @property
    def readers(self) -> Collection[str]:
        """The marks of what they may see a part of (`Passage.readers`)."""

    def seen_of(self, passage: Passage) -> Sequence[Passage]:
        """Return what they may see of the passage."""


class _Seen(NamedTuple):
    """A passage that may be seen, with its words and the key of its content."""

    passage: Passage
    words: list[str]
    key: str


class VisibleView:
    """What may be seen of a view of the index, and of the messages that no file holds yet: a view that has nothing else."""

    def __init__(self, whole: View, filed: Overlay, unfiled: Overlay) -> None:
        manifest = replace(whole.manifest, groups={})
        #: To be searched as any other; its passages have the paths of their files.
        self.view = replace(whole, engine=None, manifest=manifest, overlay=filed, unfiled=unfiled, segments={})

    @cached_property
    def passages(self) -> tuple[Passage, ...]:
        """All passages that may be seen."""
        groups = (*self.view.overlay.groups.values(), *self.view.unfiled.groups.values())
        return tuple(self.view.passage_of(one) for group in groups for one in group.candidates)

    @cached_property
    def messages(self) -> frozenset[str]:
        """The ids of the messages among them."""
        return frozenset(one.message for one in self.passages if one.message)

    @cached_property
    def notes(self) -> frozenset[str]:
        """The paths of the files of which they have a line."""
        return frozenset(one.path for one in self.passages if not one.message)

    @cached_property
    def first_day(self) -> date | None:
        """The first day of which they have a message; None without any."""
        return min((one.day for one in self.passages if one.message and one.day), default=None)


class Part:
    """What *listeners* may see of memory; what was made of it is kept while it is the same."""

    def __init__(self, listeners: Listeners) -> None:
        self._listeners = listeners
        self._made: tuple[View | None, tuple[Passage, ...], VisibleView | None] = None, (), None
        self._groups: Mapping[tuple[str, tuple[Candidate, ...]], OverlayGroup] = {}

    def of(self, whole: View, unfiled: Sequence[Passage]) -> VisibleView:
        """Return what may be seen of *whole*; of the messages *unfiled* all may be. BadFile if the index is damaged."""
        of, waiting, made = self._made
        passages = tuple(unfiled)
        if made is None or of is not whole or waiting != passages:
            filed = made.view.overlay if made and of is whole else self._filed(whole)
            rest = made.view.unfiled if made and waiting == passages else _overlay_of(passages)
            made = VisibleView(whole, filed, rest)
            self._made = whole, passages, made
        return made

    def _filed(self, whole: View) -> Overlay:
        """Return what may be seen of the files; a group of which the same may be seen as before is not made again."""
        offered = whole.engine.seen_by(self._listeners.readers) if whole.engine else []
        offered = [one for one in offered if one.group not in whole.overlay.groups]
        offered += [one for group in whole.overlay.groups.values() for one in group.candidates]
        members: defaultdict[str, list[Candidate]] = defaultdict(list)
        for one in offered:
            if one.source[0] in whole.paths:
                members[one.group].append(one)
        before, groups, found = self._groups, {}, {}
        for name in sorted(members):
            key = name, tuple(sorted(members[name], key=lambda one: one.source))
            made = before.get(key) or self._group(name, key[1], whole)
            if made.candidates:
                groups[key] = found[name] = made
        self._groups = groups
        return Overlay(found)

    def _group(self, name: str, candidates: Iterable[Candidate], whole: View) -> OverlayGroup:
        seen: list[_Seen] = []
        for one in candidates:
            passage, key = whole.passage_of(one), one.source[0]
            parts = self._listeners.seen_of(passage)
            seen += [_Seen(part, one.text.split() if part is passage else words_in(part), key) for part in parts]
        return overlay_group((), _documents(name, seen))


def _documents(group: str, seen: Iterable[_Seen]) -> Iterator[Document]:
    """Yield the documents of the passages of one group of files, which are one another's only neighbours."""
    # of one moment, as they stand in their file
    placed = sorted(seen, key=lambda one: (one.passage.at.timestamp() if one.passage.at else 0.0, one.passage.start, one.key))
    numbered, line = {}, 1
    for one in placed:
        count = one.passage.end - one.passage.start + 1
        numbered[line] = one._replace(passage=replace(one.passage, start=line, end=line + count - 1))
        line += count
    # a line is nobody's neighbour: of what stands around it nothing may be seen, or it is not said
    chunks = [Chunk(one.passage, talk=one.passage.session if one.passage.message else None) for one in numbered.values()]
    for talk in neighbours(chunks):
        words = {n: numbered[chunk.passage.start].words for n, chunk in enumerate(talk)}
        for n, chunk in enumerate(talk):
            key = numbered[chunk.passage.start].key
            yield Document(group, key, chunk.passage, with_neighbours(n, len(talk), words))


def _overlay_of(unfiled: Sequence[Passage]) -> Overlay:
    """Return the messages that no file holds yet, in groups of the days that they will be filed under."""
    days: defaultdict[str, list[Chunk]] = defaultdict(list)
    for passage in unfiled:
        days[f"day {passage.day}"].append(Chunk(passage, talk=passage.session))
    found = {}
    for day, chunks in sorted(days.items()):
        paths = {chunk.passage.path: chunk.passage.path for chunk in chunks}
        documents = [one for talk in neighbours(chunks) for one in talk_documents(day, paths, talk)]
        found[f"unfiled {day}"] = overlay_group(tuple(paths), documents)
    return Overlay(found) if found else NOTHING
