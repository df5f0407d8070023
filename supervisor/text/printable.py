"""
Text for a terminal: what would move the cursor, write the clipboard or turn the direction of writing is shown as an escape.

Stored text comes from people, models and web pages. What is stored and what a model gets is not changed by this.
"""

from __future__ import annotations

import re
from typing import Final

#: Control characters except tab and line feed, separators of lines, marks of direction, and surrogates, which can't be encoded.
_UNPRINTABLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: str) -> str:
    r"""
    Return the text with each such character as an escape.

    >>> printable("标题\x1b]52;c;cm0=\x07 \u202egnp.exe\tab")
    '标题\\x1b]52;c;cm0=\\x07 \\u202egnp.exe\tab'
    """
    return _UNPRINTABLE.sub(lambda found: f"\\x{ord(found[0]):02x}" if found[0] < "\x80" else f"\\u{ord(found[0]):04x}", text)


def printable_json(line: str) -> str:
    r"""
    Return a line of JSON with each such character as an escape of JSON, so that it says the same.

    >>> printable_json('{"name": "\u202egnp.exe"}')
    '{"name": "\\u202egnp.exe"}'
    """
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", line)
