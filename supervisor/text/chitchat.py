"""
Which messages are courtesy and nothing else: they are filed like all others, but nothing is to be recorded of them.

To those that only greet or thank nothing is to be remembered either.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Seed 000, `MessageAnalyzer._SKIP_PREFIXES`, to the letter.
SKIP_PREFIXES: Final = (
    "好的", "知道了", "明白", "收到", "谢谢", "好", "行",
    "嗯", "哦", "ok", "OK", "Ok", "嗯嗯", "哦哦", "好好",
    "了解", "可以", "没问题", "对", "是的", "没错", "确实",
    "哈哈", "呵呵", "嘻嘻", "666", "👍", "🙏", "感谢",
    "thanks", "thx", "yes", "no", "yep", "nope", "sure",
    "got it", "noted", "fine", "cool", "nice",
)  # fmt: skip

#: What people say when they come and go, and goes on from a courtesy; ours.
GREETINGS: Final = (
    "你好", "您好", "你们好", "大家好", "早安", "早上好", "上午好", "中午好", "下午好", "晚上好", "晚安", "早", "再见",
    "拜拜", "在吗", "在不在", "嗨", "哈喽", "hello", "hi", "hey", "good morning", "good afternoon", "good evening",
    "good night", "bye", "goodbye", "see you", "thank you", "there", "so much", "very much", "a lot", "everyone",
)  # fmt: skip

#: Characters, after folding; seed 000.
SKIP_CHARS: Final = 8
_MOST_CHARS: Final = 80  # of small talk; ours
_PARTICLES: Final = frozenset("的了呢啊呀吧啦哦噢喔哈嘛呵嘻哟耶咯哒滴呐嗷你您")


def is_chitchat(text: str) -> bool:
    """
    Tell whether *text* is blank, or at most 8 characters that are courtesies and what may trail them.

    A courtesy is one of SKIP_PREFIXES, in any case or width; punctuation, particles, emoji and further courtesies may follow.
    (Seed 000 asks for the prefix alone, which also drops 对花生过敏 and "no dairy".)

    >>> [is_chitchat(t) for t in ("好的呢！", "Thanks!", "谢谢你🙏", "对花生过敏", "no dairy")]
    [True, True, True, False, False]
    """
    folded = unicodedata.normalize("NFKC", text).casefold().strip()
    return not folded or (len(folded) <= SKIP_CHARS and bool(_COURTESIES.match(folded)) and not _trail(folded, _COURTESIES))


def is_small_talk(text: str) -> bool:
    """
    Tell whether *text* asks and tells nothing: it is blank, or greetings, courtesies and what may trail them, however many.

    >>> [is_small_talk(t) for t in ("你好呀", "Good morning, thank you!", "？！", "早上好，会议几点")]
    [True, True, True, False]
    """
    folded = unicodedata.normalize("NFKC", text[: _MOST_CHARS + 1]).casefold().strip()
    return len(folded) <= _MOST_CHARS and not _trail(folded, _SMALL_TALK)


def _trail(folded: str, courtesies: re.Pattern[str]) -> str:
    """Return what is left when courtesies, particles, punctuation and emoji are taken away from the front."""
    rest = folded
    while rest:
        courtesy = courtesies.match(rest)
        if courtesy:
            rest = rest[courtesy.end() :]
        elif rest[0] in _PARTICLES or _is_decoration(rest[0]):
            rest = rest[1:]
        else:
            break
    return rest


def _is_decoration(char: str) -> bool:
    """Tell whether *char* is punctuation, space, a symbol or emoji, or what joins and colours emoji; money is none."""
    return unicodedata.category(char)[0] in "PZM" or unicodedata.category(char) in {"So", "Sk", "Sm", "Cf"}


def _any_of(said: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern of these, longest first. A Latin one ends where its word ends: "no" is not in "north"."""
    longest = sorted({one.casefold() for one in said}, key=lambda one: (-len(one), one))
    return re.compile("|".join(re.escape(one) + (r"(?![a-z0-9])" if one[0].isascii() else "") for one in longest))


_COURTESIES: Final = _any_of(SKIP_PREFIXES)
_SMALL_TALK: Final = _any_of((*SKIP_PREFIXES, *GREETINGS))
