"""
The receipt of a turn, from what was asked, found, shown and left out (docs/protocol.md, 7).

What is put before the assistant: memory that answers, the last of the talk, the question (003, 检索与注入, 上下文注入预算).

`gather` reads what is asked, the caller has it recalled, `inject` and `context` decide, `record` writes the receipt. Nothing
that is stored, and no fault of a file, costs the turn: what can't be had is left out, and an event tells of it.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from supervisor.context.history_window import MESSAGE_TOKENS, Budgets, Window, WindowLimits, WindowMessage, share, window
from supervisor.context.memory_block import BlockLimits, PackedBlock, pack
from supervisor.context.receipts import ReceiptStore
from supervisor.context.render import miss
from supervisor.context.request import Asked, Audience, admit, resolve_input
from supervisor.index.hit import SearchResult
from supervisor.protocol.errors import BadFile, InternalError, SupervisorError, as_supervisor_error
from supervisor.protocol.inbox import DIRECT, parse_inbox
from supervisor.protocol.turn import Candidate, Receipt, turn_id
from supervisor.text.language import language_of
from supervisor.text.token_count import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from supervisor.index.hit import Hit
    from supervisor.protocol.inbox import Chat
    from supervisor.protocol.message import History, Message
    from supervisor.workspace import Workspace


def receipt_of(
    asked: Asked,
    found: SearchResult,
    memory: PackedBlock,
    history: Window,
    messages: Sequence[Mapping[str, str]],
    budgets: Budgets,
    config: Mapping[str, Any],
    now: datetime,
) -> Receipt:
    """Return the receipt; what was shown stands first, then what was not, each by score."""
    candidates = [_candidate(hit, "") for hit in memory.shown] + [_candidate(hit, why) for hit, why in memory.left_out]
    return Receipt(
        id=turn_id(now, asked.question, json.dumps(list(messages)), memory.text),
        at=now,
        question=asked.question,
        chat=asked.chat.kind,
        session=asked.chat.session,
        terms=found.terms,
        dates=found.dates,
        how=found.how,
        files=found.files,
        ms=_finite(found.ms),
        candidates=tuple(sorted(candidates, key=lambda one: (not one.shown, -one.score))),
        memory=memory.text,
        history=tuple({"id": o.id, "role": o.role, "content": o.text, "whole": o.is_whole} for o in history.said),
        messages=tuple(messages),
        tokens={"memory": memory.tokens, "history": history.tokens},
        budgets={"memory": budgets.memory, "history": budgets.history},
        config=config,
    )


def _candidate(hit: Hit, why: str) -> Candidate:
    unit = hit.unit
    return Candidate(
        path=unit.path,
        start=unit.start,
        end=unit.end,
        score=_finite(hit.score),
        because=tuple(hit.because),
        shown=not why,
        why=why,
    )


def _finite(number: float) -> float:
    """Return the number as JSON can hold it."""
    return round(number, 4) if math.isfinite(number) else 0.0


T = TypeVar("T")
#: A text with more characters than this for each token of the context fills it, whatever they are.
_CHARS_A_TOKEN: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    """One turn: the blocks, the chat-completions messages they make, what is shown and what is not, and the receipt of it."""

    memory: str
    history: tuple[WindowMessage, ...]
    messages: tuple[dict[str, str], ...]
    memory_tokens: int
    history_tokens: int
    shown: tuple[Hit, ...]
    left_out: tuple[tuple[Hit, str], ...]
    receipt: Receipt

    @property
    def id(self) -> str:
        """The turn's id, which is also the name of its receipt."""
        return self.receipt.id


def read_input(ws: Workspace, question: str | None, chat: Chat = DIRECT) -> Asked:
    """Return what is asked: *question*, heard in *chat*, else what waits in inbox.json, with the talk before it."""
    history: History = _attempt(ws, "history", ws.history.read, ())
    inbox: tuple[Message, ...] = () if question is not None else _attempt(ws, "inbox", lambda: _inbox(ws), ())
    return resolve_input(question, inbox, history, chat)


def inject(ws: Workspace, question: str | Asked | None, now: datetime, found: SearchResult) -> Injection:
    """
    Return the memory block for the question (None: for inbox.json), beside a history that the client sends itself.

    *found* is what recall returned for the question that `gather` gives.
    """
    asked = question if isinstance(question, Asked) else read_input(ws, question)
    return _decide(ws, asked, Window(), now, found, "")


def context(ws: Workspace, question: str | Asked | None, now: datetime, found: SearchResult, system: str = "") -> Injection:
    """Return the whole turn: the client's *system* prompt as given, then memory, the last of the talk, the question."""
    asked = question if isinstance(question, Asked) else read_input(ws, question)
    limits = ws.config.context
    window_limits = WindowLimits(
        tokens=_budgets(ws, asked, system).history,
        least=limits.min_messages,
        most=limits.max_messages,
        message_chars=limits.message_chars,
        cjk_weight=ws.config.tokens.cjk_weight,
    )
    block = _attempt(ws, "history block", lambda: window(asked.before, window_limits), Window())
    return _decide(ws, asked, block, now, found, system)


