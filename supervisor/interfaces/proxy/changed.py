"""
The body that the model server gets: the client's, with memory in it, and without the oldest turns if the window is small. Pure.

Nothing else changes, not a blank: the edits are made in the text (`places.py`). What is cut are whole turns, from a question to
the next, so that no call of a tool is parted from its result. They leave some at once, so that the beginning stays the same for
some turns, and a server that keeps its work for an equal beginning reads only what is new. They are kept: memory finds them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ...context.history_window import PARTS, usable
from ...context.render import framed
from ...context.spoken import spoken
from ...text.token_count import MESSAGE_TOKENS, estimate_tokens
from .places import before, edited, first_in, in_string, items, members, quoted
from .talk import SYSTEM_FIELD, SYSTEM_ROLES, words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...context.history_window import MemoryPlace
    from .places import Edit, Place
    from .talk import Talk

_JOINT: Final = "\n\n"
#: Turns that leave at once.
_AT_ONCE: Final = 8
#: Tokens that a picture or another file counts as: servers make some hundred to some thousand of one.
_FILE_TOKENS: Final = 1_000
#: A text with more characters than this for each token that is left is not counted: it is too long.
_CHARS_PER_TOKEN: Final = 8
#: Tokens of the tags around memory, and the fewest that a block of memory is worth.
_FRAME_TOKENS: Final = 20
_LEAST_MEMORY: Final = 64


class Window(NamedTuple):
    """
    The limits of a request: a window of so many *tokens* (0: not known), of them *memory* at most, and what stays of the talk.

    *keep_turns* are the last turns, which are never cut; one Chinese character counts as *cjk_weight* tokens.
    """

    tokens: int
    memory: int
    cjk_weight: float = 1.0
    keep_turns: int = 3


class Room(NamedTuple):
    """What fits the window: *memory* tokens at most (0: none), without the messages before the one at *begin*."""

    memory: int
    begin: int = 0


def room(talk: Talk, window: Window) -> Room:
    """
    Return what fits the window: first memory is made smaller, then the oldest turns are cut.

    Never cut are system messages, the last turns, and what belongs to the question.
    """
    size, weight = window.tokens, window.cjk_weight
    if not size:
        return Room(window.memory)
    fixed = _tokens([talk.system, talk.value("tools"), talk.value("functions")], weight, size) + _FRAME_TOKENS
    most = usable(size, fixed)
    sizes = _sizes_from_end(talk, weight, most)
    left = most - sum(sizes)
    if len(sizes) == len(talk.said) and left >= 0:
        memory = min(window.memory, left)
        return Room(memory if memory >= _LEAST_MEMORY else 0)
    memory = max(0, min(window.memory, most // PARTS))
    return Room(memory if memory >= _LEAST_MEMORY else 0, _begin(talk, sizes, most - memory, window.keep_turns))


def _sizes_from_end(talk: Talk, weight: float, enough: int) -> list[int]:
    """Return the tokens of the last messages, newest first, as far as they fit, and of one more."""
    sizes: list[int] = []
    total = 0
    for message in reversed(talk.said):
        if total > enough:
            break
        sizes.append(0 if message.role in SYSTEM_ROLES else _tokens(message.place.value, weight, enough) + MESSAGE_TOKENS)
        total += sizes[-1]
    return sizes


def _begin(talk: Talk, sizes: Sequence[int], budget: int, keep: int) -> int:
    """Return the number of the first message that stays: a question, after which everything fits the budget."""
    turns = [n for n, message in enumerate(talk.said) if message.role == "user" and spoken(message.words)]
    last = max(0, len(turns) - max(1, keep))

    def fits(n: int) -> bool:
        count = len(talk.said) - turns[n]
        return count <= len(sizes) and sum(sizes[:count]) <= budget

    begin = next((n for n in range(last) if fits(n)), last)
    return turns[min(-(-begin // _AT_ONCE) * _AT_ONCE, last)] if begin else 0


def _tokens(value: Any, weight: float, enough: int) -> int:
    if isinstance(value, str):
        is_file = value.startswith("data:") or (len(value) > _FILE_TOKENS and value.isascii() and " " not in value)
        return _FILE_TOKENS if is_file else estimate_tokens(value[: enough * _CHARS_PER_TOKEN], weight)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(_tokens(place, weight, enough) for place in inner)


def with_memory(talk: Talk, memory: str, where: MemoryPlace, begin: int = 0) -> bytes:
    """Return the body with *memory* in its place (`context.memory_in`), between tags, and without the turns before *begin*."""
    edits = _without(talk, begin)
    if block := framed(memory):
        match where:
            case "system":
                edits += _in_system(talk, block)
            case "message" if talk.listed:
                edits.append(before(talk.said[talk.at].place, quoted({"role": "user", "content": block})))
            case _:
                edits.append(_in_question(talk, block))
    return edited(talk.text, edits).encode("utf-8")


def _without(talk: Talk, begin: int) -> list[Edit]:
    """Return the edits that take out the messages before *begin*; system messages stay."""
    edits: list[Edit] = []
    for message, after in zip(talk.said[:begin], talk.said[1 : begin + 1], strict=True):
        if message.role not in SYSTEM_ROLES:
            start = edits.pop()[0] if edits and edits[-1][1] == message.place.start else message.place.start
            edits.append((start, after.place.start, ""))
    return edits


def _in_question(talk: Talk, block: str) -> Edit:
    """Return the edit that puts the block before the question, in the part that has its last words."""
    place = talk.said[talk.at].place
    content = place if isinstance(place.value, str) else members(talk.text, place)["content"]
    return in_string(_text_in(talk, content), block + _JOINT)


def _in_system(talk: Talk, block: str) -> list[Edit]:
    """Return the edit that puts the block behind the system prompt; where there is none, it is the block."""
    name = SYSTEM_FIELD[talk.kind]
    message = next((message for message in talk.said if message.role in SYSTEM_ROLES), None)
    content = members(talk.text, message.place).get("content") if message else talk.fields.get(name)
    if content and words_of(content.value).strip():
        return [in_string(_text_in(talk, content), _JOINT + block, at_end=True)]
    if content and not isinstance(content.value, list):
        return [(content.start, content.end, quoted(block))]
    if name:
        return [first_in(talk.whole, f"{quoted(name)}: {quoted(block)}")]
    return [first_in(talk.listed, quoted({"role": "system", "content": block}))] if talk.listed else []


def _text_in(talk: Talk, content: Place) -> Place:
    """Return the place of the string with the words: the content itself, or that of its last part which has a person's."""
    if isinstance(content.value, str):
        return content
    parts = [item for item in items(talk.text, content) if words_of([item.value]).strip()]
    texts = [part for part in parts if spoken(words_of([part.value]))]
    return members(talk.text, (texts or parts)[-1])["text"]
