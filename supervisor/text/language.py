"""
The language of a text, Chinese or English, by its characters alone, and whether it is nothing but courtesies.

`is_chitchat` is 000's rule for what people say: such messages are archived, but have no vector, no summary mentions them, and
for such a question nothing is recalled. Source: docs/reference/protocol.md, 6.
"""

import re
import unicodedata
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Final, Literal

from .lazy_re import lazy_re, lines_of, words_of

Language = Literal["zh", "en"]

_DATA: Final = Path(__file__).parent / "data"
#: The stop words of both languages.
CHINESE: Final = frozenset(words_of(_DATA / "stop_words.zh.txt"))
ENGLISH: Final = frozenset(words_of(_DATA / "stop_words.en.txt"))
#: Han characters with 々 and 〇, for use in a character class.
HAN: Final = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
#: Hiragana and katakana with the long-vowel mark.
KANA: Final = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"

#: The roles in Chinese, as recalld writes them before what was said; in English a role is its own label.
ROLES: Final = {"user": "用户", "assistant": "助手", "system": "系统", "tool": "工具"}

#: So many of the newest texts show the language of the memory, each with so many characters.
NEWEST: Final = 7
_CHARS: Final = 1_000
#: Words per Han character: Chinese words have one or two characters, seldom three or four.
_WORDS_A_HAN: Final = 0.75
#: Kana per Han character from which a text is Japanese, which has about as many of both; Chinese has kana in names at most.
_KANA_SHARE: Final = 0.1
#: A Han character, a kana and a word of another script; a path, an address or a name such as node-22.x is one word.
_HAN, _KANA = lazy_re(f"[{HAN}]"), lazy_re(f"[{KANA}]")
_LETTERS: Final = f"[^\\W\\d_{HAN}{KANA}]+"
_WORD: Final = lazy_re(_LETTERS)
#: What ends a sentence. Code in Markdown: a fence, a quoted piece, an indented line.
_END: Final = lazy_re(r"[。！？!?；;\n]|\.(?=\s)")
_CODE: Final = lazy_re(r"(?ms:^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z))|`[^`\n]*`|(?m:^(?: {4}|\t).*$)")
_JOINED: Final = lazy_re(rf"{_LETTERS}(?:\d*[/.:@_-]+\d*{_LETTERS})*")

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
GREETINGS: Final = tuple(lines_of(_DATA / "greetings.txt"))

#: The most characters of chit-chat, after folding; of the same design.
SKIP_CHARS: Final = 8
_MOST_CHARS: Final = 80  # of small talk, after folding
_PARTICLES: Final = frozenset("的了呢啊呀吧啦哦噢喔哈嘛呵嘻哟耶咯哒滴呐嗷你您")


def language_of(text: str) -> Language:
    """
    Return "zh" if at least half of the words are Chinese, or the stop words are, else "en", also for every other language.

    >>> [language_of(t) for t in ("/etc/hosts 在哪", "把 base image 换成 python:3.12-slim", "ask 方阿姨 to come", "猫がいます")]
    ['zh', 'zh', 'en', 'en']
    """
    return "zh" if _leaning(text) > 0 else "en"


def _leaning(text: str) -> int:
    """Return 1 for Chinese, -1 for another language, 0 for a few Chinese words where stop words don't tell."""
    han = [] if text.isascii() else _HAN.findall(text)
    if not han or len(_KANA.findall(text)) > _KANA_SHARE * len(han):
        return -1
    words = _JOINED.findall(text)
    if len(han) * _WORDS_A_HAN >= len(words):
        return 1
    more = sum(char in CHINESE for char in han) - sum(word.casefold() in ENGLISH for word in words)
    return (more > 0) - (more < 0)


def language_of_sentences(texts: Iterable[str]) -> Language:
    r"""
    Return the language of most sentences of the texts, code aside; if they are half and half, that of all words.

    >>> language_of_sentences(["备份失败了，看日志：\n```\nTraceback (most recent call last)\nOSError: no space left\n```"])
    'zh'
    >>> language_of_sentences(["kubectl get pods -n prod 卡住", "restart deployment 之后好了"])
    'zh'
    """
    prose = _CODE.sub(" ", "\n\n".join(texts))
    unclear = _leaning(prose) or -1
    more = sum(_leaning(sentence) or unclear for sentence in _END.split(prose) if any(map(str.isalpha, sentence)))
    return "zh" if (more or unclear) > 0 else "en"


def language_of_most(texts: Iterable[str]) -> Language:
    """
    Return the language of most of the first texts, which are the newest; of two that are as frequent, the newest.

    Each text counts as one, so that a single message, however long, is not the language of all.

    >>> language_of_most(["ok, thanks", "我对花生过敏", "周五去游泳"]), language_of_most([])
    ('zh', 'en')
    """
    languages = [language_of(text[:_CHARS]) for text in islice(filter(str.strip, texts), NEWEST)]
    return max(languages, key=languages.count, default="en")


def count_words(text: str) -> int:
    """
    Return about how many words the text has, in any language.

    >>> count_words("用 pnpm install 装依赖就行"), count_words("ask her about the rent")
    (6, 5)
    """
    han, kana, words = (len(pattern.findall(text)) for pattern in (_HAN, _KANA, _WORD))
    return round((han + kana) * _WORDS_A_HAN) + words


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
    """Return what is behind courtesies, particles, punctuation, blanks, emoji, and symbols other than of money."""
    at = 0
    while at < len(folded):
        courtesy, kind = courtesies.match(folded, at), unicodedata.category(folded[at])
        if not (courtesy or folded[at] in _PARTICLES or kind[0] in "PZM" or kind in {"So", "Sk", "Sm", "Cf"}):
            break
        at = courtesy.end() if courtesy else at + 1
    return folded[at:]


def _any_of(phrases: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern of the phrases, longest first. A Latin phrase ends at the end of a word: "no" is not in "north"."""
    longest = sorted({phrase.casefold() for phrase in phrases}, key=lambda phrase: (-len(phrase), phrase))
    return lazy_re("|".join(re.escape(phrase) + (r"(?![a-z0-9])" if phrase[0].isascii() else "") for phrase in longest))


_COURTESIES: Final = _any_of(SKIP_PREFIXES)
_SMALL_TALK: Final = _any_of((*SKIP_PREFIXES, *GREETINGS))
