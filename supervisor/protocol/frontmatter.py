"""
The head of a Markdown file that recalld made: lines between ``---``, YAML of which the strings are read (protocol.md, 4).

A file without such a head is a person's own. A person may add keys, lists, maps and comments; a newer format is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ..storage.errors import NewerFormat
from ..text.lazy_re import lazy_re

FORMAT: Final = 1
#: Of dated files with names of speakers, or lines of pictures, files and tools.
SPEAKERS_FORMAT: Final = 2
#: Of dated files with roles in Chinese, or with code as it is.
DATED_FORMAT: Final = 3
_HEAD: Final = lazy_re(r"\A\ufeff?---\r?\n((?:[^\n]*\n)+?)---\r?\n")
#: A head ends within so many characters, with all that a person has added.
_MOST_CHARS: Final = 16_000
_MOST_BYTES: Final = 4 * _MOST_CHARS
_NUMBER: Final = lazy_re(r"[0-9]{1,9}")
#: Characters that YAML does not allow; they are replaced, so that the head can be parsed.
_UNREADABLE: Final = lazy_re("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
_PLAIN: Final = lazy_re(r"[A-Za-z0-9](?:[A-Za-z0-9 ./_+-]*[A-Za-z0-9./_+-])?(?::[A-Za-z0-9./_+-]+)*")


def render_head(fields: Mapping[str, str]) -> str:
    """Return the head with its two ``---`` lines; values are quoted where YAML would parse them differently."""
    lines = "".join(f"{key}: {_scalar(value)}\n" for key, value in fields.items())
    return f"---\n{lines}---\n"


def read_head(text: str, path: Path) -> tuple[dict[str, str], str]:
    """
    Return the fields of the head and the text after it; no fields and the whole text where there is no head of recalld.

    An editor may have saved the file with a BOM or with CRLF. NewerFormat when a newer recalld wrote it.
    """
    match = _HEAD.match(text, 0, _MOST_CHARS)
    if not match or not re.search(r"^recalld:", match[1], re.MULTILINE):
        return {}, text
    fields = _fields(match[1].replace("\r\n", "\n"))
    made_by = number_in(fields, "recalld")
    if made_by is None:
        return {}, text
    if made_by > (DATED_FORMAT if fields.get("kind") == "dated" else FORMAT):
        raise NewerFormat(path, fields["recalld"])
    return fields, text[match.end() :]


def head_in(data: bytes, path: Path) -> dict[str, str]:
    """Return the fields of the head of the file with the bytes *data*; no more of it is decoded than a head may have."""
    return read_head(data[:_MOST_BYTES].decode("utf-8-sig", "replace"), path)[0]


def number_in(fields: Mapping[str, str], key: str) -> int | None:
    """Return the number under *key*; None where there is none of at most nine digits."""
    text = fields.get(key, "")
    return int(text) if _NUMBER.fullmatch(text) else None


def _scalar(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return value
    value = _UNREADABLE.sub(" ", value)
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _fields(block: str) -> dict[str, str]:
    """Return the strings of the mapping; of a block that is no YAML those of the lines that recalld may have written."""
    lines = [line.partition(": ") for line in block.splitlines()]
    plain = {key: value for key, _, value in lines if _PLAIN.fullmatch(value)}
    if len(plain) == block.count("\n"):
        return plain  # as recalld writes it: years of files are read without loading a YAML parser
    import yaml

    try:
        values = yaml.load(block, Loader=yaml.BaseLoader)  # noqa: S506 - BaseLoader makes nothing but strings
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError):  # the last two for an invalid character
        return plain
    return {str(key): value for key, value in values.items() if isinstance(value, str)} if isinstance(values, dict) else plain
