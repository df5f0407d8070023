"""
The summary of a task by a model: the template of the material's language, the material quoted, in pieces if need be.

Each piece is read together with the summary so far. After a refusal a day is asked for exchange by exchange, each in its own
language, and a month day by day; code joins the answers, below the text that they continue. Where the first of these are no
better, the others are not asked for. Finished pieces of an unfinished summary are kept (`desk.py`). Each call is counted
before it is made, and what it cost is kept whatever comes of it. Source: protocol.md, 6 and 6.7.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta, tzinfo
from itertools import groupby
from typing import Final
from zoneinfo import ZoneInfo

from recalld.supervisor.extracts.extract import extract
from recalld.supervisor.protocol.config import Config
from recalld.supervisor.protocol.dated_file import Block
from recalld.supervisor.protocol.llm import (
    MATERIAL_SHARE,
    Account,
    CallLog,
    Prompt,
    PromptTemplate,
    text_of,
    version_of,
    without_secrets,
)
from recalld.supervisor.protocol.task import Task
from recalld.supervisor.storage.clock import Clock, local
from recalld.supervisor.storage.errors import Busy
from recalld.supervisor.summaries.quality import Material, judge
from recalld.supervisor.summaries.schedule import Verdicts
from recalld.supervisor.text.language import Language, is_small_talk, language_of_sentences
from recalld.supervisor.text.llm_input import MIN_PIECE, Entry, Fold, estimate_tokens, quote
from recalld.supervisor.text.llm_output import cleaned, continued, says_nothing

from .desk import FolderClaim
from .providers import Model, NoCall, ProviderError, Usage

#: What divides two exchanges, and the characters of one that is not asked for by itself.
_SILENCE: Final = timedelta(minutes=10)
_SHORT_CHARS: Final = 120
_ROLE: Final = re.compile(r"[a-z][a-z_-]{0,31}")
#: Tokens reserved for the answer: the context divided by this, and at most so many. Thinking may use more if there is room.
_ANSWER_PART: Final = 4
_ANSWER_MAX: Final = 2_048
THOUGHT_MAX: Final = 8_192
#: How many percent an estimate may be too low, and the tokens that the server itself puts around a prompt.
_ESTIMATE_ERROR: Final = 10
SERVER_TOKENS: Final = 32


@dataclass(slots=True)
class Writing:
    """The summary of one task while it is written by *calls*; *version* (of the templates) is right at any time."""

    calls: Calls
    claim: FolderClaim
    is_joined: bool = False  # code joined the text from summaries of days
    _templates: dict[str, PromptTemplate] = field(default_factory=dict)
    _used: set[PromptTemplate] = field(default_factory=set)
    _apart: Verdicts = Verdicts()  # noqa: RUF009 - immutable

    @property
    def version(self) -> str:
        """The digest of the templates that were used."""
        return version_of(self._used)

    def write(self, task: Task, blocks: Sequence[Block]) -> str:
        """Return the summary, "" when there is nothing to record; or ProviderError, Cancelled, NoCall, BadConfig."""
        if all(is_small_talk(block.text) for block in blocks):
            return task.previous.strip()
        if not task.apart:
            return self._whole(task, blocks)
        text = self._by_day(task, blocks) if task.kind == "monthly-summary" else self._by_exchange(task, blocks)
        return "\n\n".join(filter(None, (task.previous.strip(), text)))

    def _whole(self, task: Task, blocks: Sequence[Block]) -> str:
        """Return the summary of all messages in one answer, or of as many as fit after another."""
        language = _language_of(blocks)
        hide = self._hiding(language, blocks)
        entries = entries_of(blocks, ZoneInfo(task.zone), hide, dates=task.kind != "daily-summary")
        so_far = hide(task.previous).strip()
        if so_far and self._room("merge-summary", language, so_far) < MIN_PIECE:
            # too long to go with each piece: it is read again, in pieces
            entries.insert(0, Entry(f"{task.period} summary", so_far))
            so_far = ""
        return self._piece_by_piece(task, entries, so_far, language)

    def _by_exchange(self, task: Task, blocks: Sequence[Block]) -> str:
        """Return the summaries of the day's exchanges, one below the other; each answer but the last is kept."""
        parts = [part for part in exchanges(blocks) if not all(is_small_talk(block.text) for block in part)]
        texts = []
        for part in parts:
            language = _language_of(part)
            entries = entries_of(part, ZoneInfo(task.zone), self._hiding(language, blocks), dates=False)
            texts.append(self._piece_by_piece(task, entries, "", language, is_last=part is parts[-1]))
            self._judge(texts[-1], part, language)
        texts_once = dict.fromkeys(text for text in texts if not says_nothing(text))  # a small model may answer twice the same
        return "\n\n".join(texts_once)

    def _judge(self, text: str, part: Sequence[Block], language: Language) -> None:
        """Note whether one answer of several may stand; ProviderError where so few do that no other is worth its call."""
        material = Material(tuple((None, block.text) for block in part), language=language)
        reason = None if says_nothing(text) else judge(cleaned(text), material, self.calls.config.archive.summarise_chars)
        self._apart = self._apart.with_one(reason)
        if reason and self._apart.is_worse:
            raise ProviderError(reason, "asked for in parts, it answers no better", usage=Usage())

    def _by_day(self, task: Task, blocks: Sequence[Block]) -> str:
        """Return what the summaries of the month's days say most, one line a day; a day without one is asked for."""
        zone = ZoneInfo(task.zone)
        days: list[Block] = []
        for day, of_day in groupby(blocks, key=lambda block: local(block.created_at, zone).date()):
            part = list(of_day)
            is_done = all(block.role == "summary" for block in part)
            day_task = replace(task, kind="daily-summary", period=day.isoformat())
            text = "\n\n".join(block.text for block in part) if is_done else self._by_exchange(day_task, part)
            noon = datetime.combine(day, time(12), zone)
            days += [Block("", "summary", text, noon, {})] if text else []
        self.is_joined = True
        joined = extract(days, period=task.period, zone=zone, kind="month") if days else ""
        return joined.partition("\n")[2].strip()  # without the line that no model wrote it

    def _piece_by_piece(
        self, task: Task, entries: list[Entry], so_far: str, language: Language, *, is_last: bool = True
    ) -> str:
        """Return the summary of everything, each piece read with the summary so far."""
        fold = Fold(entries, so_far, language)
        while fold.left:
            name = "merge-summary" if fold.so_far else task.kind
            room = self._room(name, language, fold.so_far)
            if room < MIN_PIECE:
                raise ProviderError(
                    "input", "prompt and summary so far fill the context: raise llm.context_tokens", usage=Usage()
                )
            previous = quote(fold.so_far, language) if fold.so_far else ""
            template = self._template(name, language)
            prompt = template.turns(**_values(task.period, quote(fold.piece(room), language), previous))
            self._used.add(template)
            try:
                answer = self._answer(prompt, last=fold.is_last and is_last)
            except ProviderError as error:
                if not error.overflow or not fold.halve():
                    raise
            else:
                fold.take(continued(fold.so_far, answer))
        return fold.so_far

    def _answer(self, prompt: Prompt, *, last: bool) -> str:
        """Return the model's answer, or the kept piece. The last answer is the result and is not kept."""
        calls, pieces = self.calls, None if last else self.claim.kept
        request = f"{calls.model.name}\n{calls.model.model}\n{text_of(prompt)}"
        kept = pieces.find(request) if pieces else None
        if kept is not None:
            return kept
        if calls.is_asked and calls.usage.calls >= calls.config.llm.max_calls_per_day:
            raise ProviderError("input", "it needs more calls than llm.max_calls_per_day; it goes on from here", usage=Usage())
        answer = calls.complete(prompt)
        if pieces:
            pieces.keep(request, answer)
        return answer

    def _room(self, name: str, language: Language, so_far: str) -> int:
        """Return the tokens for material: a share of the context, less if template, summary so far and answer need room."""
        values = _values("2026-01-28", quote("", language), quote(so_far, language))
        frame = estimate_tokens(text_of(self._template(name, language).turns(**values)))
        left = self.calls.context - SERVER_TOKENS - frame - self.calls.reserve
        return min(int(self.calls.context * MATERIAL_SHARE), left)

    def _template(self, name: str, language: Language) -> PromptTemplate:
        file = f"{name}.{language}.md"
        if file not in self._templates:
            self._templates[file] = self.claim.template(name, language)
        return self._templates[file]

    def _hiding(self, language: Language, blocks: Sequence[Block]) -> Callable[[str], str]:
        privacy = self.calls.config.privacy.knowing(block.words for block in blocks)
        return lambda text: without_secrets(text, language, privacy)


