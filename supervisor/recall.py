"""
What is remembered for a question (003, 检索与注入; docs/recall.md).

Words, days and roles of the question; the index; where it finds nothing, or is broken, the literal search. No failure here
costs a turn: it ends in a turn without memory, and an event.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from supervisor.literal import look_up, parts
from supervisor.policy.query import Query, ask
from supervisor.protocol.errors import SupervisorError, Unforeseen, from_os_error
from supervisor.text.words import tokens

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from supervisor.index import Changes
    from supervisor.policy.hit import Hit, Tier
    from supervisor.protocol.message import Message
    from supervisor.workspace import Workspace

#: Hits that are returned at most, of the ordinary memories and of the originals each.
LIMIT: Final = 100
_MOST_LITERAL: Final = 20
#: What scores less than this share of the best is noise.
SHARE: Final = 0.1
_ORDINARY: Final[tuple[Tier, ...]] = ("long_term", "dated", "summary")
_ORIGINAL: Final[tuple[Tier, ...]] = ("original",)


@dataclass(frozen=True, slots=True)
class Found:
    """Hits, best first; the words searched for; the days named, as labels; files searched; how; milliseconds."""

    hits: tuple[Hit, ...] = ()
    terms: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    files: int = 0
    how: Literal["bm25", "literal", "none"] = "none"
    ms: float = 0.0


def recall(ws: Workspace, question: str, now: datetime, recent: Sequence[Message] = ()) -> Found:
    """
    Return what answers *question*, asked at *now* after the messages *recent*, oldest first.

    Never raises: what goes wrong is an event, and the turn goes on with what was found, or with nothing.
    """
    began = time.perf_counter()
    settings = ws.config.recall
    query = Query({}, text=question)
    hits: list[Hit] = []
    how: Literal["bm25", "literal", "none"] = "none"
    try:
        before = [message.text for message in recent][-settings.recent_messages or len(recent) :]
        query = ask(question, ws.today(now), before if settings.recent_messages else (), settings.max_keywords)
        hits = _scored(ws, query)
        how = "bm25" if hits else "none"
        if not hits:
            hits = _literal(ws, query)
            how = "literal" if hits else "none"
    except SupervisorError as error:
        ws.events.emit("degraded", why=str(error))
    except OSError as error:
        ws.events.emit("degraded", why=str(from_os_error(error, error.filename or ws.layout.root)))
    except Exception as error:  # noqa: BLE001 - the turn is worth more than what failed in it
        ws.events.emit("error", why=str(Unforeseen("recall", type(error).__name__, "recall.py")))
    return Found(
        hits=tuple(hits),
        terms=tuple(query.words),
        dates=tuple(days.label for days in query.days),
        files=ws.index.file_count,
        how=how,
        ms=round((time.perf_counter() - began) * 1000, 3),
    )


def refresh(ws: Workspace, wait_s: float = 0.0) -> Changes:
    """
    Bring the index up to date and return what has changed; a damaged one is made anew, with an event. May raise OSError.

    *wait_s* is how many seconds to wait for another process that is at it.
    """
    try:
        changes = ws.index.update(wait_s)
    except (ValueError, RuntimeError) as error:
        _tell_damage(ws, error)
        changes = ws.index.update(wait_s)
    else:
        if changes.rebuilt:
            ws.events.emit("index_damaged", why="it was made by another version, or its catalogue is gone")
    return changes


def _scored(ws: Workspace, query: Query) -> list[Hit]:
    """Return what the index finds, the originals as `[recall] originals` says; nothing where it is damaged."""
    if query.is_empty:
        return []
    settings = ws.config.recall
    least = settings.min_score
    try:
        if settings.originals == "always":
            return ws.index.search(query, LIMIT, None, least, SHARE)
        hits = ws.index.search(query, LIMIT, _ORDINARY, least, SHARE)
        if settings.originals == "fallback":
            best = hits[0].score if hits else 0.0
            hits += ws.index.search(query, LIMIT, _ORIGINAL, max(least, SHARE * best), SHARE)
    except (ValueError, OSError, RuntimeError) as error:
        _tell_damage(ws, error)
        return []
    return hits


def _tell_damage(ws: Workspace, error: Exception) -> None:
    """Have the index made anew at the next update: tantivy says by such errors that bytes are not what was written."""
    ws.index.forget()
    ws.events.emit("index_damaged", why=f"{type(error).__name__}: {error}"[:200])


def _literal(ws: Workspace, query: Query) -> list[Hit]:
    """Return the units in which a part of the question stands that is no word to the index."""

    def is_known(run: str) -> bool:
        return any(ws.index.frequency(word) for word in tokens(run))

    wanted = parts(query.text, is_known)
    return look_up(ws.files, ws.layout, ws.index.records(), wanted, _MOST_LITERAL, ws.zone) if wanted else []
