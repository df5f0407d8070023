"""
The messages of a conversation as the rules need them: speaker, tokens, calls of tools, and where it may be divided.

A conversation is divided between turns. A turn begins with a question of the user's after an answer; the last one is open until
its last message is an answer. A call of a tool and its results are never divided. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC
from typing import Any, Final

from ..protocol.message import InvalidEntry, read_message
from ..protocol.parts import call_ids, file_lines, only_results, result_ids, speaker_of, tool_lines
from ..text.language import Language, is_chitchat
from ..text.llm_input import MESSAGE_TOKENS, Entry, estimate_tokens
from ..text.llm_output import after_thoughts
from ..text.record import record

#: Tokens of a picture or another file, roughly what hosted models count for one.
_FILE_TOKENS: Final = 1_000
#: Who speaks, as 004 writes it.
_SPEAKERS: Final = {
    "zh": {"user": "用户", "assistant": "助手", "tool": "工具", "function": "工具"},
    "en": {"user": "User", "assistant": "Assistant", "tool": "Tool", "function": "Tool"},
}
#: Characters at the end of a message that show that it asks.
_LAST_WORDS: Final = 80
_COLON: Final = {"zh": "：", "en": ": "}


@record
class Said:
    """
    A message: *raw* as it was given, *text* as a person reads it, its tokens, the ids of its calls and of its results.

    *is_question*: the user says something; a message that only brings results of tools is none.
    """

    raw: Mapping[str, Any]
    role: str
    text: str
    tokens: int
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    is_question: bool = False

    @property
    def is_answer(self) -> bool:
        """Whether it ends a turn: words of the assistant without a call."""
        return self.role == "assistant" and not self.calls and not self.results


def read_said(raw: object, tokens_in: Callable[[str], int] = estimate_tokens) -> Said:
    """
    Return a chat-completions message, read as the archive reads it; ValueError, with one sentence, if it is none.

    *tokens_in* counts the tokens of a text.
    """
    if isinstance(raw, dict) and "content" not in raw and raw.get("tool_calls"):
        raw = {**raw, "content": None}
    message = read_message(raw, UTC)
    if isinstance(message, InvalidEntry):
        raise ValueError(f"this is no message: {message.why}; give an object with role and content")  # noqa: TRY004 - one kind
    files = file_lines(message.raw)
    calls = message.raw.get("tool_calls") or message.raw.get("function_call")
    sent = f"{message.text}{json.dumps(calls, ensure_ascii=False, default=str)}" if calls else message.text
    return Said(
        message.raw,
        message.role,
        "\n".join(filter(None, (message.text, *files, *tool_lines(message.raw)))),
        tokens_in(sent) + len(files) * _FILE_TOKENS + MESSAGE_TOKENS,
        call_ids(message.raw),
        result_ids(message.raw),
        message.role == "user" and not only_results(message.raw),
    )


def turn_starts(messages: Sequence[Said]) -> list[int]:
    """
    Return where each turn begins; what is before the first question belongs to the first turn.

    A question that is asked before the one before it was answered belongs to the same turn, and so does one between a call and
    its result.
    """
    whole = whole_pairs(messages)
    starts = [0] if messages else []
    answered = has_question = False
    for n, message in enumerate(messages):
        if message.is_question and has_question and answered and whole.may_divide[n]:
            starts.append(n)
            answered = False
        has_question = has_question or message.is_question
        answered = answered or message.is_answer
    return starts


def is_open(turn: Sequence[Said]) -> bool:
    """Return whether the last turn still waits for its answer."""
    return bool(turn) and not turn[-1].is_answer


@record
class Pairs:
    """Before which messages a conversation may be divided, and which messages are not half of a pair."""

    may_divide: tuple[bool, ...]
    is_whole: tuple[bool, ...]


def whole_pairs(messages: Sequence[Said]) -> Pairs:
    """Return what calls and their results allow; a call without its result, and a result without its call, is a half."""
    linked = [n for n, message in enumerate(messages) if message.calls or message.results]  # few, while the others are many
    waiting: dict[str, list[int]] = {}
    missing = {n: len(messages[n].calls) for n in linked}
    callers: dict[int, list[int]] = {n: [] for n in linked}
    may_divide, is_whole = [True] * (len(messages) + 1), [True] * len(messages)
    for n in linked:
        for result in messages[n].results:
            if not waiting.get(result):
                missing[n] += 1  # nobody asked for it
                continue
            caller = waiting[result].pop()
            missing[caller] -= 1
            callers[n].append(caller)
            may_divide[caller + 1 : n + 1] = [False] * (n - caller)
        for call in messages[n].calls:
            waiting.setdefault(call, []).append(n)
    for n in linked:
        # subtle: a result whose caller lacks another result is a half as well
        is_whole[n] = not missing[n] and not any(missing[caller] for caller in callers[n])
    return Pairs(tuple(may_divide[: len(messages)]), tuple(is_whole))


def dialogue(messages: Sequence[Said], language: Language) -> list[tuple[int, Entry]]:
    """
    Return the messages as lines of a dialogue, 用户：…, each with its place; without courtesies and what a model thought.

    A courtesy stays where it answers a question: "好的" may be the decision.
    """
    entries = []
    before: Said | None = None
    for n, message in enumerate(messages):
        text = _spoken(message)
        if text and (not is_chitchat(text) or (before and answers_question(message, before))):
            head = _SPEAKERS[language].get(message.role, message.role)
            name = speaker_of(message.raw)
            entries.append((n, Entry(f"{head} {name}" if name else head, text, colon=_COLON[language])))
        before = message if text else before
    return entries


def answers_question(message: Said, before: Said) -> bool:
    """Return whether a message is a courtesy that follows a question."""
    last_words = _spoken(before)[-_LAST_WORDS:]
    return is_chitchat(_spoken(message)) and ("?" in last_words or "？" in last_words)


def _spoken(message: Said) -> str:
    """Return the text without what a model only thought."""
    return after_thoughts(message.text).strip()
