"""
Two texts compared: by their figures, by their words, and by the pieces in which they differ. Pure.

Numbers, days and weekdays are equal however they are written: 三万二 is 32,000, 1月28日 is "Jan 28", 周三 is "Wed". A summary
is compared with its material by these. Letters and digits that are one word (G1024, gpt-4o) are a name, not a number, and a
number in English words is none: a small one may only count.

Words are compared to say once what was said twice: without case, width, punctuation and courtesy; what could make another fact
stays, numbers with their points, signs of names (C++), a question mark.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import Final, NamedTuple

from .lazy_re import lazy_re

#: Characters as wide as a Han character, and the digits, points and colons that they are; the length stays.
_NARROW: Final = str.maketrans("０１２３４５６７８９．：％－／～", "0123456789.:%-/~")
HAN_DIGITS: Final = dict(zip("零〇一二三四五六七八九两", (0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 2), strict=True))
_HAN_TENS: Final = {"十": 10, "百": 100, "千": 1_000}
_HAN_MYRIADS: Final = {"万": 10_000, "亿": 100_000_000}
_MULTIPLES: Final = (
    {"k": 1_000, "w": 10_000, "hundred": 100, "thousand": 1_000, "million": 1_000_000} | _HAN_TENS | _HAN_MYRIADS
)
MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b"
)
_ORDINAL: Final = r"\d{1,2}(?:st|nd|rd|th)?"
#: How each kind is written. The first that matches at a place is what is written there.
_WRITTEN: Final = {
    "name": (  # but digits with a short unit, "5km" and "3rd", are a number
        r"(?<![A-Za-z0-9.])\d+(?:\.\d+){2,}",
        (
            r"(?<![A-Za-z0-9.])(?=[\d./-]{0,40}[A-Za-z_])(?=[A-Za-z_./-]{0,80}\d)(?!\d[\d.,:]*-?[A-Za-z]{1,5}(?![A-Za-z0-9]))"
            r"[A-Za-z0-9_./-]{1,80}[A-Za-z0-9_]"
        ),
    ),
    "day": (
        r"(?:\d{4}\s?[-/.年]\s?)?\d{1,2}\s?月\s?\d{1,2}(?!\d)\s?[日号]?|\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?!\d)",
        rf"(?<![A-Za-z]){MONTH}\.?\s(?:the\s)?{_ORDINAL}(?!:?\d)",
        rf"(?<![A-Za-z0-9_.:,/-]){_ORDINAL}\s(?:of\s)?{MONTH}\.?(?![a-z])",
    ),
    "weekday": (
        r"(?:周|星期|礼拜)[一二三四五六日天]",
        rf"(?<![A-Za-z])(?:{'|'.join(WEEKDAYS)})(?:s|nes|rs|ur|urs)?(?:day)?s?\b",
    ),
    "number": (  # a Chinese one begins with a digit or with 十, as 百姓 and 千万别 do not
        r"(?P<digits>(?<![\d.])\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,15}(?:\.\d{1,15})?)(?P<multiple>\s?[百千万亿]{1,3}|\s?(?:hundred|thousand|million)\b|[kw]\b)?",
        r"(?P<hans>[零〇一二三四五六七八九十两][零〇一二三四五六七八九十百千万亿两]{0,11})",
    ),
}
#: What makes a number a part of a day or of a time.
_UNIT: Final = r"(?:(?:st|nd|rd|th)\b)?(?P<unit>\s?[年月日号点](?![线楼院门])[半整钟份]?)?"
_FIGURE: Final = lazy_re(
    "|".join(f"(?P<{kind}>{'|'.join(forms)}){_UNIT if kind == 'number' else ''}" for kind, forms in _WRITTEN.items()),
    re.IGNORECASE,
)
#: The largest number in Chinese that may only count, or be part of a word, where no unit follows: 两个方案, 一起, 十分.
_COUNTED: Final = 10


def figures(text: str) -> list[float | str]:
    """
    Return the figures of the text in their order.

    >>> figures("三万二 is 32k, not 32,500")
    [32000.0, 32000.0, 32500.0]
    >>> figures("1月28日 is Jan 28; 周三, 15:30"), figures("gpt-4o: 两个")
    (['1/28', '1/28', 'wed', 15.0, 30.0], ['gpt-4o'])
    """
    return [value for match in _FIGURE.finditer(text.translate(_NARROW)) for value in _values(match)]


def _values(match: re.Match[str]) -> list[float | str]:
    """Return a number itself, a day as month and day, the name of a weekday or of a thing; none for what only counts."""
    written = match[0].lower()
    if match["name"]:
        return [match["name"].casefold()]
    if match["day"]:
        month = next((str(number) for number, name in enumerate(MONTHS, 1) if name in written), "")
        return ["/".join([month, *re.findall(r"[1-9]\d*", written)][-2:])]
    if match["weekday"]:
        return [written[:3] if written.isascii() else WEEKDAYS["一二三四五六日".index(written[-1].replace("天", "日"))]]
    if match["hans"]:
        value = han_number(match["hans"])
        return [value] if value > _COUNTED or match["unit"] else []
    value = float(match["digits"].replace(",", ""))
    multiple = (match["multiple"] or "").strip().lower()
    for sign in [multiple] if multiple.isascii() else multiple:
        value *= _MULTIPLES.get(sign, 1)
    return [value]


def han_number(written: str) -> float:
    """Return the number that Chinese numerals say; 三万二 is 32,000, 二零二六 is 2026."""
    if not any(sign in _HAN_TENS or sign in _HAN_MYRIADS for sign in written):
        return float("".join(str(HAN_DIGITS[sign]) for sign in written))
    total = part = digit = 0
    scale = 1
    for sign in written:
        if sign in HAN_DIGITS:
            digit = HAN_DIGITS[sign]
            scale = 1 if sign in "零〇" else scale
        elif sign in _HAN_TENS:
            part += (digit or 1) * _HAN_TENS[sign]
            digit, scale = 0, _HAN_TENS[sign] // 10
        else:
            total = (total + part + digit or 1) * _HAN_MYRIADS[sign]
            part, digit, scale = 0, 0, _HAN_MYRIADS[sign] // 10
    return float(total + part + digit * max(1, scale))


#: Day and source of an entry of memory.md, which say when it was said and not what.
_ENTRY: Final = lazy_re(r"\s*(?:[-*+]\s+)?\d{4}-\d\d-\d\d\|[^|\n]*\|")
_COURTESY: Final = lazy_re(
    r"^\W*(?:请|麻烦你?|帮我)*(?:记住|记一下|记下来?)|^\W*(?:please )?remember(?: that)?\b"
    r"|请(?![求客假柬帖教])|麻烦你?|劳驾|拜托|谢谢你?|多谢|[您你]好|\b(?:please|pls|thanks|thank you|kindly|hi|hello|hey)\b",
    re.IGNORECASE,
)
_WORD: Final = lazy_re(r"[-+]?\d+(?:[.,:/-]\d+)*[%°]?|[^\W\d_]+[+#]*|[€$£¥]")
_HAN_BLANK: Final = lazy_re(r"(?<=[\u3400-\u9fff]) | (?=[\u3400-\u9fff])")
_SENTENCE: Final = lazy_re(r"[^。！？!?\n;；]+?(?:[。！？!?\n;；]+|\.(?=\s|$)|$)")
#: A shorter text is a word of many sentences. In characters of `same_words`.
LEAST: Final = 6


@lru_cache(maxsize=4_096)
def same_words(text: str) -> str:
    """
    Return the words of the text; two texts that have the same say the same.

    >>> same_words("请记住：发布会是１２月15日。") == same_words("记住 发布会是12月15日")
    True
    >>> same_words("It costs 1.5") == same_words("it costs 15"), same_words("Ana is here?") == same_words("Ana is here")
    (False, False)
    """
    plain = unicodedata.normalize("NFKC", _ENTRY.sub("", text, count=1)).casefold()
    words = " ".join(_WORD.findall(_COURTESY.sub(" ", plain)))
    asks = "?" if plain.rstrip().endswith("?") else ""
    if not words:
        return text.strip()
    return (words if words.isascii() else _HAN_BLANK.sub("", words)) + asks


def sentences_in(texts: Iterable[str]) -> frozenset[str]:
    """Return the words of each text and of each of its sentences (`same_words`), without those that are too short."""
    parts = (part for text in texts for part in (text, *_SENTENCE.findall(text)))
    return frozenset(words for words in map(same_words, parts) if len(words) >= LEAST)


def without_sentences(text: str, sentences: frozenset[str]) -> str:
    """Return the text without the sentences that are among *sentences*, and each other one once, the last time it is there."""
    kept: list[str] = []
    seen = set(sentences)
    for sentence in reversed(_SENTENCE.findall(text)):
        words = same_words(sentence)
        if len(words) < LEAST or words not in seen:
            kept.append(sentence)
            seen.add(words)
    left = "".join(reversed(kept))
    return left if left.strip() else ""


#: Of texts that differ in more lines than this in one place the whole place is one piece.
_MOST_COMPARED: Final = 400
_LINES: Final = lazy_re(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", re.DOTALL)


class Hunk(NamedTuple):
    """Lines with their line breaks: from line *start* on (0 is the first) the *old* ones stood where the *new* ones stand."""

    start: int
    old: str
    new: str


def hunks(before: str, after: str) -> list[Hunk]:
    r"""
    Return what distinguishes two texts.

    >>> hunks("一\n二\n", "一\n二\n三\n")
    [Hunk(start=2, old='', new='三\n')]
    """
    old, new = _LINES.findall(before), _LINES.findall(after)
    same = _equal(old, new)
    end = _equal(old[same:][::-1], new[same:][::-1])
    left, right = old[same : len(old) - end], new[same : len(new) - end]
    if max(len(left), len(right)) > _MOST_COMPARED:
        return [Hunk(same, "".join(left), "".join(right))]
    from difflib import SequenceMatcher  # few commands compare

    opcodes = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    return [Hunk(same + j, "".join(left[i:k]), "".join(right[j:m])) for tag, i, k, j, m in opcodes if tag != "equal"]


def _equal(some: Sequence[str], others: Sequence[str]) -> int:
    """Return how many of the first lines are equal."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(some, others, strict=False)))


