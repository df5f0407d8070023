"""
Whether a person's words state something: about themselves, a day, a number, a decision, or something to remember.

What states nothing (jokes, riddles, small talk) is left out of the line that code writes about a session. In doubt the words
state a fact; the conversation stays in its files either way.
"""

from __future__ import annotations

import re
from typing import Final

from .lazy_re import lazy_re
from .small_talk import is_small_talk

_STATES: Final = lazy_re(
    r"\d|[零一二三四五六七八九十百千万两]{2,}|[一二三四五六七八九十两](?:点|号|月|日|周|年|块|元|岁|斤|口人)"
    r"|\b(?:i(?:['’]m| am|['’]ve| have| had| was| live| work| moved| bought| sold| booked| will|['’]ll| decided| prefer| take)"
    r"|we(?:['’]re| are|['’]ve| have| will|['’]ll| decided| moved| bought)|my|our)\b"
    r"|我(?:的|叫|是|在|有|对|住|家|们|妈|爸|爱人|老公|老婆|女儿|儿子|买|卖|搬|换|决定|打算|约|订|用|吃|不吃|喜欢|不喜欢)"
    r"|\b(?:remember|don['’]t forget|note that|decided|allerg\w*|appointment|meeting|birthday|address|deadline|password)\b"
    r"|\b(?:today|tomorrow|yesterday|tonight|(?:mon|tues|wednes|thurs|fri|satur|sun)day|next (?:week|month|year)|rent|salary)\b"
    r"|记住|记一下|记下|别忘|决定|改到|改成|过敏|预约|会议|开会|生日|地址|截止|密码|工资|房租|今天|明天|后天|昨天|下周|下个月"
    r"|(?:周|星期)[一二三四五六日天]|(?-i:\b(?!LOL|OMG|HAHA)[A-Z]{2,}\b)",
    re.IGNORECASE,
)

_CLAUSE_END: Final = lazy_re(r"[^\w\s'’-]+")
#: What asks for a joke or a riddle, or laughs about it; of one clause.
_FUN: Final = lazy_re(
    r"(?:(?:ok(?:ay)?|and|now|please|yes|yeah|then|well|wow|got|(?:can|could|will|would) you|do you (?:know|have)|how about) )*"
    r"(?:(?:(?:tell|give|make|say) )?(?:(?:me|us) )?"
    r"(?:(?:a|an|another|one|some|any|more|the|next|good|funny|silly|short|dad) )*"
    r"(?:jokes?|riddles?|puns?|limericks?)"
    r"|(?:(?:tell|give) (?:me|us) )?(?:another|one more|once more|more|again|next)(?: one)?|make me laugh"
    r"|(?:that (?:is|was)|that['’]s|so|very|too|really) (?:(?:so|very|too|really) )?(?:funny|hilarious|silly)|funny|hilarious)"
    r"(?: (?:one|more|then|too|please))*"
    r"|(?:ha){2,}\w*|lol|(?:那|请|你|快|能|能不能|可以|给我|给我们|帮我)*(?:再|来|讲|说|出|换|听|想听){1,3}(?:[一两几]?[个条则道段些点遍])?"
    r"(?:冷|短|新的|好笑的|有意思的)?(?:笑话|段子|谜语|字谜|脑筋急转弯|绕口令)?(?:给我听|听听)?(?:吧|呗|啊|呀|嘛|吗|呢)*"
    r"|(?:还有|有没有|有)(?:别的|新的|更好笑的)?(?:笑话|段子|谜语|字谜|脑筋急转弯)?(?:吗|没|没有)?|下一[个条道]|继续|逗我(?:笑|开心)(?:一下)?吧?"
    r"|(?:这个|这也|真是|真|太|好|也太)*(?:好笑|搞笑|逗|有意思)(?:了|啊|呀|哈哈)*|笑死(?:我|人)?了?|[哈嘿呵嘻]+",
    re.IGNORECASE,
)

_RIDDLE: Final = lazy_re(r"谜语|字谜|猜谜|脑筋急转弯|考考你|\b(?:riddles?|brain ?teasers?)\b", re.IGNORECASE)


def states_fact(text: str) -> bool:
    """
    Return whether the words state something that may be worth recording.

    >>> states_fact("再讲一个笑话吧，哈哈"), states_fact("我对花生过敏"), states_fact("tell me another joke!")
    (False, True, False)
    """
    return bool(_STATES.search(text))


def asks_riddle(text: str) -> bool:
    """
    Return whether the words ask for a joke or a riddle, or ask one, so that what is said next is no fact.

    >>> [asks_riddle(text) for text in ("出个谜语吧", "Riddle me this: what has hands but can't clap?", "猜谜大会改到周五")]
    [True, True, False]
    """
    return is_for_fun(text) or (bool(_RIDDLE.search(text)) and not states_fact(text))


def is_for_fun(text: str) -> bool:
    """
    Return whether the words only ask for a joke or a riddle, or laugh about one.

    >>> [is_for_fun(text) for text in ("再讲一个笑话吧，哈哈", "Tell me a joke!", "haha, another one", "那只猫叫味噌")]
    [True, True, True, False]
    """
    if states_fact(text):
        return False
    clauses = [clause for clause in map(str.strip, _CLAUSE_END.split(text)) if clause]
    return bool(clauses) and all(_FUN.fullmatch(clause) or is_small_talk(clause) for clause in clauses)
