"""
The part of memory that an audience may see which may not see all: it is an index of its own (docs/decisions/0115).

If all of memory were searched and the hits filtered afterwards, they would reveal something of the rest: by a typo that is read
as a hidden word, by a hit that hidden ones crowd out. So the passages that a group may see are selected in the index by a mark,
and a search counts and compares among them alone, by meaning too: only they are neighbours, their lines are numbered without
the others, and the headings above them are left out. The result has no scores, no times and no names of files with messages of
others.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from pathlib import PurePath
from typing import Final

from ..index.chunking import Chunk, neighbours
from ..index.documents import Document, document_of, vector_input, with_neighbours, words_in
from ..index.hit import BY_ID, Hit, Passage, ScoreParts
from ..index.index import Index
from ..index.view import Overlay, OverlayGroup, View
from .audience import Audience, nameless
from .unfiled import Unfiled, path_by_id

#: The most audiences whose part of memory is kept.
_MOST_KEPT: Final = 8


class Part:
    """The part of memory that *audience* may see; it is kept from search to search while it is the same."""

    def __init__(self, audience: Audience) -> None:
        self._audience = audience
        self._current: tuple[View, View] | None = None
        self._groups: Mapping[tuple[str, tuple[Document, ...]], OverlayGroup] = {}

    def of(self, whole: View) -> View:
        """Return the visible part of *whole*, a view with an overlay alone. BadFile if the index is damaged."""
        if self._current is None or self._current[0] is not whole:
            manifest = replace(whole.manifest, groups={})
            self._current = whole, replace(whole, engine=None, manifest=manifest, overlay=self._visible(whole))
        return self._current[1]

    def _visible(self, whole: View) -> Overlay:
        """Return the visible part of each group; one whose visible part is the same as before is not made again."""
        offered = whole.engine.seen_by(self._audience.readers) if whole.engine else []
        offered = [candidate for candidate in offered if candidate.group not in whole.overlay.groups]
        offered += [candidate for group in whole.overlay.groups.values() for candidate in group.candidates]
        members: defaultdict[str, list[Document]] = defaultdict(list)
        for candidate in offered:
            if candidate.key in whole.paths:
                members[candidate.group].append(candidate)
        before, groups, groups_now = self._groups, {}, {}
        for name in sorted(members):
            key = name, tuple(sorted(members[name], key=lambda candidate: candidate.source))
            group = before.get(key) or self._group(name, key[1], whole)
            if group.candidates:
                groups[key] = groups_now[name] = group
        self._groups = groups
        return Overlay(groups_now)

    def _group(self, name: str, candidates: Iterable[Document], whole: View) -> OverlayGroup:
        seen: list[Document] = []
        for candidate in candidates:
            passage = whole.passage_of(candidate)
            for part in self._audience.seen_of(passage):
                words = candidate.words if part is passage else (" ".join(words_in(part)),)
                seen.append(replace(candidate, passage=part, words=words))
        keys = tuple(part.key for part in seen if part.passage.tier == "unfiled")
        return OverlayGroup(keys, tuple(_documents(name, seen)))


def _documents(group: str, seen: Iterable[Document]) -> Iterator[Document]:
    """Yield the documents of the passages of one group of files, which are one another's only neighbours."""
    # those of one moment in the order of their file
    placed = sorted(seen, key=lambda part: (part.passage.moment[1], part.passage.start, part.key))
    chunks, seen_as, line = [], {}, 1
    for part in placed:
        passage = part.passage
        if passage.tier != "unfiled":  # in a file the lines of others are not counted
            passage = replace(passage, start=line, end=line + passage.end - passage.start)
            line = passage.end + 1
        # a line has no neighbours: the lines around it are hidden, or they are not messages
        chunks.append(Chunk(passage, talk=passage.session if passage.message else None))
        seen_as[id(chunks[-1])] = part
    for talk in neighbours(chunks):
        words = [seen_as[id(chunk)].own_words for chunk in talk]
        for n, chunk in enumerate(talk):
            around = with_neighbours(n, len(talk), words.__getitem__)
            yield document_of(group, seen_as[id(chunk)].key, chunk.passage, around, vector_input(talk, n).unit)


class Parts:
    """The parts of an index, and of the messages that no file holds yet, that audiences may see; the last ones are kept."""

    def __init__(self, index: Index, unfiled: Unfiled) -> None:
        self._index, self._unfiled = index, unfiled
        self.part = lru_cache(_MOST_KEPT)(Part)

    def seen_by(self, audience: Audience, now: datetime) -> tuple[Passage, ...]:
        """Return all passages that they may see, as the files are now."""
        return self.read(self.part(audience), self._unfiled.passages(now).overlay).passages

    def read(self, part: Part, unfiled: Overlay) -> View:
        """Return this part of the files, as these are now, and of the messages *unfiled*."""
        seen, _ = self._index.read_current(
            lambda whole: part.of(whole.with_unfiled(unfiled)),
            lambda view: (passage.path for passage in view.passages),
            self._unfiled.written_names,
        )
        return seen


def heard(hit: Hit) -> Hit:
    """Return a hit as a group may see it: a message by its id, as `get` takes it, and without a score."""
    unit = hit.unit
    if unit.message:
        unit = replace(unit, path=path_by_id(unit.message), start=1, end=unit.text.count("\n") + 1)
    return replace(hit, unit=unit, score=None, parts=ScoreParts())


def named_by_day(unit: Passage) -> Passage:
    """Return the passage with its day in place of the path of a dated file, whose name and folder may reveal other messages."""
    if unit.file == BY_ID[:-1]:
        return unit
    return replace(unit, path=f"memory/{PurePath(nameless(unit.path)).name}" if unit.message else unit.path)
