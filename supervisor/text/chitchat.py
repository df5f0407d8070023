"""Which messages are courtesy and nothing else: they are filed like all others, but nothing is to be recorded of them."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

#: Seed 000, `MessageAnalyzer._SKIP_PREFIXES`, to the letter.
SKIP_PREFIXES: Final = (
    "好的", "知道了", "明白", "收到", "谢谢", "好", "行",
    "嗯", "哦", "ok", "OK", "Ok", "嗯嗯", "哦哦", "好好",
    "了解", "可以", "没问题", "对", "是的", "没错", "确实",
    "哈哈", "呵呵", "嘻嘻", "666", "👍", "🙏", "感谢",
    "thanks", "thx", "yes", "no", "yep", "nope", "sure",
    "got it", "noted", "fine", "cool", "nice",
)  # fmt: skip

#: Characters, after folding; seed 000.
SKIP_CHARS: Final = 8
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
    return not folded or (len(folded) <= SKIP_CHARS and bool(_COURTESIES.match(folded)) and not _trail(folded))


def _trail(folded: str) -> str:
    """Return what is left when courtesies, particles, punctuation and emoji are taken away from the front."""
    rest = folded
    while rest:
        courtesy = _COURTESIES.match(rest)
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


#: Longest first. A Latin one ends where its word ends: "no" is not in "north".
_COURTESIES: Final = re.compile(
    "|".join(
        re.escape(prefix) + (r"(?![a-z0-9])" if prefix[0].isascii() else "")
        for prefix in sorted({p.casefold() for p in SKIP_PREFIXES}, key=lambda p: (-len(p), p))
    ),
)
