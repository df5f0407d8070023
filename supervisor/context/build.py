"""
Build a turn: what is put before the assistant, and the receipt of it (recall.md; docs/reference/protocol.md, 7).

`read_input` reads the question, the caller runs recall for it, `inject` and `context` build the blocks. A file that can't be
read does not cost the turn, unless it has the question: an event reports it. `memory_block` decides which hits fit the block,
`history_window` which messages do.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, tzinfo
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from ..archive.deletions import ShownHistory
from ..conversation.groups import Groups
from ..events import Events
from ..index.hit import Hit, Passage, SearchResult
from ..protocol.config import Config
from ..protocol.inbox import DIRECT, Chat, parse_inbox
from ..protocol.message import History, Message
from ..protocol.paths import WorkspacePaths
from ..protocol.turn import Candidate, Receipt, turn_id
from ..recall.audience import Audience
from ..storage.errors import BadFile
from ..storage.files import Files
from ..text.comparing import same_words, sentences_in, without_sentences
from ..text.llm_input import MESSAGE_TOKENS, estimate_tokens
from .history_window import Budgets, Window, WindowMessage, room, share, turn_messages
from .memory_block import PackedBlock, pack
from .render import BlockLimits, miss
from .request import Asked, admit, as_sent, contained, for_project, resolve_input, with_summary
from .secrets import history_block, redactor, turn_language

if TYPE_CHECKING:
    from ..conversation.sessions import RunningSummary

T = TypeVar("T")
#: Recall for a question, asked at a moment after the recent messages (oldest first), for those who read the answer.
Recall: TypeAlias = "Callable[[str, datetime, Sequence[Message], Audience], SearchResult]"

#: A text with more characters than this for each token of the context fills it, whatever characters they are.
_CHARS_PER_TOKEN: Final = 8
#: The tags around memory, and the line with the time before the question.
_FRAME_TOKENS: Final = 40
#: The pinned lines of memory.md have at most this part of the budget of memory.
_PINNED_DIVISOR: Final = 4
#: In a block of fewer characters a tag is only the path, which has the day: the words are worth more than their place.
_BRIEF_CHARS: Final = 200
#: The running summary has at most this part of the budget of the history.
_SUMMARY_DIVISOR: Final = 2
#: How long a turn waits for a history.json that can't be read, in seconds: it has to be answered within 250 ms.
_PATIENCE_S: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    """One turn: the blocks, the messages made of them, the result of recall, the hits shown and left out, and the receipt."""

    memory: str
    history: tuple[WindowMessage, ...] = field(repr=False)
    messages: tuple[dict[str, str], ...] = field(repr=False)
    memory_tokens: int
    history_tokens: int
    result: SearchResult = field(repr=False)
    shown: tuple[Hit, ...] = field(repr=False)
    left_out: tuple[tuple[Hit, str], ...] = field(repr=False)
    receipt: Receipt = field(repr=False)

    @property
    def id(self) -> str:
        """The turn's id, which is also the name of its receipt."""
        return self.receipt.id

    def json_fields(self) -> dict[str, Any]:
        """Return the turn for a program in another language: what is put before the assistant, and its sources."""
        hits = [
            {"path": hit.unit.path, "startLine": hit.unit.start, "endLine": hit.unit.end, "snippet": hit.unit.text}
            for hit in self.shown
        ]
        tokens = {"memory": self.memory_tokens, "history": self.history_tokens}
        return {"turn": self.id, "memory": self.memory, "messages": self.messages, "tokens": tokens, "hits": hits}


def read_input(
    question: str | None,
    chat: Chat = DIRECT,
    *,
    history: ShownHistory,
    groups: Groups,
    now: datetime,
    files: Files,
    paths: WorkspacePaths,
    zone: tzinfo,
    events: Events,
) -> Asked:
    """Return the input and what was said before it: *question*, asked in *chat*, or those of inbox.json; BadFile for that."""
    messages: History = events.attempt("history", partial(history.read, _PATIENCE_S), ())
    inbox = _read_inbox(files, paths, zone) if question is None else ()
    return resolve_input(question, groups.mark(inbox, now, are_asking=True), groups.mark(messages, now), chat)


def inject(request: Asked, now: datetime, result: SearchResult, *, config: Config, events: Events) -> Injection:
    """Return the turn of what recall found, *result*, without a history block: its client sends the history itself."""
    return _build(request, Window(), now, result, "", config, events)


