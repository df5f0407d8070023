"""
Refusals and apologies, in Chinese and English: short texts that begin by declining the work or by asking for the material.

A summary *about* a refusal tells of it in words of its own, is longer, or has headings, and passes. The phrases are collected
from what models say; a new one is a line here and a case in the table of the tests.
"""

from __future__ import annotations

import re
from typing import Final

from supervisor.text.prose import HEADING, opening

LONGEST: Final = 600  # characters of a refusal

_NOT: Final = r"n['’]?t\b"
_SORRY: Final = (
    r"(?:(?:i['’]?m|i am|we['’]re|we are) (?:\w+ )?(?:sorry|afraid)|sorry|(?:my |our )?apologies|i apologi[sz]e|unfortunately"
    r"|regrettably|as an? (?:ai|artificial|large|language)\b[^,.\n]{0,60})"
)
_UNABLE: Final = (
    rf"(?:(?:i|we) ?(?:['’]m|am|['’]re|are)? ?(?:ca{_NOT}|cannot|can not|could(?:{_NOT}| not)|wo{_NOT}|will not|not able to"
    rf"|unable to|(?:must|have to|need to) (?:decline|refuse)|do(?:{_NOT}| not) (?:have|see|feel comfortable|think i)"
    r"|not (?:permitted|allowed|comfortable)|decline)|(?:that|this) (?:is|['’]s) not something i can)"
)
_DO: Final = (
    r"(?:help|assist|provide|summari[sz]|comply|fulfil|continue|creat|process|complet|access|read|view|discuss|shar|generat|produc"
    r"|engag|do (?:that|this|so)|answer|write|record|support|conversation|messages|text|content|request|information)"
)
_MATERIAL: Final = r"(?:conversation|messages?|text|content|transcript|dialogue|chat|material|input|notes)\b"
#: What is said before the no.
_THANKS: Final = (
    r"(?:(?:thank you|thanks|i (?:understand|appreciate))\b[^.!\n]{0,80}[.!,]\s*(?:(?:however|but|unfortunately),? )?)?"
)
_THANKS_ZH: Final = (
    r"(?:(?:我理解|感谢|谢谢|由于|出于|因为)[^。！\n]{0,30}?[，。！]\s*(?:但是?|不过|然而|可是)?，?)?"
    r"(?:[这该此]个?(?:问题|请求|任务|内容))?"
)
_ENGLISH: Final = (
    rf"{_SORRY}[^.!\n]{{0,60}}?[,.!:;—-]?\s*(?:but )?{_UNABLE}[^.\n]{{0,60}}?\b{_DO}",
    rf"{_THANKS}{_UNABLE}[^.\n]{{0,24}}?\b{_DO}",
    r"i(?:['’]m| am) not sure (?:what|which|how) (?:you|to)\b",
    # nothing but an apology
    rf"{_SORRY}(?: about that| for (?:the|any) \w+|,? (?:but )?(?:\w+ ){{0,3}}went wrong)?[.!]*\s*\Z",
    # where is the material
    (
        r"(?:(?:i['’]m )?sorry[,.] )?(?:please|could you(?: please)?|can you) "
        rf"(?:provide|share|paste|send|give)\b[^.\n]{{0,40}}\b{_MATERIAL}"
    ),
    (
        r"it (?:looks|seems|appears) (?:like |that )[^.\n]{0,60}"
        rf"(?:\bno\b|empty|did(?:{_NOT}| not)|missing|have(?:{_NOT}| not))[^.\n]{{0,40}}\b{_MATERIAL}"
    ),
    (
        r"(?:there (?:is|are)|i (?:see|have)|you (?:gave|provided)) no\b"
        rf"[^.\n]{{0,20}}\b{_MATERIAL}[^.\n]{{0,20}}\b(?:summari|process|provided)"
    ),
    # whose policy
    (
        r"(?:this|the|your) (?:content|request|conversation|prompt|response|topic)\b[^.\n]{0,30}"
        r"\b(?:violates?|goes against|(?:was|has been|is|were) (?:flagged|filtered|blocked))\b"
    ),
    r"\[?(?:content|response) (?:was )?(?:filtered|blocked|removed)\b",
)
_SORRY_ZH: Final = (
    r"(?:(?:非常|很|十分|实在|真的)?(?:抱歉|对不起|不好意思|遗憾)"
    r"|作为[^，。\n]{0,12}(?:AI|人工智能|语言模型|大模型|助手)[^，。\n]{0,10})"
)
_UNABLE_ZH: Final = (
    r"(?:无法|无权|不能|没法|没有办法|没办法|不便|拒绝|不可以|不提供|不具备|没有(?:看到|收到|找到|权限|能力|足够))"
)
_DO_ZH: Final = (
    r"(?:帮|协助|提供|完成|总结|处理|继续|满足|回答|生成|参与|给出|概括|支持[您你]|[这那][样么]做|(?:执行|讨论)[该此这您你]"
    r"|(?:访问|查看|读取|记录)[^。\n]{0,10}(?:内容|链接|文件|对话|信息|互联网|请求)|需要(?:总结|处理)|任何(?:对话|内容|消息))"
)
_MATERIAL_ZH: Final = r"(?:对话|消息|聊天|内容|文本|记录|材料)"
_CHINESE: Final = (
    rf"{_SORRY_ZH}[^。\n]{{0,30}}?[，。,]?\s*[^。\n]{{0,30}}?{_UNABLE_ZH}[^。\n]{{0,20}}?{_DO_ZH}",
    r"我不太?(?:明白|理解|清楚)[您你]",
    rf"{_THANKS_ZH}我们?(?:暂时|目前|现在|恐怕)?{_UNABLE_ZH}[^。，\n]{{0,10}}?{_DO_ZH}",
    r"(?:暂时|目前)?无法(?:[为给][您你]|总结|概括|生成|满足|继续[该此这对]|回答|完成[该此这您你])",
    (
        r"(?:非常|很|十分)?(?:抱歉|对不起|不好意思)"
        r"(?:[，,]?(?:给您带来不便|让您久等了?|打扰了|(?:系统)?出(?:错|了点问题)了?|我不知道|我不明白))?[。！!.]*\s*\Z"
    ),
    rf"请[您你]?(?:先|再)?(?:提供|发送|粘贴|分享|给出|上传|告诉我)[^。\n]{{0,24}}{_MATERIAL_ZH}",
    rf"我?(?:没有|未|并未)(?:看到|收到|找到|发现)(?:任何|您|你|需要|要)[^。\n]{{0,12}}{_MATERIAL_ZH}",
    rf"[您你](?:没有|还没有?|未)(?:提供|给出|发送)[^。\n]{{0,12}}{_MATERIAL_ZH}",
    (
        r"(?:该|此|这些|这个|您的|你的|当前|本次)(?:内容|请求|问题|话题|对话|输入)[^。\n]{0,20}"
        r"(?:违反|涉及敏感|涉嫌|不符合|不合规|被(?:过滤|拦截|屏蔽))"
    ),
    r"(?:内容|请求|回复)已?被(?:安全策略|系统|平台|内容)?(?:过滤|拦截|屏蔽)",
)
_REFUSAL: Final = re.compile("|".join((*_ENGLISH, *_CHINESE)), re.IGNORECASE)


def refuses(text: str) -> bool:
    """
    Tell whether the text declines to summarise, only apologises, or asks for the material.

    >>> refuses("抱歉，我无法协助处理该请求。"), refuses("助手说“抱歉，我无法协助”，用户便换了一家。")
    (True, False)
    """
    body = opening(text)
    if len(body) > LONGEST or any(HEADING.match(line) for line in body.split("\n")):
        return False
    return bool(_REFUSAL.match(body))
