"""
The mark that stands in the place of a secret in what is stored: "the password is [redacted]".

`privacy.redact = "store"` marks what is about to be stored. The same text has the same marks at any time, since the id of a
message may be made of them. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Final, TypeAlias

from .language import language_of
from .lazy_re import lazy_re
from .record import record
from .redact import Secret, find_secrets, redacted

#: A function that puts marks in the place of secrets.
Mark: TypeAlias = "Callable[[str], str]"
#: What is written in place of a secret; the rules for secrets know it, and find none in it.
_MARKS: Final = {"en": "[redacted]", "zh": "[已隐去]"}
#: An address to which mail goes: it is hidden from models, and is no secret where it is stored.
_MAIL: Final = lazy_re(r"[^\s@:/]+@[^\s@:/]+\.\w{2,}")


def marked(text: str, patterns: Iterable[str] = ()) -> str:
    """
    Return the text with a mark in the place of each secret, in the language of the text.

    >>> marked("登录 password: hunter2-demo 即可"), marked("the pin of my card is 8841")
    ('登录 password: [已隐去] 即可', 'the pin of my card is [redacted]')
    """
    known = tuple(patterns)
    return redacted(text, _MARKS[language_of(text)], known, lambda secret: _is_kept(text, secret, known))


def has_secret(text: str, patterns: Iterable[str] = ()) -> bool:
    """True if a mark would stand in the text."""
    known = tuple(patterns)
    return any(not _is_kept(text, secret, known) for secret in find_secrets(text, known))


@record
class Marks:
    """Puts marks into what is about to be stored; *patterns* are those of the configuration."""

    patterns: tuple[str, ...] = ()

    def __call__(self, text: str) -> str:
        """Return the text with marks in the place of its secrets."""
        return marked(text, self.patterns)

    def lines(self, before: str, after: str) -> str:
        r"""
        Return *after*, a file's new text, with marks in the lines that *before* lacks; new lines in a row are one text.

        >>> Marks().lines("pin: 8841\n", "pin: 8841\npassword: hunter2-demo\n")
        'pin: 8841\npassword: [redacted]\n'
        """
        old = set(before.splitlines())
        parts = groupby(after.splitlines(keepends=True), lambda line: line.rstrip("\r\n") in old)
        return "".join("".join(lines) if is_old else self("".join(lines)) for is_old, lines in parts)


def _is_kept(text: str, secret: Secret, patterns: tuple[str, ...]) -> bool:
    """True if it is a mail address that no pattern asks for."""
    words = text[secret.start : secret.end]
    return bool(_MAIL.fullmatch(words)) and not any(re.fullmatch(pattern, words) for pattern in patterns)
