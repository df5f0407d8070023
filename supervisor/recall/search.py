"""
Search memory for a question: the query, the index, the reranker, and a literal search where nothing else finds anything.

A search never fails a turn: at its deadline it ends with the hits it has so far, and whatever goes wrong becomes an event.
`query/` decides what a question asks, `index/` finds and scores passages, `context/` chooses what the assistant is shown.
Source: docs/explanation/recall.md.
"""

from __future__ import annotations

import stat
import time
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, TypeVar

from recalld.supervisor.index.bm25 import load_numpy
from recalld.supervisor.index.chunking import chunk_note
from recalld.supervisor.index.gate import gate_of
from recalld.supervisor.index.hit import Answer, SearchResult
from recalld.supervisor.index.literal import hits_of, literal_terms, newest_and_fullest, search_files
from recalld.supervisor.index.scan import PATIENCE_S, long_term_name
from recalld.supervisor.protocol.paths import day_of_name
from recalld.supervisor.query.parse import Query, parse_query
from recalld.supervisor.recall.audience import nameless
from recalld.supervisor.recall.unfiled import UnfiledPassages, path_by_id
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.clock import local_day, within
from recalld.supervisor.storage.control import UNLIMITED
from recalld.supervisor.storage.errors import BadFile, as_supervisor_error
from recalld.supervisor.text.decoding import decoded
from recalld.supervisor.text.tokenizer import tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import date, datetime, tzinfo

    from recalld.supervisor.events import Events
    from recalld.supervisor.index.commit import Changes
    from recalld.supervisor.index.hit import Hit, Passage, Tier
    from recalld.supervisor.index.index import Index
    from recalld.supervisor.protocol.config_keys import Recall
    from recalld.supervisor.protocol.message import Message
    from recalld.supervisor.protocol.paths import WorkspacePaths
    from recalld.supervisor.recall.audience import Audience
    from recalld.supervisor.recall.rerank import Reranker
    from recalld.supervisor.recall.unfiled import Unfiled
    from recalld.supervisor.storage.clock import Deadline
    from recalld.supervisor.storage.control import Control
    from recalld.supervisor.storage.files import Files

