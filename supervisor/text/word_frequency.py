"""
How rare a word is in the language at large: what is rare there and stands in a day's talk is what the day was about.

Chinese words by jieba's own dictionary, English ones by their place among the 6,000 commonest (data/english.txt, commonest
first; its source and licence are in THIRD_PARTY.md). Everyday words of chat are common whatever those say.
"""

from __future__ import annotations

import math
import re
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from supervisor.text.chinese import han_frequency
from supervisor.text.tokenizer import HAN, stem

#: Uses in a million words from which a word is no longer rare at all, and below which it can't be rarer.
_COMMON: Final = 3000.0
_RAREST: Final = 1.0
#: A Chinese word that the dictionary lacks is a name, or a wrong guess.
_GUESSED: Final = 0.6
#: Zipf's law: the word of rank r stands about 100,000 / r times in a million words.
_ZIPF: Final = 100_000.0
_HAN: Final = re.compile(f"[{HAN}]")
#: Where written Chinese and the web of the lists differ from two people talking.
_CHAT: Final = frozenset(
    """
    谢谢 感谢 不用谢 不客气 你好 您好 再见 早上好 晚上好 晚安 早安
    帮忙 帮助 推荐 建议 听起来 没关系 当然 好吃 有趣 喜欢 觉得 知道
    最近 今天 明天 昨天 现在 需要 希望 感觉 不错 很棒 加油 开心 高兴 喔喔 哈哈 哈哈哈 嘿嘿 分享 了解 告诉 记住 记得
    信息 问题 伴侣 聊聊 聊天 不好意思 抱歉 对不起 祝 愉快 hey hi hello wow yeah yep nope okay ok lol haha hmm oh ah um
    yay thanks thank thx sorry please awesome amazing great glad cool nice fun love excited exciting inspiring
    wonderful incredible totally definitely absolutely really gonna wanna gotta kinda btw bye congrats congratulations
    phew cheers sounds sound sure maybe actually pretty super guys guy stuff thing things lot bit appreciate reminder
    remember tell know think feel good way keep see hear
    """.split()  # noqa: SIM905 - a list to be read, not a literal of quotes
)


@lru_cache(maxsize=100_000)
def rarity(token: str) -> float:
    """
    Return how rare a token of `words.tokens` is: 0.0 for an everyday word, 1.0 for a name or a term.

    >>> rarity("thank") < rarity("backup") < rarity("rsync")
    True
    """
    if token in _chat():
        return 0.0
    if len(token) > 1 and _HAN.match(token) and not han_frequency(token):
        return _GUESSED
    per_million = han_frequency(token) if _HAN.match(token) else _ZIPF / _ranks().get(token, _ZIPF)
    scale = math.log(_COMMON / max(per_million, _RAREST)) / math.log(_COMMON / _RAREST)
    return min(1.0, max(0.0, scale))


def is_known(token: str) -> bool:
    """
    Tell whether a token of `words.spelled` is a word of the dictionary or one of the common words; names and typos are not.

    >>> is_known("backup"), is_known("备份"), is_known("becuas")
    (True, True, False)
    """
    return han_frequency(token) > 0 if _HAN.match(token) else token in _ranks()


@cache
def _ranks() -> dict[str, int]:
    """Return the place of each common stem in the language, the commonest word being 1."""
    ranks: dict[str, int] = {}
    words = (Path(__file__).parent / "data/english.txt").read_text(encoding="ascii").split()
    for rank, word in enumerate(words, 1):
        ranks.setdefault(stem(word), rank)
    return ranks


@cache
def _chat() -> frozenset[str]:
    return frozenset(stem(word) if word.isascii() else word for word in _CHAT)
