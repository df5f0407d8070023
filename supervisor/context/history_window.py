"""
The history block: which of the last messages it shows, and how much of each (003, 历史会话; 上下文注入预算).

`share` divides a model's context between memory and history; budgets are ceilings. `window` takes the newest messages, at
most twenty. Long messages of the assistant are always cut. Those of the user are cut, oldest first, only if the block would
otherwise exceed its budget or lose a message. To show at least five messages all are cut shorter; fewer are shown only if
nothing readable would remain of them.
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

#: Tokens that the chat template adds to each message.
MESSAGE_TOKENS: Final = 4
#: Marks the end of a message that was cut.
CUT: Final = "…[truncated]"
#: The share of the context that is kept for the answer: one quarter.
_ANSWER_DIVISOR: Final = 4
#: Of the rest, memory takes one part and history two.
_PARTS: Final = 3
#: The shortest piece of a message that is shown.
_MIN_CHARS: Final = 20
#: A text with more characters than this for each token of the budget is not counted: it is too long.
_CHARS_PER_TOKEN: Final = 8
_SPEAKERS: Final = frozenset({"user", "assistant"})
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Budgets:
    """The token budgets of the memory block and of the history block."""

    memory: int = 2048  # 003
    history: int = 4096  # 003


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowLimits:
    """The limits of a history block; the defaults are those of 003."""

    tokens: int = 4096
    least: int = 5  # messages
    most: int = 20
    message_chars: int = 500
    cjk_weight: float = 1.0


@dataclass(frozen=True, slots=True)
class WindowMessage:
    """One message of the block; *is_whole*: it was not cut."""

    role: str
    text: str
    id: str
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class Window:
    """The history block: its messages, oldest first, and its tokens."""

    said: tuple[WindowMessage, ...] = ()
    tokens: int = 0


def share(context_tokens: int, fixed_tokens: int, limits: Budgets) -> Budgets:
    """
    Return the budgets of memory and history in a context of *context_tokens* (0: not known).

    A quarter is kept for the answer; *fixed_tokens* are those of system prompt, tools and question, which come first. The rest
    is divided between memory and history as 1 : 2, never above *limits*.

    >>> share(8192, 500, Budgets()), share(4096, 572, Budgets()), share(0, 500, Budgets())
    (Budgets(memory=1881, history=3762), Budgets(memory=833, history=1666), Budgets(memory=2048, history=4096))
    """
    if not context_tokens:
        return limits
    part = max(0, context_tokens - -(-context_tokens // _ANSWER_DIVISOR) - fixed_tokens) // _PARTS
    return Budgets(min(limits.memory, part), min(limits.history, part * (_PARTS - 1)))


def window(messages: Sequence[Message], limits: WindowLimits) -> Window:
    """Return the history block for *messages* (oldest first): those of user and assistant, each once."""
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
    """Return lengths at which all messages fit: the user's whole, except as many of the oldest as have to be cut."""
    longest, caps = talk.all_cut(), [0 if role == "user" else talk.limits.message_chars for role in talk.roles]
    for i, cap in enumerate(longest):
        if talk.fits(caps):
            break
        caps[i] = cap
    return caps


def _equally_short(talk: _WindowBuilder) -> list[int]:
    """Return the greatest lengths at which all messages fit, the assistant's half of the user's (003); [] if too short."""
    most, found = talk.limits.message_chars, []
    low, high = _MIN_CHARS, 2 * most
    while low <= high:
        middle = (low + high) // 2
        caps = [min(most, middle if role == "user" else max(_MIN_CHARS, middle // 2)) for role in talk.roles]
        if talk.fits(caps):
            found, low = caps, middle + 1
        else:
            high = middle - 1
    return found


def _once(messages: Sequence[Message]) -> list[Message]:
    """Return the messages that can be shown; of those with one id, or one time, speaker and text, the newest."""
    seen: set[tuple[object, ...]] = set()
    kept: list[Message] = []
    for message in reversed(messages):
        keys: set[tuple[object, ...]] = {("id", message.id)} if message.id else set()
        if message.created_at:
            keys.add((message.created_at, message.role, message.text))
        if message.role in _SPEAKERS and message.text.strip() and not seen & keys:
            kept.append(message)
            seen |= keys
    return kept[::-1]


class _WindowBuilder:
    """A history block while it is fitted. A list of lengths has one number of characters for each message, 0: whole."""

    def __init__(self, messages: Sequence[Message], limits: WindowLimits) -> None:
        self.limits = limits
        self._messages = list(messages)
        self._made: dict[tuple[int, int], tuple[WindowMessage, int]] = {}

    @property
    def count(self) -> int:
        """The number of messages."""
        return len(self._messages)

    @property
    def roles(self) -> list[str]:
        """The role of each message."""
        return [message.role for message in self._messages]

    def all_cut(self) -> list[int]:
        """Return the lengths at which every message is cut at `message_chars`."""
        return [self.limits.message_chars] * self.count

    def drop_oldest(self) -> None:
        """Leave the oldest message out."""
        del self._messages[0]

    def fits(self, caps: Sequence[int]) -> bool:
        """Return whether the messages at these lengths fit the budget."""
        return self.block(caps).tokens <= self.limits.tokens

    def block(self, caps: Sequence[int]) -> Window:
        """Return the block with the messages at these lengths."""
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
            too_long = len(said.text) > self.limits.tokens * _CHARS_PER_TOKEN
            tokens = self.limits.tokens if too_long else estimate_tokens(said.text, self.limits.cjk_weight)
            self._made[key] = said, tokens + MESSAGE_TOKENS
        return self._made[key]
