"""
Segmentation of Chinese: runs of Han characters, in simplified form, cut into words by jieba; and data of jieba's dictionary.

rjieba, if installed, returns the same words (tests/text/test_chinese.py) and loads ten times faster. OpenCC converts
traditional characters, and words of Taiwan, to those of the mainland, so that 軟體 and 软件 are one word. pypinyin spells
words in Latin letters; it takes 0.4 s and 57 MB. All four are loaded at first use; a supervisor uses jieba's dictionary and
pypinyin in a process that ends (`storage/own_process.py`). Source: docs/explanation/recall.md.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

#: OpenCC's table from characters and words of Taiwan to those of the mainland; it includes characters of Hong Kong.
_TABLE: Final = "tw2sp"


def to_simplified(run: str) -> str:
    """
    Return a run of Han characters in simplified form; its length may change.

    >>> to_simplified("備份軟體"), to_simplified("备份软件")
    ('备份软件', '备份软件')
    """
    return str(_converter().convert(run))


def has_rjieba() -> bool:
    """Tell whether rjieba is installed; it is not loaded."""
    return find_spec("rjieba") is not None


def cut_for_search(run: str) -> list[str]:
    """Return the words of a run and the shorter words in them, as in index and query; unknown words in single characters."""
    return list(_searching()(run)) if len(run) > 1 else [run]


def cut_whole(run: str) -> list[str]:
    """Return the words of a run in order, guessed by jieba where the dictionary has none."""
    return [str(word) for word in _jieba().lcut(run)] if len(run) > 1 else [run]


def han_frequency(word: str) -> float:
    """Return how often a Chinese word occurs in a million words of general text; 0.0 for an unknown word."""
    dictionary = _jieba()
    return 1e6 * float(dictionary.FREQ.get(word) or 0) / float(dictionary.total)


def is_noun(word: str) -> bool:
    """Tell whether a Chinese word is a noun, a place name, or a verb used as a noun (备份, 过敏)."""
    return word in _nouns()


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


@cache
def _searching() -> Callable[[str], list[str]]:
    try:
        import rjieba
    except ImportError:
        return jieba_cut_for_search
    return lambda run: rjieba.cut_for_search(run, False)  # False: no guessed words


def jieba_cut_for_search(run: str) -> list[str]:
    """Return what `cut_for_search` returns, computed by jieba even if rjieba is installed."""
    return [str(word) for word in _jieba().lcut_for_search(run, HMM=False)]


@cache
def _jieba() -> Any:
    """Return a separate tokeniser of jieba with its dictionary loaded and cached in the user's cache folder; prints nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its patterns and its import of pkg_resources cause warnings on newer Pythons
        import jieba
    import platformdirs

    jieba.setLogLevel(60)  # above CRITICAL: it would report its loading on the terminal
    dictionary = jieba.Tokenizer()
    # subtle: always set, since jieba would otherwise trust a cache file in a shared /tmp; where the folder can't be created,
    # jieba finds no cache file, writes none, and parses its dictionary every time
    dictionary.tmp_dir = platformdirs.user_cache_dir("recalld")
    with contextlib.suppress(OSError):
        os.makedirs(dictionary.tmp_dir, mode=0o700, exist_ok=True)
    dictionary.initialize()
    return dictionary


@cache
def _nouns() -> frozenset[str]:
    """Return the words that jieba's dictionary tags as nouns; reading them takes a fifth of a second."""
    with _jieba().get_dict_file() as lines:
        tagged = (line.decode().split() for line in lines)
        return frozenset(word for word, _, tag in tagged if tag.startswith("n") or tag in {"vn", "j", "s"})
