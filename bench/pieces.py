"""What of a text can be checked: its numbers, dates, times, paths, addresses, versions and names, by their shapes. Pure."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from recalld.supervisor.text.chinese import han_frequency
from recalld.supervisor.text.language import HAN
from recalld.supervisor.text.tokenizer import spelled, tokens
from recalld.supervisor.text.word_frequency import rarity_of


class Piece(NamedTuple):
    """Something of a text that can be checked: a *kind* of SHAPES or "name", as it is written, and in one spelling."""

    kind: str
    text: str
    means: tuple[int, ...] | str


MONTHS: Final = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH: Final = rf"\b(?P<m>(?:{'|'.join(MONTHS)})[a-z]{{0,6}})\b\.?"
_YEAR: Final = r"(?P<y>(?:19|20)\d\d)"
_DAY: Final = r"(?P<d>3[01]|[12]\d|0?[1-9])"
#: In this order, in a text as `plain` makes it: what one has taken is no other.
SHAPES: Final = tuple(
    (kind, re.compile(pattern, re.IGNORECASE | re.MULTILINE | re.ASCII))
    for kind, pattern in (
        ("url", r"https?://[^\s<>\"'`)\]」』，。；、]+"),
        ("path", r"(?<![\w/.~])(?:~|\.{1,2})?(?:/[\w.@+-]+)+/?"),
        ("path", r"(?<![\w./-])[a-z_][\w-]+(?:\.[a-z][a-z0-9]{0,11})+(?![\w-])"),
        (
            "date",
            rf"(?<![\d.]){_YEAR}(?:[-/.]|\s*年\s*)(?P<m>1[0-2]|0?[1-9])(?!\d)(?:(?:[-/.]|\s*月\s*){_DAY}(?!\d))?(?:\s*[日号月])?",
        ),
        ("date", rf"(?<![\d.])(?P<m>1[0-2]|0?[1-9])\s*月(?:\s*{_DAY}(?!\d)\s*[日号]?)?"),
        ("date", rf"^- (?P<m>1[0-2]|0[1-9])-{_DAY}(?= )"),  # how a bullet of a month's extract begins
        ("date", rf"{_MONTH},?\s+{_YEAR}\b"),
        ("date", rf"{_MONTH}\s+{_DAY}(?:st|nd|rd|th)?\b(?!:)(?:,?\s+{_YEAR}\b)?"),
        ("date", rf"(?<![\w.,:]){_DAY}(?:st|nd|rd|th)?(?:\s+of)?\s+{_MONTH}(?:,?\s+{_YEAR}\b)?"),
        ("time", r"(?<![\d.:])(?P<h>2[0-4]|[01]?\d):(?P<min>[0-5]\d)(?::[0-5]\d)?(?!\d)(?:\s*[ap]\.?m\b)?"),
        ("time", r"(?<![\d.:])(?P<h>1[0-2]|0?[1-9])\s*[ap]\.?m\b"),
        ("time", r"(?<![\d.])(?P<h>2[0-4]|1\d|0?\d)\s*点(?:(?P<half>半)|(?P<min>[0-5]?\d)(?!\d))?"),
        ("version", r"(?<![\w.])v?\d+(?:\.\d+){2,}(?:-?(?:rc|alpha|beta|a|b)\.?\d*)?|(?<![\w.])v\d+(?:\.\d+)*"),
        ("code", r"(?<![\w.])0x[0-9a-f]+\b|(?<!\w)[a-z](?:[a-z0-9]|[-_.](?=[a-z0-9]))*\d[a-z0-9]*\b"),  # 0xbe, LW-2093
        ("number", r"(?<![\d.])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?"),
    )
)
NUMBER: Final = SHAPES[-1][1]
_BLANK: Final = re.compile(r"\s+")
_ESCAPE: Final = re.compile(r"\\(?=[^\w\s]|\d)")
_NUMBERING: Final = re.compile(r"^\s*\d{1,2}[.)、]\s", re.MULTILINE)
_TITLE: Final = re.compile(r"《([^《》\n]{1,40})》")
_CAPITAL: Final = re.compile(r"(?<![\w'’/-])[A-Z][\w'’]*(?:-[A-Z]\w*)*", re.ASCII)
#: What is before a word that opens a bullet, quotation or sentence: its capital says nothing.
_OPENING: Final = frozenset('.!?:;。>*-"“(|')
#: Rarities from which a capitalised word is a name: wherever it is, and inside a sentence.
_NAMED: Final = 0.9
_INSIDE: Final = 0.3
_DIGITS: Final = {digit: n for n, digits in enumerate(("〇零", "一", "二两", *"三四五六七八九")) for digit in digits}
_UNITS: Final = {"十": 10, "百": 100, "千": 1000, "万": 10_000}
_SPOKEN: Final = re.compile(
    f"[{''.join(_DIGITS)}{''.join(_UNITS)}]*[{''.join(_DIGITS)}十][{''.join(_DIGITS)}{''.join(_UNITS)}]*"
)
_ONES: Final = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
).split()
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_SPELLED: Final = {
    **dict(zip(_ONES, range(1, 20), strict=True)),
    **dict(zip(_TENS, range(20, 100, 10), strict=True)),
    "hundred": 100,
    "thousand": 1000,
}
#: A number in English words: 32 thousand is one too, as is "a hundred and forty-two".
_WORD: Final = re.compile(
    rf"\b(?:an?[ ](?=hundred|thousand))?(?:{'|'.join(_SPELLED)})\b(?:(?:-|[ ]and[ ]|[ ])(?:{'|'.join(_SPELLED)})\b)*",
    re.IGNORECASE,
)


def plain(text: str) -> str:
    """Return *text* in one width, without Markdown's escapes."""
    return _ESCAPE.sub("", unicodedata.normalize("NFKC", text))


