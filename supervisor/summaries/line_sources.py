"""
From a line of a summary to the words that it was made of: the passages that share its rarest words.

A summary names the files that it covers, not the message behind each line. What a line and a message have in common, and few
other messages have, says which it is. Latin words and numbers count whole, Chinese by pairs of characters, so that no
dictionary is loaded. Pure.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Final

from ..text.lazy_re import lazy_re

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The most passages that a line is traced to.
MOST: Final = 4
#: Of the worth of a line's words a passage needs at least this share, and this share of what the best passage has.
LEAST: Final = 0.15
OF_BEST: Final = 0.5
#: Characters of a passage that are looked at.
_CHARS: Final = 4_000
_WORD: Final = lazy_re(r"[a-z0-9]{2,}|[\u3400-\u9fff]+")


def marks(text: str) -> frozenset[str]:
    """
    Return what a text is recognised by: its Latin words and numbers, and its pairs of Chinese characters.

    >>> sorted(marks("NAS 备份好了"))
    ['nas', '份好', '备份', '好了']
    """
    found: set[str] = set()
    for match in _WORD.finditer(text[:_CHARS].casefold()):
        word = match[0]
        if word.isascii():
            found.add(word)
        else:
            found.update(word[n : n + 2] for n in range(max(1, len(word) - 1)))
    return frozenset(found)


def sources_of(lines: Sequence[str], passages: Sequence[str]) -> list[tuple[int, ...]]:
    """
    Return for each line the numbers of the passages that it comes from, in their order; none if nothing is near.

    >>> sources_of(["- 备份改到 NAS", "- 明天爬山"], ["把备份放到 NAS 上", "天气不错", "明天去爬山吗？"])
    [(0,), (2,)]
    """
    of_passages = [marks(passage) for passage in passages]
    frequency = Counter(mark for found in of_passages for mark in found)
    worth = {mark: math.log(1 + len(passages) / count) for mark, count in frequency.items()}
    return [_nearest(marks(line), of_passages, worth) for line in lines]


def _nearest(wanted: frozenset[str], passages: Sequence[frozenset[str]], worth: dict[str, float]) -> tuple[int, ...]:
    known = [mark for mark in wanted if mark in worth]
    whole = sum(worth[mark] for mark in known)
    if not whole:
        return ()
    scores = [sum(worth[mark] for mark in known if mark in passage) for passage in passages]
    least = max(LEAST * whole, OF_BEST * max(scores))
    best = sorted((number for number, score in enumerate(scores) if score >= least), key=lambda number: -scores[number])
    return tuple(sorted(best[:MOST]))
