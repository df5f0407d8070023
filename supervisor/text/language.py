"""Which of the two languages of recalld a text is in, by its characters alone."""

from __future__ import annotations

import re
from functools import cache
from typing import Final, Literal

from supervisor.text.tokenizer import HAN, KANA

Language = Literal["zh", "en"]

#: Words a Han character is worth: Chinese words have one or two, seldom three or four.
_WORDS_A_HAN: Final = 0.75
#: Japanese has about as much kana as kanji; a Chinese text has at most a quoted name in it.
_KANA_SHARE: Final = 0.1


def language_of(text: str) -> Language:
    """
    Return "zh" where at least half of the words are Chinese, else "en", which stands for every other language too.

    >>> language_of("用 pnpm install 装依赖就行"), language_of("ask 方阿姨 about the rent"), language_of("猫がいます")
    ('zh', 'en', 'en')
    """
    if text.isascii():
        return "en"
    han, kana, words = (len(pattern.findall(text)) for pattern in _counted())
    if not han or kana > _KANA_SHARE * han:
        return "en"
    return "zh" if han * _WORDS_A_HAN >= words else "en"


@cache
def _counted() -> tuple[re.Pattern[str], ...]:
    """Return what finds Han characters, kana and words of other scripts, compiled where there are any."""
    return re.compile(f"[{HAN}]"), re.compile(f"[{KANA}]"), re.compile(f"[^\\W\\d_{HAN}{KANA}]+")
