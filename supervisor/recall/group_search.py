"""
Search for an audience that may not see all: only what they may see counts in it (`index/visible`).

Meaning is measured among what they may see alone, too: by how far a passage stands out there. The result has no scores, no
times and no names of files with messages of others.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import cached_property, partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from recalld.supervisor.index.chunking import chunk_message
from recalld.supervisor.index.hit import BY_ID, ScoreParts
from recalld.supervisor.index.literal import hits_of, newest_and_fullest
from recalld.supervisor.index.visible import Part, VisibleView
from recalld.supervisor.protocol.dated_file import block_of
from recalld.supervisor.protocol.inbox import chat_of
from recalld.supervisor.recall.audience import nameless
from recalld.supervisor.recall.search import LIMIT, LITERAL_LIMIT, TIERS, Search
from recalld.supervisor.recall.unfiled import UnfiledPassages, is_asked_by, path_by_id
from recalld.supervisor.storage.catalogue import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date, datetime, tzinfo

    from recalld.supervisor.index.hit import Answer, Asked, Hit, Passage, SearchResult
    from recalld.supervisor.index.index import Index
    from recalld.supervisor.index.snapshot import View
    from recalld.supervisor.protocol.message import Message
    from recalld.supervisor.query.parse import Query
    from recalld.supervisor.recall.audience import Audience
    from recalld.supervisor.recall.search import Searcher
    from recalld.supervisor.recall.unfiled import Unfiled
    from recalld.supervisor.storage.clock import Deadline

#: The most audiences whose part of memory is kept.
_MOST_KEPT: Final = 8


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
        seen, _ = self._index.read_current(make, lambda made: (one.path for one in made.passages), names)
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
            one
            for one in self._unfiled.searched(now)
            if one.raw.get("shared") is True or chat_of(one.raw).session in talks
            if not skip(one)
        ]
        passages = (chunk_message(path_by_id(one.id), block_of(one), self._zone).passage for one in messages)
        return tuple(part for one in passages if one.text.strip() for part in audience.seen_of(one))


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

    def indexed(self, query: Query, deadline: Deadline, _unfiled: UnfiledPassages, asked: Asked | None) -> Answer:
        """Return the answer of the index to them."""
        settings, tiers = self.of.settings, TIERS[self.of.settings.originals]
        names = self.of.unfiled.written_names
        found = self.of.index.search(
            query, LIMIT, tiers, settings.min_score, deadline, part=self._view, names=names, asked=asked
        )
        return replace(found, miss=None)

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

    def first_day(self) -> date | None:
        """Return the first day of which they may see a message."""
        return self._parts.seen_by(self._audience, self._now).first_day

    def told(self, result: SearchResult) -> SearchResult:
        """Return the result as they may see it: days in place of files, no time, and no reason where something failed."""
        hits = tuple(replace(hit, unit=_named_by_day(hit.unit)) for hit in result.hits)
        unsearched = result.unsearched and Text("search.part_unread")  # the reasons name files of other conversations
        files = self.attempt(lambda: len(self._seen.view.overlay.groups), 0)
        return replace(result, hits=hits, files=files, pinned=(), unsearched=unsearched, ms=0.0)

    @cached_property
    def _seen(self) -> VisibleView:
        names = self.of.unfiled.written_names
        return self.of.index.read_current(self._visible, lambda seen: (one.path for one in seen.passages), names)[0]

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
