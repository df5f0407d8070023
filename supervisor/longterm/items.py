"""
The items of a line of the long-term file, and which of them ends with a newer line (docs/reference/protocol.md, 10.8).

What parts them is punctuation alone: ；, ; before a blank, and the end of a sentence. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ..extracts.sentences import ITEM_END, split
from ..protocol.marks import before_words, marks_of, read_struck, without_marks
from ..storage.errors import BadRequest
from ..storage.texts import Text
from ..text.comparing import same_words
from ..text.tokenizer import tokens
from .lines import Line

#: What parts an item from the next one, and is no part of its words.
_BETWEEN: Final = " ；;"
#: The item that a line is about has at least so many times as many words in common with it as any other.
_CLEARLY: Final = 2


class Parted(NamedTuple):
    """A line as two: the item that *ended*, and the *others*, which go on; both with what is before the words of the line."""

    ended: str
    others: str = ""


def items_in(words: str) -> list[str]:
    """
    Return the items of the words, each with what parts it from the next.

    >>> items_in("老婆小雨不吃羊肉；我开始学游泳，周二周四")
    ['老婆小雨不吃羊肉；', '我开始学游泳，周二周四']
    >>> items_in("Dr. Weber left. Version 1.5 is out")
    ['Dr. Weber left. ', 'Version 1.5 is out']
    """
    starts, at = [0], 0
    for piece in split(words, ITEM_END):
        at = words.index(piece, at)
        starts.append(at)
        at += len(piece)
    starts[1:2] = []  # what is before the first item belongs to it
    return [words[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]


def parted(line: Line, content: str, item: int | None = None) -> Parted:
    """
    Return the line with the item apart that the newer *content* is about, or that has the number *item*; the first is 1.

    An item that the content says itself does not go on. BadRequest, which lists the items, where it can't be told which one it
    is about, and where none has this number.
    """
    before = before_words(line.text)
    words = line.text[len(before) :].strip()
    items = items_in(without_marks(words))
    known = {same_words(item) for item in items_in(content)}
    left = [n for n, item in enumerate(items) if same_words(item) not in known and not read_struck(item.strip(_BETWEEN))]
    if item is not None and not 0 < item <= len(items):
        raise BadRequest(
            "item",
            Text(
                "line {line} has {count} items, and none with this number; nothing was written; give one of these: {items}",
                line=line.ref,
                count=len(items),
                items=_listed(items),
            ),
        )
    if item is None and (len(items) == 1 or not left):
        return Parted(line.text)
    about = item - 1 if item else _about(items, left, content)
    if about is None:
        raise BadRequest(
            "replaces",
            Text(
                "line {line} says several things, and which of them ends can't be told; nothing was written; give its number, as in --item 2 (item): {items}",
                line=line.ref,
                items=_listed(items),
            ),
        )
    others = [item for n, item in enumerate(items) if n != about and same_words(item) not in known]
    marks = marks_of(words)
    if not others:
        return Parted(line.text)
    return Parted(f"{before}{items[about].strip(_BETWEEN)}{marks}", f"{before}{''.join(others).strip(_BETWEEN)}{marks}")


def _about(items: Sequence[str], left: Sequence[int], content: str) -> int | None:
    """Return which of the items that are *left* the newer content is about; None where that can't be told."""
    old = {same_words(item) for item in items}
    fresh = {word for item in items_in(content) if same_words(item) not in old for word in tokens(item)}
    if not fresh or len(left) == 1:
        return left[0] if fresh else None
    *_, second, first = sorted((len(fresh & {*tokens(items[n])}), n) for n in left)
    return first[1] if first[0] and first[0] >= _CLEARLY * second[0] else None


def _listed(items: Sequence[str]) -> str:
    return " ".join(f"({number}) {item.strip(_BETWEEN).rstrip('。.')}" for number, item in enumerate(items, 1))
