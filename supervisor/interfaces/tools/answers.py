"""
What the tools answer: typed results, their JSON, and how they are clamped to the budget of a turn.

`MemorySearchResult` is that of 001, with the day of a memory, its author and its place. A search has results; or none, with the
number of files that were searched; or none, and a note that not all of memory could be searched. An answer's *plain* is the
text of 000, for a client without structured answers; if it is "", such a client gets the JSON.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from ...operations.codec import camel, to_json
from ...text.llm_input import estimate_tokens
from ...text.snippet import is_grapheme_boundary

#: The mark of a cut, as in the memory block (003).
TRUNCATED: Final = "…[truncated]"
#: The score of the search that becomes 0.5 here.
_MIDDLE: Final = 5.0
#: Fields that are in the JSON even if they are "" or False.
_ALWAYS: Final = frozenset({"text", "snippet", "new", "score"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a tool answers, or a part of it; *plain* is the text for a client that takes only text."""

    plain: str = ""

    def json_fields(self) -> dict[str, Any]:
        """
        Return the fields for JSON, without those that have no value: "" and False, unless they are an answer themselves.

        >>> SearchAnswer(files=12, note="nothing in memory matches.").json_fields()
        {'results': (), 'files': 12, 'note': 'nothing in memory matches.'}
        """
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "plain"}
        return {camel(name): value for name, value in values.items() if name in _ALWAYS or _has_value(value)}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySearchResult(Answer):
    """
    A passage that was found: *snippet* is lines *start_line* to *end_line* of *path*.

    *score* is how well it fits, 0 to 1, None in a group.
    """

    path: str
    start_line: int
    end_line: int
    snippet: str
    score: float | None
    day: str = ""  # 2026-01-28, the local day of the message or line
    role: str = ""  # of a message: user, assistant, system or tool
    speaker: str = ""  # the name of its author
    citation: str = ""  # "Source: memory.md#L42", if `recall.citations` shows it
    ref: str = ""  # "42@1f3a9c0d", the name by which a line of the long-term file is deleted


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAnswer(Answer):
    """The answer of `memory_search`; *note* says why there are no results, or why there may be more."""

    results: tuple[MemorySearchResult, ...] = ()
    files: int | None = None  # that were searched
    total: int | None = None  # entries of the long-term file, of a line search
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetAnswer(Answer):
    """The answer of `memory_get`: *text* is lines *start_line* to *end_line* of *total*, "" if there are none."""

    path: str
    text: str
    total: int
    start_line: int | None = None
    end_line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LongTermLine(Answer):
    """A line of the long-term file, as `memory_read` shows it; it is deleted by its *ref*."""

    line: int
    text: str
    digest: str
    ref: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAnswer(Answer):
    """The answer of `memory_read`."""

    path: str
    lines: tuple[LongTermLine, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteAnswer(Answer):
    """
    The answer of `memory_write`: the entry is line *line* of *total*; *new* is False if a line has its words already.

    A line that this conversation will not be shown has no number, and a *note* says so; another *note* says that a mark for
    groups was removed. *replaced* is the line that it replaces, as it is now, *others* the one in which its other items go on.
    """

    path: str
    line: int | None = None
    total: int
    digest: str = ""
    ref: str = ""
    new: bool
    replaced: str = ""
    others: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteAnswer(Answer):
    """The answer of `memory_delete`: how many lines were *deleted*, and how many are left."""

    path: str
    deleted: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetAnswer(Answer):
    """
    The answer of `memory_forget`: how many *messages* and *lines* were meant; *done* once they have left every place.

    Not done and not nothing: it is written down, and the supervisor goes on with it.
    """

    messages: int
    lines: int
    done: bool


def _has_value(value: object) -> bool:
    return value is not None and value is not False and value != ""


def share(score: float) -> float:
    """
    Return the score of a search, which has no upper limit, as a number between 0 and 1 (001), in the same order.

    >>> share(0), share(5), share(30.15)
    (0.0, 0.5, 0.8578)
    """
    return round(max(score, 0.0) / (max(score, 0.0) + _MIDDLE), 4)


# ── clamping ─────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Room:
    """The rest of a budget: *chars* characters (None: any number) and *tokens*."""

    chars: int | None
    tokens: int

    def holds(self, text: str) -> bool:
        """True if the text fits."""
        return (self.chars is None or len(text) <= self.chars) and estimate_tokens(text) <= self.tokens

    def without(self, text: str) -> Room:
        """Return what is left after the text."""
        chars = None if self.chars is None else self.chars - len(text)
        return Room(chars, self.tokens - estimate_tokens(text))


def clamped(results: Sequence[MemorySearchResult], room: Room) -> tuple[MemorySearchResult, ...]:
    """
    Return the results whose snippets fit and one more whose snippet is cut, with a mark (001).

    Its `end_line` is that of the last line that it shows.
    """
    kept = []
    for result in results:
        if not room.holds(result.snippet):
            text = cut(result.snippet, room)
            if text:
                end = min(result.end_line, result.start_line + text.count("\n"))
                kept.append(replace(result, snippet=text, end_line=end))
            break
        kept.append(result)
        room = room.without(result.snippet)
    return tuple(kept)


def cut(text: str, room: Room) -> str:
    """
    Return the beginning of a text that is too long, with the mark; "" if not even one character fits.

    The cut is between two characters as a person sees them; a line break before the mark is left out.
    """
    end = max(0, bisect_left(range(len(text)), True, key=lambda end: not room.holds(text[:end] + TRUNCATED)) - 1)
    while end and not is_grapheme_boundary(text, end):
        end -= 1
    kept = text[:end].rstrip("\r\n")
    return kept + TRUNCATED if kept and room.holds(kept + TRUNCATED) else ""


def as_text(answer: Answer) -> str:
    """Return the answer for a client that takes only text: the text of 000, or the JSON."""
    return to_json(answer.plain) or json.dumps(to_json(answer), ensure_ascii=False)
