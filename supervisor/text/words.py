"""
The one tokeniser: index, query, slugs and extracts see the same words, or they would not find each other.

Unicode NFKC and casefold; runs of Han characters through jieba's search mode; Latin words without accents, stemmed; scripts
without spaces and hangul as pairs of characters; stop words of Chinese and English dropped. jieba and PyStemmer are loaded at
first use, jieba only where there is a Han character. Source: design "Tokens" of recall; 003, 检索.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import unicodedata
import warnings
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

from supervisor.text.stopwords import CHINESE, ENGLISH

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Part of every index made with these words: another number means that it has to be made anew.
VERSION: Final = 1

#: Han characters with 々 and 〇, for use in a character class.
HAN: Final = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
#: Hiragana and katakana with the long-vowel mark.
KANA: Final = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
#: Hangul; Thai and Lao, Burmese, Khmer: written without spaces, or with endings grown to the word.
_PAIRED: Final = KANA + "\u1100-\u11ff\uac00-\ud7a3\u0e01-\u0e3a\u0e40-\u0eff\u1000-\u109f\u1780-\u17d3"
#: Signs that belong to a word but are no letters to `re`: accents, Hebrew and Arabic points, Indic vowels.
_MARKS: Final = "\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff"
_LETTER: Final = f"(?:[^\\W_{HAN}{_PAIRED}]|[{_MARKS}])"
_PIECE: Final = re.compile(
    f"(?P<han>[{HAN}]+)|(?P<paired>[{_PAIRED}]+)"
    r"|(?P<thousands>(?<![\d.,])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,]))"
    # gpt-4o-mini, 3.11, node_modules, don't; C++ and C# keep their tail
    rf"|(?P<word>{_LETTER}+(?:(?:[.'’\-]|_+){_LETTER}+)*(?:\+\+|\#(?!\w))?)",
)
_JOINTS: Final = re.compile(r"[.'\-_]+")
_CAMEL: Final = re.compile(r"[a-z][a-z0-9]*(?:[A-Z][a-z0-9]+)+")
_HUMP: Final = re.compile(r"[A-Z]?[a-z0-9]+")
_ACCENTS: Final = re.compile("(?<=[a-z])[\u0300-\u036f]+")
_VERSION_LIKE: Final = re.compile(r"v?\d+(?:[.-]\d+)+")  # its digits alone say nothing
_CLITIC: Final = re.compile(r"'(?:s|m|re|ve|ll|d)$")


def tokens(text: str) -> list[str]:
    """
    Return the words of *text* as index and query know them: in order, duplicates kept, stop words dropped.

    >>> tokens("Deployed gpt-4o-mini with Python 3.11")
    ['deploy', 'gpt-4o-mini', 'gpt', '4o', 'mini', 'python', '3.11']
    """
    return [token for _, token in _spelled(text, whole=False)]


def spelled(text: str) -> Iterator[tuple[str, str]]:
    """
    Yield every word as it is written in *text* (NFKC) together with its token, for showing and weighing, not for finding.

    Chinese words are whole here, and a name that no dictionary has is one word where jieba's guess makes it one. Index and
    query don't guess: the guess hangs on the words around it, and single characters always meet.
    """
    return _spelled(text, whole=True)


def _spelled(text: str, *, whole: bool) -> Iterator[tuple[str, str]]:
    for match in _PIECE.finditer(unicodedata.normalize("NFKC", text)):
        found = match[0]
        match match.lastgroup:
            case "han":
                yield from ((word, word) for word in _han_words(found, whole=whole) if word not in CHINESE)
            case "paired":
                yield from ((found, pair) for pair in _pairs(found))
            case "thousands":
                yield found, found.replace(",", "")
            case _:
                yield from ((found, token) for i, token in enumerate(_latin_tokens(found)) if not (whole and i))


def latin_words(text: str) -> list[str]:
    """
    Return the Latin words and identifiers of *text*: ASCII, lower case, not stemmed, in order, duplicates kept.

    Stop words and bare numbers are left out. Loads neither jieba nor PyStemmer.

    >>> latin_words("把 Café 部署到 Cloudflare Workers, the 3.11 way")
    ['cafe', 'cloudflare', 'workers', 'way']
    """
    pieces = (m for m in _PIECE.finditer(unicodedata.normalize("NFKC", text)) if m.lastgroup == "word")
    words = (_CLITIC.sub("", _fold(m[0])) for m in pieces)
    return [word for word in words if word.isascii() and re.search("[a-z]", word) and word not in ENGLISH]


def han_frequency(word: str) -> float:
    """Return how often a Chinese word stands in a million words of the language at large; 0.0 for an unknown one."""
    dictionary = _jieba()
    return 1e6 * float(dictionary.FREQ.get(word) or 0) / float(dictionary.total)


def is_noun(word: str) -> bool:
    """Tell whether a Chinese word names something: a noun, a place, or a verb used as a noun (备份, 过敏)."""
    return word in _nouns()


def stem(word: str) -> str:
    """Return the stem of a lower-case English word."""
    return _stem(word)


def _fold(word: str) -> str:
    """Return the word in lower case, Latin letters without their accents, apostrophes straight."""
    low = word.casefold().replace("’", "'")
    if low.isascii():
        return low
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", low))
    return unicodedata.normalize("NFKC", bare)


def _latin_tokens(found: str) -> Iterator[str]:
    """Yield the word's token, and then for a compound those of its parts."""
    word = _CLITIC.sub("", _fold(found))
    if word in ENGLISH:
        return
    parts = _JOINTS.split(word)
    if _CAMEL.fullmatch(found):
        parts = [hump.lower() for hump in _HUMP.findall(found)]
    compound = len(parts) > 1
    yield word if compound else _stemmed(word)
    if _VERSION_LIKE.fullmatch(word):
        if word.startswith("v"):
            yield word[1:]
    elif compound and "'" not in word:
        yield from (_stemmed(part) for part in parts if len(part) > 1 and part not in ENGLISH)


