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
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from typing import Any, Final, TypeAlias, get_args, get_origin, get_type_hints

from ...operations.codec import camel
from ...text.lazy_re import lazy_re
from ...text.llm_input import estimate_tokens
from ...text.record import record
from ...text.snippet import is_grapheme_boundary

#: The mark of a cut, as in the memory block (003).
TRUNCATED: Final = "…[truncated]"
#: The score of the search that becomes 0.5 here.
_MIDDLE: Final = 5.0
_HALF: Final = lazy_re("[\ud800-\udfff]")
#: Fields that are in the JSON even if they are "" or False.
_ALWAYS: Final = frozenset({"text", "snippet", "new"})
_JSON_TYPES: Final = {str: "string", int: "integer", float: "number", bool: "boolean"}


@record(kw_only=True)
class MemorySearchResult:
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


@record(kw_only=True)
class SearchAnswer:
    """The answer of `memory_search`; *note* says why there are no results, or why there may be more."""

    results: tuple[MemorySearchResult, ...] = ()
    files: int | None = None  # that were searched
    total: int | None = None  # entries of the long-term file, of a line search
    note: str = ""
    plain: str = ""


@record(kw_only=True)
class GetAnswer:
    """The answer of `memory_get`: *text* is lines *start_line* to *end_line* of *total*, "" if there are none."""

    path: str
    text: str
    total: int
    start_line: int | None = None
    end_line: int | None = None
    plain: str = ""


@record(kw_only=True)
class LongTermLine:
    """A line of the long-term file, as `memory_read` shows it; it is deleted by its *ref*."""

    line: int
    text: str
    digest: str
    ref: str


@record(kw_only=True)
class ReadAnswer:
    """The answer of `memory_read`."""

    path: str
    lines: tuple[LongTermLine, ...]
    total: int
    plain: str = ""


@record(kw_only=True)
class WriteAnswer:
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
    plain: str = ""


@record(kw_only=True)
class DeleteAnswer:
    """The answer of `memory_delete`: how many lines were *deleted*, and how many are left."""

    path: str
    deleted: int
    total: int
    plain: str = ""


@record(kw_only=True)
class ForgetAnswer:
    """
    The answer of `memory_forget`: how many *messages* and *lines* were meant; *done* once they have left every place.

    Not done and not nothing: it is written down, and the supervisor goes on with it.
    """

    messages: int
    lines: int
    done: bool
    plain: str = ""


Answer: TypeAlias = SearchAnswer | GetAnswer | ReadAnswer | WriteAnswer | DeleteAnswer | ForgetAnswer


def as_wire(answer: Answer | MemorySearchResult | LongTermLine) -> dict[str, Any]:
    """
    Return the answer as JSON: camelCase, without fields that have no value.

    Half an emoji, which UTF-8 can't encode, is U+FFFD.

    >>> as_wire(SearchAnswer(files=12, note="nothing in memory matches."))
    {'results': [], 'files': 12, 'note': 'nothing in memory matches.'}
    """
    values = {field.name: getattr(answer, field.name) for field in _json_fields(answer)}
    return {camel(name): _wire_value(value) for name, value in values.items() if _is_shown(name, value)}


def _json_fields(answer: Answer | MemorySearchResult | LongTermLine | type) -> list[Field[Any]]:
    return [field for field in fields(answer) if field.name != "plain"]


def _is_shown(key: str, value: object) -> bool:
    """True if the field is in the JSON: "" and False are left out, unless they are an answer themselves."""
    if value is None:
        return key == "score"
    return key in _ALWAYS or (value is not False and value != "")


def _wire_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return [as_wire(item) for item in value]
    return _HALF.sub("\ufffd", value) if isinstance(value, str) else value


def share(score: float) -> float:
    """
    Return the score of a search, which has no upper limit, as a number between 0 and 1 (001), in the same order.

    >>> share(0), share(5), share(30.15)
    (0.0, 0.5, 0.8578)
    """
    return round(max(score, 0.0) / (max(score, 0.0) + _MIDDLE), 4)


def output_schema(answer: type) -> dict[str, Any]:
    """Return the JSON schema of the result of `as_wire` for such an answer."""
    hints, shown = get_type_hints(answer), _json_fields(answer)
    required = [camel(field.name) for field in shown if field.default is MISSING or get_origin(hints[field.name]) is tuple]
    properties = {camel(field.name): _schema_of(hints[field.name]) for field in shown}
    return {"type": "object", "properties": properties, "required": required}


def _schema_of(hint: Any) -> dict[str, Any]:
    if get_origin(hint) is tuple:
        return {"type": "array", "items": _schema_of(get_args(hint)[0])}
    if is_dataclass(hint) and isinstance(hint, type):
        return output_schema(hint)
    kind = next(_JSON_TYPES[part] for part in (get_args(hint) or (hint,)) if part in _JSON_TYPES)
    return {"type": [kind, "null"] if hint == float | None else kind}


# ── clamping ─────────────────────────────────────────────────────────────────


@record
class Room:
    """The rest of a budget: *chars* characters (None: any number) and *tokens*; a Han character costs *cjk* tokens."""

    chars: int | None
    tokens: int
    cjk: float = 1.0

    def holds(self, text: str) -> bool:
        """True if the text fits."""
        return (self.chars is None or len(text) <= self.chars) and self.cost(text) <= self.tokens

    def cost(self, text: str) -> int:
        """Return the tokens of the text."""
        return estimate_tokens(text, self.cjk)

    def without(self, text: str) -> Room:
        """Return what is left after the text."""
        chars = None if self.chars is None else self.chars - len(text)
        return Room(chars, self.tokens - self.cost(text), self.cjk)


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
                kept.append(replace(result, snippet=text, end_line=end, citation=_until(result, end)))
            break
        kept.append(result)
        room = room.without(result.snippet)
    return tuple(kept)


def _until(result: MemorySearchResult, end: int) -> str:
    if end == result.end_line or not result.citation:
        return result.citation
    bare = result.citation.rpartition("#")[0]
    return f"{bare}#L{result.start_line}" + (f"-L{end}" if end > result.start_line else "")


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
    return _HALF.sub("\ufffd", answer.plain) if answer.plain else json.dumps(as_wire(answer), ensure_ascii=False)
