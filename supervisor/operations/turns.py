"""The operations on turns: which there were, one with its words and parts, and what a question would get, without a trace."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime  # noqa: TC003 - the type of an answer's field
from typing import TYPE_CHECKING, Final

from ..protocol.turn import Candidate, Receipt  # noqa: TC001 - the types of an answer's fields
from ..storage.errors import SupervisorError, refuse_no_text
from ..text.record import record
from .operation import Visible, operation, refuse_outside, within
from .recall import WhyRequest, found_for

if TYPE_CHECKING:
    from ..index.hit import SearchResult

#: Turns of one answer, at most: as many as are kept.
MOST_TURNS: Final = 200
#: Characters of a question in a list, and of the words of a passage.
_QUESTION_CHARS: Final = 300
_HIT_CHARS: Final = 2_000
#: Passages of a turn that are read, shown ones first.
_MOST_READ: Final = 40
#: The parts of a turn in the order in which an assistant reads them.
PARTS: Final = ("system", "pinned", "memory", "summary", "history", "question")


@record(kw_only=True)
class TurnsRequest:
    """The newest turns, *limit* at most, older than the turn *before* ("": from the newest on)."""

    limit: int = within(50, 1, MOST_TURNS)
    before: str = ""

    def __post_init__(self) -> None:
        refuse_no_text("before", self.before)
        refuse_outside(self)


@record(kw_only=True)
class TurnHead:
    """A turn in a list: what was asked, how many passages were *shown* and *left_out*, the *tokens* of memory and history."""

    id: str
    at: datetime
    question: str
    session: str
    chat: str
    shown: int
    left_out: int
    tokens: int


@record(kw_only=True)
class TurnsAnswer:
    """The *turns*, newest first, of *total*; *more*: there are older ones."""

    turns: tuple[TurnHead, ...]
    total: int
    more: bool


@record(kw_only=True)
class TurnPart:
    """One part of what was put before the assistant, and its *tokens*; *most* is its budget, 0 without one."""

    part: str
    tokens: int
    most: int = 0


@record(kw_only=True)
class TurnHit:
    """A passage that was found, whether it was *shown*, why, and why not; *text* are its words now, "" if they are gone."""

    path: str
    start: int
    end: int
    score: float
    because: tuple[str, ...]
    shown: bool
    why: str
    text: str


@record(kw_only=True)
class TurnAnswer:
    """A turn: its *receipt*, its *parts*, and its *hits* with their words; *id* is "" of a question that was only tried."""

    id: str
    receipt: Receipt
    parts: tuple[TurnPart, ...]
    hits: tuple[TurnHit, ...]
    unsearched: str = ""


@record(kw_only=True)
class PreviewRequest:
    """A *question*, as it would be asked in the conversation *of* this key, in a *chat* of this kind ("": that of the key)."""

    question: str
    of: str = ""
    kind: str = ""

    def __post_init__(self) -> None:
        for name in ("question", "of", "kind"):
            refuse_no_text(name, getattr(self, name))


@operation("turns", TurnsRequest, reads=True, owner=True)
def turns(memory: Visible, request: TurnsRequest) -> TurnsAnswer:
    """Return the turns that receipts are kept of, newest first; a receipt that can't be read is left out."""
    store = memory.ws.receipts
    names = store.turns()[::-1]
    older = [name for name in names if not request.before or name < request.before]
    heads: list[TurnHead] = []
    for name in older[: request.limit]:
        with suppress(SupervisorError):
            heads.append(_head(store.read(name)))
    return TurnsAnswer(turns=tuple(heads), total=len(names), more=len(older) > request.limit)


@operation("turn", WhyRequest, reads=True, owner=True)
def turn(memory: Visible, request: WhyRequest) -> TurnAnswer:
    """Return a turn (None: the newest) with the tokens of its parts, and its passages with their words as they are now."""
    from .recall import why

    receipt = why.run(memory, request)
    return TurnAnswer(id=receipt.id, receipt=receipt, parts=_parts(memory, receipt), hits=_hits(memory, receipt.candidates))


@operation("preview", PreviewRequest, reads=True, owner=True)
def preview(memory: Visible, request: PreviewRequest) -> TurnAnswer:
    """Return the turn that a question would get now; nothing is written, and no model is asked."""
    from ..context import build

    asking = replace(memory, caller=replace(memory.caller, session=request.of, chat=request.kind))
    given, now, result = found_for(asking, request.question)
    ws = memory.ws
    made = build.context(given, now, result, config=ws.config, paths=ws.paths, events=ws.events)
    texts = {(hit.unit.path, hit.unit.start): hit.unit.text for hit in (*made.shown, *(hit for hit, _ in made.left_out))}
    hits = tuple(_hit(candidate, texts.get((candidate.path, candidate.start), "")) for candidate in made.receipt.candidates)
    return TurnAnswer(
        id="", receipt=made.receipt, parts=_parts(memory, made.receipt), hits=hits, unsearched=_unsearched(result)
    )


def _unsearched(result: SearchResult) -> str:
    return result.unsearched if result.terms or result.dates or result.how == "failed" else ""


def _head(receipt: Receipt) -> TurnHead:
    shown = sum(entry.shown for entry in receipt.candidates)
    return TurnHead(
        id=receipt.id,
        at=receipt.at,
        question=receipt.question[:_QUESTION_CHARS],
        session=receipt.session,
        chat=receipt.chat,
        shown=shown,
        left_out=len(receipt.candidates) - shown,
        tokens=int(sum(receipt.tokens.values())),
    )


def _parts(memory: Visible, receipt: Receipt) -> tuple[TurnPart, ...]:
    """Return the parts that have tokens, in the order of PARTS; the system prompt is what is left of the first message."""
    from ..text.token_count import MESSAGE_TOKENS, estimate_tokens

    weight = memory.ws.config.tokens.cjk_weight
    tokens = {name: int(count) for name, count in receipt.tokens.items() if name in PARTS}
    tokens["question"] = estimate_tokens(receipt.question, weight) if receipt.question else 0
    first = receipt.messages[0] if receipt.messages else {}
    if first.get("role") == "system":
        text = first.get("content", "").replace(receipt.memory, "") if receipt.memory else first.get("content", "")
        tokens["system"] = max(0, estimate_tokens(text, weight) + MESSAGE_TOKENS - tokens.get("summary", 0))
    return tuple(
        TurnPart(part=name, tokens=tokens[name], most=int(receipt.budgets.get(name, 0))) for name in PARTS if tokens.get(name)
    )


def _hits(memory: Visible, candidates: tuple[Candidate, ...]) -> tuple[TurnHit, ...]:
    hits = []
    for number, candidate in enumerate(candidates):
        text = ""
        if number < _MOST_READ:
            with suppress(SupervisorError):
                text = memory.lines(candidate.path, candidate.start, candidate.end - candidate.start + 1).text
        hits.append(_hit(candidate, text))
    return tuple(hits)


def _hit(candidate: Candidate, text: str) -> TurnHit:
    return TurnHit(
        path=candidate.path,
        start=candidate.start,
        end=candidate.end,
        score=candidate.score,
        because=candidate.because,
        shown=candidate.shown,
        why=candidate.why,
        text=text[:_HIT_CHARS],
    )
