"""
How rare a word is in general text: a rare word in a day's messages says what the day was about.

Chinese words are rated by jieba's dictionary, English words by their rank among the 6,000 most common (data/english.txt, most
common first), American spellings and the next 4,000 words (data/english_more.txt): "calm" must not weigh as much as a name.
Everyday words of chat always count as common. A table has a line for each word in the order of the words' bytes; it is mapped,
and a line is found by bisection. THIRD_PARTY.md has source and licence.
"""

import math
import mmap
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from .chinese import first_line, han_frequency
from .language import HAN
from .lazy_re import lazy_re, words_of
from .tokenizer import stem, tokens

#: Occurrences in a million words at which the rarity is 0, and at which it is 1.
_COMMON: Final = 3000.0
_RAREST: Final = 1.0
#: The rarity from which a word says what a text is about.
_TELLING: Final = 0.6
#: Zipf's law: the word of rank r occurs about 100,000 / r times in a million words.
_ZIPF: Final = 100_000.0
#: The rank of each stem of the two lists (script/stem-ranks).
_STEM_RANKS: Final = Path(__file__).parent / "data/stem_ranks.txt"
_HAN: Final = lazy_re(f"[{HAN}]")
#: A number of so many digits is as rare as a name. A word of fewer Latin letters than the second is part of a name, or an
#: abbreviation.
_DIGITS: Final = 4
_SHORT: Final = 3
#: A Chinese number with its unit, which is not a word of the dictionary (三首, 十岁), and the most that it is worth.
_COUNTED: Final = lazy_re(
    "[零一二两三四五六七八九十百千万几半]{1,3}[岁个首本次天年月日号点分秒块元斤米句行张条件位名人遍回种层楼间杯]?"
)
_COUNT: Final = 0.2
#: Words that are more common in conversation than in the texts behind the two lists.
_CHAT: Final = Path(__file__).parent / "data/chat.txt"


@lru_cache(maxsize=10_000)
def rarity_of(token: str) -> float:
    """
    Return how rare a token of `tokenizer.tokens` is: 0.0 for an everyday word, 1.0 for a name or a term.

    That of a number is by its digits, and an unknown Chinese word is a name.

    >>> rarity_of("thank") < rarity_of("backup") < rarity_of("rsync"), rarity_of("喜欢") < rarity_of("青霉素")
    (True, True)
    >>> rarity_of("7"), rarity_of("4386"), rarity_of("gpt")
    (0.25, 1.0, 1.0)
    """
    if token.isascii() or not _HAN.match(token):
        is_code = token.isascii() and (token.isdigit() or len(token) < _SHORT)
        rare = 0.0 if token in _chat() else _of_english(token)
        return min(rare, len(token) / _DIGITS) if is_code else rare
    if token in _chat():
        return 0.0
    rare = round(_scaled(han_frequency(token)), 2)
    return min(_COUNT, rare) if _COUNTED.fullmatch(token) else rare


def _of_english(token: str) -> float:
    """Return the rarity by Zipf's law; 1.0 for a word that is not in the lists."""
    rank = _rank(token)
    return _scaled(_ZIPF / rank) if rank else 1.0


def _scaled(per_million: float) -> float:
    return min(1.0, max(0.0, math.log(_COMMON / max(per_million, _RAREST)) / math.log(_COMMON / _RAREST)))


def telling_words(text: str) -> set[str]:
    """
    Return the tokens that say what *text* is about: numbers, names, rare words.

    >>> sorted(telling_words("We moved rsync to port 2222, okay?"))
    ['2222', 'rsync']
    """
    return {token for token in tokens(text) if rarity_of(token) >= _TELLING or any(map(str.isdigit, token))}


@lru_cache(maxsize=10_000)
def _rank(token: str) -> int:
    """Return the rank of a stem, 1 for the most common, 0 for one that is in no list."""
    return int(line_of(_STEM_RANKS, token) or 0)


@cache
def _chat() -> frozenset[str]:
    return frozenset(stem(word) if word.isascii() else word for word in words_of(_CHAT))


def line_of(path: Path, word: str) -> str | None:
    """Return what the line of *word* in the table at *path* has behind it, None if there is no such line."""
    table, wanted = _table(path), word.encode("utf-8", "surrogatepass") + b" "
    start = first_line(table, wanted)
    end = start + len(wanted)
    return table[end : table.find(b"\n", end)].decode() if table[start:end] == wanted else None


@cache
def _table(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
