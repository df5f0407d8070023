"""
Search memory for a question: the query, meaning, the index, and a literal search if no words find anything.

A search never fails a turn: at its deadline it ends with the hits that it has so far, and an error becomes an event.
`query/` decides what a question asks, `index/` finds and scores passages, `context/` chooses what the assistant is shown.
Source: docs/explanation/recall.md.
"""

from __future__ import annotations

import stat
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Final, TypeVar

from ..events import Events
from ..index.chunking import chunk_note, chunk_summary
from ..index.documents import MOST_CHARS
from ..index.hit import BOTH, WORDS, Asked, Hit, Passage, ScoreParts, SearchResult
from ..index.index import Index
from ..index.literal import hits_of, literal_terms, newest_and_fullest, search_files
from ..index.manifest import MOST_BYTES, PATIENCE_S, Changes, long_term_name
from ..index.ranking import load_numpy, worth_of
from ..index.view import View
from ..protocol.config_keys import Recall
from ..protocol.marks import only_pinned
from ..protocol.message import Message
from ..protocol.paths import WorkspacePaths, month
from ..query.calendar import month_from
from ..query.parse import REQUEST_WEIGHT, Query, as_typed, parse_query, subject_of
from ..storage.clock import NEVER, Deadline, local_day, within
from ..storage.control import UNENDING, UNLIMITED, Control
from ..storage.errors import as_supervisor_error
from ..storage.files import Files
from ..storage.texts import Text
from ..text.foreign_text import decoded
from ..text.tokenizer import tokens
from .audience import ALONE, Audience
from .ended import of_today
from .neighbours import DAY, going_on
from .unfiled import Unfiled, UnfiledPassages, is_asked_by
from .visible import Parts, named_by_day

if TYPE_CHECKING:
    from .meaning import Meaning

T = TypeVar("T")
#: The most hits that a search returns of ordinary memories, and the most of originals.
LIMIT: Final = 100
LITERAL_LIMIT: Final = 20
#: From this evidence on nothing is searched for as it is written (`index/ranking`).
_ENOUGH: Final = 0.5
#: The share of the worth of the question's words that what is found as it is written has at least.
_LITERAL_SHARE: Final = 0.4
#: The score of a passage of the summary of a month that is named, as a share of the best.
_MONTH_WORTH: Final = 0.4
#: The time of one part, when all of an index is made in parts, in seconds.
_PART_S: Final = 10.0
#: Characters by which a hit is judged when time is up.
_LATE_CHARS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
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
    parts: Parts  # what audiences may see that may not see all

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
        search = Search(self, audience)
        query = search.attempt(lambda: self._parsed(question, now, recent, is_input), Query({}, text=question))
        search.attempt(lambda: self._load_libraries(query, now), None)
        search.deadline = deadline or within(self.settings.timeout_ms / 1000)
        search.attempt(lambda: search.read_unfiled(question if is_input else "", now), None)
        meaning = search.attempt(lambda: search.by_meaning(query), None)
        if is_input and meaning and meaning.is_small_talk and query.names_no_day_but_today:
            query = Query({})
        answer = search.attempt(lambda: search.by_terms(query, meaning), SearchResult())
        is_enough = answer.hits and answer.evidence >= _ENOUGH
        literal = [] if is_enough else search.attempt(lambda: search.literally(query), list[Hit]())
        by_words = _before(literal, answer.hits)
        hits = search.attempt(lambda: search.with_months(query, by_words), by_words)
        hits = search.attempt(lambda: of_today(hits, query, local_day(now, self.zone), self.files, self.paths), hits)
        if self.settings.originals == "fallback":
            hits.sort(key=lambda hit: hit.unit.tier == "original")
        pinned: tuple[Passage, ...] = search.attempt(lambda: _pinned(self.files, self.paths), ()) if is_input else ()
        search.emit_events(len(hits))
        how = "literal" if literal else BOTH if meaning and answer.hits else WORDS if hits else "none"
        result = replace(
            answer,
            hits=tuple(hits),
            terms=tuple(query.words),
            dates=tuple(days.label for days in query.days),
            role=query.role,
            files=self.index.file_count,
            pinned=pinned,
            subject=() if hits else search.attempt(lambda: subject_of(query), ()),
            nowhere=() if hits else search.attempt(lambda: as_typed(query.text, answer.nowhere), ()),
            unfiled=len(search.unfiled.overlay.passages),
            skipped=search.unfiled.skipped,
            unsearched=search.unsearched,
            how="failed" if search.faults and not hits else how,
            ms=round((time.perf_counter() - began) * 1000, 3),
        )
        return search.as_visible(result)

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
        changes = self.index.update(wait_s, control, for_s, rebuild=rebuild)
        damage = changes.damage or self.index.damage
        self.events.transition("index_damaged", damage, why=damage)
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
        part = self.refresh(wait_s, control, for_s=_PART_S)
        read = part.read
        while self.index.left and not part.shared and not control.should_stop():
            part = self.refresh(wait_s, control, for_s=_PART_S)
            read += part.read
        return replace(part, read=read)

    def _load_libraries(self, query: Query, now: datetime) -> None:
        if not query.is_empty:
            load_numpy()
            self.unfiled.load_dictionary(now)
        if self.meaning:
            _ = self.meaning.embedder

    def _parsed(self, question: str, now: datetime, recent: Sequence[Message], is_input: bool) -> Query:
        if not is_input and not any(map(str.isalnum, question)):  # small talk in a turn; who searches for 🦖 means the sign
            return Query({}, text=question.strip())
        count = self.settings.recent_messages
        before = [message.text for message in going_on(recent, now)][-count:] if count else ()
        return parse_query(question, local_day(now, self.zone), before, self.settings.max_keywords, is_input=is_input)


