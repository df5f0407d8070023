"""The many spellings of "nothing to record" (000, 无需记录; docs/protocol.md, 6)."""

from __future__ import annotations

import re
from typing import Final

from supervisor.text.prose import HEADING, cleaned

LONGEST: Final = 400  # characters of one spelling, with headings and a reason
_LINES: Final = 6  # a heading and the words under it, three times

_WORD: Final = re.compile(r"\w")
_ZH: Final = (
    r"(?:(?:今天|今日|当天|当日|本日|本月|当月|这一?天)的?)?(?:(?:对话|聊天|消息)(?:中|里)?)?"
    r"(?:[無无][需須须]|不需要?|不用|不必|(?:并?[没沒]有?|[无無]|暂无)(?:任何|什么|什麼)?(?:需要|值得|要|可供?|必要)?)"
    r"(?:被|特别)?(?:[记記][录錄]|归档|总结|總結)的?(?:内容|內容|信息|事项|事項|必要|东西|價值|价值)?"
)
_EN: Final = (
    r"(?:there (?:is|was|are|were) )?nothing "
    r"(?:(?:new|else|of note|important|significant|notable|here|in particular|substantial|worth|that) ?)*"
    r"(?:(?:that )?(?:needs?|worth|has|is|was)? ?(?:to be|to|being)? ?(?:record|not|summari[sz]|report|remember|sav)\w*)?"
    r"(?: (?:today|here|for today))?"
    r"|no (?:records?|summary|notes?|entry|recording) (?:(?:is|are|was|were) )?(?:needed|required|necessary)"
    r"|no need (?:to|for a) (?:record|summar|not)\w*(?: anything)?"
)
#: What a model may add: that there were courtesies only.
_WHY: Final = (
    r"\W{1,4}(?:因为)?(?:今天|当天|当日|对话|内容|消息|本日)?(?:中|里)?(?:只有|仅有?|全是|都是|只是|均为)[^。\n]{0,30}"
    r"(?:问候|寒暄|闲聊|客套|招呼|道谢|测试|礼貌)[^。\n]{0,12}"
    r"|\W{1,4}(?:because |as |since )?"
    r"(?:only|just|(?:the |this )?(?:conversation|message|day|exchange|chat)s?\b|it (?:was|is)|there (?:was|were))"
    r"[^.\n]{0,80}(?:greeting|small talk|pleasantr|courtes|chit-?chat|thanks|test message)[^.\n]{0,30}"
)
_NOTHING: Final = re.compile(
    rf"\W*(?:(?:总结|摘要|结果|summary)\s?[:：]\W*)?(?:{_ZH}|{_EN})(?:\W+(?:{_ZH}|{_EN}))?(?:{_WHY})?\W*", re.IGNORECASE
)


def says_nothing(text: str) -> bool:
    r"""
    Tell whether the text is one of the spellings of "nothing to record", with or without headings above it.

    >>> says_nothing("## 总结\n\n（无需记录）"), says_nothing("无需记录的事很多")
    (True, False)
    """
    bare = cleaned(text)
    told = [line for line in bare.split("\n") if _WORD.search(line)] if len(bare) <= LONGEST else []
    said = [bool(_NOTHING.fullmatch(line)) for line in told]
    return len(told) <= _LINES and any(said) and all(s or HEADING.match(t) for s, t in zip(said, told, strict=True))
