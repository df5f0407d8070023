"""
A conversation as one line for the long-term memory, as in 000, and which messages of it are summed up.

000 drops every short message that begins like a courtesy (对花生过敏), stops at its limit without saying so, and separates a
question from the "好的" that decides it. Names, thresholds and forms are its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, tzinfo
from itertools import pairwise
from typing import Any, ClassVar, Final

from ..protocol.config import Config
from ..protocol.llm import PromptTemplate, shipped_template, without_secrets
from ..storage.clock import NEVER, Deadline, from_wire, local_day
from ..summaries.model import CallLimits, Model
from ..text.language import SKIP_PREFIXES, Language, language_of
from ..text.llm_input import Entry, Fold, estimate_tokens, quote
from ..text.snippet import snippet_span
from .asking import ChatStream, SummaryWriter, in_one_line, model_of
from .turns import Said, answers_question, dialogue, read_said, whole_pairs

#: The most tokens of the conversation in one call; in Chinese the 4,000 characters of 000.
_PIECE_TOKENS: Final = 4_000
#: The part of the model's context that the line may take.
_LINE_PART: Final = 4
#: Of 000: characters of a message and of all that are shown, and what is more than enough to sum up.
_MESSAGE_CHARS: Final = 300
MAX_CHARS: Final = 4_000
MESSAGE_THRESHOLD: Final = 20
CHAR_THRESHOLD: Final = 10_000
KEEP_RECENT: Final = 10
_MORE: Final = {"zh": "（还有 {} 条没有列出）", "en": "({} more messages are not shown)"}


class MessageAnalyzer:
    """Decides which messages are summed up, and formats them; an element that is no message is passed over."""

    _SKIP_PREFIXES: ClassVar[tuple[str, ...]] = SKIP_PREFIXES

    def format_messages_for_summary(self, messages: Sequence[Mapping[str, Any]], max_chars: int = MAX_CHARS) -> str:
        """
        Return the messages as lines `ROLE: text`, oldest first, at most *max_chars* characters, without courtesies.

        A message of more than 300 characters is cut. Where not all fit, the last line says how many are missing;
        `ConversationSummarizer` leaves none out.

        >>> messages = [{"role": "user", "content": "对花生过敏"}, {"role": "assistant", "content": "好的"}]
        >>> MessageAnalyzer().format_messages_for_summary(messages)
        'USER: 对花生过敏'
        """
        lines = [_shortened(entry, _MESSAGE_CHARS) for entry in entries_of(messages)]
        whole = "\n".join(lines)
        if len(whole) <= max_chars:
            return whole
        more = _MORE[language_of(whole)]
        shown: list[str] = []
        room = max_chars - len(more.format(len(lines)))
        for line in lines:
            room -= len(line) + 1
            if room < 0:
                break
            shown.append(line)
        return "\n".join([*shown, more.format(len(lines) - len(shown))])[: max(0, max_chars)]

    def should_summarize(
        self,
        messages: Sequence[Mapping[str, Any]],
        message_threshold: int = MESSAGE_THRESHOLD,
        char_threshold: int = CHAR_THRESHOLD,
    ) -> bool:
        """Return whether there are more messages, or more characters in them, than these."""
        return len(messages) > message_threshold or sum(len(entry.text) for _, entry in _read_all(messages)) > char_threshold

    def split_messages(
        self, messages: Sequence[Mapping[str, Any]], keep_recent: int = KEEP_RECENT
    ) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
        """
        Return the messages to sum up and those to keep, the *keep_recent* newest.

        A call of a tool and its results stay together, and so do a question and the courtesy that answers it.
        """
        if keep_recent < 0:
            raise ValueError(f"keep_recent is {keep_recent}, and must be 0 or more")
        at = max(0, len(messages) - keep_recent)
        entries = _read_all(messages)
        may_divide = whole_pairs([entry for _, entry in entries]).may_divide
        inside = {place for (place, _), may in zip(entries, may_divide, strict=True) if not may}
        inside |= {place for (_, before), (place, entry) in pairwise(entries) if answers_question(entry, before)}
        while 0 < at < len(messages) and at in inside:
            at -= 1
        return list(messages[:at]), list(messages[at:])


class ConversationSummarizer:
    """
    Sums up conversations in one line of at most *char_limit* characters, and at most a quarter of the model's context.

    *provider* is any object with `chat_stream(messages=…, temperature=…)`, which gives an iterator of texts or of chunks, plain
    or asynchronous. *template* returns the prompts; context, temperature and time limit are those of `llm` in *config*;
    after the *deadline* no model is waited for. `should_summarize` and `get_messages_to_keep` are the analyzer's.
    """

    analyzer = MessageAnalyzer()
    should_summarize = analyzer.should_summarize
    get_messages_to_keep = analyzer.split_messages

    def __init__(
        self,
        provider: ChatStream | Model,
        char_limit: int = 2000,
        *,
        template: Callable[[str, Language], PromptTemplate] = shipped_template,
        config: Config | None = None,
        deadline: Deadline = NEVER,
    ) -> None:
        if char_limit < 1:
            raise ValueError(f"char_limit is {char_limit}, and must be 1 or more")
        self._model, self._char_limit, self._template = model_of(provider), char_limit, template
        self._deadline = deadline
        self._config = config or Config()

    async def summarize_conversation(self, messages: Sequence[Mapping[str, Any]], previous_summary: str = "") -> str:
        """
        Return the conversation in one line, several matters separated by `；`, together with the *previous_summary*.

        What is too long goes in pieces, oldest first, and nothing is left out. Where there is nothing to record it is the
        *previous_summary*, and a conversation of courtesies asks the model nothing. NoSummary if the model fails, or writes a
        text that can't be kept.
        """
        entries = entries_of(messages, self._config.archive.zone)
        language = language_of("\n".join(entry.text for entry in entries))
        config = self._config
        entries = [replace(entry, text=without_secrets(entry.text, language, config.privacy)) for entry in entries]
        line_tokens = config.llm.context_tokens // _LINE_PART
        fold = Fold(entries, previous_summary, language, config.tokens.cjk_weight)
        writer = self._writer("\n".join(entry.text for entry in entries), line_tokens)
        while fold.left:
            name, place, values = "conversation-to-memory", "messages", dict[str, str]()
            if fold.so_far:
                name, place = "recursive-summary", "past_messages"
                previous = without_secrets(fold.so_far, language, config.privacy)
                values = {"previous_summary": quote(previous, language), "char_limit": str(writer.max_chars)}
            await writer.add_piece(fold, name, values, place)
            fold.so_far = in_one_line(fold.so_far)
        return fold.so_far

    def _writer(self, text: str, line_tokens: int) -> SummaryWriter:
        """Return the writer for a line about *text*, of at most *line_tokens* with as many characters as that has."""
        llm, weight = self._config.llm, self._config.tokens.cjk_weight
        most = min(self._char_limit, max(1, line_tokens * len(text) // max(1, estimate_tokens(text, weight))))
        return SummaryWriter(
            model=self._model,
            template=self._template,
            max_chars=most,
            size=lambda text: len(in_one_line(text)),
            most=most,
            limits=CallLimits(timeout=llm.timeout, deadline=self._deadline, temperature=llm.temperature),
            cjk_weight=weight,
            context_tokens=llm.context_tokens,
            answer_tokens=line_tokens,
            piece_tokens=_PIECE_TOKENS,
        )


def entries_of(messages: Sequence[Mapping[str, Any]], zone: tzinfo | None = None) -> list[Entry]:
    """Return what people, assistants and tools say as lines `ROLE: text`, without courtesies; with days in a *zone*."""
    entries = [entry for _, entry in _read_all(messages) if entry.role != "system"]
    days = [_day_of(entry, zone) if zone else None for entry in entries]
    return [replace(entry, head=entries[n].role.upper(), day=days[n]) for n, entry in dialogue(entries, "en")]


def _day_of(message: Said, zone: tzinfo) -> date | None:
    with suppress(ValueError, TypeError):
        return local_day(from_wire(message.raw["createdAt"]), zone) if message.raw.get("createdAt") else None
    return None


def _read_all(messages: Sequence[Mapping[str, Any]]) -> list[tuple[int, Said]]:
    entries = []
    for n, raw in enumerate(messages):
        with suppress(ValueError):
            entries.append((n, read_said(raw)))
    return entries


def _shortened(entry: Entry, chars: int) -> str:
    if len(entry.text) > chars:
        entry = replace(entry, text=f"{entry.text[: snippet_span(entry.text, chars)[1]]}...")
    return entry.shown("en")