class Search:
    """The steps of one search for *audience*; the error of a step is kept in `faults`, and the next step goes on."""

    def __init__(self, of: Searcher, audience: Audience) -> None:
        self.of = of
        self.part = None if audience.sees_all else of.parts.part(audience)
        self.deadline = NEVER
        self.unfiled = UnfiledPassages()
        self.faults: list[str] = []

    def attempt(self, step: Callable[[], T], otherwise: T) -> T:
        """Return the result of the step, *otherwise* if it raises anything."""
        try:
            return step()
        except Exception as error:  # noqa: BLE001 - the turn is worth more than what failed in it
            self.faults.append(as_supervisor_error(error, "recall", self.of.paths.root).sentence)
        return otherwise

    def read_unfiled(self, question: str, now: datetime) -> None:
        """Read the messages that no file holds yet, except those that are the *question* or a line of it."""
        self.unfiled = self.of.unfiled.passages(now, self.deadline, is_asked_by(question, now))
        if left := self.unfiled.left:
            self.faults.append(Text("messages that are not filed yet ({count}) could not be searched: time was up", count=left))

    def by_meaning(self, query: Query) -> Asked | None:
        """Return how near passages come by meaning; None where it can't be said, or the question has no letter."""
        if self.of.meaning is None or not any(map(str.isalpha, query.text)):
            return None
        return self.of.meaning.ask(query.text, self.deadline)

    def by_terms(self, query: Query, meaning: Asked | None) -> SearchResult:
        """Return the answer of the index; if it is damaged, the answer of the files held in memory, until it is rebuilt."""
        settings, part = self.of.settings, self.part

        def read(whole: View) -> SearchResult:
            view = whole.with_unfiled(self.unfiled.overlay)
            view = part.of(view) if part else view
            return view.answer(query, LIMIT, settings.min_score, meaning, originals=settings.originals != "never")

        # these names are no longer unfiled, and their files may be too new for the index
        names = self.of.unfiled.written_names
        return SearchResult() if query.is_empty else self.of.index.search(read, self.deadline, names)

    def literally(self, query: Query) -> list[Hit]:
        """Return the newest passages with a part of the question that is no word of the index, if they have enough of it."""

        def is_known(run: str) -> bool:
            return any(self.frequency(word) for word in tokens(run))

        words = [word for word, counts in query.words.items() if counts > REQUEST_WEIGHT]
        parts = (part for part in literal_terms(query.text, is_known) if not {*tokens(part)} <= query.words.keys() - {*words})
        wanted = [*parts]
        if all(len(word) == 1 and not word.isascii() for word in words):
            wanted += [word for word in words if not is_known(word)]  # a part of another word there: 茶 of 绿茶
        if self.of.index.left or not (self.part or self.of.index.is_readable):
            wanted += [part for word in query.words for part in literal_terms(word, is_known) if part not in wanted]
        if query.is_empty and query.text and not any(map(str.isalnum, query.text)):
            return self.containing([query.text])
        if not wanted:
            return []
        worth = worth_of(query, is_known)
        literal = [*wanted, *(word for word in query.words if not word.isascii())]

        def is_answer(hit: Hit) -> bool:
            chars = _LATE_CHARS if self.deadline.is_over else MOST_CHARS
            present, text = {*tokens(hit.unit.searched[:chars])}, hit.unit.searched.casefold()
            parts = [part for part in literal if part in text]
            has = (worth[word] for word in worth if word in present or any(word in part for part in parts))
            return sum(has) >= _LITERAL_SHARE * sum(worth.values())

        return [*filter(is_answer, self.containing(wanted))]

    def with_months(self, query: Query, hits: list[Hit]) -> list[Hit]:
        """
        Return the hits with the summaries of the months that the question names.

        One goes first where no other word of the question is in what was said in its month: it is what is asked for. Else it is
        behind the others, if it is by a model: an extract quotes what they are.
        """
        best = max((hit.rank for hit in hits), default=0.0) or 1.0
        for days in query.days if self.part is None else ():
            place = self.of.paths.summary(month(days.first))
            path = self.of.paths.relative(place)
            has_words = any(hit.unit.day and hit.unit.day in days and hit.parts.words > 0 for hit in hits)
            is_wanted = days == month_from(days.first, 0) and (not has_words or path in self.of.index.records())
            version = self.of.files.read_shown(place, PATIENCE_S) if is_wanted else None
            score = _MONTH_WORTH * best if has_words else best
            chunks = chunk_summary(path, decoded(version.data), None, place) if version else []
            summaries = [Hit(each.passage, score, (f"{DAY}{days.label}",), ScoreParts(days=score)) for each in chunks]
            hits = _before(hits, summaries) if has_words else _before(summaries, hits)
        return hits

    # ── what the steps search ────────────────────────────────────────────────

    @cached_property
    def visible(self) -> View | None:
        """What the audience may see, None for all of memory."""
        return self.of.parts.read(self.part, self.unfiled.overlay) if self.part else None

    def frequency(self, word: str) -> int:
        """Return how many passages have the word; 0 without an index, so that it is searched for literally."""
        if self.visible:
            return self.visible.corpora[0].frequency(word)
        return self.of.index.frequency(word) if self.of.index.is_readable else 0

    def containing(self, wanted: Sequence[str]) -> list[Hit]:
        """Return the newest passages that contain one of *wanted*; those of files in the order of path and line."""
        if self.visible:
            return newest_and_fullest(hits_of(self.visible.passages, wanted), wanted)[:LITERAL_LIMIT]
        records = self.of.index.records()
        hits = search_files(self.of.files, self.of.paths, records, wanted, LITERAL_LIMIT, self.of.zone, self.deadline)
        if self.deadline.is_over:
            self.faults.append(Text("time was up before all files were searched"))
        return hits + hits_of(self.unfiled.passages, wanted)[-LITERAL_LIMIT:]

    @property
    def unsearched(self) -> str:
        """Why not all of memory was searched, "" if it was."""
        index, reasons = self.of.index, [*self.faults]
        unread = {**index.unread, **self.of.unfiled.unread}
        if index.left:
            reasons.append(
                Text(
                    "the index is being made and lacks {count} days and files so far; each question goes on with it, and `recalld index rebuild` finishes it",
                    count=index.left,
                )
            )
        if unread:
            reasons.append(Text("{path} is not searched: {why}", path=min(unread), why=unread[min(unread)]))
        if len(unread) > 1:
            reasons.append(Text("{count} more are not searched", count=len(unread) - 1))
        return _reasons(reasons)

    def as_visible(self, result: SearchResult) -> SearchResult:
        """Return the result as the audience may see it: a group no file, no time, and no reason why something failed."""
        if self.part is None:
            return result
        hits = tuple(replace(hit, unit=named_by_day(hit.unit)) for hit in result.hits)
        # the reasons name files of other conversations
        unsearched = Text("a part of it could not be read") if result.unsearched else ""
        view = self.attempt(lambda: self.visible, None)
        files = sum(not group.keys for group in view.overlay.groups.values()) if view else 0
        return replace(
            result, hits=hits, files=files, pinned=(), nowhere=(), unsearched=unsearched, unfiled=0, skipped=(), ms=0.0
        )

    def emit_events(self, hits: int) -> None:
        """Emit an event for each lasting fault that has begun or ended with this search."""
        why = _reasons(self.faults)
        self.of.events.transition("recall_failed", why, why=why, hits=hits)
        self.of.events.transition("index_damaged", self.of.index.damage, why=self.of.index.damage)
        fault, backend = self.of.meaning.fault if self.of.meaning else "", self.of.settings.backend
        self.of.events.transition("backend_failed", fault, cleared="backend_back", backend=backend, why=fault)


def _reasons(faults: Iterable[str]) -> str:
    reasons = [Text("{reason}", reason=fault) for fault in dict.fromkeys(faults)]
    return reduce(lambda before, after: Text("{before}; {after}", before=before, after=after), reasons) if reasons else ""


def _before(first: list[Hit], others: Sequence[Hit]) -> list[Hit]:
    places = {(hit.unit.path, hit.unit.start) for hit in first}
    return first + [hit for hit in others if (hit.unit.path, hit.unit.start) not in places]


def _pinned(files: Files, paths: WorkspacePaths) -> tuple[Passage, ...]:
    """Return the pinned lines of memory.md, newest first; none if there is no such file, or it is too large to be searched."""
    name = long_term_name(files, paths)
    status = files.disk.stat(paths.root / name) if name else None
    if status is None or not stat.S_ISREG(status.mode) or status.size > MOST_BYTES:
        return ()
    version = files.read_shown(paths.root / name, PATIENCE_S)
    text = only_pinned(decoded(version.data)) if version else ""
    return tuple(reversed([chunk.passage for chunk in chunk_note(name, text, None, "long_term")] if text else []))