def _values(period: str, material: str, previous: str) -> dict[str, str]:
    """Return the values of the placeholders: {date} and {month} are both the period, {daily_summaries} is {messages} too."""
    return {"date": period, "month": period, "messages": material, "daily_summaries": material, "previous": previous}


def _language_of(blocks: Sequence[Block]) -> Language:
    return language_of_sentences(block.text for block in blocks if block.role != "tool")


def exchanges(blocks: Sequence[Block]) -> list[list[Block]]:
    """Return the messages of a day in exchanges: a silence divides them, and a short one goes with its neighbour."""
    parts: list[list[Block]] = []
    for block in blocks:
        last = parts[-1] if parts else []
        if last and (_is_short(last) or block.created_at - last[-1].created_at < _SILENCE):
            last.append(block)
        else:
            parts.append([block])
    return [*parts[:-2], parts[-2] + parts[-1]] if len(parts) > 1 and _is_short(parts[-1]) else parts


def _is_short(exchange: Sequence[Block]) -> bool:
    return sum(len(block.text) for block in exchange) < _SHORT_CHARS


def entries_of(blocks: Sequence[Block], zone: tzinfo, hide: Callable[[str], str], *, dates: bool) -> list[Entry]:
    """Return the messages that have words as entries, with names, secrets hidden; *dates* adds the day to the time of each."""
    written = (block for block in blocks if block.words.strip())
    return [Entry(_head(block, zone, hide(block.speaker), dates=dates), hide(block.words).strip()) for block in written]


