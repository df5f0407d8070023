"""
Where the values of a JSON text are, so that something is put in or taken out and every other byte stays. Pure.

A request may have megabytes. Only what is looked at is walked, and each value is read by the C scanner of the standard library;
`connect/json_text` reads settings, with comments in them, and is some twenty times slower.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from ...text.lazy_re import lazy_re

if TYPE_CHECKING:
    from collections.abc import Iterable

_BLANK: Final = lazy_re(r"[ \t\n\r]*")
_DECODER: Final = json.JSONDecoder()
#: A piece that is put in the place of the text from *start* to *end*.
Edit: TypeAlias = "tuple[int, int, str]"


class Place(NamedTuple):
    """A *value* of the text, from *start* to *end*."""

    start: int
    end: int
    value: Any


def whole(text: str) -> Place:
    """Return the value of the whole text; ValueError if it is no JSON."""
    found = _value(text, _blank(text, 0))
    if _blank(text, found.end) != len(text):
        raise ValueError("more than one value")
    return found


def members(text: str, owner: Place) -> dict[str, Place]:
    """
    Return the members of the object; ValueError if a key is there twice, since which of the two counts is the server's secret.

    >>> members('{"a": [1], "b": ""}', whole('{"a": [1], "b": ""}'))["a"]
    Place(start=6, end=9, value=[1])
    """
    found: dict[str, Place] = {}
    at = _blank(text, owner.start + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        if key in found:
            raise ValueError("a key twice")
        found[key] = _value(text, _blank(text, _blank(text, at) + 1))
        at = _next(text, found[key].end)
    return found


def items(text: str, owner: Place) -> list[Place]:
    """Return the items of the array."""
    found: list[Place] = []
    at = _blank(text, owner.start + 1)
    while text[at] != "]":
        found.append(_value(text, at))
        at = _next(text, found[-1].end)
    return found


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


def _value(text: str, at: int) -> Place:
    value, end = _DECODER.raw_decode(text, at)
    return Place(at, end, value)


def _next(text: str, at: int) -> int:
    """Return the place behind a part and its comma."""
    at = _blank(text, at)
    return _blank(text, at + 1) if text[at] == "," else at


def _blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at
