"""How a sentence belongs to the one before it in a conversation: questions, offers, answers, and what is said to be wrong."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final, Literal

from recalld.supervisor.extracts.cues import amends, has_cue, has_data, has_figures
from recalld.supervisor.text.figures import figures
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.tokenizer import HAN

if TYPE_CHECKING:
    from collections.abc import Collection

_QUESTION: Final = lazy_re(r"(?:[?？][”\"'）)」]*|(?:吗|[你您]呢)[。.～~]?)$")
#: How one asks without a mark: by the order of words, and with no second verb ("who is on call is Tom"). What the assistant is
#: asked to do is a request (worth.py).
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
    r"|[那再请]?你?(?:(?:帮我|给我|替我)算一?下[：: ]*[-+*/×÷=()（）.\d ]*|算一?下[吧呢啊]?)$"
    r"|(?!.*(?:(?<!请)问|不知道|不清楚|不记得|不管|无论|没[定说想讲]|告诉|忘|看看))"
    r".*(?:什么好|来着|怎么办|咋办|咋样|(?<!不)怎么样|[行好对]不[行好对]|几[点岁]|多大|(?<![没不])多少钱?|哪[个家天里儿])[呢啊呀]?$",
    re.IGNORECASE,
)
#: What the assistant says that it was not told, and asks for; not where it goes on: "…, but the shop opens".
_ASKS_TO_TELL: Final = lazy_re(
    r"\btell me (?!if\b|more\b)"
    r"|(?:\byou (?:haven't|have not|didn't|did not) (?:told|tell|said|say|mention\w*)"
    r"|\bI don't know(?! exactly| the exact))(?!.*\bbut\b)"
    r"|^(?!.*(?:随时|如果|需要|(?:之前|上次|刚才|刚刚|已经)告诉)).*告诉我(?![的过])"
    r"|(?:[你您](?:之前|还|也)*没有?(?:告诉|跟我|提|说(?![错对得]))|我不(?:知道|清楚))(?!.*(?:但|不过|可是))",
    re.IGNORECASE,
)
#: What the assistant offers to do: whether it is wanted is no fact.
_OFFER: Final = lazy_re(
    r"(?:需要|要不要|要|想)我|需要帮|帮[你您]|(?:要不要|用不用).{0,8}[你您]|提醒[你您]?[?？]"
    r"|\b(?:would you like|do you want|shall i|should i|can i help|need me to|want me to)\b",
    re.IGNORECASE,
)
#: An answer that says little without its question: a few characters, or a short first clause that is a name, a day or has a
#: figure ("Colin, by the end of the month"). So does one that opens with an amount, a yes or a no.
_CURT: Final = lazy_re(
    rf".{{1,14}}$|(?:(?=[^，,；;。.！!：:]*\d)(?:[^{HAN}，,；;。.！!：:]{{1,20}}|[^，,；;。.！!：:]{{1,7}})"
    r"|[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)?|(?:(?i:on|by|next) )?"
    r"(?i:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?|tomorrow|tonight|tmrw?)"
    rf"|(?:下?周[一二三四五六日]|[今明后]天|(?:[小老阿][{HAN}])?[{HAN}]{{1,2}}(?<!了)))(?=[，,；;。.！!](?!\d)|$)"
)
#: Characters of an answer that takes up a figure, and of a yes that amends one.
_FEW: Final = 14
#: What takes a figure up that has no unit.
_TAKES_UP: Final = lazy_re(
    r"\b(?:ok|okay|then)\b|那就|[$€£¥]?\d[\d.,]*(?: ?%)? (?:was|is|it is|works?|sounds|please|will do)\b", re.IGNORECASE
)
_OPENS_WITH_FIGURE: Final = lazy_re(
    r"(?:about |around |roughly |大概|差不多)?[$€£¥]?\d[\d.,]*"
    r"(?![\d.,]|:\d|/\d|[月号日点年]| (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))",
    re.IGNORECASE,
)
_REPLY: Final = lazy_re(
    r"(?!对了)(?:有|没有?|是的?|不是?|对|不对|会|不会|能|不能|要|不要|可以|不可以|行|不行|好|嗯|还没有?|已经|当然)(?:[，,。.！!；;\s]|的|啊|了|$)"
    r"|(?:yes|yeah|yep|no|nope|not yet|sure|ok|okay|both|neither|of course|true|right|correct)\b"
    r"|i (?:do|did|don't|didn't|have|haven't|am|can|will)(?= *(?:too|not|so)?(?:[,.!;]|$))",
    re.IGNORECASE,
)
#: How a sentence opens that says that the one before it is wrong, and one that may: "no, it was 210", and not "no, thanks".
_IS_WRONG: Final = lazy_re(
    r"(?:no, )?(?:that(?:'s| is) )?(?:wrong|not (?:true|correct|right))(?=[,.!;:\n]|$)"
    r"|不?[，,]?(?:不对(?![劲外])|[你您]?算错|错了)",
    re.IGNORECASE,
)
_MAY_DENY: Final = lazy_re(
    r"no(?:pe)?\b(?:[,.!;:\n]| (?:it|that|they)\b)(?!\s?(?:thank|need|problem|worr|that's (?:all|right|fine|good|great|ok)))"
    r"|not quite\b|that's not\b|不是[，,。]|(?:不|没有)[，,](?!谢|不?用|不必)",
    re.IGNORECASE,
)
#: What comes before the result of a sum; code is none.
_EQUALS: Final = lazy_re(r"(?<![<>!=])= ?[£$€¥]?(?=\d)")
_NUMBER: Final = lazy_re(r"\d+(?:,\d{3})*(?:\.\d+)?", re.ASCII)
_CLAUSE: Final = lazy_re(r"[，,；;：:](?!\d)\s*")
_THING: Final = lazy_re(r"`|://")
#: What the assistant has worked out.
_RESULT: Final = lazy_re(r"= ?[-−£$€¥]?\d|一共|合计|总共|\bin total\b|\bthat(?:'s| leaves| makes) .{0,12}\d", re.IGNORECASE)
_BARE_FIGURE: Final = lazy_re(
    r"\W*(?:(?:at|by|around|about|ok|then) )*(?:[$€£¥]?\d[\d.,:/%-]*|[一二两三四五六七八九十百千万]{2,})\W*", re.IGNORECASE
)
#: A yes with which a sentence opens, and the question that asks for it without a mark: "ask her whether there is a pen".
_YES: Final = lazy_re(
    r"(?:(?:有|是的?|对的?|行|好的?|嗯+|可以|当然)[，,。.！!；;]+|(?:yes|yeah|yep|right|sure|ok|okay)[,.!;]+(?=\s|$))\s*",
    re.IGNORECASE,
)
_IS_ASKED: Final = lazy_re(
    r"问[问一清]|有没有|是不是|能不能|会不会|\b(?:whether|let me know (?:if|when|which)|ask \w+ if)\b", re.IGNORECASE
)


def is_question(text: str) -> bool:
    """
    Return whether the sentence asks, with a mark or without one.

    >>> is_question("how long do I boil eggs"), is_question("年糕几岁来着"), is_question("what a day")
    (True, True, False)
    """
    return bool(_QUESTION.search(text) or _ASKS.match(text))


def asks_to_tell(text: str) -> bool:
    """
    Return whether the assistant asks to be told something, or says that it was not.

    >>> asks_to_tell("Tell me what is on the list."), asks_to_tell("您之前没有告诉我年糕的年龄。")
    (True, True)
    """
    return bool(_ASKS_TO_TELL.search(text))


def is_offer(question: str) -> bool:
    """Return whether the question only asks whether its speaker should do something: 需要我帮忙吗, "shall I …?"."""
    return bool(_OFFER.search(question))


def is_reply(text: str) -> bool:
    """Return whether the sentence opens with a yes or no."""
    return bool(_REPLY.match(text))


def without_yes(text: str) -> str:
    """
    Return the sentence without the yes with which it opens: what it agrees to is not there.

    >>> without_yes("行。还有，套餐现在最低 59"), without_yes("Sure, due on 7 April"), without_yes("好吃，下次再去")
    ('还有，套餐现在最低 59', 'due on 7 April', '好吃，下次再去')
    """
    yes = _YES.match(text)
    return text[yes.end() :] if yes else text


def asks_for_yes(text: str, answer: str) -> bool:
    """
    Return whether *answer* says yes or no to what the sentence asks without a mark, or offers and the answer has data.

    So it does to figures where it is hardly more than one itself: "You'd need 545 a month." "ok then 550".
    """
    is_yes_or_no = is_reply(answer)
    if is_yes_or_no and (_IS_ASKED.search(text) or (is_offer(text) and has_data(answer))):
        return True
    may_amend = (is_yes_or_no and (len(answer) <= _FEW or amends(answer))) or is_bare_figure(answer)
    return may_amend and tells_figure(text) and bool(_values(answer) - _values(text))


def taken_up(text: str, answer: str) -> str:
    """
    Return the clause of the sentence whose figure a short *answer* takes up, and without which that says little; else "".

    The answer says so ("ok 75 then"), or has the figure with its unit: "12 guests now" takes up no "12 minutes".

    >>> taken_up("For rye I would use 75 % of water: 375 g.", "ok 75 then"), taken_up("一共需要 12,800 元。", "嗯，一万二千八")
    ('For rye I would use 75 % of water…', '')
    """
    if len(answer) > _FEW or not has_figures(answer) or is_result(text):
        return ""
    taking = _values if _TAKES_UP.search(answer) else _measured
    parts = _CLAUSE.split(text)
    at = next((i for i, clause in enumerate(parts) if taking(answer) & taking(clause)), -1)
    return f"{'…' * (at > 0)}{parts[at]}{'…' * (at < len(parts) - 1)}" if at >= 0 else ""


def denial(text: str) -> Literal["", "figures", "all"]:
    """Return whether the words say that what was told before is wrong, or that its figures are, if they have others."""
    return "all" if _IS_WRONG.match(text) else "figures" if _MAY_DENY.match(text) else ""


def tells_figure(text: str) -> bool:
    """Return whether the text has a number, a day or a time, in digits or in words."""
    return has_figures(text) or any(figures(text))


def _values(text: str) -> frozenset[object]:
    return frozenset(one.value for one in figures(text))


def _measured(text: str) -> frozenset[object]:
    return frozenset((one.value, one.measures) for one in figures(text) if one.measures)


def numbers_in(text: str) -> frozenset[float]:
    """Return the numbers that the text has in digits."""
    return frozenset(float(number.replace(",", "")) for number in _NUMBER.findall(text))


def is_result(text: str) -> bool:
    """Return whether the sentence has a sum that somebody has worked out."""
    return bool(_RESULT.search(text))


def says_back(text: str, numbers: Collection[float]) -> bool:
    """
    Return whether a sentence is a sum of *numbers* that were said just before; its result counts, rounded or not.

    >>> says_back("140 + 2 × 92 = £324, yes.", {140, 2, 92, 324}), says_back("一共 55,000 元。", {2, 27_500})
    (True, False)
    """
    is_sum = is_result(text) and not has_cue(text, "health", "event", "decision")
    found = numbers_in(_EQUALS.split(text)[-1]) if is_sum and not _THING.search(text) else frozenset[float]()
    return bool(found) and all(number in numbers or float(math.trunc(number)) in numbers for number in found)


def is_bare_figure(text: str) -> bool:
    """
    Return whether the sentence is a number, a time or a date and nothing else.

    >>> is_bare_figure("6:15"), is_bare_figure("60.4！"), is_bare_figure("退了，36.8")
    (True, True, False)
    """
    return bool(_BARE_FIGURE.fullmatch(text))


def is_bare_reply(text: str) -> bool:
    """Return whether the sentence says yes or no and nothing else, so that the next one goes on with the answer."""
    reply = _REPLY.match(text)
    return reply is not None and not any(map(str.isalnum, text[reply.end() :]))


def needs_question(text: str) -> bool:
    """Return whether a sentence says little without the question that it answers."""
    return bool(_CURT.match(text)) or is_reply(text) or opens_with_figure(text)


def opens_with_figure(text: str) -> bool:
    """Return whether the sentence opens with an amount."""
    return bool(_OPENS_WITH_FIGURE.match(text))
