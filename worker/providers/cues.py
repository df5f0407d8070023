"""What a sentence looks like that a person wants to find again: decisions, things to do, likes and limits, findings, data."""

from __future__ import annotations

import re
from typing import Final

_DECISION: Final = (
    r"决定|定了|定为|敲定|选了|就用|改成|改为|改到|改期|换成|换到|挪到|不用了|不再|不要了|一律|以后(?:都|就|叫|用)",
    r"取消|推迟|提前到|说好|约好",
    r"\b(?:decided?|decision|agreed|chose|settled|switch(?:ed|ing)?|postponed|cancell?ed)\b",
    r"\blet's (?!see|hope)|\bgo(?:ing)? with\b|\binstead of\b|\bno longer\b|\bfrom now on\b|\bmoved (?:to|from)\b",
)
_TO_DO: Final = (
    r"待办|记得|别忘|提醒|要去|得去|还没|打算|计划|准备|截止|到期|最迟|下周|下个?月|明天|后天|预约|报名",
    r"\b(?:to-?do|needs? to|have to|must|don't forget|plan(?:ning|s)? to|deadline|due|tomorrow|signed up)\b|\bremind",
    r"\bnext (?:week|month|year|time)\b",
)
_PERSON: Final = (
    r"喜欢|最爱|爱吃|讨厌|不吃|不喝|过敏|忌口|偏好|习惯|害怕|我叫|名字|生日|住在|住址|电话|地址|邮箱|职业|工作是|毕业",
    r"女朋友|男朋友|老婆|老公|妻子|丈夫|女儿|儿子",
    r"\b(?:prefers?|favou?rites?|hates?|can't stand|vegan|vegetarian)\b|\ballerg",
    r"\bmy (?:name|birthday|wife|husband|girlfriend|boyfriend|partner|son|daughter|address|phone|job)\b",
    r"\bI(?:'m| am) an? \w|\bI live\b",
)
_OWN: Final = (
    r"我(?:家|妈|爸|哥|姐|弟|妹|儿|女|老|爷|奶|们家|的|平时|现在|一直|要|将|在|也?去|用|买|穿|开)|参加",
    r"\bmy \w|\bour \w|\bI've (?:been|got|started|just)|\bI(?:'m| am) (?:now|going|running|taking|doing|starting|learning)\b",
)
_FINDING: Final = (
    r"原因|结果|结论|发现|解决|修好|修复|搞定|终于|原来是",
    r"\b(?:because|turns? out|fixed|confirmed|root cause|error|fatal|failed)\b",
)
_DATA: Final = (
    r"`[^`]+`|https?://|(?<!\w)[~.]?/\w+/|《[^》]+》|「[^」]+」|[¥￥$€£]\s?\d|\d\s?(?:元|块|万|%|％)",
    r"\d{4}-\d\d|\d+ ?[月号日点]|\d\d?:\d\d|周[一二三四五六日]",
    r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* \d",
)

#: Each kind of cue and what it adds to a sentence, in words of the rarest kind.
CUES: Final = tuple(
    (re.compile("|".join(patterns), re.IGNORECASE), worth)
    for patterns, worth in ((_DECISION, 1.6), (_TO_DO, 1.0), (_PERSON, 1.2), (_OWN, 0.6), (_FINDING, 0.8), (_DATA, 0.8))
)

#: What makes a courtesy more than one: a number, a name given, code, something decided.
_TELLING: Final = re.compile(r"\d|我叫|名字|my name|`|/\w|《|决定|改|过敏|allerg", re.IGNORECASE)
#: How a sentence opens that greets, thanks, praises or offers help; short ones say nothing else.
_COURTESY: Final = re.compile(
    r"\W*(?:嗨|你好|您好|哈喽|早安|早上好|晚上好|晚安|再见|不客气|不用谢|没关系|谢谢|感谢|辛苦|加油|哇|哎呀|好的|当然可以|没问题|很高兴"
    r"|(?:那|这|听起来|听着)?真?是?(?:太|很)(?:好|棒)|听起来|我是.{0,4}AI|有什么.{0,6}帮|希望(?:你|您)"
    r"|(?:hi|hello|hey|good morning|good night|bye|thanks?|thank you|you're welcome|no problem|my pleasure)\b"
    r"|(?:wow|woah|whoa|yay|aww?|congrats|great|awesome|amazing|nice|cool|glad|sure|of course|certainly|got it|sounds)\b"
    r"|(?:so (?:happy|glad|proud)|totally|absolutely|i'm (?:your|an) ai|i (?:\S+ )?agree|how can i|let me know|can't wait)\b"
    r"|that(?:'s| is| sounds)? (?:so |really |such )?(?:great|awesome|amazing|nice|cool|wonderful)\b|keep (?:it|on)\b)",
    re.IGNORECASE,
)
_COURTESY_COLUMNS: Final = 40
#: What is in brackets alone: a picture, a sticker, a file.
_ATTACHED: Final = re.compile(r"\s*\[[^\]]*\]\s*")
#: What assistants say of themselves.
_DISCLAIMER: Final = re.compile(
    r"作为(?:一[个名位])?(?:虚拟|AI|人工智能|语言模型)|我(?:只)?是(?:一[个名位])?(?:AI|人工智能)|没有实体"
    r"|\bas an? (?:AI|language model)\b|\bI(?:'m| am) (?:just )?an AI\b",
    re.IGNORECASE,
)
_HARDLY: Final = 0.4


def substance(text: str) -> float:
    """Return the share of its words' worth that a sentence is given: a courtesy none, a caption or disclaimer little."""
    if _ATTACHED.fullmatch(text) or _DISCLAIMER.search(text):
        return _HARDLY
    courtesy = columns(text) <= _COURTESY_COLUMNS and _COURTESY.match(text) and not _TELLING.search(text)
    return 0.0 if courtesy else 1.0


def columns(text: str) -> int:
    """Return the width of *text* as it is seen: two for a wide character."""
    return len(text) + sum(char > "\u2e7f" for char in text)


def look(text: str) -> float:
    """Return what the look of a sentence is worth."""
    return sum(worth for cue, worth in CUES if cue.search(text))
