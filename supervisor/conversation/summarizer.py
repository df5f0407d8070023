"""`ConversationSummarizer`: a conversation as one line for the long-term memory, written by the user's model; as in 000."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from supervisor.conversation.analyzer import CHAR_THRESHOLD, KEEP_RECENT, MESSAGE_THRESHOLD, MessageAnalyzer, entries_of
from supervisor.conversation.asking import SummaryWriter
from supervisor.protocol.prompts import shipped_template
from supervisor.text.language import Language, language_of
from supervisor.text.quoting import quote, take_entries
from supervisor.text.redact import HIDDEN, redacted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from supervisor.conversation.asking import ChatStream
    from supervisor.protocol.prompts import PromptTemplate

#: Tokens of the conversation in one call; in Chinese the 4,000 characters of 000.
_PIECE_TOKENS: Final = 4_000
_TIMEOUT: Final = timedelta(minutes=10)
_SEPARATOR: Final[Mapping[Language, str]] = {"zh": "；", "en": "; "}
_MARK: Final = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|[-*+•][ \t]+|\d{1,3}[.)、][ \t]*)?|[；;。][ \t]*$")


class ConversationSummarizer:
    """
    Sums up conversations in one line of at most *char_limit* characters.

    *provider* is any object with `chat_stream(messages=…, temperature=…)`, which gives an iterator of texts or of chunks, plain
    or asynchronous. *template* returns the prompts, *timeout* is how long one call may take.
    """

    def __init__(
        self,
        provider: ChatStream,
        char_limit: int = 2000,
        *,
        template: Callable[[str, Language], PromptTemplate] = shipped_template,
        timeout: timedelta = _TIMEOUT,
    ) -> None:
        if char_limit < 1:
            raise ValueError(f"char_limit is {char_limit}, and must be 1 or more")
        self.analyzer = MessageAnalyzer()
        self._writer = SummaryWriter(
            model=provider,
            template=template,
            max_chars=char_limit,
            size=lambda text: len(_one_line(text)),
            most=char_limit,
            timeout=timeout,
        )

    async def summarize_conversation(self, messages: Sequence[Mapping[str, Any]], previous_summary: str = "") -> str:
        """
        Return the conversation in one line, several matters separated by `；`, together with the *previous_summary*.

        What is too long goes in pieces, oldest first, and nothing is left out. Where there is nothing to record it is the
        *previous_summary*, and a conversation of courtesies asks the model nothing. NoSummary if the model fails, or writes a
        text that can't be kept.
        """
        entries = entries_of(messages)
        language = language_of("\n".join(entry.text for entry in entries))
        entries = [replace(entry, text=redacted(entry.text, HIDDEN[language])) for entry in entries]
        summary = previous_summary
        while entries:
            text, _, rest = take_entries(entries, _PIECE_TOKENS, language, 1.0)
            piece = entries[: len(entries) - len(rest)] or entries[:1]
            quoted = quote(text, language)
            name, values = "conversation-to-memory", {"messages": quoted}
            if summary:
                name = "recursive-summary"
                limit = str(self._writer.max_chars)
                values = {"previous_summary": quote(summary, language), "past_messages": quoted, "char_limit": limit}
            summary = _one_line(await self._writer.write(name, language, values, piece, summary))
            entries = rest
        return summary

    def should_summarize(
        self,
        messages: Sequence[Mapping[str, Any]],
        message_threshold: int = MESSAGE_THRESHOLD,
        char_threshold: int = CHAR_THRESHOLD,
    ) -> bool:
        """Tell whether there are more messages, or more characters in them, than these."""
        return self.analyzer.should_summarize(messages, message_threshold, char_threshold)

    def get_messages_to_keep(
        self, messages: Sequence[Mapping[str, Any]], keep_recent: int = KEEP_RECENT
    ) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
        """Return the messages to sum up and those to keep, the *keep_recent* newest."""
        return self.analyzer.split_messages(messages, keep_recent)


def _one_line(text: str) -> str:
    r"""
    Return the text on one line, its lines as matters of the entry.

    >>> _one_line("- 决定用 JWT。\n- 周五部署。"), _one_line("用 JWT；周五部署。")
    ('决定用 JWT；周五部署', '用 JWT；周五部署。')
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 2:
        return text.strip()
    return _SEPARATOR[language_of(text)].join(filter(None, (_MARK.sub("", line).strip() for line in lines)))
