"""
Search for an audience that may not see all: the part of memory that they may see is an index of its own (docs/decisions/0115).

If all of memory were searched and the hits filtered afterwards, they would reveal something of the rest: by a typo that is read
as a hidden word, by a hit that hidden ones crowd out. So the passages that a group may see are selected in the index by a mark,
and a search counts and compares among them alone, by meaning too: only they are neighbours, their lines are numbered without
the others, and the headings above them are left out. The result has no scores, no times and no names of files with messages of
others.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import replace
from functools import cached_property, partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, NamedTuple

from ..index.chunking import Chunk, chunk_message, neighbours
from ..index.documents import Document, meant, talk_documents, with_neighbours, words_in
from ..index.hit import BY_ID, ScoreParts
from ..index.literal import hits_of, newest_and_fullest
from ..index.overlay import NOTHING, Overlay, overlay_group
from ..protocol.dated_file import block_of
from ..protocol.inbox import chat_of
from ..storage.texts import Text
from .audience import nameless
from .search import LIMIT, LITERAL_LIMIT, TIERS, Search
from .unfiled import UnfiledPassages, is_asked_by, path_by_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime, tzinfo

    from ..index.bm25 import Candidate
    from ..index.hit import Answer, Asked, Hit, Passage, SearchResult
    from ..index.index import Index
    from ..index.overlay import OverlayGroup
    from ..index.view import View
    from ..protocol.message import Message
    from ..query.parse import Query
    from ..storage.clock import Deadline
    from .audience import Audience
    from .search import Searcher
    from .unfiled import Unfiled

#: The most audiences whose part of memory is kept.
_MOST_KEPT: Final = 8


class _Seen(NamedTuple):
    """A passage that may be seen, with its words and the key of its content."""

    passage: Passage
    words: list[str]
    key: str


class VisibleView:
    """A view with only the visible part of a view of the index, and of the messages that no file holds yet."""

    def __init__(self, whole: View, filed: Overlay, unfiled: Overlay) -> None:
        self.filed, self.unfiled = filed, unfiled
        manifest = replace(whole.manifest, groups={})
        #: It is searched like any other view; its passages have the paths of their files.
        self.view = replace(whole, engine=None, manifest=manifest, overlay=filed | unfiled, segments={}, is_part=True)

    @cached_property
    def passages(self) -> tuple[Passage, ...]:
        """All passages that may be seen."""
        groups = self.view.overlay.groups.values()
        return tuple(self.view.passage_of(candidate) for group in groups for candidate in group.candidates)

    @cached_property
    def messages(self) -> frozenset[str]:
        """The ids of the visible messages."""
        return frozenset(passage.message for passage in self.passages if passage.message)

    @cached_property
    def notes(self) -> frozenset[str]:
        """The paths of the files of which a line is visible."""
        return frozenset(passage.path for passage in self.passages if not passage.message)


class Part:
    """The part of memory that *audience* may see; it is kept from search to search while it is the same."""

    def __init__(self, audience: Audience) -> None:
        self._audience = audience
        self._made: tuple[View | None, tuple[Passage, ...], VisibleView | None] = None, (), None
        self._groups: Mapping[tuple[str, tuple[Candidate, ...]], OverlayGroup] = {}

    def of(self, whole: View, unfiled: Sequence[Passage]) -> VisibleView:
        """Return the visible part of *whole*, and all of the messages *unfiled*. BadFile if the index is damaged."""
        of, waiting, made = self._made
        passages = tuple(unfiled)
        if made is None or of is not whole or waiting != passages:
            filed = made.filed if made and of is whole else self._filed(whole)
            rest = made.unfiled if made and waiting == passages else _overlay_of(passages)
            made = VisibleView(whole, filed, rest)
            self._made = whole, passages, made
        return made

    def _filed(self, whole: View) -> Overlay:
        """Return the visible part of the files; a group whose visible part is the same as before is not made again."""
        offered = whole.engine.seen_by(self._audience.readers) if whole.engine else []
        offered = [candidate for candidate in offered if candidate.group not in whole.overlay.groups]
        offered += [candidate for group in whole.overlay.groups.values() for candidate in group.candidates]
        members: defaultdict[str, list[Candidate]] = defaultdict(list)
        for record in offered:
            if record.key in whole.paths:
                members[record.group].append(record)
        before, groups, groups_now = self._groups, {}, {}
        for name in sorted(members):
            key = name, tuple(sorted(members[name], key=lambda candidate: candidate.source))
            made = before.get(key) or self._group(name, key[1], whole)
            if made.candidates:
                groups[key] = groups_now[name] = made
        self._groups = groups
        return Overlay(groups_now)

    def _group(self, name: str, candidates: Iterable[Candidate], whole: View) -> OverlayGroup:
        seen: list[_Seen] = []
        for candidate in candidates:
            passage, key = whole.passage_of(candidate), candidate.key
            parts = self._audience.seen_of(passage)
            seen += [_Seen(part, candidate.text.split() if part is passage else words_in(part), key) for part in parts]
        return overlay_group((), _documents(name, seen))


def _documents(group: str, seen: Iterable[_Seen]) -> Iterator[Document]:
    """Yield the documents of the passages of one group of files, which are one another's only neighbours."""
    # those of one moment in the order of their file
    placed = sorted(
        seen,
        key=lambda document: (
            document.passage.at.timestamp() if document.passage.at else 0.0,
            document.passage.start,
            document.key,
        ),
    )
    numbered, line = {}, 1
    for one in placed:
        count = one.passage.end - one.passage.start + 1
        numbered[line] = one._replace(passage=replace(one.passage, start=line, end=line + count - 1))
        line += count
    # a line has no neighbours: the lines around it are hidden, or they are not messages
    chunks = [
        Chunk(document.passage, talk=document.passage.session if document.passage.message else None)
        for document in numbered.values()
    ]
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
    groups = {}
    for day, chunks in sorted(days.items()):
        paths = {chunk.passage.path: chunk.passage.path for chunk in chunks}
        documents = [document for talk in neighbours(chunks) for document in talk_documents(day, paths, talk)]
        groups[f"unfiled {day}"] = overlay_group(tuple(paths), documents)
    return Overlay(groups) if groups else NOTHING


