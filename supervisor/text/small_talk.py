"""
Texts without content: courtesies and small talk of people.

`is_chitchat` is 000's rule for what people say: such messages are archived, but have no vector, no summary mentions them, and
for such a question nothing is recalled. Source: docs/reference/protocol.md, 6.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from .lazy_re import lazy_re

#: Courtesies, as the design that this project began with lists them, unchanged.
SKIP_PREFIXES: Final = (
    "好的", "知道了", "明白", "收到", "谢谢", "好", "行",
    "嗯", "哦", "ok", "OK", "Ok", "嗯嗯", "哦哦", "好好",
    "了解", "可以", "没问题", "对", "是的", "没错", "确实",
    "哈哈", "呵呵", "嘻嘻", "666", "👍", "🙏", "感谢",
    "thanks", "thx", "yes", "no", "yep", "nope", "sure",
    "got it", "noted", "fine", "cool", "nice",
)  # fmt: skip

#: Greetings and goodbyes, and words that follow a courtesy; added by recalld.
GREETINGS: Final = (
    "你好", "您好", "你们好", "大家好", "早安", "早上好", "上午好", "中午好", "下午好", "晚上好", "晚安", "早", "再见",
    "拜拜", "在吗", "在不在", "嗨", "哈喽", "hello", "hi", "hey", "good morning", "good afternoon", "good evening",
    "good night", "bye", "goodbye", "see you", "thank you", "there", "so much", "very much", "a lot", "everyone",
    "no worries", "no problem", "never mind", "sounds good", "take care", "have a great day", "have a nice day", "haha", "lol",
    "you're welcome", "well done", "good job", "great", "perfect", "cheers", "cheers for that", "brilliant", "lovely",
    "fair enough", "my bad", "good point", "makes sense", "how are you", "how's it going", "how are things", "what's up",
    "that's all", "for now", "see you tomorrow", "see you soon", "see you later", "have a good one", "have a nice evening",
    "have a lovely evening", "have a good evening", "have a good night", "sleep well", "i'm fine", "i'm good", "and you",
    "many thanks", "太感谢", "非常感谢", "十分感谢", "多谢", "明天见", "回头见", "回见", "待会儿见", "慢走", "睡了", "祝好",
    "辛苦", "辛苦了", "不客气", "没事", "没关系", "不着急", "太好了", "太棒了",
    "wish me luck", "good luck", "fingers crossed", "祝我好运", "加油",
)  # fmt: skip

#: The most characters of chit-chat, after folding; of the same design.
SKIP_CHARS: Final = 8
_MOST_CHARS: Final = 80  # of small talk, after folding
_PARTICLES: Final = frozenset("的了呢啊呀吧啦哦噢喔哈嘛呵嘻哟耶咯哒滴呐嗷你您")


def is_chitchat(text: str) -> bool:
    """
    Return whether *text* is blank, or courtesies of at most 8 characters and nothing else.

    A courtesy is one of SKIP_PREFIXES, in any case or width; punctuation, particles, emoji and further courtesies may follow.
    (That design tests for the prefix alone, which also drops 对花生过敏 and "no dairy".)

    >>> [is_chitchat(t) for t in ("好的呢！", "Thanks!", "谢谢你🙏", "对花生过敏", "no dairy")]
    [True, True, True, False, False]
    """
    folded = unicodedata.normalize("NFKC", text).casefold().strip()
    return not folded or (
        len(folded) <= SKIP_CHARS and bool(_COURTESIES.match(folded)) and not _after_courtesies(folded, _COURTESIES)
    )


def is_small_talk(text: str) -> bool:
    """
    Return whether *text* is blank, or consists of any number of greetings and courtesies and nothing else.

    >>> [is_small_talk(t) for t in ("你好呀", "Good morning, thank you!", "？！", "早上好，会议几点")]
    [True, True, True, False]
    """
    folded = unicodedata.normalize("NFKC", text[: _MOST_CHARS + 1]).casefold().strip()
    return len(folded) <= _MOST_CHARS and not _after_courtesies(folded, _SMALL_TALK)


def _after_courtesies(folded: str, courtesies: re.Pattern[str]) -> str:
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
    """Return whether *char* is punctuation, space, a symbol other than of money, an emoji or a part of one."""
    return unicodedata.category(char)[0] in "PZM" or unicodedata.category(char) in {"So", "Sk", "Sm", "Cf"}


def _any_of(phrases: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern of the phrases, longest first. A Latin phrase ends at the end of a word: "no" is not in "north"."""
    longest = sorted({phrase.casefold() for phrase in phrases}, key=lambda phrase: (-len(phrase), phrase))
    return lazy_re("|".join(re.escape(phrase) + (r"(?![a-z0-9])" if phrase[0].isascii() else "") for phrase in longest))


_COURTESIES: Final = _any_of(SKIP_PREFIXES)
_SMALL_TALK: Final = _any_of((*SKIP_PREFIXES, *GREETINGS))
