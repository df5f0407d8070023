"""
Whether a person's words state something: about themselves, a day, a number, a decision, or something to remember.

When a model answers "nothing to record", the answer is accepted if the user's words state nothing (jokes, riddles, small talk).
Otherwise the model would be asked, and paid, for the same conversation again. In doubt the words state a fact; the conversation
stays in its files either way.
"""

from __future__ import annotations

import re
from typing import Final

from recalld.supervisor.text.lazy_re import lazy_re

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


def states_fact(text: str) -> bool:
    """
    Return whether the words state something that may be worth recording.

    >>> states_fact("再讲一个笑话吧，哈哈"), states_fact("我对花生过敏"), states_fact("tell me another joke!")
    (False, True, False)
    """
    return bool(_STATES.search(text))