T = TypeVar("T")
#: The most hits that a search returns: of the ordinary memories and of the originals each.
LIMIT: Final = 100
_LITERAL_LIMIT: Final = 20
#: Bytes of memory.md that are read as its first lines: more than the largest budget takes.
_PINNED_BYTES: Final = 64_000
#: A hit that scores less than this share of the best one is noise.
MIN_SHARE: Final = 0.2
_ORDINARY: Final[tuple[Tier, ...]] = ("long_term", "dated", "unfiled", "summary")
#: The groups of tiers that are searched one after the other, by `[recall] originals`; None is all tiers at once.
_TIERS: Final[Mapping[str, tuple[tuple[Tier, ...] | None, ...]]] = {
    "always": (None,),
    "fallback": (_ORDINARY, ("original",)),
    "never": (_ORDINARY,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Searcher:
    """Searches the memory of one workspace, and keeps the index of it up to date."""

    files: Files
    paths: WorkspacePaths
    zone: tzinfo
    index: Index
    reranker: Reranker
    unfiled: Unfiled
    settings: Recall
    events: Events

    def search(
        self,
        question: str,
        now: datetime,
        recent: Sequence[Message] = (),
        deadline: Deadline | None = None,
        *,
        is_input: bool = False,
    ) -> SearchResult:
        """
        Return the passages that answer *question*, asked at *now* after the messages *recent* (oldest first), best first.

        With *is_input* the question is what a user has just said: it is no answer to itself where history.json has it already,
        and the result has the first lines of memory.md as well.
        Never raises: an error becomes an event, and the result has the hits that were found without the failed step. Without
        a *deadline* the search ends `[recall] timeout_ms` after the libraries are loaded.
        """
        began = time.perf_counter()
        search = _Search(self)
        query = search.attempt(lambda: self._parsed(question, now, recent), Query({}, text=question))
        search.attempt(self.reranker.backend, None)
        search.attempt(lambda: self._load_libraries(query, now), None)
        deadline = deadline or within(self.settings.timeout_ms / 1000)
        unfiled = search.attempt(lambda: search.unfiled(question if is_input else "", now, deadline), UnfiledPassages())
        answer = search.attempt(lambda: search.by_terms(query, deadline, unfiled), Answer())
        hits = list(answer.hits)
        how = "bm25" if hits else "none"
        reranked = search.attempt(lambda: search.reranked(query, hits, deadline, unfiled), None)
        if reranked:
            # where originals are a fallback they stay behind the others
            hits = sorted(reranked, key=lambda hit: self.settings.originals == "fallback" and hit.unit.tier == "original")
            how = self.settings.backend
        if not hits:
            hits = search.attempt(lambda: search.literally(query, answer.passed, deadline, unfiled), [])
            how = "literal" if hits else "none"
        nothing: tuple[Passage, ...] = ()
        pinned = search.attempt(lambda: _first_lines(self.files, self.paths), nothing) if is_input else nothing
        search.emit_events(len(hits))
        return SearchResult(
            hits=tuple(_each_once(hits)),
            terms=tuple(query.words),
            dates=tuple(days.label for days in query.days),
            files=self.index.file_count,
            pinned=pinned,
            miss=None if hits else answer.miss,
            unfiled=len(unfiled.passages) - unfiled.left,
            unsearched=_reasons((*search.faults, *_unread(self.index.unread))),
            how="failed" if search.faults and not hits else how,
            ms=round((time.perf_counter() - began) * 1000, 3),
        )

    def refresh(self, wait_s: float = 0.0, control: Control = UNLIMITED, *, rebuild: bool = False) -> Changes:
        """
        Bring the index up to date (*rebuild*: build all of it again) and return what has changed.

        A damaged index is rebuilt, with an event. *wait_s* is how long to wait for another process that writes the index; if
        it still does, the changes are held in memory, as far as a turn's time allows. May raise OSError, and BadFile where
        even a new index can't be read.
        """
        control = replace(control, deadline=within(wait_s + self.settings.timeout_ms / 1000))
        try:
            changes = self.index.update(wait_s, control, rebuild=rebuild)
        except BadFile as error:
            self.report_damage(error)
            changes = self.index.update(wait_s, control)
        else:
            if changes.rebuilt:
                self.events.emit("index_damaged", why="it was made by another version, or a part of it is gone")
            elif changes.new and not rebuild:
                self.events.emit("index_made", files=self.index.file_count)
            changes = replace(changes, rebuilt=changes.rebuilt or (rebuild and not changes.shared))
        unread = sorted(changes.unread)
        first = {"file": unread[0], "why": changes.unread[unread[0]]} if unread else {}
        self.events.transition("file_unread", tuple(unread), files=len(unread), **first)
        return changes

    def report_damage(self, error: BadFile) -> None:
        """Discard the damaged commit, so that the next update builds the index again (`Index.is_lost`)."""
        self.index.discard_commit()
        self.events.emit("index_damaged", why=error.why)

    def _load_libraries(self, query: Query, now: datetime) -> None:
        """Load what the search needs, which the first time of a process takes longer than the search itself."""
        if not query.is_empty:
            load_numpy()
            self.unfiled.load_tokenizer(now)

    def _parsed(self, question: str, now: datetime, recent: Sequence[Message]) -> Query:
        count = self.settings.recent_messages
        before = [message.text for message in recent][-count:] if count else ()
        return parse_query(question, local_day(now, self.zone), before, self.settings.max_keywords, self._first_day)

    def _first_day(self) -> date | None:
        """Return the first day that memory has messages of; None if nothing is filed yet."""
        return min(filter(None, (day_of_name(PurePath(path).name) for path in self.index.records())), default=None)


@dataclass(frozen=True, slots=True)
class _Search:
    """The steps of one search; the error of a step is kept in `faults`, and the next step goes on."""

    of: Searcher
    faults: list[str] = field(default_factory=list)

    def attempt(self, step: Callable[[], T], otherwise: T) -> T:
        """Return the result of the step, *otherwise* if it raises anything."""
        try:
            return step()
        except Exception as error:  # noqa: BLE001 - the turn is worth more than what failed in it
            self.faults.append(as_supervisor_error(error, "recall", self.of.paths.root).sentence)
        return otherwise

    def unfiled(self, question: str, now: datetime, deadline: Deadline) -> UnfiledPassages:
        """Return the messages that no file holds yet, but for those that are the *question*, in a line or in all of it."""
        asked = f"\n{question.strip()}\n"

        def is_asked(message: Message) -> bool:
            text = message.text.strip()
            return bool(text) and f"\n{text}\n" in asked

        found = self.of.unfiled.passages(now, deadline, is_asked)
        if found.left:
            self.faults.append(Text("search.unfiled_unsearched", count=found.left))
        return found

    def by_terms(self, query: Query, deadline: Deadline, unfiled: UnfiledPassages) -> Answer:
        """Return what the index answers; if it is damaged, what the files held in memory do until it is rebuilt."""
        if query.is_empty:
            return Answer()
        try:
            answer = self._indexed(query, deadline, unfiled)
        except BadFile as error:
            self.of.report_damage(error)
            answer = self._indexed(query, deadline, unfiled)
        if self.of.index.left:
            self.faults.append(Text("search.changed_unsearched"))
        return answer

    def _indexed(self, query: Query, deadline: Deadline, unfiled: UnfiledPassages) -> Answer:
        """Return what the index answers, with the originals as `[recall] originals` says."""
        # a message that is no longer unfiled is in a file that may be too new for the index
        self.of.index.hold_missing(self.of.unfiled.written_names, deadline)
        settings, tiers = self.of.settings, _TIERS[self.of.settings.originals]
        return self.of.index.search(query, LIMIT, tiers, settings.min_score, MIN_SHARE, deadline, unfiled.overlay)

    def reranked(self, query: Query, hits: list[Hit], deadline: Deadline, unfiled: UnfiledPassages) -> list[Hit] | None:
        """Return the hits with those of the backend; None if it has none, or the question has no words but of days."""
        if query.only_days or not any(word.isalpha() for word in query.words):
            return None
        index, tiers = self.of.index, _TIERS[self.of.settings.originals]
        return self.of.reranker.rerank(
            query.text, hits, deadline, lambda units: index.same(units, tiers, LIMIT, unfiled.overlay)
        )

    def literally(self, query: Query, passed: Sequence[str], deadline: Deadline, unfiled: UnfiledPassages) -> list[Hit]:
        """
        Return the newest passages with the words that *passed* the gate but are everywhere, so that no score tells them apart.

        Without such words, those that contain a part of the question that is no word of the index. What the gate stops is
        not found in this way either.
        """
        index = self.of.index

        def is_known(run: str) -> bool:
            return index.is_readable and any(index.frequency(word) for word in tokens(run))

        wanted = list(passed) or literal_terms(query.text, is_known)
        if all(len(word) == 1 and not word.isascii() for word in query.words):
            wanted += [word for word in query.words if not is_known(word)]  # a part of another word there: 猫 of 猫叫
        if not index.is_readable:
            wanted += [part for word in query.words for part in literal_terms(word, is_known) if part not in wanted]
        if not wanted:
            return []
        gate = gate_of(query, is_known)
        literal = [*wanted, *(word for word in query.words if not word.isascii())]

        def is_answer(hit: Hit) -> bool:
            there, text = {*tokens(hit.unit.searched)}, hit.unit.searched.casefold()
            parts = [part for part in literal if part in text]
            return gate.share(word for word in gate.worth if word in there or any(word in part for part in parts)) >= 1.0

        records = index.records()
        hits = search_files(self.of.files, self.of.paths, records, wanted, _LITERAL_LIMIT, self.of.zone, deadline)
        if deadline.is_over:
            self.faults.append(Text("search.time_up"))
        hits = [*filter(is_answer, hits + hits_of(unfiled.passages, wanted)[-_LITERAL_LIMIT:])]
        return newest_and_fullest(hits, wanted) if passed else hits

    def emit_events(self, hits: int) -> None:
        """Emit an event for each lasting fault that has begun or ended with this search."""
        why = _reasons(self.faults)
        self.of.events.transition("recall_failed", why, why=why, hits=hits)
        fault, backend = self.of.reranker.fault, self.of.settings.backend
        self.of.events.transition("backend_failed", fault, cleared="backend_back", backend=backend, why=fault)


def heard(found: SearchResult, audience: Audience) -> SearchResult:
    """
    Return the result with the hits that *audience* may see, as if nothing else were in memory.

    The words in the name of a dated file may come from another talk: its messages are named by their id.
    """
    if audience.sees_all:
        return found
    hits = tuple(replace(hit, unit=_unnamed(hit.unit)) for hit in found.hits if audience.may_see(hit.unit))
    pinned = tuple(one for one in found.pinned if audience.may_see(one))
    how = found.how if hits or found.how == "failed" else "none"
    unsearched = found.unsearched and Text("search.part_unread")  # the reasons name files of other talks
    return replace(found, hits=hits, pinned=pinned, miss=None, unfiled=0, unsearched=unsearched, how=how)


def _reasons(faults: Iterable[str]) -> str:
    """Return the different faults as the clauses of one sentence, "" for none."""
    found = [Text("search.reason", reason=fault) for fault in dict.fromkeys(faults)]
    return reduce(lambda before, after: Text("search.reasons", before=before, after=after), found) if found else ""


def _unread(files: Mapping[str, str]) -> Iterator[str]:
    """Yield why the first file is not searched, and how many others are not."""
    if files:
        first = min(files)
        yield Text("search.file_unsearched", path=first, why=files[first])
    if len(files) > 1:
        yield f"{len(files) - 1} more files are not searched"


def _unnamed(unit: Passage) -> Passage:
    if not unit.message:
        return replace(unit, path=nameless(unit.path))
    return replace(unit, path=path_by_id(unit.message), start=1, end=unit.text.count("\n") + 1)


def _each_once(hits: Sequence[Hit]) -> Iterator[Hit]:
    """Yield the hits without the unfiled messages that a file among them holds: it was written a moment ago."""
    filed = {(hit.unit.message, hit.unit.text) for hit in hits if hit.unit.tier != "unfiled"}
    for hit in hits:
        if hit.unit.tier != "unfiled" or (hit.unit.message, hit.unit.text) not in filed:
            yield hit


def _first_lines(files: Files, paths: WorkspacePaths) -> tuple[Passage, ...]:
    """Return the first lines of memory.md, which a direct chat is given whatever it asks; none if there is no such file."""
    name = long_term_name(files, paths)
    found = files.disk.stat(paths.root / name) if name else None
    if found is None or not stat.S_ISREG(found.mode):
        return ()
    version = files.read_stable(paths.root / name, PATIENCE_S)
    data = version.data if version else b""
    whole = data if len(data) <= _PINNED_BYTES else data[: data.rfind(b"\n", 0, _PINNED_BYTES) + 1]
    return tuple(chunk.passage for chunk in chunk_note(name, decoded(whole), None, "long_term"))
