"""
How many tokens memory and history may take of a model's context (003, 上下文注入预算). Budgets are ceilings.

Which of the last messages stand before the assistant, and how much of each (003, 历史会话).

Newest backwards, twenty at most. The assistant's long messages are always cut, the user's only where the block would else
pass its budget or lose a message, the oldest first. The budget is a ceiling: five messages at least hold by being cut
shorter, and only where nothing would be left of them there are fewer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from supervisor.text.snippet import snippet_span
from supervisor.text.token_count import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.protocol.message import Message

#: Of the context, what is kept for the answer.
_ANSWER: Final = 4  # a quarter
#: Of what is left then, memory takes one part and history two.
_PARTS: Final = 3


@dataclass(frozen=True, slots=True)
class Budgets:
    """Tokens of the memory block and of the history block."""

    memory: int = 2048  # 003
    history: int = 4096  # 003


def share(context_tokens: int, fixed_tokens: int, limits: Budgets) -> Budgets:
    """
    Return what memory and history may take in a context of *context_tokens*, 0: not known.

    A quarter is kept for the answer; *fixed_tokens* are those of system prompt, tools and question, which come first. The rest
    goes to memory and history as 1 : 2, never above *limits*.

    >>> share(8192, 500, Budgets()), share(4096, 572, Budgets()), share(0, 500, Budgets())
    (Budgets(memory=1881, history=3762), Budgets(memory=833, history=1666), Budgets(memory=2048, history=4096))
    """
    if not context_tokens:
        return limits
    part = max(0, context_tokens - -(-context_tokens // _ANSWER) - fixed_tokens) // _PARTS
    return Budgets(min(limits.memory, part), min(limits.history, part * (_PARTS - 1)))


#: What the marks of a chat cost around each message.
MESSAGE_TOKENS: Final = 4
#: Stands where words are missing.
CUT: Final = "…[truncated]"
#: The shortest piece of a message that is shown.
_LEAST_CHARS: Final = 20
#: A text with more characters than this for each token of the budget is not counted: it is too long.
_CHARS_A_TOKEN: Final = 8
_SPEAKERS: Final = frozenset({"user", "assistant"})
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowLimits:
    """What a history block may be; defaults are 003's."""

    tokens: int = 4096
    least: int = 5  # messages
    most: int = 20
    message_chars: int = 500
    cjk_weight: float = 1.0


@dataclass(frozen=True, slots=True)
class WindowMessage:
    """One message of the block; *is_whole* where none of its words are missing."""

    role: str
    text: str
    id: str
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class Window:
    """The block, oldest first, and its tokens."""

    said: tuple[WindowMessage, ...] = ()
    tokens: int = 0


def window(messages: Sequence[Message], limits: WindowLimits) -> Window:
    """Return the block of *messages* (oldest first): what was said by user and assistant, each message once."""
    talk = _WindowBuilder(_once(messages)[-limits.most :], limits)
    while talk.count > limits.least and not talk.fits(talk.all_cut()):
        talk.drop_oldest()
    if talk.fits(talk.all_cut()):
        return talk.block(_as_long_as_may_be(talk))
    while talk.count:
        caps = _equally_short(talk)
        if caps:
            return talk.block(caps)
        talk.drop_oldest()
    return Window()


def _as_long_as_may_be(talk: _WindowBuilder) -> list[int]:
    """Return lengths at which all fit: the user's messages whole, as many of the oldest cut as must be."""
    longest, caps = talk.all_cut(), [0 if role == "user" else talk.limits.message_chars for role in talk.roles]
    for i, cap in enumerate(longest):
        if talk.fits(caps):
            break
        caps[i] = cap
    return caps


def _equally_short(talk: _WindowBuilder) -> list[int]:
    """Return the greatest lengths at which all fit, the assistant's half of the user's (003); none where too little is left."""
    most, found = talk.limits.message_chars, []
    low, high = _LEAST_CHARS, 2 * most
    while low <= high:
        middle = (low + high) // 2
        caps = [min(most, middle if role == "user" else max(_LEAST_CHARS, middle // 2)) for role in talk.roles]
        if talk.fits(caps):
            found, low = caps, middle + 1
        else:
            high = middle - 1
    return found


def _once(messages: Sequence[Message]) -> list[Message]:
    """Return the messages that can be shown; of those with one id, or one time, speaker and text, the newest."""
    met: set[tuple[object, ...]] = set()
    kept: list[Message] = []
    for message in reversed(messages):
        keys: set[tuple[object, ...]] = {("id", message.id)} if message.id else set()
        if message.created_at:
            keys.add((message.created_at, message.role, message.text))
        if message.role in _SPEAKERS and message.text.strip() and not met & keys:
            kept.append(message)
            met |= keys
    return kept[::-1]


class _WindowBuilder:
    """The last messages, each counted once at each length; a list of lengths has one for each message, 0: whole."""

    def __init__(self, messages: Sequence[Message], limits: WindowLimits) -> None:
        self.limits = limits
        self._messages = list(messages)
        self._made: dict[tuple[int, int], tuple[WindowMessage, int]] = {}

    @property
    def count(self) -> int:
        """How many messages there are."""
        return len(self._messages)

    @property
    def roles(self) -> list[str]:
        """Who said each."""
        return [message.role for message in self._messages]

    def all_cut(self) -> list[int]:
        """Return the lengths of 003."""
        return [self.limits.message_chars] * self.count

    def drop_oldest(self) -> None:
        """Leave the oldest message out."""
        del self._messages[0]

    def fits(self, caps: Sequence[int]) -> bool:
        """Tell whether the messages at these lengths keep the budget."""
        return self.block(caps).tokens <= self.limits.tokens

    def block(self, caps: Sequence[int]) -> Window:
        """Return the messages at these lengths."""
        made = [self._said(message, chars) for message, chars in zip(self._messages, caps, strict=True)]
        return Window(tuple(said for said, _ in made), sum(tokens for _, tokens in made))

    def _said(self, message: Message, chars: int) -> tuple[WindowMessage, int]:
        key = (id(message), chars)
        if key not in self._made:
            end = snippet_span(message.text, chars)[1] if chars else len(message.text)
            text = _SURROGATE.sub("\ufffd", message.text[:end])
            said = WindowMessage(message.role, text, message.id)
            if end < len(message.text):
                said = WindowMessage(message.role, f"{text}{CUT}", message.id, is_whole=False)
            too_long = len(said.text) > self.limits.tokens * _CHARS_A_TOKEN
            tokens = self.limits.tokens if too_long else estimate_tokens(said.text, self.limits.cjk_weight)
            self._made[key] = said, tokens + MESSAGE_TOKENS
        return self._made[key]