def without(text: str, taken: Sequence[Hunk]) -> str | None:
    r"""
    Return the text as if the hunks had never been; None if their new lines do not stand in it any more.

    >>> without("一\n二\n三\n四\n", [Hunk(2, "", "三\n")])
    '一\n二\n四\n'
    """
    for hunk in sorted(taken, reverse=True):
        lines = _LINES.findall(text)
        old, new = _LINES.findall(hunk.old), _LINES.findall(hunk.new)
        start = _place(lines, new, hunk.start)
        if start is None:
            return None
        before, rest = lines[:start], lines[start + len(new) :]
        for above, below in ((old, rest), (before, old)):
            if above and below and not above[-1].endswith(("\r", "\n")):
                above[-1] += "\n"  # it was the last line, and lines stand below it now
        text = "".join([*before, *old, *rest])
    return text


def _place(lines: Sequence[str], new: Sequence[str], start: int) -> int | None:
    """Return where the new lines stand, near *start*; None where they do not, or where nobody can say which ones are meant."""
    if not new:
        return min(start, len(lines))
    bare, wanted = [line.rstrip("\r\n") for line in lines], [line.rstrip("\r\n") for line in new]
    places = [n for n in range(len(bare) - len(wanted) + 1) if bare[n : n + len(wanted)] == wanted]
    return min(places, key=lambda n: abs(n - start), default=None)
