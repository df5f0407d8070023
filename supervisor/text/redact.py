"""
Find and hide secrets: keys, passwords, card numbers and mail addresses.

The caller decides which of them are hidden: all of them in names of files and in what a model gets; in a memory block those
that nobody asked for (`context/secrets.py`). Keys are known by their vendors' forms (`data/secret_forms.tsv`), mail addresses
and numbers of cards and of citizens by theirs, passwords by a label before them (`secret_forms.py`), and what was found once is
known again in the same text without its label. What only looks random is none: it may be a commit or a digest.

`privacy.redact = "store"` puts a mark in the place of a secret that is about to be stored. The same text has the same marks at
any time, since the id of a message may be made of them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from heapq import nlargest
from itertools import groupby
from pathlib import Path
from typing import Final, TypeAlias

from .language import Language, language_of
from .lazy_re import lazy_re, lines_of
from .secret_forms import MAIL, Found, at_things, has_label, labelled

#: The version of the rules, raised when they hide more or less; vectors of the redacted texts are stored under it.
RULES: Final = 15
#: What is written in place of a secret, for people and models.
HIDDEN: Final[Mapping[Language, str]] = {"zh": "[已隐去]", "en": "[hidden]"}
#: Full-width letters, digits and signs are matched as ASCII, characters without width are skipped. Chinese punctuation stays.
_FOLDED: Final = {
    **{code: code - 0xFEE0 for code in range(0xFF02, 0xFF5F) if chr(code) not in "（），：；？"},
    **dict.fromkeys([0xAD, 0x180E, *range(0x200B, 0x2010), *range(0x2060, 0x2065), 0xFEFF, *range(0xE0000, 0xE0080)]),
}
_FOLDED_CHARS: Final = frozenset(map(chr, _FOLDED))
#: The end of a sentence; a full stop ends one only before a blank, since addresses and numbers contain them.
_SENTENCE_END: Final = lazy_re(r"[\n。！？；!?;]|\.(?=\s)")
#: The least characters of a secret that is known again where no word for it is beside, and how many are in one text.
_TELLING: Final = 6
_MOST_AGAIN: Final = 64
#: The words by which people ask for a mail address, a card, a citizen's number.
MAIL_WORDS: Final = "email mail address contact reach 邮箱 邮件 地址 联系 联系方式"
_CARD: Final = lazy_re(r"(?<![\w.-])[3-6]\d{3}(?P<sep>[ \xa0.-])\d{4}(?P=sep)\d{4}(?P=sep)\d{4}(?:(?P=sep)\d{1,3})?(?![\w-])")
_CITIZEN: Final = lazy_re(
    r"(?<![A-Za-z0-9_])[1-9]\d{5}(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx](?![A-Za-z0-9_])"
)
_CITIZEN_WEIGHTS: Final = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
#: What a keypad takes: digits that end with its "#".
_KEYPAD: Final = lazy_re(r"(?<![A-Za-z0-9_#.-])\*?\d{4,8}#(?![A-Za-z0-9_#])")
#: What is known by its form alone, with the words that ask for it.
_FORMS: Final = (
    ("code keypad 密码 门禁 门禁码", _KEYPAD),
    (MAIL_WORDS, lazy_re(MAIL)),
    ("card number 银行卡 信用卡 卡号 号码", _CARD),
    ("identity number 身份证 证号 号码", _CITIZEN),
)


@dataclass(frozen=True, slots=True)
class Secret:
    """
    A secret at *start* to *end* of a text.

    *label* has the words for it, such as "password" in "password: hunter2-demo"; for a secret without such a word, the words
    that ask for it, or "". *before* is the sentence up to the secret, from the end of the previous secret on. *is_code*: it is
    a number that is one by what stands beside it alone.
    """

    start: int
    end: int
    label: str
    before: str
    is_code: bool = False


def find_secrets(text: str, patterns: Iterable[str] = ()) -> list[Secret]:
    """
    Return the secrets of the text in order; *patterns* are further ones from the configuration.

    >>> [(secret.label, secret.before) for secret in find_secrets("周五部署。wifi 的密码是 hunter2-demo")]
    [('密码', 'wifi 的密码是 ')]
    """
    further = [match.span() for pattern in patterns for match in re.finditer(pattern, text) if match[0]]
    matches = [*_matches(text), *(Found(start, start, end) for start, end in further)]
    secrets: list[Secret] = []
    for since, start, end, label, is_code in sorted(matches, key=lambda match: match.start):
        if secrets and start < secrets[-1].end:  # two patterns overlap: one secret
            last = secrets.pop()
            labels = " ".join(filter(None, (last.label, label)))
            secrets.append(Secret(last.start, max(last.end, end), labels, last.before, last.is_code and is_code))
            continue
        before = text[secrets[-1].end if secrets else 0 : since]
        secrets.append(Secret(start, end, label, _SENTENCE_END.split(before)[-1] + text[since:start], is_code))
    by_value = {text[secret.start : secret.end]: secret for secret in reversed(secrets)}
    covered = {place for secret in secrets for place in range(secret.start, secret.end)}
    again = [match for pattern in said_again(by_value) for match in re.finditer(pattern, text)]
    beside = [match for match in again if covered.isdisjoint(range(*match.span()))]
    secrets += [replace(by_value[match[0]], start=match.start(), end=match.end()) for match in beside]
    return sorted(secrets, key=lambda secret: secret.start)


def said_again(secrets: Iterable[str]) -> list[str]:
    """Return the pattern of the longest of these secrets, by which they are known without their label; none of short ones."""
    longest = nlargest(_MOST_AGAIN, (value for value in secrets if len(value) >= _TELLING), len)
    return [rf"(?<![A-Za-z0-9_])(?:{'|'.join(map(re.escape, longest))})(?![A-Za-z0-9_])"] if longest else []


def _matches(text: str) -> list[Found]:
    """Return the secrets of the text, each kind in order, first those with a label; two kinds may find the same one."""
    folded = _folded(text)
    matches = [*labelled(folded), *keys(folded), *at_things(folded)]
    for words, form in _FORMS:
        spans = (match.span() for match in form.finditer(folded) if form is not _CITIZEN or _is_citizen(match[0].upper()))
        matches += [Found(start, start, end, words) for start, end in spans]
    if len(folded) == len(text):
        return matches
    places = [at for at, char in enumerate(text) if _FOLDED.get(ord(char), 0) is not None]
    return [
        Found(places[since], places[start], places[end - 1] + 1, label, is_code)
        for since, start, end, label, is_code in matches
    ]


def _folded(text: str) -> str:
    return text if _FOLDED_CHARS.isdisjoint(text) else text.translate(_FOLDED)


def names_secret(text: str, *, with_value: bool = False) -> bool:
    """
    True if the text has a key, or a label for a secret, whether a value follows it or not: a group is shown none of it.

    *with_value*: a value has to follow the label.

    >>> names_secret("门禁码写在门后"), names_secret("the pin is otter"), names_secret("the cookie jar, the spin")
    (True, True, False)
    """
    folded = _folded(text)
    return any(keys(folded)) or (any(labelled(folded)) if with_value else has_label(folded))


def redacted(
    text: str,
    mark: str = " ",
    patterns: Iterable[str] = (),
    may_show: Callable[[Secret], bool] = lambda _: False,
) -> str:
    """
    Return the text with every secret replaced by *mark*, except those that *may_show* allows.

    *patterns* are as in `find_secrets`.

    >>> redacted("登录 password: hunter2-demo 即可", "…"), redacted("The PIN of the bike lock is 4471, not 7.", HIDDEN["en"])
    ('登录 password: … 即可', 'The PIN of the bike lock is [hidden], not 7.')
    """
    return without_secrets(text, (secret for secret in find_secrets(text, patterns) if not may_show(secret)), mark)


def without_secrets(text: str, secrets: Iterable[Secret], mark: str) -> str:
    """Return the text with each of its *secrets*, which are in order, replaced by *mark*."""
    parts, at = [], 0
    for secret in secrets:
        parts += [text[at : secret.start], mark]
        at = secret.end
    return "".join([*parts, text[at:]])


def keys(text: str) -> Iterator[Found]:
    """
    Yield the keys and tokens that the table of forms has.

    >>> [text[key.start : key.end] for text in ("use AKIAIOSFODNN7EXAMPLE",) for key in keys(text)]
    ['AKIAIOSFODNN7EXAMPLE']
    """
    for label, pattern in _vendors():
        for match in pattern.finditer(text):
            # a key that begins with digits may stand behind a word: bot123456789:AA…
            if not match[0][0].isalpha() or not _is_in_word(text, match.start()):
                yield Found(match.start(), *match.span(), label)


@cache
def _vendors() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the rows of the table: words for it, its pattern."""
    rows = (line.split("\t") for line in lines_of(Path(__file__).parent / "data/secret_forms.tsv"))
    return tuple((label, lazy_re(f"(?:{'|'.join(map(re.escape, words.split()))}){rest}")) for label, words, rest in rows)


