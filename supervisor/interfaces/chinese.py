"""
What commands say to people, in Chinese: the sentences of chinese.toml, found by their English ones.

A sentence is made in English, as logs, JSON and events have it, and translated where it is printed. What is not in the table
stays as it is.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from recalld.supervisor.storage.catalogue import Text

if TYPE_CHECKING:
    from collections.abc import Mapping

_Table: TypeAlias = "tuple[tuple[str, str, str, str], ...]"
_FIELD: Final = re.compile(r"\{(\w+)\}")
#: A field with the blank on either side of it, which stands between Chinese and Latin letters only.
_SPACED_FIELD: Final = re.compile(r"( ?)\{(\w+)\}( ?)")
_HAN: Final = re.compile("[\u4e00-\u9fff]")


def in_chinese(text: str) -> str:
    """
    Return an English sentence of recalld, or the name of a row, in Chinese, with the clauses in it; any other text as it is.

    >>> in_chinese("memory/a.md does not exist; check the path, relative to the workspace.")
    'memory/a.md 不存在；请核对路径，它从工作区算起。'
    """
    if isinstance(text, Text):
        return text.in_language("zh")
    labels, sentences, clauses = _tables()
    return labels[text] if text in labels else _translated(text, sentences, clauses)


def _translated(text: str, table: _Table, clauses: _Table) -> str:
    for begin, end, english, chinese in table:
        # few texts begin and end as a sentence does: the patterns of all would take `status` a quarter of its time
        if text.startswith(begin) and text.endswith(end) and (match := _pattern(english).fullmatch(text)):
            given = match.groupdict()
            fields = {name: _translated(value, clauses, clauses) for name, value in given.items()}
            return _SPACED_FIELD.sub(partial(_filled, given, fields), chinese)
    return text


def _filled(given: Mapping[str, str], fields: Mapping[str, str], field: re.Match[str]) -> str:
    """Return the value of a field; one that was translated has no blank between its Chinese and that around it."""
    before, name, after = field.groups()
    value = fields[name]
    if value == given[name]:
        return f"{before}{value}{after}"
    return f"{'' if _HAN.match(value) else before}{value}{'' if _HAN.match(value[-1:]) else after}"


@cache
def _tables() -> tuple[Mapping[str, str], _Table, _Table]:
    """Return the names of rows, the sentences, and the clauses that stand in them."""
    found = tomllib.loads((Path(__file__).parent / "chinese.toml").read_text(encoding="utf-8"))
    clauses = {english: chinese for part in found["clauses"].values() for english, chinese in part.items()}
    return found["labels"], _table(found["sentences"]), _table(clauses)


def _table(chinese: Mapping[str, str]) -> _Table:
    """
    Return how each sentence begins and ends, the sentence, and its Chinese.

    Those that begin with words of their own are first, then those with the most: "{path} has {count} lines" fits many a text,
    and "{value} is not in the range {range}" what only ends so.
    """
    surest_first = sorted(chinese, key=lambda english: (english.startswith("{"), -len(_FIELD.sub("", english))))
    return tuple((one.partition("{")[0], one.rpartition("}")[2], one, chinese[one]) for one in surest_first)


@cache
def _pattern(english: str) -> re.Pattern[str]:
    """Return the pattern of a sentence; a field that stands twice has the same text twice."""
    seen: set[str] = set()
    parts = []
    for n, part in enumerate(_FIELD.split(english)):
        if n % 2 == 0:
            parts.append(re.escape(part))
        else:
            parts.append(f"(?P={part})" if part in seen else f"(?P<{part}>.+?)")
            seen.add(part)
    return re.compile("".join(parts), re.DOTALL)
