"""
What tense a text has. Pure.

A question asks what is true now, what was, or what is to be done; a message tells of what is over, or to come.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ..text.lazy_re import lazy_re

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from .calendar import Days

#: English verbs, common ones, that tell of what is over, as part of a pattern.
_PAST_VERBS = r"\w{3,}ed|went|came|got|took|saw|met|paid|bought|sent|gave|spent|left"
#: Signs that a sentence is about the past, or about the future; 天文馆周一闭馆 has neither, it is about every Monday.
OVER = lazy_re(rf"[了过]|刚|\b(?:was|were|did|had|said|told|sold|spoke|{_PAST_VERBS})\b", re.IGNORECASE)
AHEAD = lazy_re(
    r"[要得]|会(?![员议计])|别忘|记得|[之以]?前|截止|约|交|上门|面试|考试|见面|出发|到货|搬|安排|计划|日程|待办|有[空事]|[有干做][什啥嘛]"
    r"|\b(?:[Ww]ill|'ll|going to|have to|has to|needs?|must|due|until|till|by|before|should|[Rr]emind|[Rr]emember|can|could"
    r"|booked|scheduled|planned|moved|coming|appointments?|meeting|interview|flight|exam|see you|[Ll]et's"
    r"|[Aa]nything|happening|free|busy|plans?|to-?dos?|agenda|[Ww]hat(?:'s|s| is) on|doing)\b",
)
_BEFORE = (
    r"以前|之前|从前|先前|此前|早先|过去|曾经|原来|原先|原本|本来|起初|最初|最早|最开始|一开始|刚开始|当初"
    r"|\b(?:before|original(?:ly)?|used to|initial(?:ly)?|previous(?:ly)?|former(?:ly)?|earlier|at first|first|back then)\b"
    r"|\b(?<!how )(?<!year )(?<!years )(?<!months )old\b"
    r"|\b(?:was|were|did)\b.{0,20}\b(?:plan(?:ned)?|supposed)\b"
)
_OF_BEFORE = lazy_re(_BEFORE, re.IGNORECASE)
_WAS = lazy_re(
    rf"{_BEFORE}|当时|那时|上一[个家任位次版]|前一[个家任位版]|旧的|老的|\b(?:did|was|were|had|at the time|in the past)\b",
    re.IGNORECASE,
)
_NOW_WORDS = (
    r"现在|目前|如今|眼下|当前|最新|这会儿|\b(?:now|currently|current|latest|newest|these days|at the moment|nowadays)\b"
)
_NOW = lazy_re(rf"{_NOW_WORDS}|\b(?:any ?more|still)\b", re.IGNORECASE)
#: Questions of which the answer is kept: it is asked for once for each passage that may answer.
_ASKED = 16
#: The words that say when; they are in no answer, and are searched for as words of a request are.
TENSE_WORDS = lazy_re(
    rf"{_NOW_WORDS}|以前|之前|从前|先前|原来|原先|原本|本来|起初|最初|最开始|一开始|当初"
    r"|\b(?:originally|used to|initially|previously|formerly)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=_ASKED)
def asks_now(text: str) -> bool:
    """True if the question asks for what is true now: 现在, "currently"."""
    return bool(_NOW.search(text))


@lru_cache(maxsize=_ASKED)
def asks_before(text: str) -> bool:
    """True if the question asks for what was before something changed: 原来, "originally"."""
    return not asks_now(text) and bool(_OF_BEFORE.search(text))


def asks_past(text: str, days: Iterable[Days] = (), today: date | None = None) -> bool:
    """
    True if the question asks for what was: 以前, "used to", "did", or by a day that is over.

    >>> asks_past("our old landlord"), asks_past("how old is our landlord?")
    (True, False)
    """
    is_over = today is not None and any(one.last < today for one in days)
    return not asks_now(text) and (bool(_WAS.search(text)) or is_over)


# ── what is to be done ───────────────────────────────────────────────────────

#: What asks for things to do, in each language, and what says that they are over.
_ENGLISH: Final = (
    r"(?i:\b(?:due|(?:need|have|has|got|supposed|going) to(?: (?:do|get done|finish|hand in|pay))?|gotta|to-?dos?"
    r"|plan(?:s|ned)?|schedul\w*|agenda|appointments?|coming(?: up| round| over)?|arriving|deadlines?|happening|going on"
    r"|have (?:i|we) got|(?:i|we)(?:'ve| have)? got|do (?:i|we) have"
    r"|anything(?: going)?(?: on)?(?: else)?|what(?:'s|s| is) (?:on|up(?= (?:on|this|next|tomorrow|today|tonight)))"
    r"|on (?:my|the) calendar|(?:am i|are we) (?:doing|free|busy)|remind me|must i|should i do"
    r"|what(?:'s|s| have i got| do (?:i|we) have(?: got)?)(?= (?:on |for )?(?:today|tomorrow|tonight|next|this)))\b)"
)
_CHINESE: Final = (
    r"安排|计划|日程|行程|待办|要(?:[干做交办见开]|去(?=哪|什么|啥))|[干做](?:什么|嘛|啥)|有?(?:什么|啥|哪些)(?:事情?|会|活|课|钱|账)|有(?:什么|啥|哪些)[呢呀啊]?[？?]?\s*$|有事|忙[吗不么]"
    "|该[干做交办]|交(?:什么|啥)|没[付交办]|几点[要得该]|谁[要会]?来|截止|到期|提醒|有空|忙(?:什么|啥)"
)
_TO_DO: Final = lazy_re(f"{_ENGLISH}|{_CHINESE}")
_DONE: Final = lazy_re(r"[了过](?![吗么])|\b(?:did|was|were|had|said|told)\b", re.IGNORECASE)


#: Who asks what was said, or with a verb in the past, means a day that was.
_TALKED: Final = lazy_re(
    rf"[聊说谈]|讨论|提到|[来去吃买做看用写拍聚]的|\b(?:talk|discuss|(?:{_PAST_VERBS}|ate|made|wrote|broke|began)\b)",
    re.IGNORECASE,
)


def is_over(question: str) -> bool:
    """
    True if a question is about what was, so that a day without a year is the last one.

    >>> is_over("what did we decide on 8 December?"), is_over("12月8号聊什么"), is_over("what happens on 8 December?")
    (True, True, False)
    """
    return bool(_DONE.search(question) or _TALKED.search(question))


def asks_to_do(sentence: str) -> bool:
    """
    True if the sentence asks what is to be done, and not what was.

    >>> [asks_to_do(text) for text in ("明天有什么安排", "what's due next Tuesday?", "what did I do on Tuesday?")]
    [True, True, False]
    """
    return bool(_TO_DO.search(sentence)) and not _DONE.search(sentence)


def without_asking(sentence: str) -> str:
    """Return the sentence with blanks in place of what asks for things to do."""
    return _TO_DO.sub(lambda match: " " * len(match[0]), sentence)
