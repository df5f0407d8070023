"""
Snippets of a text: the part around the terms that were searched for, never cut inside what a person sees as one character.

Such a character may be several of Unicode (a grapheme cluster, UAX 29): a letter with its marks, a flag, a family. In doubt two
characters stay together. Positions are code points.
"""

import math
import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, takewhile
from typing import Final

from .chinese import to_simplified
from .language import HAN
from .lazy_re import lazy_re

#: What joins the character before it, beside marks: joiners, skin tones, tags, vowels and finals of Hangul; and what joins the
#: next one, beside signs that cut off a vowel, as in Devanagari: a joiner, number signs of Arabic. Two of the last are a flag.
_JOINS_BEFORE: Final = lazy_re(
    "[\u200c\u200d\u0e33\u0eb3\u1160-\u11ff\ud7b0-\ud7fb\uff9e\uff9f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]"
)
_JOINS_NEXT: Final = lazy_re("[\u200d\u0600-\u0605]")
_VIRAMA: Final = 9  # of `unicodedata.combining`
_FLAG_LETTERS: Final = lazy_re("[\U0001f1e6-\U0001f1ff]+")
#: Full-width forms, and the one letter whose lower case has two characters: translating them keeps positions.
_FOLDED: Final[Mapping[int, int | str]] = {**{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}, 0x130: "i"}
_LATIN: Final = lazy_re(r"[A-Za-z0-9]+")
_HAN_RUN: Final = lazy_re(f"[{HAN}]+")
_WORD_CHARS: Final = 15  # of a Latin word that a snippet may skip to begin with the next word
#: A sentence or a line, with what ends it; the point of a number ends none.
_SENTENCE: Final = lazy_re(r"(?:[^\n.!?。！？；;]|\.(?=\d))*(?:[.!?；;]+(?=\s|$)|[。！？]+|[.!?；;]+|\n+|$)")
#: A piece of code with its fences; the group is the first fence.
_CODE: Final = lazy_re(r"^[ \t]*(```[\w+#.-]*|~~~[\w+#.-]*)[ \t]*$.*?^[ \t]*(?:```|~~~)[ \t]*$", re.MULTILINE | re.DOTALL)
#: What is left out between two parts of an excerpt.
GAP: Final = "\n…\n"
#: What ends a sentence or a clause, with the blank after it; a snippet does not begin with it.
_END: Final = lazy_re(r"[.,;:!?]+\s+|[。，；：！？、]+")
#: The most occurrences of one term that are considered.
_FINDS: Final = 40


def is_grapheme_boundary(text: str, at: int) -> bool:
    r"""
    Return whether *text* may be cut before position *at* without splitting a character.

    The two halves of a surrogate pair, which lenient JSON may return, are not separated either.

    >>> is_grapheme_boundary("e\u0301a", 1), is_grapheme_boundary("e\u0301a", 2), is_grapheme_boundary("花生", 1)
    (False, True, True)
    """
    if not 0 < at < len(text):
        return True
    before, here = text[at - 1], text[at]
    if before.isascii() and here.isascii():
        return before + here != "\r\n"
    if _JOINS_BEFORE.match(here) or unicodedata.category(here).startswith("M"):
        return False
    if _JOINS_NEXT.match(before) or unicodedata.combining(before) == _VIRAMA:
        return False
    if _FLAG_LETTERS.match(here):
        return all((at - flags.start()) % 2 == 0 for flags in _FLAG_LETTERS.finditer(text) if flags.start() < at < flags.end())
    return not ("\ud800" <= before <= "\udbff" and "\udc00" <= here <= "\udfff")


