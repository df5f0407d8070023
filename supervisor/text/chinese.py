"""
Chinese words: runs of Han characters are converted to simplified form and cut into words as jieba cuts them.

The words are looked up in the file of jieba's dictionary, which is mapped into memory: a question takes a millisecond, 20,000
messages some seconds, and loaded the dictionary would take 80 MB. What names a file is cut with jieba's guesses, too.
OpenCC converts traditional characters, and words of Taiwan, to those of the mainland, so that 軟體 and 软件 are one word.
pypinyin spells words in Latin letters; it takes 0.4 s and 57 MB. All are loaded at first use; a supervisor uses pypinyin in a
process that ends (`storage/process.py`). What people type in place of one another sounds alike: data/same_sound.txt has the
characters of each sound, made by script/same-sound with pypinyin (THIRD_PARTY.md). Source: docs/explanation/recall.md.
"""

import math
import mmap
import os
import warnings
from bisect import bisect_left
from functools import cache, lru_cache
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from .lazy_re import lazy_re

#: OpenCC's table from characters and words of Taiwan to those of the mainland; it includes characters of Hong Kong.
_TABLE: Final = "tw2sp"
#: The characters that jieba looks up (every other one is a word), and the sum of all frequencies in its dictionary.
_IN_DICTIONARY: Final = lazy_re("[\u4e00-\u9fd5]+|.")
_TOTAL: Final = 60_101_967
#: The dictionary begins with words in Latin letters, which are not sorted; this is the first of the others.
_FIRST: Final = "一"
_SURROGATE: Final = lazy_re("([\ud800-\udfff]+)")
#: jieba looks for shorter words, of two and of three characters, in longer ones.
_PARTS: Final = (2, 3)


def to_simplified(text: str) -> str:
    """
    Return the text with its Han characters in simplified form; its length may change. Lone surrogates stay.

    >>> to_simplified("備份軟體"), to_simplified("备份软件")
    ('备份软件', '备份软件')
    """
    if _SURROGATE.search(text):  # OpenCC takes UTF-8, which has none
        return "".join(piece if _SURROGATE.match(piece) else to_simplified(piece) for piece in _SURROGATE.split(text))
    return str(_converter().convert(text))


def cut_for_search(run: str) -> list[str]:
    """Return the words of a run and the shorter words in them, as in index and query; unknown words in single characters."""
    return _mapped().cut_for_search(run) if len(run) > 1 else [run]


def cut_whole(run: str) -> list[str]:
    """Return the words of a run in order; jieba guesses those that the dictionary does not have."""
    return _mapped().cut_guessing(run)


def han_frequency(word: str) -> float:
    """Return how often a Chinese word occurs in a million words of general text; 0.0 for an unknown word."""
    return 1e6 * (_mapped().frequency(word) or 0) / _TOTAL


def kind(word: str) -> str:
    """Return which kind of word the dictionary says that a Chinese word is: "ns" a place, "nr" a person; "" if it lacks it."""
    return _mapped().tag(word)


def is_noun(word: str) -> bool:
    """Return whether a Chinese word is a noun, a place name, or a verb used as a noun (备份, 过敏)."""
    tag = kind(word)
    return tag in {"vn", "j", "s"} or tag.startswith("n")


def pinyin(word: str) -> str:
    """
    Return a Chinese word in pinyin, in small letters without tones, v for ü; "" if none of its characters has any.

    >>> pinyin("重庆"), pinyin("女儿")
    ('chongqing', 'nver')
    """
    from pypinyin import lazy_pinyin

    return "".join(syllable for syllable in lazy_pinyin(word, errors="ignore") if syllable.isascii())


@cache
def _converter() -> Any:
    import opencc

    return opencc.OpenCC(_TABLE)


