"""The tables of words and forms in the folders `data`: text files, whose lines with `#` at their beginning are comments."""

from __future__ import annotations

from pathlib import Path


def lines_of(path: Path) -> list[str]:
    """Return the lines of a table."""
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]


def words_of(path: Path) -> list[str]:
    """Return the words of a table, which has many in a line, with blanks between them."""
    return [word for line in lines_of(path) for word in line.split()]
