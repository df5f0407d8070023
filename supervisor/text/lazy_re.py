"""
Regular expressions that are compiled at their first use, and the tables of words and forms that some are made of.

recalld has several hundred, and compiling them all takes longer than an answer. A command that runs once uses a few. The tables
are text files in the folders `data`; a line with `#` at its beginning is a comment.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, AnyStr, cast


def lazy_re(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """
    Return what `re.compile` returns, but compile it at its first use.

    >>> lazy_re("[0-9]+").findall("22 and 80")
    ['22', '80']
    """
    return cast("re.Pattern[AnyStr]", _Lazy(pattern, flags))


class _Lazy:
    """Has the pattern as text, and from its first use on the methods of the compiled pattern as its own attributes."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """Compile the pattern; Python asks here only for what is not yet an attribute."""
        compiled = re.compile(self.pattern, self._flags)
        methods: Mapping[str, Any] = {method: getattr(compiled, method) for method in _METHODS}
        self.__dict__.update(methods)
        return getattr(compiled, name)


_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn", "flags", "groupindex", "groups")


def lines_of(table: Path) -> list[str]:
    """Return the lines of a table."""
    return [line for line in table.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]


def words_of(table: Path) -> list[str]:
    """Return the words of a table that has several in a line, with blanks between them."""
    return [word for line in lines_of(table) for word in line.split()]
