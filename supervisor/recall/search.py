"""
What is remembered for a question (003, 检索与注入; docs/recall.md).

Words, days and roles of the question; the index; the backend, where one is configured; where nothing is found, or the index is
broken, the literal search. No failure here costs a turn: within its time it ends with what was found so far, and an event.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

from supervisor.index.hit import SearchResult
from supervisor.index.literal import look_up, parts
from supervisor.protocol.clock import within
from supervisor.protocol.errors import BadFile, as_supervisor_error
from supervisor.query.parse import Query, parse_query
from supervisor.text.tokenizer import tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from supervisor.index.commit import Changes
    from supervisor.index.hit import Hit, Tier
    from supervisor.protocol.clock import Deadline
    from supervisor.protocol.message import Message
    from supervisor.workspace import Workspace

T = TypeVar("T")
#: Hits that are returned at most, of the ordinary memories and of the originals each.
LIMIT: Final = 100
_MOST_LITERAL: Final = 20
#: What scores less than this share of the best is noise.
SHARE: Final = 0.1
_ORDINARY: Final[tuple[Tier, ...]] = ("long_term", "dated", "summary")
#: What is searched, one behind the other, as `[recall] originals` says; None is all in one.
_TIERS: Final[Mapping[str, tuple[tuple[Tier, ...] | None, ...]]] = {
    "always": (None,),
    "fallback": (_ORDINARY, ("original",)),
    "never": (_ORDINARY,),
}


def recall(
    ws: Workspace, question: str, now: datetime, recent: Sequence[Message] = (), deadline: Deadline | None = None
) -> SearchResult:
    """
    Return what answers *question*, asked at *now* after the messages *recent*, oldest first.

    Never raises: what goes wrong is an event, and the turn goes on with what was found, or with nothing, at the *deadline*
    (None: as `[recall] timeout_ms` says, from when the libraries are loaded).
    """
    began = time.perf_counter()
    search = _Search(ws)
    query = search.attempt(lambda: _query(ws, question, now, recent), Query({}, text=question))
    search.attempt(ws.rescoring.backend, None)
    deadline = deadline or within(ws.config.recall.timeout_ms / 1000)
    hits: list[Hit] = search.attempt(lambda: search.scored(query, deadline), [])
    how = "bm25" if hits else "none"
    better = search.attempt(lambda: ws.rescoring.rescored(question, hits, deadline), None)
    if better:
        # where originals are a fallback they stay behind the others
        hits = sorted(better, key=lambda hit: ws.config.recall.originals == "fallback" and hit.unit.tier == "original")
        how = ws.config.recall.backend
    if not hits:
        hits = search.attempt(lambda: search.literal(query, deadline), [])
        how = "literal" if hits else "none"
    search.tell(hits)
    return SearchResult(
        hits=tuple(hits),
        terms=tuple(query.words),
        dates=tuple(days.label for days in query.days),
        files=ws.index.file_count,
        how="failed" if search.faults and not hits else how,
        ms=round((time.perf_counter() - began) * 1000, 3),
    )


def refresh(ws: Workspace, wait_s: float = 0.0, *, anew: bool = False) -> Changes:
    """
    Bring the index up to date, or make it *anew*, and return what has changed; a damaged one is made anew, with an event.

    *wait_s* is how many seconds to wait for another process that is at it; without it the changes are held in memory, within
    a turn's time. May raise OSError, and BadFile where even a new index can't be read.
    """
    deadline = within(wait_s + ws.config.recall.timeout_ms / 1000)
    try:
        changes = ws.index.update(wait_s, deadline, anew=anew)
    except BadFile as error:
        _tell_damage(ws, error)
        changes = ws.index.update(wait_s, deadline)
    else:
        if changes.rebuilt:
            ws.events.emit("index_damaged", why="it was made by another version, or a part of it is gone")
        elif changes.new and not anew:
            ws.events.emit("index_made", files=ws.index.file_count)
        changes = replace(changes, rebuilt=changes.rebuilt or (anew and not changes.shared))
    unread = sorted(changes.unread)
    first = {"file": unread[0], "why": changes.unread[unread[0]]} if unread else {}
    ws.events.transition("file_unread", tuple(unread), files=len(unread), **first)
    return changes


class _Search:
    """One question's search: what goes wrong in a step is kept, and the next one goes on."""

    def __init__(self, ws: Workspace) -> None:
        self._ws = ws
        self.faults: list[str] = []

    def attempt(self, step: Callable[[], T], otherwise: T) -> T:
        """Return what the step returns, *otherwise* where it fails in any way."""
        try:
            return step()
        except Exception as error:  # noqa: BLE001 - the turn is worth more than what failed in it
            self.faults.append(str(as_supervisor_error(error, "recall", self._ws.paths.root)))
        return otherwise

    def scored(self, query: Query, deadline: Deadline) -> list[Hit]:
        """Return what the words find; where the index is damaged, in what memory holds until it is made anew."""
        if query.is_empty:
            return []
        try:
            hits = self._ranked(query, deadline)
        except BadFile as error:
            _tell_damage(self._ws, error)
            hits = self._ranked(query, deadline)
        if self._ws.index.left:
            self.faults.append("not all that has changed could be searched: time was up, or it is too much")
        return hits

    def _ranked(self, query: Query, deadline: Deadline) -> list[Hit]:
        """Return what the index finds, the originals as `[recall] originals` says."""
        index, settings = self._ws.index, self._ws.config.recall
        least = settings.min_score
        return index.search(query, LIMIT, _TIERS[settings.originals], least, SHARE, deadline)

    def literal(self, query: Query, deadline: Deadline) -> list[Hit]:
        """Return the units in which a part of the question stands that is no word to the index."""
        index = self._ws.index

        def is_known(run: str) -> bool:
            return index.is_readable and any(index.frequency(word) for word in tokens(run))

        wanted = parts(query.text, is_known)
        if all(len(word) == 1 and not word.isascii() for word in query.words):
            wanted += [word for word in query.words if not is_known(word)]  # a part of another word there: 猫 of 猫叫
        if not index.is_readable:
            wanted += [part for word in query.words for part in parts(word, is_known) if part not in wanted]
        if not wanted:
            return []
        hits = look_up(self._ws.files, self._ws.paths, index.records(), wanted, _MOST_LITERAL, self._ws.zone, deadline)
        if deadline.is_over:
            self.faults.append("time was up before all files were searched")
        return hits

    def tell(self, hits: Sequence[Hit]) -> None:
        """Have events say what lasts, when it begins."""
        why = "; ".join(dict.fromkeys(self.faults))
        self._ws.events.transition("recall_failed", why, why=why, hits=len(hits))
        fault = self._ws.rescoring.fault
        self._ws.events.transition(
            "backend_failed", fault, cleared="backend_back", backend=self._ws.config.recall.backend, why=fault
        )


def _query(ws: Workspace, question: str, now: datetime, recent: Sequence[Message]) -> Query:
    settings = ws.config.recall
    before = [message.text for message in recent][-settings.recent_messages or len(recent) :]
    return parse_query(question, ws.today(now), before if settings.recent_messages else (), settings.max_keywords)


def _tell_damage(ws: Workspace, error: BadFile) -> None:
    """Have the index made anew, at the next update or by who keeps it."""
    ws.index.forget()
    ws.events.emit("index_damaged", why=error.why)
    ws.index_lost()
