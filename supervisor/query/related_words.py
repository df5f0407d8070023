"""
English words of memory that mean nearly the same as a word of the question: "bike" for bicycle, "freezer" for fridge.

related_words.txt has a line for each of 18,000 stems, in order: the stem and those nearest to it in the GloVe vectors of words,
each with its similarity in hundredths (script/related-words makes it, THIRD_PARTY.md has its sources). The file is mapped and a
line is found by bisection, so that a command that asks once reads a few pages of it.

Vectors know which words stand beside the same others: hot is near cold, and each name near all names. So a related word is
worth less than half of the word itself and opens no gate (`index/gate`), and a name has none. Each number was measured
(docs/explanation/recall.md).
"""

from __future__ import annotations

import mmap
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from recalld.supervisor.query.parse import NAMED, REQUEST_WEIGHT
from recalld.supervisor.text.tokenizer import tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from recalld.supervisor.query.parse import Query

#: A line for each stem, in the order of their bytes.
TABLE: Final = Path(__file__).with_suffix(".txt")
#: What a related word is worth beside the word itself, times their similarity.
_WORTH: Final = 0.4
#: The most words of a question that are looked up, the most telling, and the most words of memory for each, the nearest.
_MOST_ASKED: Final = 6
_MOST_RELATED: Final = 8
#: The digits of a similarity.
_DIGITS: Final = 2


def with_related_words(query: Query, frequency: Callable[[str], int]) -> Query:
    """
    Return the query with the words of memory that are related to its own.

    *frequency* returns the number of passages with a word.
    """
    names = {token for name in NAMED.findall(query.text) for token in tokens(name)}
    asked = [word for word, counts in query.words.items() if counts > REQUEST_WEIGHT and word not in names]
    asked.sort(key=lambda word: -query.words[word] * query.rarity.get(word, 1.0))
    related = {word: _of_memory(word, query, frequency) for word in asked[:_MOST_ASKED]}
    return replace(query, related={word: others for word, others in related.items() if others})


def _of_memory(word: str, query: Query, frequency: Callable[[str], int]) -> Mapping[str, float]:
    """Return what each word of memory that is related to *word*, and is none of the question, is worth."""
    there = [(other, alike) for other, alike in related_words(word) if other not in query.words and frequency(other)]
    return {other: _WORTH * alike for other, alike in there[:_MOST_RELATED]}


@lru_cache(maxsize=10_000)
def related_words(stem: str) -> tuple[tuple[str, float], ...]:
    """
    Return the stems that mean nearly the same as an English stem, the nearest first, with their similarity.

    >>> related_words("bicycl")[:2], related_words("自行车")
    ((('bike', 0.93), ('motorcycl', 0.83)), ())
    """
    if not stem.isascii():
        return ()
    table, wanted = _table(), stem.encode()
    low, high = 0, len(table)
    while low < high:  # both are the beginning of a line, or the end of the last
        start = table.rfind(b"\n", low, (low + high) // 2) + 1 or low
        end = table.find(b"\n", start)
        found, _, others = table[start:end].partition(b" ")
        if found == wanted:
            return tuple((other[:-_DIGITS], int(other[-_DIGITS:]) / 100) for other in others.decode().split())
        if found < wanted:
            low = end + 1
        else:
            high = start
    return ()


@cache
def _table() -> mmap.mmap:
    with TABLE.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
