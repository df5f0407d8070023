"""
What the tools answer: typed results, their JSON, and how they are clamped to the budget of a turn.

`MemorySearchResult` is 001's, with the day of a memory, who said it, and where it is. A search ends in one of three ways that
can't be mistaken: results; none, with how many files were searched; or `disabled`, none where not all of memory was searched.
An answer's *said* is 000's text, which a client without structured answers gets; where it is "", that gets the JSON.
"""

from __future__ import annotations

import json
import re
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, get_args, get_origin, get_type_hints

from recalld.supervisor.text.snippet import is_grapheme_boundary
from recalld.supervisor.text.token_count import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from dataclasses import Field

#: Stands where a text was cut; as in the memory block (003).
TRUNCATED: Final = "…[truncated]"
#: The score of the search that is a half here.
_MIDDLE: Final = 5.0
_HALF: Final = re.compile("[\ud800-\udfff]")
#: Fields that stand in the JSON even if they are "" or False.
_ALWAYS: Final = frozenset({"text", "snippet", "new"})
_JSON_TYPES: Final = {str: "string", int: "integer", float: "number", bool: "boolean"}


@dataclass(frozen=True, slots=True, kw_only=True)
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
    day: str = ""  # 2026-01-28, the local day on which it was said or written
    role: str = ""  # of a message: user, assistant, system or tool
    speaker: str = ""  # the name of who said it
    citation: str = ""  # "Source: memory.md#L42", where `recall.citations` shows it
    ref: str = ""  # "42@1f3a9c0d", of a line of the long-term file: what deletes it


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAnswer:
    """The answer of `memory_search`; *note* says why there are no results, or why there may be more."""

    results: tuple[MemorySearchResult, ...] = ()
    files: int | None = None  # that were searched
    total: int | None = None  # entries of the long-term file, of a line search
    note: str = ""
    disabled: bool = False  # memory can't be searched: *error* says why, *action* what helps
    error: str = ""
    action: str = ""
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetAnswer:
    """The answer of `memory_get`: *text* is lines *start_line* to *end_line*, "" where there are none, of *total*."""

    path: str
    text: str
    total: int
    start_line: int | None = None
    end_line: int | None = None
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LongTermLine:
    """A line of the long-term file, as `memory_read` shows it; *ref* is what deletes it."""

    line: int
    text: str
    digest: str
    ref: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAnswer:
    """The answer of `memory_read`."""

    path: str
    lines: tuple[LongTermLine, ...]
    total: int
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteAnswer:
    """
    The answer of `memory_write`: the entry is line *line* of *total*; not *new* if its words were there already.

    Of a line that the talk will not be shown there is the *note* that says so, and no number; another *note* says that a mark
    for groups was taken off.
    """

    path: str
    line: int | None = None
    total: int
    digest: str = ""
    ref: str = ""
    new: bool
    note: str = ""
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteAnswer:
    """The answer of `memory_delete`: how many lines were *deleted*, and how many are left."""

    path: str
    deleted: int
    total: int
    said: str = ""


Answer: TypeAlias = SearchAnswer | GetAnswer | ReadAnswer | WriteAnswer | DeleteAnswer
#: What each tool answers.
ANSWERS: Final[Mapping[str, type]] = {
    "memory_search": SearchAnswer,
    "memory_get": GetAnswer,
    "memory_read": ReadAnswer,
    "memory_write": WriteAnswer,
    "memory_delete": DeleteAnswer,
}


def as_wire(answer: Answer | MemorySearchResult | LongTermLine) -> dict[str, Any]:
    """
    Return the answer as JSON has it: camelCase, without what is not there.

    Half an emoji, which UTF-8 can't encode, is U+FFFD.

    >>> as_wire(SearchAnswer(files=12, note="nothing in memory matches."))
    {'results': [], 'files': 12, 'note': 'nothing in memory matches.'}
    """
    values = {one.name: getattr(answer, one.name) for one in _told(answer)}
    return {_camel(name): _wire_value(value) for name, value in values.items() if _says(name, value)}


