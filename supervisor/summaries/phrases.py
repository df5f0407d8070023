"""
The phrases by which a text shows that it is no summary: chatter, data, refusals; in Chinese and English.

*Chatter*: the model thinks aloud, or continues the conversation. Only clear signs count: how
the text begins, or a line that only a template has. *Refusals*: short texts that begin by declining the work or by asking for
the material. What else says nothing of its material, an error or a greeting, is refused for that (`material.says_less`).
What follows from a match is decided in `quality.py`. Pure.
"""

from __future__ import annotations

import re
from typing import Final

from ..text.lazy_re import lazy_re
from ..text.llm_output import HEADING, opening, outside_code, own_words

_ABOUT_IT: Final = (
    r"[^.\n]{0,60}\b(?:conversation|messages?|transcript|dialogue|chat|material|text|summary|summari[sz]\w*|user|prompt"
    r"|instructions?)\b"
)
_ABOUT_IT_ZH: Final = r"[^。\n《]{0,16}(?:对话|消息|聊天|这段|以上|上面|给定|用户|要求|摘要|总结)"
_THINKING: Final = lazy_re(
    r"(?:(?:okay|ok|alright|hmm+|well|so|right|first)\b[,.:…\s]{0,4})?(?:(?:so )?the user "
    r"(?:wants|is asking|asked|has asked|needs|would like) me to (?:summar|read|write a summ|create|produce|condense|extract)"
    r"|(?:(?:i|we) (?:need to|have to|should|will)|i['’]ll|let me|let['’]s)(?: first| start by| now)? "
    rf"(?:summar|read|look|go through|analy|parse|see|write|produce|think|figure){_ABOUT_IT}"
    r"|(?:let['’]s|let me) (?:see|think)(?:\b[.,:…]| (?:about )?(?:what|how|which|this|it)\b)"
    r"|the user (?:provided|gave|shared) (?:a|the|me|some)\b"
    r"|thinking process\b|my task is to\b)"
    r"|(?:(?:好的|好|嗯+|首先|那么|现在)[，,。…\s]{0,2})?(?:用户(?:让|要|想|希望|需要|要求)我(?:总结|概括|整理|把|对)"
    r"|(?:我们?|让我)(?:现在)?(?:需要|得|要|应该|来|先){0,3}(?:仔细)?(?:总结|阅读|看|分析|理解|通读|梳理|整理|读|提取)"
    rf"{_ABOUT_IT_ZH}|让我(?:先|再)?(?:好好|仔细)?(?:想一?想|想一下|思考一下|理一?理|捋一?捋)|思考过程|我的任务是)",
    re.IGNORECASE,
)
_TAG: Final = r"(?:think|thinking|thought|reasoning)>"
_THOUGHT: Final = lazy_re(rf"\s*</?{_TAG}|.*</{_TAG}\s*$", re.IGNORECASE)
_SPEAKER: Final = lazy_re(
    r"(?:\*\*)?(?:(?P<them>user|human|用户|人类)|(?P<us>assistant|ai|bot|助手|助理|机器人))(?:\*\*)?[ \t]*[:：]", re.IGNORECASE
)
_TURN: Final = lazy_re(r"\*\*\d\d:\d\d [a-z_-]+\*\*[ \t]*$")
_TEMPLATE: Final = lazy_re(
    r"\s*(?:<\|[a-z_]{2,24}\|>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>|#{2,3} (?:Instruction|Response|Human|Assistant):)"
    r"|.*(?:<\|[a-z_]{2,24}\|>|\[/?INST\])\s*$",
)

_DATA: Final = lazy_re(
    r"(?:json\s*)?(?:\{\s*(?:[\"'][^\"'\n]{0,80}[\"']\s*:|\}\s*\Z)|\[\s*(?:[{\"]|\]\s*\Z))"
    r"|<(?:!doctype|html|head|body|\?xml|error|tool_call|function|invoke)\b|Traceback \(most recent call last\)",
    re.IGNORECASE,
)
_WORD: Final = lazy_re(r"\w")

_REFUSAL_MAX_CHARS: Final = 600  # characters of a refusal
#: How a refusal begins. Longer material knows one by what it leaves unsaid (`material.says_less`).
_REFUSAL: Final = lazy_re(
    r"(?:(?:i['’]?m|i am) (?:\w+ )?(?:sorry|afraid)|sorry|(?:my )?apologies|i apologi[sz]e|unfortunately|as an? (?:ai|(?:large )?language)\b)"
    r"[^.\n]{0,60}?\b(?:can['’]?t|cannot|unable|not able|don['’]?t|do not|won['’]?t|must decline)\b"
    r"|i (?:can['’]?t|cannot|won['’]?t|am unable to|am not able to) (?:help|assist|provide|summari[sz]e|comply|process|access)"
    r"|(?:please|could you) (?:provide|share|paste|send)\b"
    r"|(?:非常|很|十分|实在)?(?:抱歉|对不起)[^。\n]{0,30}?(?:无法|不能|没法|没办法|不便|拒绝)"
    r"|(?:作为[^，。\n]{0,16}，)?我?(?:暂时|目前)?(?:无法|不能|不便)(?:协助|帮|提供|总结|处理|回答|满足|查看|访问)"
    r"|请[您你]?(?:先|再)?(?:提供|发送|粘贴)",
    re.IGNORECASE,
)


def thinks_aloud(text: str) -> bool:
    """Return whether the text thinks aloud about its task, or has a thinking tag at either end of a line."""
    return bool(_THINKING.match(opening(text))) or any(_THOUGHT.match(line) for line in own_words(text))


def continues_the_talk(text: str) -> bool:
    """Return whether the text continues the conversation in both roles, or has marks of a chat template."""
    lines = outside_code(text)[0]
    speakers = {match.lastgroup for line in lines if (match := _SPEAKER.match(line))}
    return len(speakers) > 1 or any(_TURN.match(line) or _TEMPLATE.match(line) for line in lines)


def is_data(text: str) -> bool:
    """Return whether the text is a JSON object or array, whole or cut off, a page, a traceback, or only fenced code."""
    lines, in_code = outside_code(text)
    return bool(_DATA.match(opening(text))) or not (in_code or any(_WORD.search(line) for line in lines))


def is_refusal(text: str) -> bool:
    """
    Return whether the text declines to summarise, or asks for the material.

    >>> is_refusal("抱歉，我无法协助处理该请求。"), is_refusal("助手说“抱歉，我无法协助”，用户便换了一家。")
    (True, False)
    """
    body = opening(text)
    if len(body) > _REFUSAL_MAX_CHARS or any(HEADING.match(line) for line in body.split("\n")):
        return False
    return bool(_REFUSAL.match(body))
