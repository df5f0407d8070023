"""
A model that is asked within the day's calls: each is counted before it is made, and what it cost is kept whatever comes of it.

Source: docs/reference/protocol.md, 6.7.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from recalld.supervisor.protocol.config import Config
from recalld.supervisor.protocol.llm import Account
from recalld.supervisor.protocol.prompts import Prompt, text_of
from recalld.supervisor.storage.clock import Clock
from recalld.supervisor.storage.errors import Busy
from recalld.supervisor.text.llm_input import estimate_tokens

from .providers import Model, NoCall, ProviderError, Usage

#: Tokens reserved for the answer: the context divided by this, and at most so many. Thinking may use more if there is room.
_ANSWER_PART: Final = 4
_ANSWER_MAX: Final = 2_048
_THOUGHT_MAX: Final = 8_192
#: How many percent an estimate may be too low, and the tokens that the server itself puts around a prompt.
_ESTIMATE_ERROR: Final = 10
SERVER_TOKENS: Final = 32


class CallBook(Protocol):
    """Where calls are counted before they are made: `protocol.llm.CallLog`, or what a pool allows a task."""

    def begin(self, now: datetime, most: int | None, account: Account = "summaries") -> bool:
        """Count a call; False when there were *most* today. Busy or OSError when it can't be counted."""
        ...


@dataclass(slots=True)
class Calls:
    """The calls of one task; *usage* is right at any time."""

    model: Model
    config: Config
    log: CallBook
    clock: Clock
    cancelled: Callable[[], bool]
    is_asked: bool = False  # a person asked for it: its calls are counted, and not held back
    account: Account = "summaries"
    window: int | None = None  # of the server, in tokens, where it says so
    usage: Usage = Usage()  # noqa: RUF009 - immutable
    answered: str = ""  # the model that wrote the last answer, by the server's word

    def complete(self, prompt: Prompt, most: int = _THOUGHT_MAX) -> str:
        """Return the model's answer of at most *most* tokens, one call of the day; or ProviderError, Cancelled, NoCall."""
        left = self.context - SERVER_TOKENS - self.tokens(text_of(prompt)) * (100 + _ESTIMATE_ERROR) // 100
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
        """The tokens of prompt and answer together: what is configured, or less where the server has less."""
        return min(self.config.llm.context_tokens, self.window or self.config.llm.context_tokens)

    @property
    def reserve(self) -> int:
        """The tokens that an answer may need."""
        return min(_ANSWER_MAX, self.context // _ANSWER_PART)

    def tokens(self, text: str) -> int:
        """Return about how many tokens the text has."""
        return estimate_tokens(text, self.config.tokens.cjk_weight)

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
