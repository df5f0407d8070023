"""
What makes a sentence worth quoting, by what it tells (cues.py) and by who says it.

Courtesies, praise and advice must not be quoted; jokes, and what the assistant is asked to do, count little. Which sentences an
extract quotes is decided in extract.py.
"""

from __future__ import annotations

import re
from typing import Final

from recalld.supervisor.extracts.courtesy import count_words, is_courtesy, is_of_conversation
from recalld.supervisor.extracts.cues import has_cue, has_data, has_figures, is_of_self
from recalld.supervisor.extracts.lines import is_code
from recalld.supervisor.extracts.replies import is_bare_figure, is_question, is_reply, is_result
from recalld.supervisor.text.lazy_re import lazy_re

#: How much it counts that a sentence has data, and whom it is about.
_WITH_DATA: Final = 1.5
_OF_SELF: Final = 1.4
_OF_OTHER: Final = 0.3  # of the person who is spoken to
_OF_MACHINE: Final = 0.25
_IDLE: Final = 0.3  # a joke, what the assistant is to do, a yes to what is not shown
#: Words of which a sentence without data has at least so many.
_WORDS: Final = 4
_OTHER: Final = lazy_re(r"\b(?:you|yours?)\b|[你您]", re.IGNORECASE)
#: What the assistant has worked out; the paths, addresses and names of code that it gives.
_OF_RESULT: Final = 0.6
_THING: Final = lazy_re(r"`[^`]+`|https?://|(?<!\w)[~.]?/\w+/")
_OF_THING: Final = 0.33
#: What is said for fun, and what the assistant is asked to do now.
_BANTER: Final = lazy_re(
    r"\b(?:lo+l|lmao|rofl|ha(?:ha)+h?|he(?:he)+|xd|rip|booo*|omg)\b|哈哈|嘿嘿|嘻嘻|hhh|累成|[😂🤣😅]"
    r"|[笑累困撑饿冷冻热闷气吓忙烦]死|[，, ]哭[了死]?[!！。~]*$"
    r"|[肿胖晒冻哭热忙圆红黑撑](?:得)?[成像].{0,3}(?:包子|馒头|狗|猪|球|冰棍|泪人|炭|熊猫|虾|香肠)"
    r"|\b(?:swell\w*|swollen|puffed) (?:up )?like\b"
    r"|\b(?:i'm (?:so )?(?:dead|tired|bored|hungry)|can't believe|to die for|looks? like an?)\b",
    re.IGNORECASE,
)
#: What is over with its day: meals and sleep; and what is to come in it, unless it was done.
_PASSING: Final = lazy_re(
    r"\b(?:standup|(?:for|had) (?:breakfast|lunch|dinner)|^(?:lunch|dinner|breakfast)|hours?'?s? sleep|slept (?:badly|well))\b"
    r"|[早午晚]饭|食堂|早读|没睡好|睡过头",
    re.IGNORECASE,
)
_TODAY: Final = lazy_re(
    r"\b(?:tonight|right now|in a (?:sec|min)\w*)\b|今晚|今早|今天(?:早上|中午|晚上)|等一?下(?!个?[周月次])|一会儿",
    re.IGNORECASE,
)
#: What outlasts the day on which it is said so: a journey, a debt.
_LASTS: Final = lazy_re(
    r"\b(?:[A-Z]{2} ?\d{2,4}|(?i:fl(?:y|ying|ight)|train|lent|borrow\w*|owes?))\b|航班|车次|飞[^快]|高铁|[借欠]"
)
#: What the assistant is asked to remind of; that somebody else did ("医生提醒我") is no request.
_REMIND: Final = lazy_re(
    r"(?:^|[，,。；;：:、\s你请记得要再候点半午上天晚早号日])提醒[我咱]"
    r"|(?:^|[.,;:!?…] |\b(?:please|and|you) )remind (?:me|us)\b",
    re.IGNORECASE,
)
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_OF_MONTH: Final = lazy_re(
    rf"(\d{{1,2}}) ?月|\b\d{{1,2}}(?:st|nd|rd|th)? ({'|'.join(_MONTHS)})|\b({'|'.join(_MONTHS)})[a-z]* \d", re.IGNORECASE
)
_REQUEST: Final = lazy_re(
    r"^\W*(?:(?:so|ok|okay|and|now|anyway|btw|hey|hi|please|pls|question)\b[\s,:]*)*(?:(?:can|could|would|will) you|help me"
    r"|explain|translate|tell me|write(?!-)|rewrite|summari[sz]e|fix this|what(?:'s|\b)|how (?:do|can|to|should)|why|is there"
    r"|(?:who|where|when)(?:'s| (?:is|are|was|were|do|does|did))|(?:any(?:one|body) )?know (?:who|where|why|how|what|if)"
    r"|do me|show me|look at|check)\b|\bjoke\b|\bhelp me with\b|笑话"
    r"|^\W*(?:那|再|麻烦|请|快|就)?你?(?:帮我|给我|帮忙|替我)?(?:写|讲|翻译|解释|润色|改写|总结|推荐|列|查|看看|算|画|起个"
    r"|想个|来个|说说)(?!了|过|得|完|好)"
    r"|^(?!.*(?:[知说懂学教问想]|明白|告诉|发现)).{0,12}(?:(?:怎么|怎样|如何|咋)(?!样?了|.*(?<![首成])[都也])|为什么|为啥)[^，。]{1,20}$",
    re.IGNORECASE,
)
#: What it is asked to write: what the text is to say was said before, or is said again.
_WRITE: Final = lazy_re(
    r"^\W*(?:(?:so|ok|okay|and|now|hey|please|pls)\b[\s,:]*)*(?:(?:can|could|would|will) you |help me )?(?:to )?(?:please )?"
    r"(?:(?:write(?!-| (?:up|off|(?:(?:this|that|it) )?down)\b)|translate|summari[sz]e|proofread)\b"
    r"|(?:draft|rewrite)(?: up| out)? (?:an?|the|th(?:is|at|ese|ose)|it|me|us|my|our|his|her|their|them|some\w*|what|\d+)\b)"
    r"|^\W*(?:那|再|麻烦|请|快|就)?你?(?:帮我|给我|帮忙|替我)(?:写|翻译|润色|改写|总结)(?!了|过|得|完|好)",
    re.IGNORECASE,
)
#: A question, with what was said to it in the same message: "what hydration for rye? 300 g of it".
_ASKS_FIRST: Final = lazy_re(r"[^.。!！?？]+[?？] ?(?=\w)")
#: How an assistant advises.
_ADVICE: Final = lazy_re(
    r"你(?:还|也)?(?:可以|应该|需要|不妨|要)|[试看]试|尝试|建议"
    r"|\byou (?:can|could|may|might|should|need to|must)\b|\b(?:try|consider|make sure|don't forget)\b",
    re.IGNORECASE,
)
#: What assistants say of themselves.
_DISCLAIMER: Final = lazy_re(
    r"作为(?:一[个名位])?(?:虚拟|AI|人工智能|语言模型)|我(?:只)?是(?:一[个名位])?(?:AI|人工智能)|没有实体"
    r"|\bas an? (?:AI|language model)\b|\bI(?:'m| am) (?:just )?an AI\b",
    re.IGNORECASE,
)


