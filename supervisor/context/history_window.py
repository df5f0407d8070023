"""
The history block: which of the last messages it shows, how much of each (003, 历史会话; 上下文注入预算); and the whole turn.

`share` makes the budgets smaller for a small model. `window` takes the newest messages, at most twenty. The oldest are dropped
half of the block at a time, so that it begins with the same message for some turns, and a server with a prefix cache reads only
what is new. Long messages of the assistant are always cut. Those of the user are cut, oldest first, only if the block would
otherwise exceed its budget or lose a message. To show at least five messages all are cut shorter; fewer are shown only if
nothing readable would remain of them. If the budget has room left, the first message of each day has a line with the day before
it.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, tzinfo
from functools import cache
from typing import Final, Literal, TypeAlias

from ..protocol.message import UNSAID, Message
from ..protocol.parts import said_as
from ..text.language import Language
from ..text.lazy_re import lazy_re
from ..text.llm_input import MESSAGE_TOKENS, day_in_brackets, day_words, estimate_tokens
from ..text.snippet import snippet_span
from .render import framed

#: Marks the end of a message that was cut.
CUT: Final = "…[truncated]"
#: The share of the context that is kept for the answer: one quarter.
_ANSWER_DIVISOR: Final = 4
#: Of the rest, memory takes one part and history two.
PARTS: Final = 3
#: What memory has of a question is a part of so many tokens at least; the least tokens of memory, however little it has, and in
#: the smallest model; those of a message of which something readable is shown there.
_WHOLE_MEMORY: Final = 2048
_LEAST_MEMORY: Final = 512
_SHORT_MESSAGE: Final = 64
#: The shortest piece of a message that is shown.
_MIN_CHARS: Final = 20
#: A text with more characters than this for each token of the budget is not counted: it is too long.
_CHARS_PER_TOKEN: Final = 8
#: The oldest messages leave the block by half of the most that it shows.
_STEPS: Final = 2
_SURROGATE: Final = lazy_re("[\ud800-\udfff]")


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
    zone: tzinfo = UTC  # of the days
    language: Literal["zh", "en"] = "en"


@dataclass(frozen=True, slots=True)
class WindowMessage:
    """One message of the block; *is_whole*: it was not cut; *day_line* is the line before the first one of a day, else ""."""

    role: str
    text: str
    id: str
    is_whole: bool = True
    day_line: str = ""

    @property
    def content(self) -> str:
        """The text as it is sent, after its day."""
        return f"{self.day_line}\n{self.text}" if self.day_line else self.text


@dataclass(frozen=True, slots=True)
class Window:
    """The history block: its messages, oldest first, and its tokens."""

    messages: tuple[WindowMessage, ...] = ()
    tokens: int = 0


def share(window_tokens: int, fixed_tokens: int, limits: Budgets, least_messages: int) -> Budgets:
    """
    Return the budgets of memory and history for a model with a context window of *window_tokens*; 0, not known: *limits*.

    A quarter is kept for the answer; *fixed_tokens* are those of system prompt, tools and question, which come first. The rest
    is divided between memory and history as 1 : 2, never above *limits*, and never below 512 tokens of memory and room for
    *least_messages* short messages.

    >>> share(8192, 500, Budgets(), 5), share(4096, 2572, Budgets(), 5), share(0, 500, Budgets(), 5)
    (Budgets(memory=1881, history=3762), Budgets(memory=512, history=332), Budgets(memory=2048, history=4096))
    """
    if not window_tokens:
        return limits
    part = usable(window_tokens, fixed_tokens) // PARTS
    memory, history = max(part, _LEAST_MEMORY), max(part * (PARTS - 1), least_messages * _SHORT_MESSAGE)
    return Budgets(min(limits.memory, memory), min(limits.history, history))


def room(tokens: int, evidence: float) -> int:
    """Return how many of the *tokens* of memory its hits may take: by the root of how much memory has of what is asked."""
    return min(tokens, max(_LEAST_MEMORY, int(max(tokens, _WHOLE_MEMORY) * math.sqrt(evidence))))


def usable(window_tokens: int, fixed_tokens: int) -> int:
    """Return what a window has for memory and history: without the quarter that is kept for the answer, and what is fixed."""
    return window_tokens - -(-window_tokens // _ANSWER_DIVISOR) - fixed_tokens


def window(messages: Sequence[Message], limits: WindowLimits, before: int = 0) -> Window:
    """
    Return the history block for *messages* (oldest first): each message once, without prompts and messages of tools.

    *before* is the number of messages of the conversation before them.
    """
    kept = _newest(_once(messages, before), limits)

    @cache
    def at_length(place: int, chars: int) -> tuple[WindowMessage, int]:
        return _window_message(kept[place], chars, limits)

    # what each takes at least: cut, or whole, since the mark of a cut takes more than a few characters
    whole = enumerate(next(_lengths(kept, limits)))
    fewest = [min(at_length(place, chars)[1], at_length(place, limits.message_chars)[1]) for place, chars in whole]
    for start in range(len(kept)):
        if len(kept) - start > limits.least and sum(fewest[start:]) > limits.tokens:
            continue
        for lengths in _lengths(kept[start:], limits):
            block = [at_length(place, chars) for place, chars in enumerate(lengths, start)]
            tokens = sum(cost for _, cost in block)
            if tokens <= limits.tokens:
                return _with_days(Window(tuple(message for message, _ in block), tokens), kept[start:], limits)
    return Window()


def _lengths(messages: Sequence[Message], limits: WindowLimits) -> Iterator[list[int]]:
    """
    Yield the lengths at which messages may be shown, 0: whole, the longest first.

    The user's are whole but for as many of the oldest as have to be cut. The least messages get shorter and shorter, the
    assistant's half of the user's (003).
    """
    most, is_users = limits.message_chars, [said_as(message.role, "")[0] == "user" for message in messages]
    for cut in range(len(messages) + 1):
        yield [0 if is_user and n >= cut else most for n, is_user in enumerate(is_users)]
    for chars in range(2 * most, _MIN_CHARS - 1, -_MIN_CHARS) if len(messages) <= limits.least else ():
        yield [min(most, chars if is_user else max(_MIN_CHARS, chars // 2)) for is_user in is_users]


def _newest(kept: Mapping[int, Message], limits: WindowLimits) -> list[Message]:
    """Return the newest messages, as many as may be shown or up to half fewer: the first is a step of the conversation."""
    places, step = list(kept), max(1, limits.most // _STEPS)
    if len(places) <= limits.most:
        return list(kept.values())
    begin = -(-places[-limits.most] // step) * step
    at_least = places[-limits.least] if limits.least else begin
    return [message for place, message in kept.items() if place >= min(begin, at_least)]


def _once(messages: Sequence[Message], before: int) -> dict[int, Message]:
    """
    Return the messages that can be shown, by their places in the conversation.

    Of messages with the same id, or of one role with the same time and words, the newest is taken. What was said again at
    another time is another message: a request has to be before its answer. *before* is the place of the first.
    """
    seen: set[tuple[object, ...]] = set()
    kept: dict[int, Message] = {}
    for place, message in reversed([*enumerate(messages, before)]):
        keys: set[tuple[object, ...]] = {("id", message.id)} if message.id else set()
        if message.created_at:
            keys.add((message.created_at, message.role, message.text))
        if message.role not in UNSAID and message.text.strip() and not seen & keys:
            kept[place] = message
            seen |= keys
    return dict(reversed(kept.items()))


def _with_days(block: Window, messages: Sequence[Message], limits: WindowLimits) -> Window:
    """Return the block with a line before the first message of each day, the newest first, while the budget has room."""
    shown, tokens = list(block.messages), block.tokens
    days: list[date | None] = []
    for message in messages:
        at = message.created_at
        days.append(at.astimezone(limits.zone).date() if at else days[-1] if days else None)
    for n in reversed(range(len(shown))):
        day = days[n]
        if day and (not n or day != days[n - 1]):
            line = day_in_brackets(day, limits.language)
            cost = estimate_tokens(f"{line}\n")
            if tokens + cost <= limits.tokens:
                shown[n], tokens = replace(shown[n], day_line=line), tokens + cost
    return Window(tuple(shown), tokens)


def _window_message(message: Message, chars: int, limits: WindowLimits) -> tuple[WindowMessage, int]:
    role, words = said_as(message.role, message.text)
    end = snippet_span(words, chars)[1] if chars else len(words)
    is_whole = end == len(words)
    text = _SURROGATE.sub("\ufffd", words[:end]) + ("" if is_whole else CUT)
    too_long = len(text) > limits.tokens * _CHARS_PER_TOKEN
    tokens = limits.tokens if too_long else estimate_tokens(text)
    return WindowMessage(role, text, message.id, is_whole), tokens + MESSAGE_TOKENS


# ── the messages of a turn ───────────────────────────────────────────────────
#
# There is never more than one system message: the chat templates of several model families refuse a second one. By default
# memory is in the last message, before the question. What comes before it is then the same in the next turn, so that a server
# with a prefix cache does not read the conversation again.

#: `context.memory_in`
MemoryPlace: TypeAlias = Literal["question", "system", "message"]

_TIME: Final = {"zh": "（现在是{day} {time}。）", "en": "(It is {day}, {time}.)"}
_JOINT: Final = "\n\n"


def turn_messages(
    *,
    system: str,
    memory: str,
    history: Sequence[WindowMessage],
    question: str,
    now: datetime,
    place: MemoryPlace = "question",
    alternate: bool = False,
    language: Language = "en",
    summary: str = "",
) -> tuple[dict[str, str], ...]:
    """
    Return the messages ``{role, content}``: the system prompt as it is given, the recent history, the question.

    *summary* is the summary of the conversation before that history; it follows the system prompt.
    *memory* is in the place *place*, between the tags ``<memory>``. A line with the time *now*, in its zone, comes before the
    question. With *alternate* consecutive messages of one role are joined and the first message is the user's.
    """
    quoted = framed(memory)
    question_turn = [time_line(now, language), question] if question.strip() else []
    system_parts, before, last = [system, summary], "", question_turn
    match place:
        case "system":
            system_parts.append(quoted)
        case "message":
            before = quoted
        case "question":
            last = [quoted, *question_turn]
    earlier = [(message.role, message.content) for message in history if message.text.strip()]
    if alternate:
        first = next((n for n, (role, _) in enumerate(earlier) if role == "user"), len(earlier))
        earlier = earlier[first:]
    turn = [*earlier, ("user", before), ("user", _JOINT.join(part for part in last if part))]
    turn = [(role, text) for role, text in turn if text.strip()]
    begin = [("system", _JOINT.join(part for part in system_parts if part.strip()))]
    whole = [*(message for message in begin if message[1].strip()), *(_joined(turn) if alternate else turn)]
    return tuple({"role": role, "content": text} for role, text in whole)


def time_line(now: datetime, language: Language) -> str:
    """
    Return the line that says what time it is, to the minute.

    >>> from datetime import datetime
    >>> time_line(datetime(2026, 1, 28, 9, 5), "en"), time_line(datetime(2026, 1, 28, 9, 5), "zh")
    ('(It is Wednesday, 28 January 2026, 09:05.)', '（现在是2026年1月28日星期三 09:05。）')
    """
    return _TIME[language].format(day=day_words(now.date(), language), time=f"{now:%H:%M}")


def _joined(turn: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    joined: list[tuple[str, str]] = []
    for role, text in turn:
        if joined and joined[-1][0] == role:
            joined[-1] = role, joined[-1][1] + _JOINT + text
        else:
            joined.append((role, text))
    return joined
