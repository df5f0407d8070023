"""
The head of a Markdown file that recalld made: at most 12 lines between ``---``, YAML with string values (protocol.md, 4).

A file without such a head is a person's own. Unknown keys are returned too; a newer format is refused.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from recalld.supervisor.storage.errors import NewerFormat
from recalld.supervisor.text.lazy_re import lazy_re

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FORMAT: Final = 1
#: Of dated files that have names of speakers, or lines of pictures, files and tools; the others have the first format.
DATED_FORMAT: Final = 2
_HEAD: Final = lazy_re(r"\A\ufeff?---\r?\n((?:[^\n]*\n){1,12}?)---\r?\n")
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
    match = _HEAD.match(text)
    if not match or not re.search(r"^recalld:", match[1], re.MULTILINE):
        return {}, text
    fields = _fields(match[1].replace("\r\n", "\n"))
    made_by = number_in(fields or {}, "recalld")
    if fields is None or made_by is None:
        return {}, text
    if made_by > (DATED_FORMAT if fields.get("kind") == "dated" else FORMAT):
        raise NewerFormat(path, fields["recalld"])
    return fields, text[match.end() :]


def number_in(fields: Mapping[str, str], key: str) -> int | None:
    """Return the number under *key*; None where there is none of at most nine digits."""
    found = fields.get(key, "")
    return int(found) if _NUMBER.fullmatch(found) else None


def _scalar(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return value
    value = _UNREADABLE.sub(" ", value)
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _fields(block: str) -> dict[str, str] | None:
    """Return the mapping as strings; None when it is not YAML or not a flat mapping."""
    simple = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
    if all(_PLAIN.fullmatch(value) for value in simple.values()) and len(simple) == block.count("\n"):
        return simple  # as recalld writes it: years of files are read without loading a YAML parser
    import yaml

    try:
        found = yaml.load(block, Loader=yaml.BaseLoader)  # noqa: S506 - BaseLoader makes nothing but strings
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError):  # the last two for an invalid character
        return None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        return None
    return {str(key): value for key, value in found.items()}