def _stemmed(word: str) -> str:
    return _stem(word) if word.isascii() and word.isalpha() else word


def _pairs(run: str) -> list[str]:
    """Return overlapping pairs of characters, or the one character."""
    folded = _fold(run)
    return [folded[i : i + 2] for i in range(len(folded) - 1)] or [folded]


def _han_words(run: str, *, whole: bool) -> list[str]:
    if len(run) == 1:
        return [run]
    dictionary = _jieba()
    cut = dictionary.lcut(run) if whole else dictionary.lcut_for_search(run, HMM=False)
    return [str(word) for word in cut]


_stemming: Final = threading.Lock()  # a Stemmer must not be entered twice at a time


@cache
def _stemmer() -> Any:
    import Stemmer

    return Stemmer.Stemmer("english", 0)


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    with _stemming:
        return str(_stemmer().stemWord(word))


@cache
def _jieba() -> Any:
    """Return a tokeniser of our own, its dictionary loaded and cached in the user's cache folder, nothing printed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its patterns and its look for pkg_resources warn on newer Pythons
        import jieba
    import platformdirs

    jieba.setLogLevel(60)  # above CRITICAL: it reports its loading on the terminal
    dictionary = jieba.Tokenizer()
    # subtle: never left unset, since jieba would then trust a file of that name in a shared /tmp; where the folder can't be
    # made jieba finds none, writes none, and reads its dictionary every time
    dictionary.tmp_dir = platformdirs.user_cache_dir("recalld")
    with contextlib.suppress(OSError):
        os.makedirs(dictionary.tmp_dir, mode=0o700, exist_ok=True)
    dictionary.initialize()
    return dictionary


@cache
def _nouns() -> frozenset[str]:
    """Return the words that jieba's dictionary tags as names of things: read in a fifth of a second."""
    with _jieba().get_dict_file() as lines:
        tagged = (line.decode().split() for line in lines)
        return frozenset(word for word, _, tag in tagged if tag.startswith("n") or tag in {"vn", "j", "s"})
