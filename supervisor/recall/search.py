"""
Search memory for a question: the query, meaning, the index, and a literal search if no words find anything.

A search never fails a turn: at its deadline it ends with the hits that it has so far, and an error becomes an event.
`query/` decides what a question asks, `index/` finds and scores passages, `context/` chooses what the assistant is shown.
Source: docs/explanation/recall.md.
"""

from __future__ import annotations

import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from functools import reduce
from typing import TYPE_CHECKING, Final, TypeVar

from ..index.bm25 import load_numpy
from ..index.chunking import chunk_note
from ..index.documents import MOST_CHARS
from ..index.hit import BOTH, WORDS, Answer, Asked, Hit, Miss, Passage, SearchResult
from ..index.literal import hits_of, literal_terms, newest_and_fullest, search_files
from ..index.newest import in_order_of_days
from ..index.ranking import gate_of
from ..index.scan import MOST_BYTES, PATIENCE_S, long_term_name
from ..protocol.marks import only_pinned
from ..protocol.message import Message
from ..protocol.paths import WorkspacePaths
from ..query.parse import REQUEST_WEIGHT, Query, as_typed, parse_query, readable, subject_of
from ..storage.clock import Deadline, local_day, within
from ..storage.control import UNENDING, UNLIMITED, Control
from ..storage.errors import BadFile
from ..storage.files import Files
from ..storage.os_errors import as_supervisor_error
from ..storage.texts import Text
from ..text.decoding import decoded
from ..text.record import record
from ..text.tokenizer import tokens
from .audience import ALONE, Audience
from .ended import of_today
from .neighbours import going_on
from .unfiled import Unfiled, UnfiledPassages, is_asked_by

if TYPE_CHECKING:
    from ..events import Events
    from ..index.commit import Changes
    from ..index.index import Index
    from ..protocol.config_keys import Recall
    from .meaning import Meaning

T = TypeVar("T")
#: The most hits that a search returns of ordinary memories, and the most of originals.
LIMIT: Final = 100
LITERAL_LIMIT: Final = 20
_ALL: Final = 100  # per cent
#: The time of one part, when all of an index is made in parts, in seconds.
_PART_S: Final = 10.0
#: Characters by which a hit is judged when time is up.
_LATE_CHARS: Final = 1_000