class MappedDictionary:
    """
    jieba's dictionary on disk: one line for each word, with its frequency, sorted by first character.

    A word is searched for among the lines with its first character: some forty, some thousand for the commonest characters.
    """

    def __init__(self, path: str) -> None:
        with open(path, "rb") as file:
            self._lines = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._start = self._lines.find(f"\n{_FIRST} ".encode()) + 1  # what is before it is not sorted

    @lru_cache(maxsize=1_000)  # noqa: B019 - there is one, as long as the process lives
    def _beginning_with(self, first: str) -> bytes:
        """Return the lines of the words with this first character, each after the end of a line."""
        start = first_line(self._lines, first.encode(), self._start)
        return b"\n" + self._lines[start : first_line(self._lines, chr(ord(first) + 1).encode(), start)]

    @lru_cache(maxsize=20_000)  # noqa: B019 - as above; a talk has the same words again and again
    def frequency(self, word: str) -> int | None:
        """Return the frequency of the word; 0 if it is only the beginning of a longer one, None if no word begins with it."""
        if fields := self._fields(word):
            return int(fields[0])
        return 0 if f"\n{word}".encode() in self._beginning_with(word[0]) else None

    def tag(self, word: str) -> str:
        """Return what kind of word it is, as jieba names kinds: "ns" for a place; "" if it is not in the dictionary."""
        return "".join(self._fields(word)[-1:])

    def _fields(self, word: str) -> list[str]:
        lines, line = self._beginning_with(word[0]), f"\n{word} ".encode()
        at = lines.rfind(line)
        return lines[at + len(line) : lines.find(b"\n", at + 1)].decode().split() if at >= 0 else []

    def cut_for_search(self, run: str) -> list[str]:
        """Return the words of the run and the shorter words in them, in jieba's order."""
        words = []
        for word in self.cut(run):
            for size in _PARTS:
                if len(word) > size:
                    parts = (word[at : at + size] for at in range(len(word) - size + 1))
                    words += [part for part in parts if self.frequency(part)]
            words.append(word)
        return words

    def cut(self, run: str) -> list[str]:
        """Return the words of the run in order; a character that no word of the dictionary has is a word."""
        return [word for part in _IN_DICTIONARY.findall(run) for word in self._cut(part)]

    def cut_guessing(self, run: str) -> list[str]:
        """Return the words of the run in order; where words stand side by side that are one character, jieba guesses."""
        tokens: list[str] = []
        for part in _IN_DICTIONARY.findall(run):
            for is_character, words in groupby(self._cut(part), lambda word: len(word) == 1):
                beside = [*words]
                is_guessed = is_character and len(beside) > 1 and not self.frequency("".join(beside))
                tokens += _guesser().cut("".join(beside)) if is_guessed else beside
        return tokens

    def _cut(self, run: str) -> list[str]:
        best = [(0.0, 0)] * (len(run) + 1)
        for start in reversed(range(len(run))):
            ends, end = [], start + 1
            while end <= len(run) and (frequency := self.frequency(run[start:end])) is not None:
                if frequency:
                    ends.append((end, frequency))
                end += 1
            ends = ends or [(start + 1, 1)]
            best[start] = max((math.log(often) - math.log(_TOTAL) + best[end][0], end) for end, often in ends)
        words, start = [], 0
        while start < len(run):
            words.append(run[start : best[start][1]])
            start = best[start][1]
        return words


def first_line(table: mmap.mmap, wanted: bytes, low: int = 0) -> int:
    """Return where the first line begins that does not come before *wanted*; from *low* on lines are in the order of bytes."""

    def beginning(at: int) -> bytes:
        start = table.rfind(b"\n", low, at) + 1 or low
        return table[start : start + len(wanted)]

    return low + bisect_left(range(low, len(table)), wanted, key=beginning)


@cache
def _mapped() -> MappedDictionary:
    spec = find_spec("jieba")  # jieba itself is not loaded
    if spec is None or spec.origin is None:
        raise ImportError(name="jieba")
    return MappedDictionary(os.path.join(os.path.dirname(spec.origin), "dict.txt"))


@cache
def _guesser() -> Any:
    """Return what guesses words in jieba, without its dictionary."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its patterns and its import of pkg_resources cause warnings on newer Pythons
        import jieba

    jieba.setLogLevel(60)  # above CRITICAL: it would report its loading on the terminal
    return jieba.finalseg


def sounding_like(char: str) -> str:
    """
    Return the common characters that sound like a Chinese character, without itself.

    >>> "检" in sounding_like("捡"), sounding_like("a")
    (True, '')
    """
    sounds = _sounds()
    at = sounds.find(char)
    return sounds[sounds.rfind("\n", 0, at) + 1 : sounds.find("\n", at)].replace(char, "") if at >= 0 else ""


@cache
def _sounds() -> str:
    return (Path(__file__).parent / "data/same_sound.txt").read_text(encoding="utf-8")
