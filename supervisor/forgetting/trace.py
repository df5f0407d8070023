"""
What words leave behind in files that were made from them: whole, or a part of them, however they are spelled and escaped.

Texts are compared without case, blanks and punctuation. Of a long text each stretch of some characters counts, so that the part
that a receipt shows is found, too.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Final

from ..text.lazy_re import lazy_re
from ..text.record import record

if TYPE_CHECKING:
    from collections.abc import Iterable

#: How much of a text has to stand in one piece, so that it is no chance: a Chinese character counts for two letters.
_WEIGHT: Final = 20
#: The least that a text of its own has to weigh; what is shorter ("ok", 好的) is in every file.
_LEAST: Final = 8
_ESCAPED: Final = lazy_re(r"\\u([0-9a-fA-F]{4})")
_NO_WORD: Final = lazy_re(r"\\[nrtbf]|[\W_]+")
_WIDE: Final = "\u2e80"


@record
class Spot:
    """What forgetting does in one place: its code, a sentence, and the files, as paths from the workspace."""

    place: str
    sentence: str
    files: tuple[str, ...]


class Trace:
    """The *texts* that are looked for, and the *names*: ids and file names that stand for them."""

    def __init__(self, texts: Iterable[str], names: Iterable[str] = ()) -> None:
        plain = {_plain(text) for text in texts}
        self._parts = tuple(dict.fromkeys(part for text in sorted(plain) for part in _parts(text)))
        self._names = tuple(sorted({name for name in names if len(name) >= _LEAST}))

    def __bool__(self) -> bool:
        return bool(self._parts or self._names)

    def is_in(self, text: str) -> bool:
        """Return whether the words, or a part of them, or a name stand in the text."""
        if any(name in text for name in self._names):
            return True
        found = _plain(text) if self._parts else ""
        return any(part in found for part in self._parts)

    def is_in_bytes(self, data: bytes) -> bool:
        """Return whether they stand in a file, which may be JSON with its escapes, and in UTF-16."""
        return self.is_in(decoded(data))


def decoded(data: bytes) -> str:
    """Return what a file says, in UTF-8 or UTF-16; JSON's escapes are the characters that they stand for."""
    return _unescaped(data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", "ignore"))


def _unescaped(text: str) -> str:
    if "\\u" in text:
        text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "ignore")  # pairs of escapes are one character
    return text


def _plain(text: str) -> str:
    return _NO_WORD.sub("", unicodedata.normalize("NFKC", _unescaped(text)).casefold())


def _parts(text: str) -> list[str]:
    """Return the stretches of the text that count, one behind the other, and all of a text that is short."""
    parts, part, weight = [], "", 0
    for sign in text:
        part, weight = part + sign, weight + 1 + (sign >= _WIDE)
        if weight >= _WEIGHT:
            parts.append(part)
            part, weight = "", 0
    if not parts and weight >= _LEAST:
        parts.append(part)
    return parts