def _told(answer: Answer | MemorySearchResult | LongTermLine | type) -> list[Field[Any]]:
    return [one for one in fields(answer) if one.name != "said"]


def _says(key: str, value: object) -> bool:
    """Tell whether the field stands in the JSON: what is not there, "" and False, stands in it where it is an answer itself."""
    if value is None:
        return key == "score"
    return key in _ALWAYS or (value is not False and value != "")


def _wire_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return [as_wire(one) for one in value]
    return _HALF.sub("\ufffd", value) if isinstance(value, str) else value


def _camel(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(word.capitalize() for word in rest)


def share(score: float) -> float:
    """
    Return the score of a search, which has no upper end, as 001 has it: between 0 and 1, in the same order.

    >>> share(0), share(5), share(30.15)
    (0.0, 0.5, 0.8578)
    """
    return round(max(score, 0.0) / (max(score, 0.0) + _MIDDLE), 4)


def output_schema(answer: type) -> dict[str, Any]:
    """Return the JSON schema of what `as_wire` makes of such an answer."""
    hints, told = get_type_hints(answer), _told(answer)
    required = [_camel(one.name) for one in told if one.default is MISSING or get_origin(hints[one.name]) is tuple]
    properties = {_camel(one.name): _schema_of(hints[one.name]) for one in told}
    return {"type": "object", "properties": properties, "required": required}


def _schema_of(hint: Any) -> dict[str, Any]:
    if get_origin(hint) is tuple:
        return {"type": "array", "items": _schema_of(get_args(hint)[0])}
    if is_dataclass(hint) and isinstance(hint, type):
        return output_schema(hint)
    kind = next(_JSON_TYPES[one] for one in (get_args(hint) or (hint,)) if one in _JSON_TYPES)
    return {"type": [kind, "null"] if hint == float | None else kind}


# ── clamping ─────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Room:
    """What is left of a budget: *chars* characters (None: any number) and *tokens*; a Han character costs *cjk* of these."""

    chars: int | None
    tokens: int
    cjk: float = 1.0

    def holds(self, text: str) -> bool:
        """Tell whether the text fits."""
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
    Return the results whose snippets fit, then one that is cut with a mark, then no more (001).

    Its `end_line` is that of the last line that it shows.
    """
    kept = []
    for one in results:
        if not room.holds(one.snippet):
            text = cut(one.snippet, room)
            if text:
                end = min(one.end_line, one.start_line + text.count("\n"))
                kept.append(replace(one, snippet=text, end_line=end, citation=_until(one, end)))
            break
        kept.append(one)
        room = room.without(one.snippet)
    return tuple(kept)


def _until(one: MemorySearchResult, end: int) -> str:
    """Return the citation of the lines up to *end*."""
    if end == one.end_line or not one.citation:
        return one.citation
    bare = one.citation.rpartition("#")[0]
    return f"{bare}#L{one.start_line}" + (f"-L{end}" if end > one.start_line else "")


def cut(text: str, room: Room) -> str:
    """
    Return the beginning of a text that is too long, with the mark, "" if not even one character fits.

    It ends between two characters as a person sees them; a line break before the mark is left out.
    """
    least, most = 0, len(text) - 1
    while least < most:
        middle = (least + most + 1) // 2
        if room.holds(text[:middle] + TRUNCATED):
            least = middle
        else:
            most = middle - 1
    while least and not is_grapheme_boundary(text, least):
        least -= 1
    kept = text[:least].rstrip("\r\n")
    return kept + TRUNCATED if kept and room.holds(kept + TRUNCATED) else ""


def as_text(answer: Answer) -> str:
    """Return what a client is told that takes nothing but text: 000's text, or the JSON."""
    return _HALF.sub("\ufffd", answer.said) if answer.said else json.dumps(as_wire(answer), ensure_ascii=False)
