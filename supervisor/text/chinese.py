"""
Chinese words: runs of Han characters cut by jieba, traditional ones as simplified, and what jieba's dictionary knows of them.

rjieba, where it is installed, cuts the same words (tests/text/test_chinese.py) and is there ten times sooner. OpenCC turns
traditional characters, and the words of Taiwan, into those of the mainland: 軟體 and 软件 are one word. All three are loaded
at first use. Source: design of recall, "Tokens".
"""

from __future__ import annotations

import contextlib
import os
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

#: OpenCC's table from Taiwan's characters and words to the mainland's; Hong Kong's characters are in it.
_TABLE: Final = "tw2sp"


def simplified(run: str) -> str:
    """
    Return a run of Han characters in those of the mainland; its length may change.

    >>> simplified("備份軟體"), simplified("备份软件")
    ('备份软件', '备份软件')
    """
    return str(_converter().convert(run))


def cut_for_search(run: str) -> list[str]:
    """Return the words of a run and the shorter words in them, as index and query know them; what is unknown in characters."""
    return list(_searching()(run)) if len(run) > 1 else [run]


def cut_whole(run: str) -> list[str]:
    """Return the words of a run one after the other, with jieba's guess where the dictionary has none."""
    return [str(word) for word in _jieba().lcut(run)] if len(run) > 1 else [run]


def han_frequency(word: str) -> float:
    """Return how often a Chinese word stands in a million words of the language at large; 0.0 for an unknown one."""
    dictionary = _jieba()
    return 1e6 * float(dictionary.FREQ.get(word) or 0) / float(dictionary.total)


def is_noun(word: str) -> bool:
    """Tell whether a Chinese word names something: a noun, a place, or a verb used as a noun (备份, 过敏)."""
    return word in _nouns()


@cache
def _converter() -> Any:
    import opencc

    return opencc.OpenCC(_TABLE)


@cache
def _searching() -> Callable[[str], list[str]]:
    try:
        import rjieba
    except ImportError:
        return slow_cut_for_search
    return lambda run: rjieba.cut_for_search(run, False)  # no guesses


def slow_cut_for_search(run: str) -> list[str]:
    """Return the words of `cut_for_search` by jieba itself."""
    return [str(word) for word in _jieba().lcut_for_search(run, HMM=False)]


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
