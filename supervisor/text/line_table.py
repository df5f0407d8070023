"""
Tables in files: a line for each word, in the order of the words' bytes, each with a blank and what it has behind it.

A file is mapped and a line is found by bisection, so that a command that asks once reads a few pages of it.
"""

from __future__ import annotations

import mmap
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def line_of(path: Path, word: str) -> str | None:
    """Return what the line of *word* in the table at *path* has behind it, None if there is no such line."""
    table, wanted = _table(path), word.encode("utf-8", "surrogatepass")
    low, high = 0, len(table)
    while low < high:  # both are the beginning of a line, or the end of the last
        start = table.rfind(b"\n", low, (low + high) // 2) + 1 or low
        end = table.find(b"\n", start)
        found, _, rest = table[start:end].partition(b" ")
        if found == wanted:
            return rest.decode()
        if found < wanted:
            low = end + 1
        else:
            high = start
    return None


@cache
def _table(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
