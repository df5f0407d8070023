"""
Lay an array that a program wrote back over the one that was there before: what has left, what stays, what is new.

The elements are compared for equality alone; words that come again and again make this a question of their order
(docs/reference/protocol.md, 2, Identity).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def same_places(before: Sequence[str], after: Sequence[str]) -> dict[int, int]:
    """
    Return, for positions of *after*, the position in *before* of the same thing; what is missing there is new.

    *after* is *before* as a program wrote it back: the oldest may have left, others have come, most of them at the end. What is
    once in both is the same thing where the order allows it, and so are its equal neighbours. Where everything is repeated, the
    longest end of *before* with which *after* begins is the same. Where the newest two of *before* are gone or apart, and no
    three neighbours are the same in both, it may be another conversation that has some words in common: then only what *after*
    begins with is the same.

    >>> same_places(["go on", "one", "go on", "two"], ["go on", "two", "go on", "three"])
    {1: 3, 0: 2}
    """
    places = _anchors(before, after)
    if not places:
        length = overlap(before, after)
        return {n: len(before) - length + n for n in range(length)}
    taken = set(places.values())
    for step in (-1, 1):  # backwards first: what has left was before the others
        for there, here in list(places.items()):
            there, here = there + step, here + step  # noqa: PLW2901 - they walk
            while 0 <= there < len(after) and 0 <= here < len(before) and after[there] == before[here]:
                if there in places or here in taken:
                    break
                places[there] = here
                taken.add(here)
                there, here = there + step, here + step  # noqa: PLW2901
    newest = next((there for there, here in places.items() if here == len(before) - 1), -1)
    ends_alike = newest == 0 or (newest > 0 and places.get(newest - 1) == len(before) - 2)
    if ends_alike or stand_together(places):
        return places
    return {n: places[n] for n in takewhile(places.__contains__, range(len(after)))}


def stand_together(places: Mapping[int, int]) -> bool:
    """Return whether three neighbours are the same in both: by chance, other conversations have no more than two in common."""
    return any(places.get(n + 1) == here + 1 and places.get(n + 2) == here + 2 for n, here in places.items())


def overlap(before: Sequence[str], after: Sequence[str]) -> int:
    """Return the length of the longest end of *before* with which *after* begins, by Knuth, Morris and Pratt."""
    fallback = [0] * len(after)
    length = 0
    for n in range(1, len(after)):
        while length and after[length] != after[n]:
            length = fallback[length - 1]
        length += after[length] == after[n]
        fallback[n] = length
    length = 0
    for word in before if after else ():
        while length and (length == len(after) or after[length] != word):
            length = fallback[length - 1]
        length += after[length] == word
    return length


def _anchors(before: Sequence[str], after: Sequence[str]) -> dict[int, int]:
    """Return the positions in both of what is once in each, as many as have one order, the latest of *before* preferred."""
    once = {word for word, count in Counter(before).items() if count == 1}
    once &= {word for word, count in Counter(after).items() if count == 1}
    here = {word: n for n, word in enumerate(before) if word in once}
    pairs = [(there, here[word]) for there, word in enumerate(after) if word in here]
    # the longest sequence in which both fall, by patience sorting
    pairs.reverse()
    tops: list[int] = []
    piles: list[int] = []
    below: list[int] = []
    for n, (_, place) in enumerate(pairs):
        pile = bisect_left(tops, -place)
        below.append(piles[pile - 1] if pile else -1)
        tops[pile : pile + 1], piles[pile : pile + 1] = [-place], [n]
    found = {}
    n = piles[-1] if piles else -1
    while n >= 0:
        found[pairs[n][0]] = pairs[n][1]
        n = below[n]
    return found
