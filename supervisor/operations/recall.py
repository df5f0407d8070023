"""The operations that find memories and put them before an assistant: inject, context, search, get, why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from .operation import Bounds, Visible, operation

if TYPE_CHECKING:
    from ..context.build import Injection
    from ..context.request import Asked
    from ..index.hit import SearchResult
    from ..protocol.turn import Receipt
    from ..recall.lines import Lines


@operation("inject", may_ask_model=True)
def inject(
    memory: Visible,
    question: str | None = None,
    known: Sequence[str] = (),
    shows: int = 0,
    project: str = "",
    client: str = "",
    tokens: int = 0,
) -> Injection:
    """
    Return the memory block for a client that sends the history itself; a receipt is written to turns/.

    The *question* may be the input that waits in inbox.json (None); *known* are ids of messages that the client sends itself. A
    client that has no ids says how many messages of the session it *shows*: the newest are known. *project* is the folder in
    which it asks, *client* its name; both are in the receipt. The block has at most *tokens*, pinned lines included; 0: as the
    configuration says.
    """
    from ..context import build

    asking, now, result = _ask(memory, question, known)
    shown = (message.id for message in asking.before[-shows:] if message.id and shows > 0)
    asking = replace(asking, known=asking.known.union(shown), project=project, client=client)
    ws = memory.ws
    config = build.within_tokens(ws.config, tokens)
    return _saved(memory, build.inject(asking, now, result, config=config, events=ws.events))


@operation("context", may_ask_model=True)
def context(memory: Visible, question: str | None = None, system: str = "") -> Injection:
    """Return the whole turn: system prompt, memory, running summary, recent history and question, each within its budget."""
    from ..context import build
    from ..host.conversations import running_summary
    from .history import adder

    asking, now, result = _ask(memory, question, shows_history=True)
    ws, clock = memory.ws, memory.caller.clock
    kept = running_summary(ws, asking, system, result, adder(ws, clock), clock, memory.control)
    turn = build.context(asking, now, result, system, kept=kept, config=ws.config, events=ws.events)
    return _saved(memory, turn)


@operation("search")
def search(memory: Visible, query: str, limit: Annotated[int, Bounds(least=1)] = 10) -> SearchResult:
    """Return the hits, best first, equal words once, and how they were found; without hits, why there are none."""
    from ..context.memory_block import distinct
    from ..recall.neighbours import only_neighbours

    result = memory.search(query)
    aside = {*only_neighbours(result.hits)}
    aside.update(hit for hit, _ in distinct([hit for hit in result.hits if hit not in aside], ())[1])
    return replace(result, hits=tuple(hit for hit in result.hits if hit not in aside)[:limit])


@operation("get")
def get(memory: Visible, path: str, start: int = 1, lines: int | None = None) -> Lines:
    """
    Return exact lines of a memory file, or those of a citation.

    They are *lines* lines (None: all) from line *start* on; a *path* with a citation, "#L4-L6,L9", takes neither.
    """
    return memory.lines(path, start, lines)


@operation("why", owner=True)
def why(memory: Visible, turn: str | None = None) -> Receipt:
    """
    Return the receipt of a turn: what was put before the assistant, and why.

    The *turn* is named by its id or the beginning of its id; None is the newest.
    """
    return memory.ws.receipts.read(turn, memory.caller.clock())


def _ask(
    memory: Visible, question: str | None, known: Sequence[str] = (), *, shows_history: bool = False
) -> tuple[Asked, datetime, SearchResult]:
    """
    Return the question, the moment, and what recall finds; with `turns.overflow` overflowing messages are summed up first.

    If the turn *shows_history*, the messages that it no longer shows have overflowed.
    """
    ws = memory.ws
    if ws.config.turns.overflow == "memory":
        ws.events.attempt(
            "summing up what overflows",
            lambda: _sum_up_overflow(memory, _reader(memory, question)(), shows_history=shows_history),
            None,
        )
    return found_for(memory, question, known)


def found_for(memory: Visible, question: str | None, known: Sequence[str] = ()) -> tuple[Asked, datetime, SearchResult]:
    """Return the question (None: the input that waits), the moment, and what recall finds for it; nothing is written."""
    from ..recall.audience import Audience

    ws, read = memory.ws, _reader(memory, question)
    memory.refresh()
    now, asking = memory.caller.clock(), replace(read(), known=frozenset(known))
    if not memory.audience.sees_all and asking.chat != memory.audience.chat:  # the waiting input is of another conversation
        asking = _reader(memory, "")()
    audience = Audience(chat=asking.chat, in_groups=ws.config.recall.in_groups)
    return asking, now, ws.searcher.for_input(asking.question, now, asking.before, audience)


def _reader(memory: Visible, question: str | None) -> Callable[[], Asked]:
    """Return the function that reads the input and the conversation before it."""
    from ..context.build import read_input

    ws = memory.ws
    stores: dict[str, Any] = {"history": ws.shown_history, "files": ws.files, "paths": ws.paths, "events": ws.events}
    stores |= {"groups": ws.groups, "now": memory.caller.clock(), "zone": ws.zone}
    return partial(read_input, question, memory.audience.chat, **stores)


def _sum_up_overflow(memory: Visible, request: Asked, *, shows_history: bool) -> None:
    from ..context.secrets import oldest_shown
    from .long_term import summarize_overflow

    since = oldest_shown(request, memory.ws.config) if shows_history else None
    summarize_overflow.run(memory, request.chat.session, since, in_turn=True)


def _saved(memory: Visible, turn: Injection) -> Injection:
    """Write the receipt of the turn, and return the turn."""
    from ..context.turns import save_receipt

    ws = memory.ws
    save_receipt(turn, receipts=ws.receipts, events=ws.events)
    return turn if memory.audience.sees_all else _for_group(memory, turn)


def _for_group(memory: Visible, turn: Injection) -> Injection:
    """Return the turn as a group may see it, without scores; the receipt on disk, which is the owner's, has them."""
    from ..recall.visible import heard

    left_out = tuple((heard(hit), why) for hit, why in turn.left_out)
    receipt = replace(
        turn.receipt, candidates=tuple(replace(candidate, score=0.0, parts={}) for candidate in turn.receipt.candidates)
    )
    shown = tuple(map(heard, turn.shown))
    return replace(turn, receipt=receipt, result=memory.shown(turn.result), shown=shown, left_out=left_out)