def bare(text: str) -> str:
    """Return the plain text in lower case and without white space."""
    return _BLANK.sub("", plain(text)).casefold()


def pieces(text: str) -> list[Piece]:
    """Return what can be checked of a text, each piece once."""
    text = _NUMBERING.sub("", plain(text))
    found, rest = shaped(text)
    names = (*_TITLE.findall(text), *_han_names(rest), *_latin_names(rest))
    return list(dict.fromkeys((*(Piece("name", name, name) for name in names), *found)))


def shaped(text: str) -> tuple[list[Piece], str]:
    """Return the pieces that have a shape, and the text without them."""
    found: list[Piece] = []
    for kind, pattern in SHAPES:
        for match in pattern.finditer(text):
            written = match[0].strip(" -").rstrip(".,:;!?-_")
            found.append(Piece(kind, written, _means(kind, match, written)))
        text = pattern.sub(" ", text) if kind != "number" else text  # subtle: the W of 0W-20 begins no name
    return found, text


def _means(kind: str, match: re.Match[str], written: str) -> tuple[int, ...] | str:
    part = match.groupdict()
    if kind == "date":
        month = part["m"].lower()
        return int(part.get("y") or 0), int(month) if month.isdigit() else MONTHS.index(month[:3]) + 1, int(part.get("d") or 0)
    if kind == "time":
        return int(part["h"]) % 12, 30 if part.get("half") else int(part.get("min") or 0)
    return number(written) if kind in {"number", "version"} else written.casefold()


def number(digits: str) -> str:
    return digits.lower().removeprefix("v").replace(",", "").lstrip("0") or "0"


def _han_names(text: str) -> Iterator[str]:
    for word, _ in spelled(text):
        if len(word) > 1 and re.match(f"[{HAN}]", word) and (word in _proper() or not han_frequency(word)):
            yield word


def _latin_names(text: str) -> Iterator[str]:
    for match in _CAPITAL.finditer(text):
        before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip()
        opens = not before or before[0] == "#" or before[-1] in _OPENING
        if max(map(rarity_of, tokens(match[0])), default=0.0) >= (_NAMED if opens else _INSIDE):
            yield match[0]


@cache
def _proper() -> frozenset[str]:
    """Return the names of people, places and institutions in jieba's dictionary."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import jieba
    with jieba.get_dict_file() as lines:
        tagged = (line.decode().split() for line in lines)
        return frozenset(word for word, _, tag in tagged if tag in {"nr", "nrt", "nrfg", "ns", "nt"})


def in_digits(text: str) -> str:
    """Return *text* with its spoken numbers as digits, Chinese and English ones."""
    return _WORD.sub(lambda match: _english(match[0].lower()), _SPOKEN.sub(lambda match: str(_value(match[0])), text))


def _english(words: str) -> str:
    """
    Return the number that English words say; a list of numbers stays one.

    >>> _english("thirty-two thousand"), _english("a hundred and forty-two"), _english("six and two")
    ('32000', '142', '6 and 2')
    """
    parts = [_SPELLED[word] for word in re.split(r"[- ]", words) if word in _SPELLED]
    total = last = 0
    for before, part in zip([0, *parts], parts, strict=False):
        if part >= 100:
            last = (last or 1) * part
            total, last = (total + last, 0) if part == 1000 else (total, last)
        elif not before or before >= 100 or (before >= 20 and part < 10):
            last += part
        else:
            return re.sub("|".join(_SPELLED), lambda match: str(_SPELLED[match[0]]), words)
    return str(total + last)


def _value(spoken: str) -> int:
    """
    Return the number that Chinese numerals say, with a last digit that has no unit as it is meant.

    >>> _value("三十七"), _value("二零二六"), _value("一千零五"), _value("三万二"), _value("四千九"), _value("十二万")
    (37, 2026, 1005, 32000, 4900, 120000)
    """
    if not set(spoken) & set(_UNITS):
        return int("".join(str(_DIGITS[digit]) for digit in spoken))
    total = section = last = unit = 0
    for digit in spoken:
        if digit == "万":
            total, section, last, unit = (total + section + last or 1) * 10_000, 0, 0, 10_000
        elif digit in _UNITS:
            section, last, unit = section + (last or 1) * _UNITS[digit], 0, _UNITS[digit]
        else:
            last, unit = _DIGITS[digit], unit if _DIGITS[digit] else 10
    return total + section + last * (unit // 10 if unit > 10 and len(spoken) > 1 and spoken[-1] in _DIGITS else 1)