def weight(text: str, asked: str = "", *, person: bool) -> float:
    """
    Return how much the words of a sentence count; 0 where it must not be quoted.

    *asked* is the question that it answers, with which it is shown. *person*: a human being says it; of a machine only data
    counts.

    >>> weight("You've got guts.", person=True), weight("我对花生过敏。", person=True) > 1
    (0.0, True)
    >>> weight("pip install rjieba", person=True), weight("pip install rjieba makes it faster.", person=True) > 0
    (0.0, True)
    >>> weight("帮我写个 sql", person=True) < weight("sql 写好了", person=True)
    True
    """
    shown = f"{asked} {text}"
    tells_data = has_data(shown)
    if is_question(text) or text.endswith((":", "：")) or _DISCLAIMER.search(text) or is_code(text):
        return 0.0
    if is_bare_figure(text) and not asked:
        return 0.0
    if not person:
        is_lecture = bool(_ADVICE.search(text)) and not has_figures(text)
        counts = _OF_RESULT if is_result(text) else _OF_THING if _THING.search(text) else _OF_MACHINE
        return 0.0 if not tells_data or is_lecture or is_courtesy(text) else _WITH_DATA * counts
    is_kept = has_cue(shown, "event", "decision", "change")
    of_person = has_cue(shown, "person", "health")
    if not tells_data and not is_kept:
        if not of_person and count_words(shown) < _WORDS:
            return 0.0
        if is_of_conversation(shown) or (is_courtesy(text) and not of_person):
            return 0.0
    of_self = is_of_self(text)
    of_other = bool(_OTHER.search(text)) and not (of_self or is_kept)
    counts = (_WITH_DATA if tells_data or is_kept else 1.0) * (_OF_SELF if of_self else _OF_OTHER if of_other else 1.0)
    is_request = bool(_WRITE.search(text) or _ASKS_FIRST.match(text)) or (bool(_REQUEST.search(text)) and not has_figures(text))
    is_unasked = is_reply(text) and not (asked or tells_data or is_kept or of_person)
    return counts * _IDLE if is_request or is_fun(text) or is_unasked else counts


def is_fun(text: str) -> bool:
    """
    Return whether the sentence is said for fun, and tells of nothing that happened, of no person, health or money.

    >>> is_fun("麻辣烫太辣，嘴肿成包子了"), is_fun("火锅撑死了，体检查出尿酸 486")
    (True, False)
    """
    return bool(_BANTER.search(text)) and not has_cue(text, "event", "decision", "change", "person", "health", "money")


def is_of_the_day(text: str, month: int) -> bool:
    """
    Return whether the sentence is nothing that its *month* is told: fun, or what to remind of, unless that is in a later one.

    >>> is_of_the_day("中午十二点半提醒我", 3), is_of_the_day("Remind me to take my passport", 4)
    (True, True)
    >>> is_of_the_day("医生提醒我少吃盐", 4), is_of_the_day("Remind me on 12 May to tell Dr. Ferrer", 4)
    (False, False)
    """
    named = {int(han or _MONTHS.index((before or after).lower()) + 1) for han, before, after in _OF_MONTH.findall(text)}
    is_passing = not _LASTS.search(text) and bool(
        _PASSING.search(text) or (_TODAY.search(text) and not has_cue(text, "finding", "own"))
    )
    is_passing &= not has_cue(text, "event", "decision", "change", "person", "health", "money")
    return is_fun(text) or is_passing or bool(_REMIND.search(text) and named <= {month})