@record(kw_only=True)
class Searcher:
    """Searches the memory of one workspace, and keeps the index of it up to date."""

    files: Files
    paths: WorkspacePaths
    zone: tzinfo
    index: Index
    meaning: Meaning | None
    unfiled: Unfiled
    settings: Recall
    events: Events
    for_group: Callable[[Searcher, Audience], Search]  # the steps for an audience that may not see all

    def search(
        self,
        question: str,
        now: datetime,
        recent: Sequence[Message] = (),
        deadline: Deadline | None = None,
        *,
        is_input: bool = False,
        audience: Audience = ALONE,
    ) -> SearchResult:
        """
        Return the passages that answer *question*, asked at *now* after the messages *recent* (oldest first), best first.

        With *is_input* the question is a new message of the user: it is not found itself if history.json already has it, and
        the result has the pinned lines of memory.md too. For an *audience* that may not see all, only what it may see counts.

        Never raises: an error becomes an event, and the result has the hits that were found without the failed step. Without
        a *deadline* the search ends `[recall] timeout_ms` after the libraries are loaded.
        """
        began = time.perf_counter()
        search = Search(self) if audience.sees_all else self.for_group(self, audience)
        query = search.attempt(lambda: self._parsed(question, now, recent, is_input), Query({}, text=question))
        if self.meaning:
            search.attempt(lambda: self.meaning and self.meaning.embedder, None)
        search.attempt(lambda: self._load_libraries(query, now), None)
        deadline = deadline or within(self.settings.timeout_ms / 1000)
        unfiled = search.attempt(lambda: search.unfiled(question if is_input else "", now, deadline), UnfiledPassages())
        meaning = search.attempt(lambda: search.asked(query, deadline), None)
        answer = search.attempt(lambda: search.by_terms(query, deadline, unfiled, meaning), Answer())
        hits = list(answer.hits)
        how = BOTH if meaning and hits else WORDS if hits else "none"
        if not (hits and answer.is_strong):
            literal = search.attempt(lambda: search.literally(query, answer.passed, deadline, unfiled), list[Hit]())
            hits, how = _before(literal, hits), "literal" if literal else how
        today, whole = local_day(now, self.zone), audience.sees_all
        hits = search.attempt(lambda: of_today(hits, query, today, self.files, self.paths, sees_all=whole), hits)
        if self.settings.originals == "fallback":
            hits.sort(key=lambda hit: hit.unit.tier == "original")
        pinned: tuple[Passage, ...] = search.attempt(lambda: _pinned(self.files, self.paths), ()) if is_input else ()
        search.emit_events(len(hits))
        result = SearchResult(
            hits=tuple(in_order_of_days(query, [*_each_once(hits)])),
            terms=tuple(query.words),
            dates=tuple(days.label for days in query.days),
            role=query.role,
            files=self.index.file_count,
            pinned=pinned,
            subject=() if hits else search.attempt(lambda: subject_of(query), ()),
            miss=None if hits else search.attempt(lambda: _as_typed(answer.miss, query.text), None),
            is_strong=answer.is_strong,
            evidence=answer.evidence,
            unfiled=unfiled.overlay.units,
            skipped=unfiled.skipped,
            unsearched=_reasons((*search.faults, *_unmade(self.index.made_percent), *_unread(self._unread))),
            how="failed" if search.faults and not hits else how,
            ms=round((time.perf_counter() - began) * 1000, 3),
        )
        return search.told(result)

    def for_input(self, question: str, now: datetime, recent: Sequence[Message], audience: Audience) -> SearchResult:
        """Return the passages for a new message of the user that *audience* reads, as `search` does."""
        return self.search(question, now, recent, is_input=True, audience=audience)

    def refresh(
        self, wait_s: float = 0.0, control: Control = UNLIMITED, *, rebuild: bool = False, for_s: float = UNENDING
    ) -> Changes:
        """
        Bring the index up to date (*rebuild*: build all of it again) and return what has changed.

        After *for_s* seconds of work the index has what was made by then; the next call goes on. A damaged index is rebuilt,
        and an event reports it. *wait_s* is how long to wait for another process that writes the index; if it still does, the
        changes are held in memory, as far as a turn's time allows. OSError for an error of the disk, BadFile if even a new
        index can't be read.
        """
        control = replace(control, deadline=within(wait_s + self.settings.timeout_ms / 1000))
        try:
            changes = self.index.update(wait_s, control, for_s, rebuild=rebuild)
        except BadFile as error:
            self.report_damage(error)
            changes = self.index.update(wait_s, control, for_s)
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

    def refresh_whole(self, wait_s: float = 0.0, control: Control = UNLIMITED) -> Changes:
        """
        Bring all of the index up to date, as `refresh` does, in parts: a finished part is found already, and a kill loses one.

        Ends early if another process has the lock, or *control* says stop.
        """
        total = part = self.refresh(wait_s, control, for_s=_PART_S)
        before, for_s = 0, _PART_S
        while self.index.made_percent < _ALL and not part.shared and not control.should_stop():
            # if a part makes no progress, one file takes longer than a part
            before, for_s = self.index.made_percent, _PART_S if self.index.made_percent > before else UNENDING
            part = self.refresh(wait_s, control, for_s=for_s)
            total = total.then(part)
        return total

    def report_damage(self, error: BadFile) -> None:
        """Discard the damaged commit, so that the next update builds the index again (`Index.is_lost`)."""
        self.index.discard_commit()
        self.events.emit("index_damaged", why=error.why)

    def _load_libraries(self, query: Query, now: datetime) -> None:
        if not query.is_empty:
            load_numpy()
            self.unfiled.load_tokenizer(now)

    @property
    def _unread(self) -> Mapping[str, str]:
        return {**self.index.unread, **self.unfiled.unread}

    def _parsed(self, question: str, now: datetime, recent: Sequence[Message], is_input: bool) -> Query:
        if not is_input and not any(map(str.isalnum, question)):  # small talk in a turn; who searches for 🦖 means the sign
            return Query({}, text=question.strip())
        count = self.settings.recent_messages
        before = [message.text for message in going_on(recent, now)][-count:] if count else ()
        return parse_query(question, local_day(now, self.zone), before, self.settings.max_keywords)


