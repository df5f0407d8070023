"""
The kind of a request by its form: chatter, or about what somebody said; and the tense of a text.

The rules are closed lists of everyday phrases in Chinese and English; the subject of a request plays no part.
Source: docs/explanation/recall.md, the gate.
"""

import re
from collections.abc import Iterable
from datetime import date
from typing import Final

from ..text.language import is_small_talk
from ..text.lazy_re import lazy_re
from ..text.tokenizer import tokens
from ..text.word_frequency import rarity_of
from .calendar import Days

#: The forms of a question, and of an exclamation.
_QUESTION: Final = lazy_re(
    r"[?？]|\b(?:what(?! an?\b)|when|where|who|whom|whose|which|why|how)\b|什么|[哪谁几怎咋啥吗呢]|多[少大久长远高重]|为何",
    re.IGNORECASE,
)
_EXCLAIMS: Final = lazy_re(
    r"^\W*(?:I'm|I am|it's|it is|that's|what an?|just|so|such|can't believe|finally|well|oh|wow|omg|ugh|yeah|honestly)\b|!\s*$"
    r"|(?:[啊呀哦啦哇呐嘛]|了)[!！。~～…\s]*$|^(?:唉|哎|哇|终于|又|太|真是?|今天好|好[累困热冷饿烦])",
    re.IGNORECASE,
)
#: A clause with the mark that ends it, and the rarity from which a word says what a text is about.
_CLAUSE: Final = lazy_re(r"[^,，、。.！!？?;；~～…\n]+[,，、。.！!？?;；~～…\n]*")
_TELLING: Final = 0.65
_THEIRS: Final = r"推荐|建议|告诉|提到|提过|介绍|教(?![堂室授育练])|提供|回答|劝|讲过|(?<![小听])说(?!明|法)"
#: The same as verbs of English, after "did you", and as they stand after "you".
_DID: Final = "recommend|suggest|tell|say|mention|advise|give|offer|propose|think|explain|warn|write|draft|list|fix|work out"
_DONE: Final = (
    "recommended|suggested|told|said|mentioned|advised|gave|given|offered|proposed|thought(?! of)|explained|warned|wrote"
    "|written|drafted|listed|fixed|worked out"
)
#: A question about what the assistant has said; a request for something new is not one: 你能推荐, "would you recommend".
_YOU: Final = lazy_re(
    r"(?<!请)(?<!麻烦)你(?!能|可|会|要|想|好|觉得|认为|知道|再|查|说.{0,3}[是这呢吧]|帮(?!.{0,6}[过了的])"
    rf"|给我(?!.{{0,8}}(?:[过了的哪]|什么|啥))|告诉我(?![过了的])).{{0,12}}(?:{_THEIRS})"
    rf"|你(?:当时|上次)?(?:给我?|[列排写选算])(?:过?的|过)|\bdid you\b.{{0,25}}\b(?:{_DID})\b|\baccording to you\b"
    rf"|\byou(?:'ve|'d| have| had| once| just| also| already)*(?: \w+)? (?:{_DONE})\b"
    r"|你(?:让|叫)我.{1,8}的.{0,8}(?:什么|啥|哪|几|多少|谁|怎么)"
    r"|\byour (?:recommendation|suggestion|advice|answer)|\b(?:recommended|suggested) (?:to|for) me\b",
    re.IGNORECASE,
)
_I: Final = lazy_re(
    rf"我.{{0,12}}(?:向|和|给|跟|对)你.{{0,4}}(?:{_THEIRS}|分享)|\bI\b.{{0,20}}\b(?:recommend|mention|told|suggest|said)\w*",
    re.IGNORECASE,
)


def is_chatter(question: str) -> bool:
    """
    Return whether the text asks nothing: it has only everyday words, and a courtesy or an exclamation.

    >>> [is_chatter(text) for text in ("thanks, that's all for now", "今天好累啊", "what a long day")]
    [True, True, True]
    >>> [is_chatter(text) for text in ("thanks! where do I live?", "煤球好累啊", "long day", "我妈多大了")]
    [False, False, False, False]
    """
    clauses = [clause for clause in _CLAUSE.findall(question) if clause.strip()]
    rest = [clause for clause in clauses if not is_small_talk(clause)]
    if any(rarity_of(word) >= _TELLING for clause in rest for word in tokens(clause)):
        return False
    asks = any(_QUESTION.search(clause) for clause in rest)
    return not asks and (len(rest) < len(clauses) or bool(_EXCLAIMS.search(question)))


def role_asked_for(asking: str) -> str:
    """
    Return whose words are asked for: "user", "assistant", or "" for anybody's.

    >>> [role_asked_for(text) for text in ("你给我推荐了哪些电影？", "Which song did I mention?", "你能推荐一部吗？")]
    ['assistant', 'user', '']
    >>> [role_asked_for(text) for text in ("why was it flat, according to you", "你让我带的药叫啥", "你给我的两家民宿叫啥")]
    ['assistant', 'assistant', 'assistant']
    """
    if _I.search(asking):
        return "user"
    return "assistant" if _YOU.search(asking) else ""


# ── what tense a text has ────────────────────────────────────────────────────
#
# A question asks what is true now, what was, or what is to be done; a message tells of what is over, or to come.

#: English verbs, common ones, that tell of what is over, as part of a pattern.
_PAST_VERBS = r"\w{3,}ed|went|came|got|took|saw|met|paid|bought|sent|gave|spent|left"
#: Signs that a sentence is about the past.
OVER = lazy_re(rf"[了过]|刚|\b(?:was|were|did|had|said|told|sold|spoke|{_PAST_VERBS})\b", re.IGNORECASE)
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
#: The words that say when; they are in no answer, and are searched for as words of a request are.
TENSE_WORDS = lazy_re(
    rf"{_NOW_WORDS}|以前|之前|从前|先前|原来|原先|原本|本来|起初|最初|最开始|一开始|当初"
    r"|\b(?:originally|used to|initially|previously|formerly)\b",
    re.IGNORECASE,
)


def asks_now(text: str) -> bool:
    """True if the question asks for what is true now: 现在, "currently"."""
    return bool(_NOW.search(text))


def asks_before(text: str) -> bool:
    """True if the question asks for what was before something changed: 原来, "originally"."""
    return not asks_now(text) and bool(_OF_BEFORE.search(text))


def asks_past(text: str, days: Iterable[Days] = (), today: date | None = None) -> bool:
    """
    True if the question asks for what was: 以前, "used to", "did", or by a day that is over.

    >>> asks_past("our old landlord"), asks_past("how old is our landlord?")
    (True, False)
    """
    is_over = today is not None and any(day.last < today for day in days)
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
_WAS_DONE: Final = lazy_re(r"[了过](?![吗么])|\b(?:did|was|were|had|said|told)\b", re.IGNORECASE)


def asks_to_do(sentence: str) -> bool:
    """
    True if the sentence asks what is to be done, and not what was.

    >>> [asks_to_do(text) for text in ("明天有什么安排", "what's due next Tuesday?", "what did I do on Tuesday?")]
    [True, True, False]
    """
    return bool(_TO_DO.search(sentence)) and not _WAS_DONE.search(sentence)


def without_asking(sentence: str) -> str:
    """Return the sentence with blanks in place of what asks for things to do."""
    return _TO_DO.sub(lambda match: " " * len(match[0]), sentence)
