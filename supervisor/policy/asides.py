"""
What each word of a question counts: those of a request, of a date, and those that ask for one, count little.

In a young memory 帮我, "please" and 几号 are words that nobody ever used, and so would weigh the most; and 推荐一部电影 asks
for a film, not for what was once recommended. A request is known by its place, at the beginning or the end of a clause:
谁帮我修的 asks for help that was given.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from supervisor.text.words import tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from supervisor.policy.dates import Span

#: What a polite word of request counts; one of a date, beside the day itself; an English one of a stretch of days: "June" and
#: "year" stand in what people say, as 月 and 号 do not (measured).
ASIDE: Final = 0.1
_DATED: Final = 0.2
_STRETCH: Final = 0.9
_POLITE: Final = (
    "你好|您好|早上好|下午好|晚上好|请问|请教|请(?![假客帖柬])|麻烦|劳驾|拜托|能不能|能否|可不可以|可否|可以|能|你|您|我想让?"
    "|我要|想|要|帮忙|帮(?![派手扶])我?|[给替为跟和]我|让我|一下|再|先|快|顺便|告诉我?|知不知道|知道|还?记不记得|还?记得"
)
_LOOK: Final = r"([看想说讲翻问算查找搜])\1|(?:[看想说讲翻问算查找搜]|回[忆想])一?下|查(?![理尔收验体])|找(?![零到])|搜索?|列出"
_MAKE: Final = "推荐|介绍|翻译|写|画|讲|生成|解释|总结|列举|编|起草|润色|改写|设计"
_AMOUNT: Final = "[一几这那两]?[首部本个篇段些种点下句张封份位]"
#: 帮我查一下, 请推荐一本; without a polite word before it a verb is an order only where it says how many: 写一首, not 写的简历.
_BEFORE: Final = (
    rf"(?:^|(?<=[，,。！!；;：:~\s]))(?:(?:{_POLITE})+(?:{_LOOK}|一下)*(?:我的?)?(?:(?:{_MAKE})(?![的过了])(?:{_AMOUNT})?)?"
    rf"|(?:{_LOOK})+|(?:{_MAKE}){_AMOUNT})"
)
_AFTER: Final = rf"(?:(?:请|麻烦)?[你您]?帮我?(?:{_LOOK})[吧呗]?|谢谢你?|多谢|感谢)\W*$"
_ORDER: Final = "(?:recommend|suggest|translate|write|draw|explain|summari[sz]e|describe|draft)"
_WHAT: Final = r"(?= (?:me|us|an?|the|some|this|that)\b)"
_ENGLISH: Final = re.compile(
    r"(?:^|(?<=[,.!;:])\s*)(?:(?:please|pls|kindly|hey|hi|hello|could|can|would|will|do|you|i'd like(?: you)? to|i want you to"
    r"|me|to|help|tell|show|give|find|look(?: up)?|search(?: for)?|check|let|know|remember|remind|just|if)\b[ ,]*)+"
    rf"(?:{_ORDER}{_WHAT})?|^{_ORDER}{_WHAT}|\b(?:please|thanks|thank you)\W*$",
    re.IGNORECASE,
)
#: The words that ask which day or time it is, or was.
_WHICH: Final = re.compile(
    r"几月几[号日]|几[号点月]|多少号|(?:星期|礼拜|周)几|哪一?[天日]|什么日子|日期"
    r"|\b(?:what|which)(?:'s| is)? (?:the )?(?:day|date|time)\b|\bthe date\b",
    re.IGNORECASE,
)
_HAPPENED: Final = re.compile(
    r"做了|干了|发生|有(?:什么|哪些|啥)|安排|日程|待办|计划|聊|说|讨论|提到|记|[了过](?:什么|啥|哪|谁|多少|几)"
    r"|\b(?:did|was|were|had|happen\w*|have (?:i|we)|schedul\w*|plan\w*|agenda|appointments?|meetings?)\b"
    r"|\b(?:talk\w*|discuss\w*|said|told)\b",
    re.IGNORECASE,
)


def weighed(sentence: str, dates: Sequence[Span]) -> dict[str, float]:
    """
    Return the words of *sentence* (NFKC), in order, each with what it counts, 1.0 in full; *dates* are those that it names.

    >>> weighed("麻烦帮我查一下我妈生日几号", ())
    {'麻烦': 0.1, '帮': 0.1, '查': 0.1, '妈': 1.0, '生日': 1.0, '几号': 0.1}
    """
    asides = (*([] if sentence.isascii() else _chinese()), _ENGLISH, _WHICH)
    undated = _without(sentence, [match.span() for pattern in asides for match in pattern.finditer(sentence)])
    known = tokens(undated)
    plain = tokens(_without(undated, [(span.start, span.end) for span in dates])) if dates else known
    # subtle: what is left may be cut otherwise: 这段话, and 话
    words = dict.fromkeys(tokens(sentence), ASIDE)
    words |= dict.fromkeys(known, _DATED)
    for span in dates:
        if span.days.length > 1:
            words |= {word: _STRETCH for word in tokens(sentence[span.start : span.end]) if word.isascii() and word.isalpha()}
    return words | dict.fromkeys(plain, 1.0)


def asks_which_day(text: str) -> bool:
    """Tell whether it asks which day or time it is or was: 今天几号, "what day is it"."""
    return bool(_WHICH.search(text))


def asks_what_happened(text: str) -> bool:
    """Tell whether it asks for what was done, said or planned: 今天做了什么, "what did I do today"."""
    return bool(_HAPPENED.search(text))


@cache
def _chinese() -> tuple[re.Pattern[str], ...]:
    """Return the Chinese patterns, compiled where there is Chinese to be read: it takes longer than the reading."""
    return re.compile(_BEFORE), re.compile(_AFTER)


def _without(sentence: str, stretches: Iterable[tuple[int, int]]) -> str:
    """Return the sentence with blanks in place of these stretches."""
    for start, end in stretches:
        sentence = sentence[:start] + " " * (end - start) + sentence[end:]
    return sentence
