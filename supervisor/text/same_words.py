"""
The words of a text as they are compared, to say once what was said twice: without case, width, punctuation and courtesy. Pure.

What could make another fact of it stays: numbers with their points, signs of names (C++), a question mark.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from .lazy_re import lazy_re

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
