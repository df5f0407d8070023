"""
Change JSON as a text: a property or an item is put in, and every other byte stays. Pure.

Settings files are JSON, JSON with comments (JSONC) or JSON5; people keep comments, order and indentation in them. So the text
is parsed for the places of its values alone, and nothing is rendered again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

from recalld.supervisor.text.lazy_re import lazy_re

#: Blanks and comments; a string in either quotes; anything else that is one value, such as a number or a key without quotes.
_BLANK: Final = lazy_re(r"(?:[\s\ufeff]+|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)*")
_STRING: Final = lazy_re(r'"(?:[^"\\\n]|\\[^\n])*"|\'(?:[^\'\\\n]|\\[^\n])*\'')
_WORD: Final = lazy_re(r"[^\s,:\[\]{}\"'/]+")
#: A comment behind a value, on the same line.
_BESIDE: Final = lazy_re(r"[ \t]*(?://[^\n]*|/\*(?:[^*\n]|\*(?!/))*\*/)?")
_DEEPEST: Final = 100


class NoJson(ValueError):
    """A text that is no JSON, JSONC or JSON5; its number is that of the line where it stops being one."""

    def __init__(self, text: str, at: int) -> None:
        self.line = text.count("\n", 0, at) + 1
        super().__init__(f"line {self.line}")


@dataclass(slots=True)
class Node:
    """A value from *start* to *end* in the text: an object with *members*, an array with *items*, or a *value*."""

    kind: str  # "object" | "array" | "value"
    start: int
    end: int = 0
    value: Any = None
    members: dict[str, Node] = field(default_factory=dict)
    items: list[Node] = field(default_factory=list)
    keys: list[int] = field(default_factory=list)  # where each member begins
    trailing_comma: bool = False

    @property
    def parts(self) -> list[Node]:
        """The values of its members, or its items."""
        return list(self.members.values()) if self.kind == "object" else self.items

    def at(self, *keys: str) -> Node | None:
        """Return the value below these keys, None if there is none."""
        found: Node | None = self
        for key in keys:
            found = found.members.get(key) if found else None
        return found

    def plain(self) -> Any:
        """Return the value as Python has it."""
        if self.kind == "object":
            return {key: one.plain() for key, one in self.members.items()}
        return [one.plain() for one in self.items] if self.kind == "array" else self.value


def parse(text: str) -> Node:
    """Return the value of the text with its places; NoJson if it is none, or something follows it."""
    at = _blank(text, 0)
    node = _value(text, at, 0)
    if _blank(text, node.end) != len(text):
        raise NoJson(text, node.end)
    return node


def with_property(text: str, owner: Node, key: str, value: object) -> list[tuple[int, str]]:
    """Return what is put in, as (place, text), so that the object *owner* has the property, as its last one."""
    return _with(text, owner, lambda indent, step: f"{json.dumps(key)}: {_rendered(value, indent, step)}")


def with_item(text: str, owner: Node, value: object) -> list[tuple[int, str]]:
    """Return what is put in, as (place, text), so that the array *owner* has the item, as its last one."""
    return _with(text, owner, lambda indent, step: _rendered(value, indent, step))


def without(text: str, owner: Node, part: Node) -> str:
    """Return the text without a member or an item of *owner*, and without its own comma and line; comments stay."""
    parts = owner.parts
    n = next(n for n, one in enumerate(parts) if one is part)
    start, end, spans = _begin(owner, n), part.end, []
    is_last = n + 1 == len(parts)
    if owner.trailing_comma or not is_last:
        comma = text.index(",", _blank(text, end))
        if text[end:comma].strip():
            spans.append((comma, comma + 1))
        else:
            end = comma + 1
    elif n:
        comma = text.index(",", _blank(text, parts[n - 1].end))
        spans.append((comma, comma + 1))
    left, right = len(text[:start].rstrip()), len(text) - len(text[end:].lstrip())
    if left == owner.start + 1 and right == owner.end - 1:
        start, end = left, right  # nothing else is between the brackets
    elif "\n" in text[left:start] and "\n" in text[end:right]:
        start = text.rindex("\n", left, start)
        start -= text[start - 1] == "\r"
        end = text.index("\n", end)
        end -= text[end - 1] == "\r"
    elif is_last:
        start = left
    else:
        end = right
    for first, last in sorted([*spans, (start, end)], reverse=True):
        text = text[:first] + text[last:]
    return text


def _with(text: str, owner: Node, render: Any) -> list[tuple[int, str]]:
    line = "\r\n" if "\r\n" in text else "\n"
    base, step = _indent_of(text, owner.start), _step_of(text)
    parts = owner.parts
    if not parts:
        inner = base + step
        return [(owner.start + 1, f"{line}{inner}{render(inner, step)}{line}{base}".replace("\n", line).replace("\r\r", "\r"))]
    last = parts[-1]
    first = _begin(owner, 0)
    is_one_line = "\n" not in text[owner.start : first]
    inner = base + step if is_one_line else _indent_of(text, first)
    body = render(inner, step).replace("\n", line)
    if owner.trailing_comma:
        comma = text.index(",", _blank(text, last.end)) + 1
        return [(_beside(text, comma), f"{line}{inner}{body},")]
    place = _beside(text, last.end)
    if is_one_line or place == last.end:
        return [(last.end, f",{line}{inner}{body}" if not is_one_line else f", {body}")]
    return [(last.end, ","), (place, f"{line}{inner}{body}")]


def _rendered(value: object, indent: str, step: str) -> str:
    return json.dumps(value, ensure_ascii=False, indent=step).replace("\n", f"\n{indent}")


def _beside(text: str, at: int) -> int:
    found = _BESIDE.match(text, at)
    end = found.end() if found else at
    return end if text[end : end + 1] in ("\n", "\r", "") and text[at:end].strip() else at


def _indent_of(text: str, at: int) -> str:
    """Return the blanks that the line of a place begins with."""
    start = text.rfind("\n", 0, at) + 1
    line = text[start:at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _step_of(text: str) -> str:
    """Return one step of the indentation of the text: that of its first line that has any, else two blanks."""
    for line in text.splitlines()[1:]:
        if blanks := line[: len(line) - len(line.lstrip(" \t"))]:
            return blanks if line.strip() else "  "
    return "  "


def _begin(owner: Node, n: int) -> int:
    """Return where the member *n* begins, with its key; an item begins where its value does."""
    return owner.keys[n] if owner.kind == "object" else owner.items[n].start


def _blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int, depth: int) -> Node:
    if at >= len(text) or depth > _DEEPEST:
        raise NoJson(text, at)
    match text[at]:
        case "{":
            return _object(text, at, depth)
        case "[":
            return _array(text, at, depth)
        case '"' | "'":
            value, end = _string(text, at)
            return Node("value", at, end, value)
    word = _WORD.match(text, at)
    if not word:
        raise NoJson(text, at)
    try:
        found = json.loads(word[0])
    except ValueError:
        if not word[0].lstrip("+-").replace(".", "").replace("_", "").isalnum():
            raise NoJson(text, at) from None
        found = word[0]
    return Node("value", at, word.end(), found)


def _string(text: str, at: int) -> tuple[str, int]:
    found = _STRING.match(text, at)
    if not found:
        raise NoJson(text, at)
    inner = found[0][1:-1]
    try:
        return json.loads(
            '"' + (inner if text[at] == '"' else inner.replace("\\'", "'").replace('"', '\\"')) + '"'
        ), found.end()
    except ValueError:
        return inner, found.end()


def _object(text: str, at: int, depth: int) -> Node:
    node = Node("object", at)
    place = _blank(text, at + 1)
    while text[place : place + 1] != "}":
        if text[place : place + 1] in ('"', "'"):
            key, end = _string(text, place)
        elif word := _WORD.match(text, place):
            key, end = word[0], word.end()
        else:
            raise NoJson(text, place)
        colon = _blank(text, end)
        if text[colon : colon + 1] != ":":
            raise NoJson(text, colon)
        member = _value(text, _blank(text, colon + 1), depth + 1)
        if key in node.members:
            raise NoJson(text, place)  # which of the two counts is the client's secret
        node.members[key] = member
        node.keys.append(place)
        place = _after(text, node, member, "}")
    node.end = place + 1
    return node


def _array(text: str, at: int, depth: int) -> Node:
    node = Node("array", at)
    place = _blank(text, at + 1)
    while text[place : place + 1] != "]":
        item = _value(text, place, depth + 1)
        node.items.append(item)
        place = _after(text, node, item, "]")
    node.end = place + 1
    return node


def _after(text: str, node: Node, part: Node, end: str) -> int:
    """Return the place behind a part and its comma; NoJson where neither a comma nor the *end* follows."""
    place = _blank(text, part.end)
    node.trailing_comma = text[place : place + 1] == ","
    if node.trailing_comma:
        return _blank(text, place + 1)
    if text[place : place + 1] != end:
        raise NoJson(text, place)
    return place
