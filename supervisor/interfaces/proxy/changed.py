"""
The body that the model server gets: the client's, with memory in it, and without the oldest turns if the window is small. Pure.

What is cut are whole turns, from a question to the next, so that no call of a tool is parted from its result. They leave some
at once, so that the beginning stays the same for some turns, and a server that keeps its work for an equal beginning reads only
what is new. They are kept: memory finds them.
"""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

from ...context.history_window import PARTS, MemoryPlace, usable
from ...context.render import framed
from ...context.spoken import spoken
from ...text.llm_input import MESSAGE_TOKENS, estimate_tokens
from .talk import MESSAGES_FIELD, SYSTEM_FIELD, SYSTEM_ROLES, Kind, Talk, words_of

#: Turns that leave at once.
_AT_ONCE: Final = 8
#: Tokens that a picture or another file counts as: servers make some hundred to some thousand of one.
_FILE_TOKENS: Final = 1_000
#: A text with more characters than this for each token that is left is not counted: it is too long.
_CHARS_PER_TOKEN: Final = 8
#: Tokens of the tags around memory, and the fewest that a block of memory is worth.
_FRAME_TOKENS: Final = 20
_LEAST_MEMORY: Final = 64


class Room(NamedTuple):
    """What fits the window: *memory* tokens at most (0: none), without the messages before the one at *begin*."""

    memory: int
    begin: int = 0


def room(talk: Talk, window: int, memory: int, *, cjk_weight: float = 1.0, keep_turns: int = 3) -> Room:
    """
    Return what fits a *window* of so many tokens (0: not known): first *memory* is made smaller, then the oldest turns are cut.

    Never cut are system messages, the last turns, and what belongs to the question. A Chinese character is *cjk_weight* tokens.
    """
    if not window:
        return Room(memory)
    fixed = _tokens([talk.system, talk.value("tools"), talk.value("functions")], cjk_weight, window)
    most = usable(window, fixed + _FRAME_TOKENS)
    (first, left), begin = _from_end(talk, most, cjk_weight), 0
    if first:
        left = max(0, most // PARTS)
        first, _ = _from_end(talk, most - min(memory, left), cjk_weight)
        begin = _question_from(talk, first, keep_turns)
    memory = min(memory, left)
    return Room(memory if memory >= _LEAST_MEMORY else 0, begin)


def _from_end(talk: Talk, tokens: int, weight: float) -> tuple[int, int]:
    """Return the number of the first message from which on all fit so many *tokens*, and how many of these are left."""
    for n in reversed(range(len(talk.messages))):
        message = talk.messages[n]
        size = 0 if message.role in SYSTEM_ROLES else _tokens(message.value, weight, max(1, tokens)) + MESSAGE_TOKENS
        if size > tokens:
            return n + 1, tokens
        tokens -= size
    return 0, tokens


def _question_from(talk: Talk, first: int, keep_turns: int) -> int:
    """Return the number of the first message that stays: a question from *first* on, or that of the last turns."""
    turns = [n for n, message in enumerate(talk.messages) if message.role == "user" and spoken(message.words)]
    last = max(0, len(turns) - max(1, keep_turns))
    begin = next((n for n in range(last) if turns[n] >= first), last)
    return turns[min(-(-begin // _AT_ONCE) * _AT_ONCE, last)] if begin else 0


def _tokens(value: Any, weight: float, enough: int) -> int:
    if isinstance(value, str):
        is_file = value.startswith("data:") or (len(value) > _FILE_TOKENS and value.isascii() and " " not in value)
        return _FILE_TOKENS if is_file else estimate_tokens(value[: enough * _CHARS_PER_TOKEN], weight)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(_tokens(part, weight, enough) for part in inner)


def with_memory(talk: Talk, memory: str, where: MemoryPlace, begin: int = 0) -> bytes:
    """
    Return the body with *memory* in its place (`context.memory_in`), between tags, and without the turns before *begin*.

    It is empty where the client's can't be written again.
    """
    name = MESSAGES_FIELD[talk.kind]
    fields, is_listed = dict(talk.fields), isinstance(talk.fields[name], list)
    messages = [message.value for n, message in enumerate(talk.messages) if n >= begin or message.role in SYSTEM_ROLES]
    at = len(messages) - len(talk.messages) + talk.at
    if block := framed(memory):
        if where == "system":
            _put_in_system(talk.kind, fields, messages, block)
        elif where == "message" and is_listed:
            messages.insert(at, {"role": "user", "content": block})
        else:
            messages[at] = _with_block(messages[at], block)
    fields[name] = messages if is_listed else messages[0]
    try:
        return json.dumps(fields, allow_nan=False).encode()
    except ValueError:  # 1e400 is a number of JSON, and none here
        return b""


def _put_in_system(kind: Kind, fields: dict[str, Any], messages: list[Any], block: str) -> None:
    prompts = [n for n, message in enumerate(messages) if isinstance(message, dict) and message.get("role") in SYSTEM_ROLES]
    if prompts:
        messages[prompts[0]] = _with_block(messages[prompts[0]], block, is_behind=True)
    elif name := SYSTEM_FIELD[kind]:
        fields[name] = _joined(fields.get(name), block, is_behind=True)
    else:
        messages.insert(0, {"role": "system", "content": block})


def _with_block(message: Any, block: str, *, is_behind: bool = False) -> Any:
    if isinstance(message, str):  # the whole input of a response
        return _joined(message, block, is_behind=is_behind)
    return {**message, "content": _joined(message.get("content"), block, is_behind=is_behind)}


def _joined(content: Any, block: str, *, is_behind: bool) -> Any:
    """Return the content with the block before its last words that are a person's, or behind; the block if it has none."""
    if isinstance(content, list):
        texts = [n for n, part in enumerate(content) if words_of([part]).strip()]
        texts = [n for n in texts if spoken(words_of([content[n]]))] or texts
        if not texts:
            return [*content, {"type": "text", "text": block}]
        at, part = texts[-1], content[texts[-1]]
        return [*content[:at], {**part, "text": _joined(part["text"], block, is_behind=is_behind)}, *content[at + 1 :]]
    if not content or not content.strip():
        return block
    return f"{content}\n\n{block}" if is_behind else f"{block}\n\n{content}"