class Search:
    """The steps of one search of all memory; the error of a step is kept in `faults`, and the next step goes on."""

    def __init__(self, of: Searcher) -> None:
        self.of = of
        self.faults: list[str] = []

    def attempt(self, step: Callable[[], T], otherwise: T) -> T:
        """Return the result of the step, *otherwise* if it raises anything."""
        try:
            return step()
        except Exception as error:  # noqa: BLE001 - the turn is worth more than what failed in it
            self.faults.append(as_supervisor_error(error, "recall", self.of.paths.root).sentence)
        return otherwise

    def unfiled(self, question: str, now: datetime, deadline: Deadline) -> UnfiledPassages:
        """Return the messages that no file holds yet, except those that are the *question* or a line of it."""
        passages = self.of.unfiled.passages(now, deadline, is_asked_by(question, now))
        if passages.left:
            self.faults.append(
                Text("messages that are not filed yet ({count}) could not be searched: time was up", count=passages.left)
            )
        return passages

    def asked(self, query: Query, deadline: Deadline) -> Asked | None:
        """Return how near passages come by meaning; None where it can't be said, or the question only names days or numbers."""
        if self.of.meaning is None or query.only_days or not any(word.isalpha() for word in query.words):
            return None
        return self.of.meaning.ask(query.text, deadline)

    def by_terms(self, query: Query, deadline: Deadline, unfiled: UnfiledPassages, meaning: Asked | None = None) -> Answer:
        """Return the answer of the index; if it is damaged, the answer of the files held in memory, until it is rebuilt."""
        if query.is_empty:
            return Answer()
        try:
            answer = self.indexed(query, deadline, unfiled, meaning)
        except BadFile as error:
            self.of.report_damage(error)
            answer = self.indexed(query, deadline, unfiled, meaning)
        if self.of.index.left and self.of.index.made_percent == _ALL:
            self.faults.append(Text("not all changed files could be searched: time was up, or there are too many"))
        return answer

    def indexed(self, query: Query, deadline: Deadline, unfiled: UnfiledPassages, meaning: Asked | None) -> Answer:
        """Return the answer of the index, with the originals as `[recall] originals` says."""
        least, originals = self.of.settings.min_score, self.of.settings.originals != "never"
        names = self.of.unfiled.written_names  # no longer unfiled, in files that may be too new for the index
        return self.of.index.search(
            query, LIMIT, least, deadline, unfiled.overlay, names=names, meaning=meaning, originals=originals
        )

    def literally(self, query: Query, passed: Sequence[str], deadline: Deadline, unfiled: UnfiledPassages) -> list[Hit]:
        """
        Return the newest passages with the words that *passed* the gate but are everywhere, so that scores do not differ.

        Without such words, return those that contain a part of the question that is not a word of the index. What the gate
        stops is not found in this way either.
        """

        def is_known(run: str) -> bool:
            return self.is_readable and any(self.frequency(word) for word in tokens(run))

        words = [word for word, counts in query.words.items() if counts > REQUEST_WEIGHT]
        parts = (part for part in literal_terms(query.text, is_known) if not {*tokens(part)} <= query.words.keys() - {*words})
        wanted = list(passed) or list(parts)
        if all(len(word) == 1 and not word.isascii() for word in words):
            wanted += [word for word in words if not is_known(word)]  # a part of another word there: 茶 of 绿茶
        if not self.knows_all:
            wanted += [part for word in query.words for part in literal_terms(word, is_known) if part not in wanted]
        if query.is_empty and query.text and not any(map(str.isalnum, query.text)):
            return self.containing([query.text], unfiled, deadline)
        if not wanted:
            return []
        gate = gate_of(query, is_known)
        literal = [*wanted, *(word for word in query.words if not word.isascii())]

        def is_answer(hit: Hit) -> bool:
            chars = _LATE_CHARS if deadline.is_over else MOST_CHARS
            present, text = {*tokens(hit.unit.searched[:chars])}, hit.unit.searched.casefold()
            parts = [part for part in literal if part in text]
            return gate.share(word for word in gate.worth if word in present or any(word in part for part in parts)) >= 1.0

        hits = [*filter(is_answer, self.containing(wanted, unfiled, deadline))]
        return newest_and_fullest(hits, wanted) if passed else hits

    # ── what the steps search ────────────────────────────────────────────────

    @property
    def is_readable(self) -> bool:
        """Whether there is an index."""
        return self.of.index.is_readable

    @property
    def knows_all(self) -> bool:
        """Whether there is an index, and it has all of memory."""
        return self.is_readable and self.of.index.made_percent == _ALL

    def frequency(self, word: str) -> int:
        """Return how many passages have the word."""
        return self.of.index.frequency(word)

    def containing(self, wanted: Sequence[str], unfiled: UnfiledPassages, deadline: Deadline) -> list[Hit]:
        """Return the newest passages that contain one of *wanted*, in the order of path and line."""
        records = self.of.index.records()
        hits = search_files(self.of.files, self.of.paths, records, wanted, LITERAL_LIMIT, self.of.zone, deadline)
        if deadline.is_over:
            self.faults.append(Text("time was up before all files were searched"))
        return hits + hits_of(unfiled.passages, wanted)[-LITERAL_LIMIT:]

    def told(self, result: SearchResult) -> SearchResult:
        """Return the result as the audience may see it."""
        return result

    def emit_events(self, hits: int) -> None:
        """Emit an event for each lasting fault that has begun or ended with this search."""
        why = _reasons(self.faults)
        self.of.events.transition("recall_failed", why, why=why, hits=hits)
        fault, backend = self.of.meaning.fault if self.of.meaning else "", self.of.settings.backend
        self.of.events.transition("backend_failed", fault, cleared="backend_back", backend=backend, why=fault)