def save_receipt(ws: Workspace, injection: Injection) -> bool:
    """Write the receipt; tell whether it could be written. A turn goes on without one."""

    def write() -> bool:
        ReceiptStore(ws.files, ws.paths).write(injection.receipt)
        return True

    return _attempt(ws, "receipt", write, otherwise=False)


def memory_block(ws: Workspace, asked: Asked, found: SearchResult, tokens: int, shown: frozenset[str]) -> PackedBlock:
    """Return the memory block in at most *tokens*; *shown* are ids of messages that the turn holds anyway."""
    recall, cjk_weight = ws.config.recall, ws.config.tokens.cjk_weight
    questions = frozenset({asked.question.strip(), *(one.text.strip() for one in asked.inputs)} - {""})
    ids = shown | {one.id for one in asked.inputs if one.id}
    sight = Audience(chat=asked.chat, in_groups=recall.in_groups, messages=ids, questions=questions)
    hits, hidden = admit(found.hits, sight)
    language = ws.config.language if ws.config.language != "auto" else language_of(asked.question)
    limits = BlockLimits(
        tokens=tokens,
        max_hits=recall.max_hits,
        hit=recall.hit,
        line_chars=recall.line_chars,
        max_chars=recall.max_injected_chars,
        citations=recall.citations == "on" or (recall.citations == "auto" and asked.chat.is_direct),
        names=asked.chat.is_direct or recall.in_groups == "all",
        cjk_weight=cjk_weight,
        language=language,
    )
    block = pack(hits, found.terms, limits)
    if recall.honest_miss and found.terms and not hits and not any(why in {"in the history", "group"} for _, why in hidden):
        line = miss(found.terms, found.files, language, cjk_weight) + "\n"
        size = estimate_tokens(line, cjk_weight)
        fits = size <= tokens and (not limits.max_chars or len(line) <= limits.max_chars)
        block = PackedBlock(line, size) if fits else block
    return replace(block, left_out=(*hidden, *block.left_out))


# ── how it is put together ───────────────────────────────────────────────────


def _decide(ws: Workspace, asked: Asked, history: Window, now: datetime, found: SearchResult, system: str) -> Injection:
    budgets = _budgets(ws, asked, system)
    shown = frozenset(said.id for said in history.said if said.is_whole and said.id)
    made = _attempt(ws, "memory block", lambda: memory_block(ws, asked, found, budgets.memory, shown), None)
    memory = made or PackedBlock()
    said = [(one.role, one.text) for one in history.said]
    turn = [("system", system), ("system", memory.text), *said, ("user", asked.question)]
    messages = tuple({"role": role, "content": text} for role, text in turn if text.strip())
    config = {"recall": asdict(ws.config.recall), "context": asdict(ws.config.context)}
    config["llm"], config["tokens"] = {"context_tokens": ws.config.llm.context_tokens}, asdict(ws.config.tokens)

    def account(found: SearchResult, memory: PackedBlock) -> Receipt:
        return receipt_of(asked, found, memory, history, messages, budgets, config, now)

    bare = account(SearchResult(how="failed"), replace(memory, shown=(), left_out=()))

    return Injection(
        memory=memory.text,
        history=history.said,
        messages=messages,
        memory_tokens=memory.tokens,
        history_tokens=history.tokens,
        shown=memory.shown,
        left_out=memory.left_out,
        receipt=_attempt(ws, "receipt", lambda: account(found, memory), bare) if made else bare,
    )


def _budgets(ws: Workspace, asked: Asked, system: str) -> Budgets:
    """Return the shares of memory and history beside the system prompt and the question."""
    config = ws.config
    size, weight = config.llm.context_tokens, config.tokens.cjk_weight
    fixed = sum(
        estimate_tokens(text[: size * _CHARS_A_TOKEN], weight) + MESSAGE_TOKENS for text in (system, asked.question) if text
    )
    return share(size, fixed, Budgets(config.recall.memory_tokens, config.context.history_tokens))


def _inbox(ws: Workspace) -> tuple[Message, ...]:
    look = ws.files.read_stable(ws.paths.inbox)
    if look is None:
        return ()
    try:
        return parse_inbox(look.data, ws.zone)
    except ValueError as error:
        raise BadFile(ws.paths.inbox, str(error)) from None


def _attempt(ws: Workspace, what: str, step: Callable[[], T], otherwise: T) -> T:
    """Return what the step returns; *otherwise* where it fails in any way, with an event while that lasts."""
    fault, bug = "", ""
    try:
        otherwise = step()
    except (SupervisorError, OSError) as error:
        fault = str(as_supervisor_error(error, what, ws.paths.root))
    except Exception as error:  # noqa: BLE001 - the turn is worth more than what failed in it
        bug = str(InternalError.of(what, error))
    ws.events.transition("degraded", fault, cleared="recovered", what=what, why=fault)
    ws.events.transition("error", bug, what=what, why=bug)
    return otherwise
