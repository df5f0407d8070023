"""
Texts in which a server speaks and no model: error pages, sentences of gateways, data where Markdown was asked for.

An error says nothing beyond the words of errors. A summary of an outage says what was done about it, and passes.
"""

from __future__ import annotations

import re
from typing import Final

from supervisor.text.prose import opening, outside_code
from supervisor.text.words import HAN

LONGEST: Final = 400  # characters of an error's sentences
#: Share of the letters of a text that belong to words of errors, from which it is one.
_SHARE: Final = 0.8
_HAN_WORTH: Final = 3  # letters of a Latin word that a Han character is worth

_PAGE: Final = re.compile(r"<(?:!doctype|html|head|body|\?xml|error|tool_call|function|invoke)\b|<\?xml", re.IGNORECASE)
_DATA: Final = re.compile(
    r"(?:json\s*)?(?:\{\s*(?:[\"'][^\"'\n]{0,80}[\"']\s*:|\}\s*\Z)|\[\s*(?:[{\"]|\]\s*\Z))", re.IGNORECASE
)
#: How errors begin that tell more than their name; no Chinese stands in them.
_BEGINS: Final = re.compile(
    r"error code: \d{3}\b|curl: \(\d+\)|(?:[a-z_]\w*\.)+\w*(?:error|exception)\s*:|upstream connect error"
    r"|http/[\d.]+ [45]\d\d\b"
    r"|error: (?:upstream|connect|failed|request|model|http|\d)|model ['\"“][^'\"”]+['\"”] not found|incorrect api key"
    r"|this model['’]s maximum context|the (?:request|prompt|input) (?:is too long|exceeds)|prompt is too long",
    re.IGNORECASE,
)
_TRACEBACK: Final = "Traceback (most recent call last)"
_NAMES: Final = re.compile(
    r"\b[45]\d\d\b|bad gateway|service (?:is )?(?:temporarily |currently )?unavailable|gateway time-?out|internal server error"
    r"|too many requests|rate[ _-]?limit(?:ed)?|quota|unauthori[sz]ed|forbidden|invalid[ _](?:api[ _]key|request|token)"
    r"|connection (?:refused|reset|timed out|error|closed)|timed? ?-?out|overloaded|no healthy upstream|something went wrong"
    r"|unexpected error|an error (?:has )?occurred|fatal|context length"
    r"|请求过于频繁|服务器|服务(?:暂时|暂)?不可用|网络(?:连接)?(?:错误|异常|超时)|系统(?:繁忙|错误|异常)|余额不足|欠费|超时|错误|过长|密钥无效|额度",
    re.IGNORECASE,
)
_WORDS: Final = re.compile(
    r"\b(?:\w*(?:error|exception)|code|http|status|server|requests?|message|model|please|try|again|later|in|an?|the|few|seconds?|minutes?|moments?|s"
    r"|is|are|was|has|have|been|be|exceed(?:ed|s)|reached|failed|nginx|openresty|cloudflare|openai|upstream|proxy|type|null|your?|our"
    r"|we|it|current|check|plan|and|billing|details|retry|after|to|of|from|while|processing|contact|support|id|api|key|at|on|or|this"
    r"|page|path|url|status code"
    r"|with|too|many|limit|connect|not|found|available|could|load|invalid|\d[\d.]*s?)\b"
    r"|请|您|你|的|稍后|再试|重试|再|后|秒|分钟|输入|内容|超出|超过|模型|上下文|长度|限制|最大|内部|连接|失败|发生|出现|了|当前|已|用尽|代码"
    r"|检查|账户|暂时|响应|接口|调用|请求|频率|未知|充值|上限|达到|状态码",
    re.IGNORECASE,
)
_TOO_LONG: Final = re.compile(
    r"context[ _](?:length|window|size)|(?:prompt|input|request) (?:is )?too long|too many tokens"
    r"|上下文|(?:输入|内容)[^。\n]{0,6}(?:过长|太长)",
    re.IGNORECASE,
)
_HAN: Final = re.compile(f"[{HAN}]")
_WORD: Final = re.compile(r"\w")


def is_error(text: str) -> bool:
    r"""
    Tell whether the text is a page, a traceback, or sentences made of nothing but the words of errors.

    >>> is_error("502 Bad Gateway\n\nnginx/1.24.0"), is_error("502 的原因是上游没有启动，重启后好了。")
    (True, False)
    """
    body = opening(text)
    if _PAGE.match(body) or body.startswith(_TRACEBACK):
        return True
    if len(body) > LONGEST:
        return False
    if _BEGINS.match(body) and not _HAN.search(body):
        return True
    rest = _WORDS.sub(" ", _NAMES.sub(" ", body))
    return bool(_NAMES.search(body)) and _letters(rest) <= (1 - _SHARE) * _letters(body)


def is_data(text: str) -> bool:
    """Tell whether the text is a JSON object or array, whole or cut, or nothing but fenced code."""
    lines, in_code = outside_code(text)
    return bool(_DATA.match(opening(text))) or not (in_code or any(_WORD.search(line) for line in lines))


def says_too_long(text: str) -> bool:
    """Tell of an error whether it complains of too much material: asking again with as much would be in vain."""
    return bool(_TOO_LONG.search(text[:LONGEST]))


def _letters(text: str) -> int:
    return sum(char.isalnum() for char in text) + (_HAN_WORTH - 1) * len(_HAN.findall(text))