def context(
    request: Asked,
    now: datetime,
    result: SearchResult,
    system: str = "",
    *,
    kept: RunningSummary | None = None,
    config: Config,
    events: Events,
) -> Injection:
    """
    Return the whole turn: the client's *system* prompt as given, the recent history, memory and the question.

    *kept* is the running summary of the session, which is shown in place of the messages that it covers. If it takes more than
    half of the budget of the history, it is left out and the messages are shown.
    """
    budget = turn_budgets(request, system, result, config).history
    if kept and estimate_tokens(as_sent(kept.text)) <= budget // _SUMMARY_DIVISOR:
        request = with_summary(request, kept)
    tokens = budget - estimate_tokens(as_sent(request.summary))
    history = events.attempt("history block", lambda: history_block(request, tokens, config), Window())
    shown = sentences_in([message.text for message in history.messages if message.is_whole])
    request = replace(request, summary=without_sentences(request.summary, shown))
    return _build(request, history, now, result, system, config, events)


def within_tokens(config: Config, tokens: int) -> Config:
    """Return the configuration with a memory block of at most *tokens*, a fifth of them for pinned lines; 0: as it is."""
    recall, pinned = config.recall, tokens // (_PINNED_DIVISOR + 1)
    if not 0 < tokens < recall.memory_tokens + recall.pinned_tokens:
        return config
    memory = min(recall.memory_tokens, tokens - pinned)
    return replace(config, recall=replace(recall, memory_tokens=memory, pinned_tokens=min(recall.pinned_tokens, pinned)))


def memory_block(
    request: Asked, result: SearchResult, tokens: int, in_history: frozenset[str], now: datetime, config: Config
) -> PackedBlock:
    """Return the memory block in at most *tokens*; *in_history* are the ids of messages that the turn already shows whole."""
    recall = config.recall
    audience = Audience(chat=request.chat, in_groups=recall.in_groups)
    present = contained(request, in_history, now)
    hits, hidden = admit(result.hits, audience, present)
    hits, elsewhere = for_project(hits, request.project, recall.projects)
    language = turn_language(request, config)
    pinned = [hit for hit in _pinned(request, result, config) if same_words(hit.text) not in present.sentences]
    may_cite, is_brief = request.chat.is_direct and recall.hit == "file", 0 < recall.max_injected_chars < _BRIEF_CHARS
    limits = BlockLimits(
        tokens=room(tokens, result.evidence),
        pinned_tokens=_pinned_budget(tokens, config),
        max_hits=recall.max_hits,
        hit=recall.hit,
        line_chars=recall.line_chars,
        max_chars=recall.max_injected_chars,
        citations=not is_brief and (recall.citations == "on" or (recall.citations == "auto" and may_cite)),
        today=now.astimezone(config.archive.zone).date(),
        names=audience.sees_all,
        hide=redactor(request, result.terms, [*hits, *(Hit(hit, 0.0) for hit in pinned)], language, config.privacy),
        role=result.role,
        language=language,
    )
    block = pack(hits, result.terms, limits, pinned)
    has_missed = result.subject and not hits and not any(why in {"in the history", "group"} for _, why in hidden)
    if config.context.say_nothing and has_missed:
        text = block.text + miss(result.subject, result.files, language) + "\n"
        size = estimate_tokens(text)
        fits = size <= tokens + block.pinned_tokens and (not limits.max_chars or len(text) <= limits.max_chars)
        block = replace(block, text=text, tokens=size) if fits else block
    skipped = [(Hit(passage, 0.0), "the question") for passage in result.skipped]
    return replace(block, left_out=(*skipped, *hidden, *elsewhere, *block.left_out))