class Parts:
    """The parts of an index, and of the messages that no file holds yet, that audiences may see; the last ones are kept."""

    def __init__(self, index: Index, unfiled: Unfiled, zone: tzinfo) -> None:
        self._index, self._unfiled, self._zone = index, unfiled, zone
        self._kept: dict[tuple[object, ...], Part] = {}
        self._keeping = threading.Lock()

    def seen_by(self, audience: Audience, now: datetime) -> VisibleView:
        """Return all that they may see, as the files are now. BadFile if the index is damaged."""
        make = partial(self.part(audience).of, unfiled=self.unfiled(audience, now, lambda _: False))
        names = self._unfiled.written_names
        seen, _ = self._index.read_current(make, lambda made: (passage.path for passage in made.passages), names)
        return seen

    def part(self, audience: Audience) -> Part:
        """Return the part that they may see, which is kept from search to search."""
        key = audience.in_groups, *audience.readers
        with self._keeping:
            part = self._kept.pop(key) if key in self._kept else Part(audience)
            self._kept[key] = part  # last in order: those that were used last are kept
            for other in [*self._kept][:-_MOST_KEPT]:
                del self._kept[other]
        return part

    def unfiled(self, audience: Audience, now: datetime, skip: Callable[[Message], bool]) -> tuple[Passage, ...]:
        """Return the messages that no file holds yet and that they may see, except those to *skip*."""
        talks = {"", audience.chat.session}
        messages = [
            message
            for message in self._unfiled.searched(now)
            if message.raw.get("shared") is True or chat_of(message.raw).session in talks
            if not skip(message)
        ]
        passages = (chunk_message(path_by_id(message.id), block_of(message), self._zone).passage for message in messages)
        return tuple(part for passage in passages if passage.text.strip() for part in audience.seen_of(passage))


class GroupSearch(Search):
    """The steps of one search for *audience*, as of *now*."""

    def __init__(self, of: Searcher, parts: Parts, audience: Audience, now: datetime) -> None:
        super().__init__(of)
        self._parts, self._audience, self._now = parts, audience, now
        self._part = parts.part(audience)
        self._unfiled: tuple[Passage, ...] = ()

    def unfiled(self, question: str, now: datetime, _deadline: Deadline) -> UnfiledPassages:
        """Return the messages that no file holds yet and that they may see."""
        self._unfiled = self._parts.unfiled(self._audience, now, is_asked_by(question, now))
        return UnfiledPassages(passages=self._unfiled)

    def indexed(self, query: Query, deadline: Deadline, _unfiled: UnfiledPassages, meaning: Asked | None) -> Answer:
        """Return the answer of the index to them."""
        settings, tiers = self.of.settings, TIERS[self.of.settings.originals]
        names = self.of.unfiled.written_names
        hits = self.of.index.search(
            query, LIMIT, tiers, settings.min_score, deadline, part=self._view, names=names, meaning=meaning
        )
        return replace(hits, miss=None)

    @property
    def is_readable(self) -> bool:
        """Whether words are searched."""
        return True

    def frequency(self, word: str) -> int:
        """Return how many of the passages that they may see have the word."""
        return self._seen.view.corpora[0].frequency(word)

    def containing(self, wanted: Sequence[str], _unfiled: UnfiledPassages, _deadline: Deadline) -> list[Hit]:
        """Return the newest passages that contain one of *wanted*."""
        return newest_and_fullest(hits_of(self._seen.passages, wanted), wanted)[:LITERAL_LIMIT]

    def told(self, result: SearchResult) -> SearchResult:
        """Return the result as they may see it: days in place of files, no time, and no reason where something failed."""
        hits = tuple(replace(hit, unit=_named_by_day(hit.unit)) for hit in result.hits)
        unsearched = result.unsearched and Text(
            "a part of it could not be read"
        )  # the reasons name files of other conversations
        files = self.attempt(lambda: len(self._seen.filed.groups), 0)
        return replace(result, hits=hits, files=files, pinned=(), unsearched=unsearched, ms=0.0)

    @cached_property
    def _seen(self) -> VisibleView:
        names = self.of.unfiled.written_names
        return self.of.index.read_current(self._visible, lambda seen: (passage.path for passage in seen.passages), names)[0]

    def _visible(self, whole: View) -> VisibleView:
        return self._part.of(whole, self._unfiled)

    def _view(self, whole: View) -> View:
        return self._visible(whole).view


def heard(hit: Hit) -> Hit:
    """Return a hit as a group may see it: a message by its id, as `get` takes it, and without a score."""
    unit = hit.unit
    if unit.message:
        unit = replace(unit, path=path_by_id(unit.message), start=1, end=unit.text.count("\n") + 1)
    return replace(hit, unit=unit, score=None, worth=None, parts=ScoreParts())


def _named_by_day(unit: Passage) -> Passage:
    """Return the passage with its day in place of the path of a dated file, whose name and folder may reveal other messages."""
    if unit.file == BY_ID[:-1]:
        return unit
    return replace(unit, path=f"memory/{PurePath(nameless(unit.path)).name}" if unit.message else unit.path)
