"""
The tokeniser, and the stop words of Chinese and English. Index, query, slugs and extracts all use it, so that they agree.

Text is normalised (Unicode NFKC, casefold). Runs of Han characters, converted to simplified ones, are cut by jieba's search
mode; words lose their accents and points, and Latin ones are stemmed; scripts without spaces, and hangul, become pairs of
characters; stop words are dropped. jieba and PyStemmer are loaded at first use, jieba only for a Han character. Source:
docs/explanation/recall.md.
"""

import re
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, Final

from .chinese import cut_for_search, cut_whole, to_simplified
from .language import CHINESE, ENGLISH, HAN, KANA
from .lazy_re import lazy_re

#: Stored in every index; an index with another version of the tokens has to be rebuilt.
VERSION: Final = 9

#: Kana, hangul, Thai, Lao, Burmese, Khmer: written without spaces, or with endings joined to the word.
_PAIRED: Final = KANA + "\u1100-\u11ff\uac00-\ud7a3\u0e01-\u0e3a\u0e40-\u0eff\u1000-\u109f\u1780-\u17d3"
#: Signs that belong to a word but that `re` does not count as letters: accents, Hebrew and Arabic points, Indic vowels.
_MARKS: Final = "\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff"
_LETTER: Final = f"(?:[^\\W_{HAN}{_PAIRED}]|[{_MARKS}])"
_JOINTS: Final = lazy_re(r"[.'\-_]+")
_CAMEL: Final = lazy_re(r"[a-z][a-z0-9]*(?:[A-Z][a-z0-9]+)+")
_HUMP: Final = lazy_re(r"[A-Z]?[a-z0-9]+")
#: Unicode's classes of marks that are part of a letter: vowel signs (0), the voicing of kana (8), virama (9), and what is below
#: or above a letter of Thai, Lao or Tibetan. All others are accents, points and dots, with which one writes and without.
_OF_LETTERS: Final = frozenset({0, 8, 9, *range(84, 133)})
#: Letters that Unicode does not take apart, and those of Persian, to the ones that are typed for them.
_BARE: Final = str.maketrans(
    {"ı": "i", "ł": "l", "ø": "o", "đ": "d", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe", "ی": "ي", "ى": "ي", "ک": "ك"}
)
_VERSION_LIKE: Final = lazy_re(r"v?\d+(?:[.-]\d+)+")  # its parts alone mean nothing
_HYPHENED: Final = lazy_re(r"[a-z]{1,8}-[a-z]{1,8}")  # Wi-Fi, e-mail, check-in: also written as one word
_NUMBERED: Final = lazy_re(r"([a-z]{2,})(\d{1,4})")  # iPhone15, PostgreSQL16: also written with a blank
_CLITIC: Final = lazy_re(r"'(?:s|m|re|ve|ll|d)$")


_THOUSANDS: Final = r"(?P<thousands>(?<![\d.,])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,]))"


def _word(letter: str) -> str:
    """Return the pattern of a word of letters: gpt-4o-mini, 3.11, node_modules, don't; C++ and C# keep their tail."""
    return rf"(?P<word>{letter}+(?:(?:[.'’\-]|_+){letter}+)*(?:\+\+|\#(?!\w))?)"


_PIECE: Final = lazy_re(f"(?P<han>[{HAN}]+)|(?P<paired>[{_PAIRED}]+)|{_THOUSANDS}|{_word(_LETTER)}")
#: The same for a text in ASCII, compiled in a tenth of the time.
_ASCII_PIECE: Final = lazy_re(f"{_THOUSANDS}|{_word('[A-Za-z0-9]')}")


def _pieces(text: str) -> Iterator[re.Match[str]]:
    return (_ASCII_PIECE if text.isascii() else _PIECE).finditer(text)


def tokens(text: str) -> list[str]:
    """
    Return the tokens of *text* for index and query: in order, with duplicates, without stop words.

    >>> tokens("Deployed gpt-4o-mini with Python 3.11")
    ['deploy', 'gpt-4o-mini', 'gpt', '4o', 'mini', 'python', '3.11']
    """
    return [token for _, token in spelled(text, whole=False)]


def spelled(text: str, *, whole: bool = True) -> Iterator[tuple[str, str]]:
    """
    Yield every word as it is written in *text* (NFKC) together with its token, for display and weights, not for search.

    *whole*: Chinese words are whole, and a name that is not in the dictionary is one word if jieba guesses so. Index and query
    do not guess: a guess depends on the words around it, while single characters always match.
    """
    for match in _pieces(unicodedata.normalize("NFKC", text)):
        word = match[0]
        match match.lastgroup:
            case "han":
                yield from _han_words(word, whole=whole)
            case "paired":
                yield from ((word, pair) for pair in _pairs(word))
            case "thousands":
                yield word, word.replace(",", "")
            case _:
                yield from ((word, token) for i, token in enumerate(_latin_tokens(word)) if not (whole and i))


def latin_words(text: str) -> list[str]:
    """
    Return the Latin words and identifiers of *text*: ASCII, lower case, not stemmed, in order, with duplicates.

    Stop words and bare numbers are left out. This loads neither jieba nor PyStemmer.

    >>> latin_words("把 Café 部署到 Cloudflare Workers, the 3.11 way")
    ['cafe', 'cloudflare', 'workers', 'way']
    """
    pieces = (m for m in _pieces(unicodedata.normalize("NFKC", text)) if m.lastgroup == "word")
    words = (_CLITIC.sub("", _fold(m[0])) for m in pieces)
    return [word for word in words if word.isascii() and re.search("[a-z]", word) and word not in ENGLISH]


def stem(word: str) -> str:
    """Return the stem of a lower-case English word."""
    return stems([word])[0]


def stems(words: Sequence[str]) -> list[str]:
    """Return the stems of lower-case English words."""
    with _stemming:
        return [str(word) for word in _stemmer().stemWords(words)]


def _fold(word: str) -> str:
    """Return the word in lower case, as it is typed without marks: "cafe" for café, елка for ёлка; apostrophes are straight."""
    low = word.casefold().replace("’", "'")
    if low.isascii():
        return low
    parts = unicodedata.normalize("NFD", low)
    bare = "".join(char for char in parts if unicodedata.combining(char) in _OF_LETTERS)
    return unicodedata.normalize("NFKC", bare.translate(_BARE))


@lru_cache(maxsize=50_000)
def _latin_tokens(word: str) -> tuple[str, ...]:
    return tuple(_tokens_of(word))


def _tokens_of(text: str) -> Iterator[str]:
    word = _CLITIC.sub("", _fold(text))
    if not word or word in ENGLISH:
        return
    parts = _JOINTS.split(word)
    if _CAMEL.fullmatch(text):
        parts = [hump.lower() for hump in _HUMP.findall(text)]
    compound = len(parts) > 1
    yield _stemmed(word)
    if _VERSION_LIKE.fullmatch(word):
        if word.startswith("v"):
            yield word[1:]
    elif compound:
        yield from (_stemmed(part) for part in parts if len(part) > 1 and part not in ENGLISH)
        if _HYPHENED.fullmatch(word):
            yield _stemmed("".join(parts))
    numbered = _NUMBERED.fullmatch(word)
    if numbered and numbered[1] not in ENGLISH:
        yield _stemmed(numbered[1])
        yield numbered[2]


def _stemmed(word: str) -> str:
    return stem(word) if word.isascii() and word.isalpha() else word


def _pairs(run: str) -> list[str]:
    folded = _fold(run)
    return [folded[i : i + 2] for i in range(len(folded) - 1)] or [folded]


def _han_words(run: str, *, whole: bool) -> Iterator[tuple[str, str]]:
    """Yield each word of a run as written and as its token, which differ where the run is traditional Chinese."""
    known = to_simplified(run)
    at = 0
    for word in cut_whole(known) if whole else cut_for_search(known):
        written = run[at : at + len(word)] if whole and len(known) == len(run) else word
        at += len(written)
        if word not in CHINESE:
            yield written, word


_stemming: Final = threading.Lock()  # a Stemmer is not thread-safe


@cache
def _stemmer() -> Any:
    import Stemmer

    return Stemmer.Stemmer("english", 0)