def _pinned_budget(memory_tokens: int, config: Config) -> int:
    return min(config.recall.pinned_tokens, memory_tokens // _PINNED_DIVISOR)


def _pinned(request: Asked, result: SearchResult, config: Config) -> tuple[Passage, ...]:
    """Return the pinned lines of memory.md; none in a group, and none if a hit is a line."""
    return result.pinned if request.chat.is_direct and config.recall.hit != "line" else ()


def _build(
    request: Asked,
    history: Window,
    now: datetime,
    result: SearchResult,
    system: str,
    config: Config,
    events: Events,
) -> Injection:
    budgets = turn_budgets(request, system, result, config)
    in_history = frozenset(message.id for message in history.messages if message.is_whole and message.id)
    block = events.attempt("memory block", lambda: memory_block(request, result, budgets.memory, in_history, now, config), None)
    memory = block or PackedBlock()
    messages = turn_messages(
        system=system,
        memory=memory.text,
        history=history.messages,
        question=request.question,
        now=now.astimezone(config.archive.zone),
        place=config.context.memory_in,
        alternate=config.context.alternate,
        language=turn_language(request, config),
        summary=as_sent(request.summary),
    )

    def receipt(result: SearchResult, memory: PackedBlock) -> Receipt:
        return _receipt(request, result, memory, history, messages, budgets, config, now)

    turn_receipt = events.attempt("receipt", lambda: receipt(result, memory), None) if block else None
    return Injection(
        memory=memory.text,
        history=history.messages,
        messages=messages,
        memory_tokens=memory.tokens,
        history_tokens=history.tokens,
        result=result,
        shown=memory.shown,
        left_out=memory.left_out,
        receipt=turn_receipt or receipt(SearchResult(how="failed"), replace(memory, shown=(), left_out=())),
    )


def _receipt(
    request: Asked,
    result: SearchResult,
    memory: PackedBlock,
    history: Window,
    messages: Sequence[Mapping[str, str]],
    budgets: Budgets,
    config: Config,
    now: datetime,
) -> Receipt:
    """Return the receipt; the candidates that were shown come first, then the others, each by score."""
    candidates = [_candidate(hit, "") for hit in memory.shown] + [_candidate(hit, why) for hit, why in memory.left_out]
    settings = {"recall": asdict(config.recall), "context": asdict(config.context)}
    pinned = _pinned_budget(budgets.memory, config)
    tokens = {"memory": memory.tokens - memory.pinned_tokens, "pinned": memory.pinned_tokens, "history": history.tokens}
    in_force = room(budgets.memory, result.evidence)
    limits = {"memory": in_force, "pinned": pinned, "history": budgets.history, "whole": budgets.memory}
    if request.summary:
        tokens["summary"] = estimate_tokens(as_sent(request.summary))
        limits["summary"] = budgets.history // _SUMMARY_DIVISOR
    return Receipt(
        # with the settings, since under other settings the same block has other reasons
        id=turn_id(now, request.question, json.dumps(list(messages)), memory.text, json.dumps(settings)),
        at=now,
        question=request.question,
        chat=request.chat.kind,
        session=request.chat.session,
        client=request.client,
        project=request.project,
        known=tuple(sorted(request.known)),
        terms=result.terms,
        dates=result.dates,
        how=result.how,
        files=result.files,
        ms=_finite(result.ms),
        miss={"nowhere": list(result.nowhere)} if result.nowhere else {},
        candidates=tuple(sorted(candidates, key=lambda hit: (not hit.shown, -hit.score))),
        memory=memory.text,
        history=tuple({"id": o.id, "role": o.role, "content": o.text, "whole": o.is_whole} for o in history.messages),
        messages=tuple(messages),
        tokens=tokens,
        budgets=limits,
        config=settings,
    )


def _candidate(hit: Hit, why: str) -> Candidate:
    passage = hit.unit
    return Candidate(
        path=passage.path,
        start=passage.start,
        end=passage.end,
        score=_finite(hit.rank),
        parts={part: _finite(share) for part, share in asdict(hit.parts).items()} if hit.rank else {},
        because=tuple(hit.because),
        shown=not why,
        why=why,
    )


def _finite(number: float) -> float:
    return round(number, 4) if math.isfinite(number) else 0.0


def turn_budgets(request: Asked, system: str, result: SearchResult, config: Config) -> Budgets:
    """Return the token budgets of memory and history, smaller where the assistant's model has a small context window."""
    size = config.context.window_tokens
    fixed = sum(
        estimate_tokens(text[: size * _CHARS_PER_TOKEN]) + MESSAGE_TOKENS for text in (system, request.question) if text
    )
    pinned = "".join(hit.text for hit in _pinned(request, result, config))
    fixed += _FRAME_TOKENS + min(config.recall.pinned_tokens, estimate_tokens(pinned[: size * _CHARS_PER_TOKEN]))
    limits = Budgets(config.recall.memory_tokens, config.context.history_tokens)
    return share(size, fixed, limits, config.context.min_messages)


def _read_inbox(files: Files, paths: WorkspacePaths, zone: tzinfo) -> tuple[Message, ...]:
    version = files.read_stable(paths.inbox)
    if version is None:
        return ()
    try:
        return parse_inbox(version.data, zone)
    except ValueError as error:
        raise BadFile(paths.inbox, error.args[0]) from None
