"""
Which numbers in a message are days of a month that is not named: "can't do the 12th", 小林12号请假.

Others have such numbers, too (平江路 27 号, "I live on the 3rd"), and a wrong day is worse than none: what stands around the
number has to speak for a day. Which day it is, `relative_days` says.
"""

from __future__ import annotations

import re
from typing import Final

from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.tokenizer import HAN

#: A day without its month, as `dates` finds it.
ALONE: Final = lazy_re(r"(?:\w+\s+the\s+)?\d{1,2}(?:st|nd|rd|th)|[0-9一二两三四五六七八九十廿]{1,3}\s?号", re.IGNORECASE)
#: In such a sentence an ordinal is no day: "turn left on the 2nd".
RANKED: Final = lazy_re(
    r"\b(?:liv(?:e[sd]?|ing)|floors?|turn|left|right|edition|placed?|try|attempt|lap|round|row|seat|hole|born|century)\b",
    re.IGNORECASE,
)
#: What says of the day behind it that it is to come, whatever the tense: "asked for the 12th off".
_AHEAD: Final = (
    r"(?:mov|chang|push|shift|postpon|delay|reschedul|brought|put)\w*(?:\s+it)?(?:\s+(?:back|forward|on))?\s+to"
    r"|(?:can(?:'t|not)?|could|won't|will|shall)\s+(?:do|make)|by|until|till?|off|have"
    r"|(?:ask|book|schedul|plann|reserv|invit|arrang|set|due|down)\w*\s+(?:\w+\s+)?for"
)
ENGLISH: Final = (
    rf"\b(?:(?P<ahead>{_AHEAD})|on|from|before|after)\s+the\s+(?P<day>[0-3]?[0-9])(?:st|nd|rd|th)\b"
    r"(?=\s*(?:[?.!;:)]|$)|,(?!\s*(?:and\s+)?(?:the\s+)?\d)|\s+(?:after\s+all|off|at|in\s+the|but|so|if|then|instead|please|with"
    r"|because|when|for|from|to|until|i|we|he|she|they|it|is|works?|morning|afternoon|evening|night)\b)"
)
#: What is on a day: 学校28号义卖. At the beginning of a clause a number that counts no thing is a day, whatever follows.
_EVENT: Final = (
    "义卖|运动会|家长会|年会|团建|[比决球]赛|演[出唱]|婚礼|婚宴|满月|[春秋郊]游|聚[餐会]|讲座|培训|展[览会]|答辩|典礼|晚会|汇演|郊游|旅[游行]|飞|到货|入[职住学]|离职|停[水电气]"
    "|团圆|体测|[期月][中末考]|家[宴访]|直播|房[租贷]|[机车船]票|手术|生日|忌日|纪念日|音乐会|电影|钢琴|游泳|补课|上课|值班|会议|例会"
)
_FIRST: Final = r"(?<![^，,。；;：:！!？?\n\s、(（])"
#: What stands before a number that is no day, and what follows one that is: 12号上午, 10号发工资.
_NOT_BEFORE: Final = "路街弄巷道村屯里区园苑庭厦楼座栋幢院边旁口侧头角在是住坐乘搭穿选买用叫排舟娥征兔女男牌学间床位宫问星号"
_AFTER: Final = (
    r"(?=\s?(?:[上下中]午|[早晚夜]|凌晨|[之以]?[前后]|起|开始|截止|到期|出发|可以|干[嘛啥什]|做[啥什]|忙|面试|复[查诊]|体检|上[门班]|那天|生日|左右|[周星礼]"
    r"|[要去来回走交请休放开考搬结办见约聚发还付取拿打送有没不行能会就又再都谁和或跟我你他她咱、，]"
    r"|的(?:[课会票车饭约]|活动|航班|面试|考试|聚会|手术|安排)))"
)


def chinese() -> tuple[str, ...]:
    """Return the patterns of the numbers that are days: one to which something was moved, one by its place, one that begins."""
    from recalld.supervisor.query.dates_zh import NUMBERED

    return (
        rf"(?P<ahead>(?:改|推迟?|挪|延期?|换|提前|定)[到成在])\s?{NUMBERED}",
        f"(?<![{_NOT_BEFORE}]){NUMBERED}(?:{_AFTER}|(?={_EVENT}))",
        rf"{_FIRST}{NUMBERED}(?=\s?[{HAN}])",
    )