def snippet_span(text: str, chars: int, terms: Sequence[str] = ()) -> tuple[int, int]:
    """
    Return start and end of the part of at most *chars* characters with the most of *terms*; the beginning if it has none.

    Terms are tokens: in lower case and stemmed. A text that is not longer is returned whole.

    >>> text = "先说天气，" * 3 + "我对花生过敏，医生说的。"
    >>> start, end = snippet_span(text, 10, ["花生", "过敏"])
    >>> text[start:end]
    '对花生过敏，医生说的'
    """
    if len(text) <= chars:
        return 0, len(text)
    finds = _finds(_comparable(text, terms), terms) if terms else []
    start = 0
    if finds:
        first, last = _densest(finds, chars)
        start = max(0, min(first - max(0, chars - (last - first)) // 4, len(text) - chars))
        start = _word_start(text, start, min(first, start + _WORD_CHARS))
        if start and (mark := _END.match(text, start, first)):
            start = mark.end()
    end = min(len(text), start + chars)
    while start < end and not is_grapheme_boundary(text, start):
        start += 1
    while end > start and not is_grapheme_boundary(text, end):
        end -= 1
    return start, end


def excerpt(text: str, chars: int, terms: Sequence[str]) -> str:
    r"""
    Return the sentences of *text* with the most of *terms*, in their order, in about *chars* characters.

    A text with none of the terms gives its beginning. A term counts half as much at each further occurrence, and less in a text
    that is full of it.

    >>> excerpt("先说天气。今天很热。花生过敏要带药。别的没有。药在抽屉里。", 16, ["过敏", "药"])
    '…\n花生过敏要带药。\n…\n药在抽屉里。'
    """
    finds = _finds(_comparable(text, terms), terms)
    spans = [match.span() for match in _SENTENCE.finditer(text) if match[0].strip()]
    spans = [(start, end) for start, end in spans if is_grapheme_boundary(text, start)]
    starts = [start for start, _ in spans]
    often = Counter(term for _, _, term in finds)
    has: dict[int, set[str]] = {}
    for start, _, term in finds:
        has.setdefault(max(0, bisect_right(starts, start) - 1), set()).add(term)
    met: Counter[str] = Counter()
    taken: dict[int, tuple[int, int]] = {}
    left = chars
    while has and left > 0:
        gain = {n: sum(0.5 ** met[term] / often[term] for term in words) for n, words in has.items()}
        best = max(gain, key=lambda n: (gain[n] / math.sqrt(spans[n][1] - spans[n][0]), -n))
        start, end = spans[best]
        if end - start > left:
            if taken and left < _WORD_CHARS:
                break
            cut = snippet_span(text[start:end], left, terms)
            start, end = start + cut[0], start + cut[1]
        taken[best] = start, end
        left -= end - start
        met.update(has.pop(best))
    return _joined(text, sorted(taken.values()) or [snippet_span(text, chars)])


def _joined(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return the parts of the text with gaps between them; a part inside code gets its fence."""
    fences = [(match.span(), match[1]) for match in _CODE.finditer(text)]
    parts: list[str] = []
    at, closing = 0, ""
    for start, end in spans:
        opening = next((fence for (first, last), fence in fences if first < start and end < last), "")
        if closing and opening != closing:
            parts.append("\n```")
        parts += [GAP if at else GAP[1:]] * (start > at)
        if opening and opening != closing:
            parts.append(f"{opening}\n")
        parts.append(text[start:end].strip("\n"))
        at, closing = end, opening
    parts += ["\n```"] * bool(closing)
    return "".join([*parts, GAP[:-1] * (at < len(text.rstrip()))])


def _comparable(text: str, terms: Sequence[str]) -> str:
    """Return the text in lower case and simplified Chinese, as terms are; every character keeps its position."""
    low = text.translate(_FOLDED).lower()
    if not any(not term.isascii() and _HAN_RUN.match(term) for term in terms):
        return low
    return _HAN_RUN.sub(lambda run: known if len(known := to_simplified(run[0])) == len(run[0]) else run[0], low)


def _word_start(text: str, start: int, most: int) -> int:
    """Return the start of the next word if *start* is inside a Latin word that ends before *most*, else *start*."""
    if not start or not _LATIN.match(text, start - 1):
        return start
    match = _LATIN.match(text, start)
    end = match.end() if match else start
    return end + (text[end : end + 1] == " ") if end < most else start


def _finds(low: str, terms: Iterable[str]) -> list[tuple[int, int, str]]:
    places: list[tuple[int, int, str]] = []
    for term in terms:
        # subtle: a stem may end in an i where the text has a y (allergi)
        shape = term if term in low or not term.endswith("i") else term[:-1]
        matches = re.finditer(re.escape(shape), low) if shape else ()
        places += [(*match.span(), term) for match in islice(matches, _FINDS)]
    return sorted(places)


def _densest(finds: list[tuple[int, int, str]], chars: int) -> tuple[int, int]:
    """Return start and end of the first span within *chars* that has the most terms, and among those the rarest."""
    often = Counter(term for _, _, term in finds)
    best, most = finds[:1], (0, 0.0)
    for i, (start, _, _) in enumerate(finds):
        span = [*takewhile(lambda find, end=start + chars: find[1] <= end, finds[i:])]  # type: ignore[misc]
        terms = {term for _, _, term in span}
        worth = len(terms), round(sum(1 / often[term] for term in terms), 9)
        if worth > most:
            best, most = span, worth
    return best[0][0], max(end for _, end, _ in best)