def _is_in_word(text: str, at: int) -> bool:
    before = text[at - 1 : at]
    return before.isascii() and (before.isalnum() or before == "_")


def _is_citizen(digits: str) -> bool:
    """True if the last digit is the check digit of an identity number of China (GB 11643)."""
    total = sum(int(digit) * weight for digit, weight in zip(digits[:17], _CITIZEN_WEIGHTS, strict=True))
    return digits[17] == "10X98765432"[total % 11]


# ── marks in what is stored ───────────────────────────────────────────────────


#: A function that puts marks in the place of secrets.
Mark: TypeAlias = "Callable[[str], str]"
#: What is written in place of a secret; the rules for secrets know it, and find none in it.
_MARKS: Final = {"en": "[redacted]", "zh": "[已隐去]"}
#: An address to which mail goes: it is hidden from models, and is no secret where it is stored.
_WHOLE_MAIL: Final = lazy_re(r"[^\s@:/]+@[^\s@:/]+\.\w{2,}")


@dataclass(frozen=True, slots=True)
class Marks:
    """
    Puts a mark in the place of each secret in what is about to be stored; *patterns* are those of the configuration.

    >>> Marks()("登录 password: hunter2-demo 即可"), Marks()("the pin of my card is 8841")
    ('登录 password: [已隐去] 即可', 'the pin of my card is [redacted]')
    """

    patterns: tuple[str, ...] = ()

    def __call__(self, text: str) -> str:
        """Return the text with marks, in its language."""
        return redacted(text, _MARKS[language_of(text)], self.patterns, lambda secret: self._is_kept(text, secret))

    def lines(self, before: str, after: str) -> str:
        r"""
        Return *after*, a file's new text, with marks in the lines that *before* lacks; new lines in a row are one text.

        >>> Marks().lines("pin: 8841\n", "pin: 8841\npassword: hunter2-demo\n")
        'pin: 8841\npassword: [redacted]\n'
        """
        old = set(before.splitlines())
        parts = groupby(after.splitlines(keepends=True), lambda line: line.rstrip("\r\n") in old)
        return "".join("".join(lines) if is_old else self("".join(lines)) for is_old, lines in parts)

    def _is_kept(self, text: str, secret: Secret) -> bool:
        words = text[secret.start : secret.end]
        return secret.is_code or (
            bool(_WHOLE_MAIL.fullmatch(words)) and not any(re.fullmatch(pattern, words) for pattern in self.patterns)
        )
