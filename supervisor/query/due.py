"""
Questions about what is to be done on a day: 明天有什么安排, "what's due this week".

They find the messages that are about this day (`relative_days.days_about`), whenever they were sent. "What did I do on Tuesday"
is not such a question: it finds the messages that were sent on that day.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from recalld.supervisor.query.calendar import Days
from recalld.supervisor.query.dates import Span
from recalld.supervisor.query.relative_days import days_meant, may_name_a_day, months_meant
from recalld.supervisor.query.tense import PAST_VERBS
from recalld.supervisor.text.lazy_re import lazy_re

if TYPE_CHECKING:
    from datetime import date

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
_OVER: Final = lazy_re(r"[了过](?![吗么])|\b(?:did|was|were|had|said|told)\b", re.IGNORECASE)
#: Who asks what was said, or with a verb in the past, means a day that was.
_WAS: Final = lazy_re(
    r"[聊说谈]|讨论|提到|[来去吃买做看用写拍聚]的|\b(?:talk|discuss"
    rf"|(?:{PAST_VERBS}|ate|made|wrote|broke|began)\b)",
    re.IGNORECASE,
)


def is_over(question: str) -> bool:
    """
    Return whether a question is about what was, so that a day without a year is the last one.

    >>> is_over("what did we decide on 8 December?"), is_over("12月8号聊什么"), is_over("what happens on 8 December?")
    (True, True, False)
    """
    return bool(_OVER.search(question) or _WAS.search(question))


def due_days(sentence: str, today: date) -> tuple[Span, ...]:
    """
    Return the days, from today on, for which a sentence asks what is to be done; none if it asks something else.

    >>> from datetime import date
    >>> [due_days(text, date(2026, 11, 25))[0].days.label for text in ("明天有什么安排", "what's due next Tuesday?")]
    ['2026-11-26', '2026-12-01']
    >>> due_days("what did I do on Tuesday?", date(2026, 11, 25))
    ()
    >>> due_days("12月有什么安排", date(2026, 11, 25))[0].days.label
    '2026-12-01..2026-12-31'
    """
    if not may_name_a_day(sentence) or not _to_do(sentence.isascii()).search(sentence) or _OVER.search(sentence):
        return ()
    ahead = [span for span in (days_meant(sentence, today) or months_meant(sentence, today)) if span.days.last >= today]
    return tuple(Span(Days(max(span.days.first, today), span.days.last), span.start, span.end) for span in ahead)


def without_asking(sentence: str) -> str:
    """Return the sentence with blanks in place of what asks for things to do."""
    return _to_do(sentence.isascii()).sub(lambda match: " " * len(match[0]), sentence)


@cache
def _to_do(is_english: bool) -> re.Pattern[str]:
    """Return the pattern of what asks for things to do."""
    return lazy_re(_ENGLISH if is_english else f"{_ENGLISH}|{_CHINESE}")
