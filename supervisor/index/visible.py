"""
The part of memory that one audience may see, as an index of its own: nothing else counts in it.

If all of memory were searched and the hits filtered afterwards, they would reveal something of the rest: by scores, which
depend on how often all of memory has a word, by a typo that is read as a hidden word, by a hit that hidden ones crowd out, by a
search that takes longer. So the passages that a group may see are selected in the index by a mark, and a search counts and
compares among them alone: only they are neighbours, their lines are numbered without the others, and the headings above them
are left out.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

from recalld.supervisor.index.chunking import Chunk, neighbours
from recalld.supervisor.index.documents import Document, meant, talk_documents, with_neighbours, words_in
from recalld.supervisor.index.overlay import NOTHING, Overlay, overlay_group

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from recalld.supervisor.index.bm25 import Candidate
    from recalld.supervisor.index.hit import Passage
    from recalld.supervisor.index.overlay import OverlayGroup
    from recalld.supervisor.index.snapshot import View


class Listeners(Protocol):
    """An audience that may not see all of memory."""

    @property
    def readers(self) -> Collection[str]:
        """The marks of the passages of which they may see all or a part (`Passage.readers`)."""

    def seen_of(self, passage: Passage) -> Sequence[Passage]:
        """Return the parts of the passage that they may see."""


class _Seen(NamedTuple):
    """A passage that may be seen, with its words and the key of its content."""

    passage: Passage
    words: list[str]
    key: str


class VisibleView:
    """A view with only the visible part of a view of the index, and of the messages that no file holds yet."""

    def __init__(self, whole: View, filed: Overlay, unfiled: Overlay) -> None:
        manifest = replace(whole.manifest, groups={})
        #: It is searched like any other view; its passages have the paths of their files.
        self.view = replace(whole, engine=None, manifest=manifest, overlay=filed, unfiled=unfiled, segments={}, is_part=True)

    @cached_property
    def passages(self) -> tuple[Passage, ...]:
        """All passages that may be seen."""
        groups = (*self.view.overlay.groups.values(), *self.view.unfiled.groups.values())
        return tuple(self.view.passage_of(one) for group in groups for one in group.candidates)

    @cached_property
    def messages(self) -> frozenset[str]:
        """The ids of the visible messages."""
        return frozenset(one.message for one in self.passages if one.message)

    @cached_property
    def notes(self) -> frozenset[str]:
        """The paths of the files of which a line is visible."""
        return frozenset(one.path for one in self.passages if not one.message)

    @cached_property
    def first_day(self) -> date | None:
        """The first day with a visible message; None if there is none."""
        return min((one.day for one in self.passages if one.message and one.day), default=None)


class Part:
    """The part of memory that *listeners* may see; it is kept from search to search while it is the same."""

    def __init__(self, listeners: Listeners) -> None:
        self._listeners = listeners
        self._made: tuple[View | None, tuple[Passage, ...], VisibleView | None] = None, (), None
        self._groups: Mapping[tuple[str, tuple[Candidate, ...]], OverlayGroup] = {}

    def of(self, whole: View, unfiled: Sequence[Passage]) -> VisibleView:
        """Return the visible part of *whole*, and all of the messages *unfiled*. BadFile if the index is damaged."""
        of, waiting, made = self._made
        passages = tuple(unfiled)
        if made is None or of is not whole or waiting != passages:
            filed = made.view.overlay if made and of is whole else self._filed(whole)
            rest = made.view.unfiled if made and waiting == passages else _overlay_of(passages)
            made = VisibleView(whole, filed, rest)
            self._made = whole, passages, made
        return made

    def _filed(self, whole: View) -> Overlay:
        """Return the visible part of the files; a group whose visible part is the same as before is not made again."""
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
    # those of one moment in the order of their file
    placed = sorted(seen, key=lambda one: (one.passage.at.timestamp() if one.passage.at else 0.0, one.passage.start, one.key))
    numbered, line = {}, 1
    for one in placed:
        count = one.passage.end - one.passage.start + 1
        numbered[line] = one._replace(passage=replace(one.passage, start=line, end=line + count - 1))
        line += count
    # a line has no neighbours: the lines around it are hidden, or they are not messages
    chunks = [Chunk(one.passage, talk=one.passage.session if one.passage.message else None) for one in numbered.values()]
    for talk in neighbours(chunks):
        words = {n: numbered[chunk.passage.start].words for n, chunk in enumerate(talk)}
        for n, chunk in enumerate(talk):
            key = numbered[chunk.passage.start].key
            yield Document(group, key, chunk.passage, with_neighbours(n, len(talk), words), meant(talk, n).unit)


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
