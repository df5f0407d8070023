"""
Secrets that are known by how they look: vendors' keys, addresses with a password, numbers of bank cards and of citizens, mail.

The forms of keys are a table, `data/secret_forms.tsv`. What only looks random is none: it may be a commit or a digest. Pure.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .lazy_re import lazy_re
from .secret_labels import Found, beginnings, labelled

if TYPE_CHECKING:
    from collections.abc import Iterator

_TABLE: Final = Path(__file__).parent / "data/secret_forms.tsv"
#: The number of a Telegram bot, which is before the sign that its token is known by.
_BOT: Final = lazy_re(r"\d{8,12}\Z")
_MAIL: Final = lazy_re(r"@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?![\w@])")
_MAIL_NAME: Final = lazy_re(r"[\w.+-]{1,64}\Z")
#: The words by which people ask for a mail address, a card, a citizen's number.
MAIL_WORDS: Final = "email mail address contact reach 邮箱 邮件 地址 联系 联系方式"
_CARD_WORDS: Final = "card number 银行卡 信用卡 卡号 号码"
_CITIZEN_WORDS: Final = "identity number 身份证 证号 号码"
_CARD: Final = lazy_re(r"(?<![\w.-])[3-6]\d{3}(?P<sep>[ \xa0.-])\d{4}(?P=sep)\d{4}(?P=sep)\d{4}(?:(?P=sep)\d{1,3})?(?![\w-])")
_CITIZEN: Final = lazy_re(
    r"(?<![A-Za-z0-9_])[1-9]\d{5}(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx](?![A-Za-z0-9_])"
)
_CITIZEN_WEIGHTS: Final = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)


def found_secrets(text: str) -> Iterator[Found]:
    """Yield the secrets of the text, those of each kind in order; two kinds may find the same one."""
    yield from keys(text)
    yield from labelled(text)
    for match in _MAIL.finditer(text):
        name = _MAIL_NAME.search(text, max(0, match.start() - 64), match.start())
        if name and name[0] != "git":
            yield Found(name.start(), match.end(), MAIL_WORDS)
    for match in _CARD.finditer(text):
        yield Found(*match.span(), _CARD_WORDS)
    for match in _CITIZEN.finditer(text):
        if _is_citizen(match[0].upper()):
            yield Found(*match.span(), _CITIZEN_WORDS)


def keys(text: str) -> Iterator[Found]:
    """
    Yield the keys and tokens that the table of forms has.

    >>> [text[key.start : key.end] for text in ("use AKIAIOSFODNN7EXAMPLE",) for key in keys(text)]
    ['AKIAIOSFODNN7EXAMPLE']
    """
    for label, words, pattern in _forms():
        end = 0
        for start in beginnings(text, words):
            match = pattern.match(text, start) if start >= end else None
            if match is None:
                continue
            end = match.end()
            bot = _BOT.search(text, max(0, start - 12), start)
            if words == (":AA",):
                if bot:
                    yield Found(bot.start(), end, label)
            elif not match[0][0].isalnum() or not _is_in_word(text, start):
                yield Found(start, end, label)


@cache
def _forms() -> tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...]:
    """Return the rows of the table: words for it, its beginnings, its pattern."""
    lines = _TABLE.read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return tuple(
        (label, tuple(words.split()), lazy_re(f"(?:{'|'.join(map(re.escape, words.split()))}){rest}"))
        for label, words, rest in rows
    )


def _is_in_word(text: str, at: int) -> bool:
    before = text[at - 1 : at] if at else ""
    return before.isascii() and (before.isalnum() or before == "_")


def _is_citizen(digits: str) -> bool:
    """True if the last digit is the check digit of an identity number of China (GB 11643)."""
    total = sum(int(digit) * weight for digit, weight in zip(digits[:17], _CITIZEN_WEIGHTS, strict=True))
    return digits[17] == "10X98765432"[total % 11]
