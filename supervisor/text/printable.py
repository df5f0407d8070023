"""
Text for a terminal: what would move the cursor, write the clipboard or turn the direction of writing is shown as an escape.

Stored text comes from people, models and web pages. This changes neither what is stored nor what a model gets.
"""

from __future__ import annotations

import json
import re
from typing import Final

from .lazy_re import lazy_re

#: Control characters except tab and line feed, separators of lines, marks of direction, surrogates, which can't be encoded, and
#: characters without width, in which words hide from the reader (tags among them). The joiners U+200C and U+200D stay: Persian,
#: scripts of India and families of emoji are written with them.
_UNPRINTABLE: Final = lazy_re(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def printable(text: str) -> str:
    r"""
    Return the text with each unprintable character as an escape.

    >>> printable("标题\x1b]52;c;cm0=\x07 \u202egnp.exe\tab")
    '标题\\x1b]52;c;cm0=\\x07 \\u202egnp.exe\tab'
    """
    return _UNPRINTABLE.sub(_escape, text)


def printable_line(text: str) -> str:
    r"""
    Return the text as one line: a line break, such as one in the name of a file, becomes an escape too.

    >>> printable_line("记忆\nfiles: 999.tar")
    '记忆\\nfiles: 999.tar'
    """
    return printable(text).replace("\n", r"\n")


def shortened(text: str, most: int = 80) -> str:
    r"""
    Return the text as one line of at most *most* characters; "…" stands where it was cut.

    >>> shortened("我对花生\n 过敏。"), shortened("abcdef", 4)
    ('我对花生 过敏。', 'abc…')
    """
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def printable_json(line: str) -> str:
    r"""
    Return a line of JSON with each unprintable character as a JSON escape; it means the same.

    >>> printable_json('{"name": "\u202egnp.exe"}')
    '{"name": "\\u202egnp.exe"}'
    """
    return _UNPRINTABLE.sub(_json_escape, line)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(match: re.Match[str]) -> str:
    code = ord(match[0])  # JSON writes a character beyond the first plane as two halves
    return f"\\u{code:04x}" if code < 0x10000 else json.dumps(match[0])[1:-1]
