"""
Where the values of a JSON text are, so that something is put in or taken out and every other byte stays. Pure.

A request may have megabytes. Only what is looked at is walked, and each value is read by the C scanner of the standard library.
People keep an order and an indentation in the settings of their clients: `appended` and `without` go by these.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from ...text.lazy_re import lazy_re

if TYPE_CHECKING:
    from collections.abc import Iterable

_BLANK: Final = lazy_re(r"[ \t\n\r]*")
_DECODER: Final = json.JSONDecoder()
#: A piece that is put in the place of the text from *start* to *end*.
Edit: TypeAlias = "tuple[int, int, str]"


class NoJson(ValueError):
    """A text that is no JSON; *line* is the number of the line where it stops being one."""

    def __init__(self, line: int) -> None:
        self.line = line
        super().__init__(f"line {line}")


class Place(NamedTuple):
    """A *value* of the text, from *start* to *end*."""

    start: int
    end: int
    value: Any


def whole(text: str) -> Place:
    """Return the value of the whole text; ValueError if it is no JSON."""
    place = _value(text, _blank(text, 0))
    if _blank(text, place.end) != len(text):
        raise ValueError("more than one value")
    return place


def members(text: str, owner: Place) -> dict[str, Place]:
    """
    Return the members of the object; ValueError if a key is there twice, since which of the two counts is the server's secret.

    >>> members('{"a": [1], "b": ""}', whole('{"a": [1], "b": ""}'))["a"]
    Place(start=6, end=9, value=[1])
    """
    places: dict[str, Place] = {}
    at = _blank(text, owner.start + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        if key in places:
            raise ValueError("a key twice")
        places[key] = _value(text, _blank(text, _blank(text, at) + 1))
        at = _next(text, places[key].end)
    return places


def items(text: str, owner: Place) -> list[Place]:
    """Return the items of the array."""
    places: list[Place] = []
    at = _blank(text, owner.start + 1)
    while text[at] != "]":
        places.append(_value(text, at))
        at = _next(text, places[-1].end)
    return places


def in_string(place: Place, words: str, *, at_end: bool = False) -> Edit:
    """Return the edit that puts the words into a string, before or behind what it has."""
    at = place.end - 1 if at_end else place.start + 1
    return at, at, quoted(words)[1:-1]


def first_in(place: Place, piece: str) -> Edit:
    """Return the edit that makes the piece the first part of an object or array, which has others."""
    return place.start + 1, place.start + 1, f"{piece}, "


def before(place: Place, piece: str) -> Edit:
    """Return the edit that makes the piece the item before this one."""
    return place.start, place.start, f"{piece}, "


def quoted(value: object) -> str:
    """Return the value as JSON."""
    return json.dumps(value, ensure_ascii=False)


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with the edits, which do not overlap."""
    pieces: list[str] = []
    at = 0
    for start, end, piece in sorted(edits):
        pieces += (text[at:start], piece)
        at = end
    return "".join((*pieces, text[at:]))


@lru_cache(maxsize=4)  # the settings of a busy client have megabytes, and each entry is looked for in them
def parse(text: str) -> Place:
    """Return the value of the text; NoJson if it is none, has a key twice in an object, or is too deep."""
    try:
        json.loads(text, object_pairs_hook=_once)
        return whole(text)
    except json.JSONDecodeError as error:
        raise NoJson(error.lineno) from None
    except (ValueError, RecursionError):
        raise NoJson(1) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(fields := dict(pairs)) < len(pairs):
        raise ValueError("a key twice")  # which of the two counts is the client's secret
    return fields


def at(text: str, *keys: str) -> Place | None:
    """
    Return the value below these keys, None if there is none.

    >>> at('{"a": {"b": 1}}', "a", "b"), at('{"a": 1}', "a", "b")
    (Place(start=12, end=13, value=1), None)
    """
    place: Place | None = parse(text)
    for key in keys:
        place = members(text, place).get(key) if place and isinstance(place.value, dict) else None
    return place


def appended(text: str, owner: Place, value: object, name: str = "") -> tuple[int, str]:
    r"""
    Return the place and the piece that make the value the last of the object (*name* is its key) or array *owner*.

    >>> appended('{"a": 1}', parse('{"a": 1}'), 2, "b"), appended("[]", parse("[]"), 3)
    ((7, ', "b": 2'), (1, '\n  3\n'))
    """
    line, step, base = "\r\n" if "\r\n" in text else "\n", _step_of(text), _indent_of(text, owner.start)
    parts, key = _parts(text, owner), f"{json.dumps(name)}: " if name else ""
    first = _behind_blanks(text, owner.start + 1)
    is_one_line = bool(parts) and "\n" not in text[owner.start : first]
    indent = _indent_of(text, first) if parts and not is_one_line else base + step
    body = key + json.dumps(value, ensure_ascii=False, indent=step).replace("\n", f"\n{indent}")
    if not parts:
        return owner.start + 1, f"\n{indent}{body}\n{base}".replace("\n", line)
    return parts[-1].end, (f", {body}" if is_one_line else f",\n{indent}{body}").replace("\n", line)


def without(text: str, owner: Place, part: Place) -> str:
    """
    Return the text without a member or an item of *owner*, and without its comma.

    >>> text = '{"a": 1, "b": 2}'
    >>> [without(text, parse(text), at(text, key)) for key in ("a", "b")]
    ['{"b": 2}', '{"a": 1}']
    """
    parts = _parts(text, owner)
    n = parts.index(part)
    if n:
        return text[: parts[n - 1].end] + text[part.end :]
    if len(parts) == 1:
        return text[: owner.start + 1] + text[owner.end - 1 :]
    return text[: _behind_blanks(text, owner.start + 1)] + text[_behind_blanks(text, text.index(",", part.end) + 1) :]


def _value(text: str, at: int) -> Place:
    value, end = _DECODER.raw_decode(text, at)
    return Place(at, end, value)


def _next(text: str, at: int) -> int:
    """Return the place behind a part and its comma."""
    at = _blank(text, at)
    return _blank(text, at + 1) if text[at] == "," else at


def _blank(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _parts(text: str, owner: Place) -> list[Place]:
    return [*members(text, owner).values()] if isinstance(owner.value, dict) else items(text, owner)


def _behind_blanks(text: str, place: int) -> int:
    return len(text) - len(text[place:].lstrip())


def _indent_of(text: str, place: int) -> str:
    """Return the blanks that the line of a place begins with."""
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _step_of(text: str) -> str:
    """Return one step of the indentation of the text: that of its first line that has any, else two blanks."""
    for line in text.splitlines()[1:]:
        if line.strip() and (blanks := line[: len(line) - len(line.lstrip(" \t"))]):
            return blanks
    return "  "
