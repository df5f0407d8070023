"""
Where a text may be cut: never inside what a person sees as one character, and around the words that matter.

That is a grapheme cluster of Unicode (UAX 29), as the library regex knows them. It is loaded only for a place where characters
may join. Positions are code points.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Final

from supervisor.text.chinese import simplified
from supervisor.text.tokenizer import HAN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import regex

#: Categories of characters that join no neighbour of these categories: cased letters, numbers, punctuation, blanks, controls.
_SEPARATE: Final = frozenset("Lu Ll Lt Nd Nl No Pc Pd Ps Pe Pi Pf Po Sc Sm Zs Zl Zp Cc".split())  # noqa: SIM905 - read as a list
#: Full-width forms and the one letter whose lower case is longer than itself, so that positions stay.
_FOLDED: Final[Mapping[int, int | str]] = {**{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}, 0x130: "i"}
_LATIN: Final = re.compile(r"[A-Za-z0-9]+")
_WORD_CHARS: Final = 15
#: More finds of one word than this say nothing new about where to cut.
_FINDS: Final = 40


def is_grapheme_boundary(text: str, at: int) -> bool:
    r"""
    Tell whether *text* may be cut before position *at* without splitting a character.

    The two halves of a surrogate pair, as lenient JSON may leave them, stay together too.

    >>> is_grapheme_boundary("e\u0301a", 1), is_grapheme_boundary("e\u0301a", 2), is_grapheme_boundary("花生", 1)
    (False, True, True)
    """
    if not 0 < at < len(text):
        return True
    before, here = text[at - 1], text[at]
    if _is_separate(before) and _is_separate(here):
        return not (before == "\r" and here == "\n")
    if "\ud800" <= before <= "\udbff" and "\udc00" <= here <= "\udfff":
        return False
    # subtle: it looks back beyond where it begins, so that flags are counted from the first of their row
    cluster = _grapheme().match(text, at - 1, at + 1)
    return cluster is not None and cluster.end() == at


def around(text: str, chars: int, terms: Sequence[str] = ()) -> tuple[int, int]:
    """
    Return start and end of at most *chars* characters of *text* that hold the most of *terms*; the head where none is found.

    Terms are the tokeniser's, in lower case and stemmed. A text that is not longer is taken whole.

    >>> text = "先说天气，" * 3 + "我对花生过敏，医生说的。"
    >>> start, end = around(text, 10, ["花生", "过敏"])
    >>> text[start:end]
    '对花生过敏，医生说的'
    """
    if len(text) <= chars:
        return 0, len(text)
    finds = _finds(_comparable(text, terms), terms)
    start = 0
    if finds:
        first, last = _densest(finds, chars)
        start = max(0, min(first - max(0, chars - (last - first)) // 4, len(text) - chars))
        start = _word_start(text, start, min(first, start + _WORD_CHARS))
    end = min(len(text), start + chars)
    while start < end and not is_grapheme_boundary(text, start):
        start += 1
    while end > start and not is_grapheme_boundary(text, end):
        end -= 1
    return start, end


def _comparable(text: str, terms: Sequence[str]) -> str:
    """Return the text as terms are written, every character in its place."""
    low = text.translate(_FOLDED).lower()
    if not any(not term.isascii() and _han_run().match(term) for term in terms):
        return low
    return _han_run().sub(lambda run: known if len(known := simplified(run[0])) == len(run[0]) else run[0], low)


@cache
def _han_run() -> re.Pattern[str]:
    return re.compile(f"[{HAN}]+")


def _word_start(text: str, start: int, most: int) -> int:
    """Return where the next word begins, where *start* lies within a Latin one that ends before *most*."""
    if not start or not _LATIN.match(text, start - 1):
        return start
    found = _LATIN.match(text, start)
    end = found.end() if found else start
    return end + (text[end : end + 1] == " ") if end < most else start


def _finds(low: str, terms: Iterable[str]) -> list[tuple[int, int, str]]:
    """Return start, end and term of what is found in the lower-case text, in order."""
    found = []
    for term in terms:
        # subtle: a stem may end in an i that is a y in the text (allergi)
        shape = term if term in low or not term.endswith("i") else term[:-1]
        at = low.find(shape) if shape else -1
        for _ in range(_FINDS):
            if at < 0:
                break
            found.append((at, at + len(shape), term))
            at = low.find(shape, at + len(shape))
    return sorted(found)


def _densest(finds: list[tuple[int, int, str]], chars: int) -> tuple[int, int]:
    """Return start and end of the finds that lie within *chars* and are of the most terms, of the rarest; the first such."""
    often = Counter(term for _, _, term in finds)
    best, most = finds[0][:2], (0, 0.0)
    for i, (start, end, _) in enumerate(finds):
        last = end
        met: set[str] = set()
        for _, other_end, term in finds[i:]:
            if other_end - start > chars:
                break
            last = max(last, other_end)
            met.add(term)
        worth = len(met), sum(1 / often[term] for term in met)
        if worth > most:
            best, most = (start, last), worth
    return best


def _is_separate(char: str) -> bool:
    """Tell a character that joins no other such: most of them, Chinese and kana included, so that regex is seldom needed."""
    category = unicodedata.category(char)
    return category in _SEPARATE or ("\u3041" <= char <= "\u9fff" and category in {"Lo", "Lm"})


@cache
def _grapheme() -> regex.Pattern[str]:
    import regex  # 9 ms, which few commands need

    return regex.compile(r"\X")