def _as_typed(miss: Miss | None, text: str) -> Miss | None:
    if miss is None:
        return None
    return replace(miss, has=as_typed(text, miss.has), lacks=readable(miss.lacks, text), nowhere=readable(miss.nowhere, text))


def _reasons(faults: Iterable[str]) -> str:
    reasons = [Text("{reason}", reason=fault) for fault in dict.fromkeys(faults)]
    return reduce(lambda before, after: Text("{before}; {after}", before=before, after=after), reasons) if reasons else ""


def _unmade(percent: int) -> Iterator[str]:
    if percent < _ALL:
        yield Text(
            "the index is being made and has {percent} % of memory so far; each question goes on with it, and `recalld index rebuild` finishes it",
            percent=percent,
        )


def _unread(files: Mapping[str, str]) -> Iterator[str]:
    if files:
        first = min(files)
        yield Text("{path} is not searched: {why}", path=first, why=files[first])
    if len(files) > 1:
        yield Text("{count} more are not searched", count=len(files) - 1)


def _before(first: list[Hit], others: Sequence[Hit]) -> list[Hit]:
    places = {(hit.unit.path, hit.unit.start) for hit in first}
    return first + [hit for hit in others if (hit.unit.path, hit.unit.start) not in places]


def _each_once(hits: Sequence[Hit]) -> Iterator[Hit]:
    """Yield the hits, without an unfiled message that is also a hit from its file, which was written a moment ago."""
    others = hits if any(hit.unit.tier == "unfiled" for hit in hits) else ()
    filed = {(hit.unit.message, hit.unit.text[:MOST_CHARS]) for hit in others if hit.unit.tier != "unfiled"}
    for hit in hits:
        if hit.unit.tier != "unfiled" or (hit.unit.message, hit.unit.text[:MOST_CHARS]) not in filed:
            yield hit


def _pinned(files: Files, paths: WorkspacePaths) -> tuple[Passage, ...]:
    """Return the pinned lines of memory.md, newest first; none if there is no such file, or it is too large to be searched."""
    name = long_term_name(files, paths)
    status = files.disk.stat(paths.root / name) if name else None
    if status is None or not stat.S_ISREG(status.mode) or status.size > MOST_BYTES:
        return ()
    version = files.read_shown(paths.root / name, PATIENCE_S)
    text = only_pinned(decoded(version.data)) if version else ""
    return tuple(reversed([chunk.passage for chunk in chunk_note(name, text, None, "long_term")] if text else []))