def _head(block: Block, zone: tzinfo, name: str, *, dates: bool) -> str:
    said_at = local(block.created_at, zone)
    role = block.role if _ROLE.fullmatch(block.role) else "other"
    if role in {"summary", "note"}:  # of a whole day: its time of noon means nothing
        return f"{said_at:%Y-%m-%d} {role}"
    return (f"{said_at:%Y-%m-%d %H:%M}" if dates else f"{said_at:%H:%M}") + f" {role} {name}".rstrip()


# ── the calls of a task ──────────────────────────────────────────────────────


@dataclass(slots=True)
class Calls:
    """The calls of one task; *usage* is right at any time."""

    model: Model
    config: Config
    log: CallLog  # or, with the same `begin`, what a pool allows a task
    clock: Clock
    cancelled: Callable[[], bool]
    is_asked: bool = False  # a person asked for it: its calls are counted, and not held back
    account: Account = "summaries"
    usage: Usage = Usage()  # noqa: RUF009 - immutable
    answered: str = ""  # the model that wrote the last answer, by the server's word

    def complete(self, prompt: Prompt, most: int = THOUGHT_MAX) -> str:
        """Return the model's answer of at most *most* tokens, one call of the day; or ProviderError, Cancelled, NoCall."""
        left = self.context - SERVER_TOKENS - estimate_tokens(text_of(prompt)) * (100 + _ESTIMATE_ERROR) // 100
        longest = max(self.reserve, min(left, most))
        try:
            done = self.model.complete(prompt, max_tokens=longest, calling=self._begin, cancelled=self.cancelled)
        except ProviderError as error:
            self.usage += error.usage
            raise
        self.usage += done.usage
        self.answered = done.model or self.answered
        return done.text

    @property
    def context(self) -> int:
        """The tokens of prompt and answer together."""
        return self.config.llm.context_tokens

    @property
    def reserve(self) -> int:
        """The tokens that an answer may need."""
        return min(_ANSWER_MAX, self.context // _ANSWER_PART)

    def _begin(self) -> None:
        """Log the call before it is made; NoCall when the day's calls are spent, unless a person asked for it."""
        spending = self.config.turns if self.account == "replies" else self.config.llm
        most = None if self.is_asked else spending.max_calls_per_day
        try:
            may_call = self.log.begin(self.clock(), most, self.account)
        except (OSError, Busy) as error:
            raise NoCall(f"a call can't be written down: {error}") from None
        if not may_call:
            raise NoCall("the day's calls are used up")
