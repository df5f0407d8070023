"""The language of a text, Chinese or English, by its characters alone."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final, Literal

from .lazy_re import lazy_re
from .tokenizer import HAN, KANA

Language = Literal["zh", "en"]

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
_LETTER: Final = lazy_re(r"[^\W\d_]")
_JOINED: Final = lazy_re(rf"{_LETTERS}(?:\d*[/.:@_-]+\d*{_LETTERS})*")


def language_of(text: str) -> Language:
    """
    Return "zh" if at least half of the words are Chinese, else "en", also for every other language.

    >>> language_of("用 pnpm install 装依赖就行"), language_of("ask 方阿姨 about the rent"), language_of("猫がいます")
    ('zh', 'en', 'en')
    >>> language_of("/etc/hosts 在哪")
    'zh'
    """
    if text.isascii():
        return "en"
    han, kana, words = (len(pattern.findall(text)) for pattern in (_HAN, _KANA, _JOINED))
    if not han or kana > _KANA_SHARE * han:
        return "en"
    return "zh" if han * _WORDS_A_HAN >= words else "en"


def language_of_sentences(texts: Iterable[str]) -> Language:
    r"""
    Return the language of most sentences of the texts, code aside; if they are half and half, that of all words.

    >>> language_of_sentences(["备份失败了，看日志：\n```\nTraceback (most recent call last)\nOSError: no space left\n```"])
    'zh'
    """
    prose = _CODE.sub(" ", "\n\n".join(texts))
    languages = [language_of(sentence) for sentence in _END.split(prose) if _LETTER.search(sentence)]
    more = 2 * languages.count("zh") - len(languages)
    return ("zh" if more > 0 else "en") if more else language_of(prose)


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
