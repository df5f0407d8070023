"""`ConversationSummarizer`: a conversation as one line for the long-term memory, written by the user's model; as in 000."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ..protocol.config import Config
from ..protocol.prompts import shipped_template, without_secrets
from ..storage.clock import NEVER
from ..summaries.model import CallLimits, Model
from ..text.language import Language, language_of
from ..text.quoting import Fold, quote
from ..text.token_count import estimate_tokens
from .analyzer import MessageAnalyzer, entries_of
from .asking import SummaryWriter, in_one_line
from .own_model import model_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..protocol.prompts import PromptTemplate
    from ..storage.clock import Deadline
    from .own_model import ChatStream

#: The most tokens of the conversation in one call; in Chinese the 4,000 characters of 000.
_PIECE_TOKENS: Final = 4_000
#: The template of a conversation that has no summary so far, and the place of its messages.
_ALONE: Final = ("conversation-to-memory", "messages")
#: The part of the model's context that the line may take.
_LINE_PART: Final = 4


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
        text that can't be kept, both at once and exchange by exchange.
        """
        entries = entries_of(messages, self._config.archive.zone)
        language = language_of("\n".join(entry.text for entry in entries))
        config = self._config
        entries = [replace(entry, text=without_secrets(entry.text, language, config.privacy)) for entry in entries]
        line_tokens = config.llm.context_tokens // _LINE_PART
        fold = Fold(entries, previous_summary, language, config.tokens.cjk_weight)
        writer = self._writer("\n".join(entry.text for entry in entries), line_tokens)
        while fold.left:
            (name, place), values = _ALONE, {}
            if fold.so_far:
                name, place = "recursive-summary", "past_messages"
                previous = without_secrets(fold.so_far, language, config.privacy)
                values = {"previous_summary": quote(previous, language), "char_limit": str(writer.max_chars)}
            blank = {**values, place: quote("", language)}
            room = min(_PIECE_TOKENS, writer.room(name, language, blank, config.llm.context_tokens, line_tokens))
            await writer.add_piece(fold, name, values, place, room)
            fold.so_far = in_one_line(fold.so_far)
        return fold.so_far

    def _writer(self, text: str, line_tokens: int) -> SummaryWriter:
        """Return the writer for a line about *text*, of at most *line_tokens* with as many characters as that has."""
        llm, weight = self._config.llm, self._config.tokens.cjk_weight
        most = min(self._char_limit, max(1, line_tokens * len(text) // max(1, estimate_tokens(text, weight))))
        return SummaryWriter(
            model=self._model,
            alone=_ALONE,
            template=self._template,
            max_chars=most,
            size=lambda text: len(in_one_line(text)),
            most=most,
            limits=CallLimits(timeout=llm.timeout, deadline=self._deadline, temperature=llm.temperature),
            cjk_weight=weight,
        )
