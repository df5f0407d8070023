"""What distinguishes two texts, as pieces of whole lines, and how it is taken back in a text that may have changed. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from .lazy_re import lazy_re

#: Of texts that differ in more lines than this in one place the whole place is one piece.
_MOST_COMPARED: Final = 400
_LINES: Final = lazy_re(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", re.DOTALL)


class Hunk(NamedTuple):
    """Lines with their line breaks: from line *start* on (0 is the first) the *old* ones stood where the *new* ones stand."""

    start: int
    old: str
    new: str


def hunks(before: str, after: str) -> list[Hunk]:
    r"""
    Return what distinguishes two texts.

    >>> hunks("一\n二\n", "一\n二\n三\n")
    [Hunk(start=2, old='', new='三\n')]
    """
    old, new = _LINES.findall(before), _LINES.findall(after)
    same = 0
    while same < min(len(old), len(new)) and old[same] == new[same]:
        same += 1
    end = 0
    while end < min(len(old), len(new)) - same and old[-1 - end] == new[-1 - end]:
        end += 1
    left, right = old[same : len(old) - end], new[same : len(new) - end]
    if not (left or right):
        return []
    if not left or not right or max(len(left), len(right)) > _MOST_COMPARED:
        return [Hunk(same, "".join(left), "".join(right))]
    opcodes = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    return [Hunk(same + j, "".join(left[i:k]), "".join(right[j:m])) for tag, i, k, j, m in opcodes if tag != "equal"]


def without(text: str, taken: Sequence[Hunk]) -> str | None:
    r"""
    Return the text as if the hunks had never been; None if their new lines do not stand in it any more.

    >>> without("一\n二\n三\n四\n", [Hunk(2, "", "三\n")])
    '一\n二\n四\n'
    """
    for hunk in sorted(taken, reverse=True):
        lines = _LINES.findall(text)
        old, new = _LINES.findall(hunk.old), _LINES.findall(hunk.new)
        start = _place(lines, new, hunk.start)
        if start is None:
            return None
        rest = lines[start + len(new) :]
        if rest and old and not old[-1].endswith(("\r", "\n")):
            old[-1] += "\n"  # it was the last line, and lines stand below it now
        before = lines[:start]
        if before and old and not before[-1].endswith(("\r", "\n")):
            before[-1] += "\n"
        text = "".join([*before, *old, *rest])
    return text


def _place(lines: Sequence[str], new: Sequence[str], start: int) -> int | None:
    """Return where the new lines stand, near *start*; None where they do not, or where nobody can say which ones are meant."""
    if not new:
        return min(start, len(lines))
    bare, wanted = [line.rstrip("\r\n") for line in lines], [line.rstrip("\r\n") for line in new]
    places = [n for n in range(len(bare) - len(wanted) + 1) if bare[n : n + len(wanted)] == wanted]
    return min(places, key=lambda n: abs(n - start), default=None)
