"""How a sentence belongs to the ones before it in a conversation: questions and answers."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from ..text.language import HAN
from ..text.lazy_re import lazy_re

_QUESTION: Final = lazy_re(r"(?:[?？][”\"'）)」]*|(?:吗|[你您]呢)[。.～~]?)$")
#: How people ask without a mark: by the order of words, and with no second verb ("who is on call is Tom").
_ASKS: Final = lazy_re(
    r"(?:(?:and|but|ok|okay|also|btw|hey)[, ]+)*"
    r"(?:(?:so[, ]+)?(?:(?:what|who|where|when|why|how)"
    r"|what (?!(?:i|you|we|he|she|it|they|this|that|mum|mom|dad)\b)(?-i:[a-z]+)"
    r"|how (?:long|much|many|often|far|old|big|late|soon|hot|tall))"
    r"(?:'s| (?:is|are|was|were|do|does|did|can|should|would|will|has|have))\b(?! ?[£$€¥\d])"
    r"|which (?:\w+ )?(?:do|does|did|should|can) (?:i|you|we|he|she|they|the|my|our|(?-i:[A-Z])\w+)\b"
    r"|(?:is|are|was|were|does|can|could|should|shall|will) (?:i|we|he|she|it|they)\b|(?:is|are) there\b"
    r"|do (?:i|you|we|they)\b|did (?:i|you|we|he|she|they)\b|any ideas?\b)"
    r"(?!.*\b(?!(?:i|you|we|he|she|it|they|there|that)\b)\w+ (?:is|are|was|were)\b)[^.!,:]*(?:,[^.!:\d]*)?$"
    r"|(?!.*(?:(?<!请)问|不知道|不清楚|不记得|不管|无论|没[定说想讲]|告诉|忘|看看))"
    r".*(?:什么好|来着|怎么办|咋办|咋样|(?<!不)怎么样|[行好对]不[行好对]|几[点岁]|多大|(?<![没不])多少钱?"
    r"|哪[个家天里儿])[呢啊呀]?$",
    re.IGNORECASE,
)
_REPLY: Final = lazy_re(
    r"(?!对了)(?:有|没有?|是的?|不是?|对|不对|会|不会|能|不能|要|不要|可以|不可以|行|不行|好|嗯|还没有?|已经"
    r"|当然)(?:[，,。.！!；;\s]|的|啊|了|$)"
    r"|(?:yes|yeah|yep|no|nope|not yet|sure|ok|okay|both|neither|of course|true|right|correct)\b"
    r"|i (?:do|did|don't|didn't|have|haven't|am|can|will)(?= *(?:too|not|so)?(?:[,.!;]|$))",
    re.IGNORECASE,
)
#: Characters of an answer that says little without its question.
_SHORT_ANSWER: Final = {"zh": 14, "en": 28}
#: How soon after a question its answer comes.
JUST_BEFORE: Final = timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class Line:
    """What may be quoted as one, with what it is worth to quote it."""

    place: int  # among all lines
    message: int
    at: datetime  # local
    role: str
    who: str  # its speaker's label, with the colon
    text: str
    question: str = ""  # the question that it answers, with the label of who asked
    asked_at: datetime | None = None  # local
    weight: float = 0.0
    cues: float = 0.0
    words: tuple[str, ...] = ()
    opens: bool = True  # no words of its message are before it
    closes: bool = True


def is_question(text: str) -> bool:
    """
    True if the sentence asks, with a mark or without one.

    >>> is_question("how long do I boil eggs"), is_question("年糕几岁来着"), is_question("what a day")
    (True, True, False)
    """
    return bool(_QUESTION.search(text) or _ASKS.match(text))


def is_reply(text: str) -> bool:
    """True if the sentence opens with a yes or no."""
    return bool(_REPLY.match(text))


def needs_question(text: str) -> bool:
    """True if a sentence says little without the question that it answers: it is short, or a yes or no."""
    return is_reply(text) or len(text) <= _SHORT_ANSWER["zh" if re.search(f"[{HAN}]", text) else "en"]
