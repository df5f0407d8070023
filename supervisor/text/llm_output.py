"""
A model's output without what is not part of the answer: thinking, fences, announcements, offers, stop signs. Pure.

`without_thinking` removes thinking and a Markdown fence; the worker applies it to every answer. `cleaned` removes all wrappings
that models put around a summary. Only text around the summary is removed; summaries/quality.py judges what remains.
`says_nothing` knows a model's many ways to say "nothing to record", `continued` joins an answer to the summary so far.
`after_thoughts` is for what is stored: thinking and marks of a web search stay with their message, and are neither searched nor
summarised. `own_words` and `outside_code` separate the prose of a text from its code.
"""

import re
from typing import Final

from .lazy_re import lazy_re

#: The most nested wrappings; a text with more is left as it is.
_DEPTH: Final = 6
_BLANK: Final = " \t\n\v\f\x1c\x1d\x1e\x1f\x85\xa0\u2028\u2029\u3000\ufeff\u200b"
_FENCE: Final = lazy_re(r"[ \t]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?(`{3,}|~{3,})([^`\n]*)")
#: A heading, or a bold line used as one.
HEADING: Final = lazy_re(r"[ \t]{0,3}#{1,6}(?:[ \t]|$)|[ \t]*\*\*[^*\n]{1,40}\*\*[:：]?[ \t]*$")
_CODE_SPAN: Final = lazy_re(r"`[^`\n]*`")
_MARKDOWN: Final = frozenset({"markdown", "md", "text", "txt", "plaintext"})

_TAGGED: Final = lazy_re(r"<(summary|answer|output|response)>(.*)</\1>", re.IGNORECASE | re.DOTALL)
_STOP_SIGN: Final = lazy_re(r"(?:<\|(?:im_end|eot_id|end|endoftext|return)\|>|</s>|<end_of_turn>)\Z")
_RULE: Final = lazy_re(r"\A(?:-{3,}|\*{3,}|_{3,})[ \t]*\n(?=[ \t]*\n|#)")
_LAST_RULE: Final = lazy_re(r"\n[ \t]*\n(?:-{3,}|\*{3,}|_{3,})\Z")

_OPENING: Final = lazy_re(
    r"\A(?:[*_# \t]{0,8}(?:(?:sure|certainly|of course|okay|ok|absolutely|no problem|got it)\b[^\w\n]{0,4})?"
    r"(?:[^\n,，:：]{0,60},\s{0,2})?(?:here(?:['’]s| is| are)|below (?:is|are)|the following (?:is|are))\b[^\n]{0,100}?"
    r"\b(?:summary|summaries|digest|notes|recap|overview|highlights)\b[^\n.。:：]{0,60}"
    r"(?:[:：][*_ \t]{0,6}(?:\n|\Z)|[.!]?[*_ \t]{0,6}\n)"
    r"|[*_# \t]{0,8}(?:(?:好的|好|当然|当然可以|没问题|明白了?|收到|可以)[，,。！!\s]{1,3})?(?:根据[^\n，,]{0,40}[，,])?(?:我)?"
    r"(?:(?:以下|下面)(?:就)?[是为]|这是(?:今天|当天|当日|本月|对话)|已?总结如下|整理如下)[^\n。；，]{0,60}?"
    r"(?:(?<=如下)|总结|摘要|小结|概要|纪要|要点|归纳)[^\n。；：]{0,30}(?:[:：][*_ \t]{0,6}(?:\n|\Z)|[。！]?[*_ \t]{0,6}\n))",
    re.IGNORECASE,
)
_CLOSING: Final = lazy_re(
    r"(?:\A|\n\n)(?:(?:please )?let me know if (?:you|there|this|anything|i)\b.{0,160}|feel free to (?:ask|reach|let)\b.{0,160}"
    r"|(?:i )?hope (?:this|the summary|that) (?:helps|is helpful|meets|summary)\b.{0,160}"
    r"|(?:would you like|do you want) me to\b.{0,160}\?"
    r"|如(?:果|有|需)?(?:您|你)?[^，。\n]{0,15}(?:需要|需求|调整|修改|补充|其他|疑问|问题)[^。\n]{0,25}(?:告诉我|告知我|联系我|跟我说)[^。\n]{0,6}[。！]?"
    r"|希望(?:这份|以上|这个|本)(?:总结|摘要|内容|整理)[^。\n]{0,20}(?:帮助|有用|帮到您|帮到你|满意)[^。\n]{0,6}[。！]?"
    r"|(?:还)?需要我[^。\n]{1,40}吗？)\Z",
    re.IGNORECASE,
)

#: An answer so many times shorter than the summary so far does not include it.
_SHRUNK: Final = 3
#: How often a run is said, and the most characters of it: less may be a list, or a table.
_ROUNDS: Final = 5
_ROUND_CHARS: Final = 400
_NOTHING_CHARS: Final = 400  # characters of an answer that says "nothing to record", with headings and a reason
_NOTHING_LINES: Final = 6  # three headings with a line below each
_WORD: Final = lazy_re(r"\w")
_NOTHING_ZH: Final = (
    r"(?:(?:今天|今日|当天|当日|本日|本月|当月|这一?天)的?)?(?:(?:对话|聊天|消息)(?:中|里)?)?"
    r"(?:[無无][需須须]|不需要?|不用|不必|(?:并?[没沒]有?|[无無]|暂无)(?:任何|什么|什麼)?(?:需要|值得|要|可供?|必要)?)"
    r"(?:被|特别)?(?:[记記][录錄]|归档|总结|總結)的?(?:内容|內容|信息|事项|事項|必要|东西|價值|价值)?"
)
_NOTHING_EN: Final = (
    r"(?:there (?:is|was|are|were) )?nothing "
    r"(?:(?:new|else|of note|important|significant|notable|here|in particular|substantial|worth|that) ?)*"
    r"(?:(?:that )?(?:needs?|worth|has|is|was)? ?(?:to be|to|being)? ?(?:record|not|summari[sz]|report|remember|sav)\w*)?"
    r"(?: (?:today|here|for today))?"
    r"|no (?:records?|summary|notes?|entry|recording) (?:(?:is|are|was|were) )?(?:needed|required|necessary)"
    r"|no need (?:to|for a) (?:record|summar|not)\w*(?: anything)?"
)
#: A reason that a model may add: there were only courtesies.
_NOTHING_WHY: Final = (
    r"\W{1,4}(?:因为)?(?:今天|当天|当日|对话|内容|消息|本日)?(?:中|里)?(?:只有|仅有?|全是|都是|只是|均为)[^。\n]{0,30}"
    r"(?:问候|寒暄|闲聊|客套|招呼|道谢|测试|礼貌)[^。\n]{0,12}"
    r"|\W{1,4}(?:because |as |since )?"
    r"(?:only|just|(?:the |this )?(?:conversation|message|day|exchange|chat)s?\b|it (?:was|is)|there (?:was|were))"
    r"[^.\n]{0,80}(?:greeting|small talk|pleasantr|courtes|chit-?chat|thanks|test message)[^.\n]{0,30}"
)
_NOTHING: Final = lazy_re(
    rf"\W*(?:(?:总结|摘要|结果|summary)\s?[:：]\W*)?(?:{_NOTHING_ZH}|{_NOTHING_EN})(?:\W+(?:{_NOTHING_ZH}|{_NOTHING_EN}))?(?:{_NOTHING_WHY})?\W*",
    re.IGNORECASE,
)
_THOUGHT: Final = lazy_re(r"\s*<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
#: If the chat template itself opens the thinking, the answer has only its end, on a line of its own.
_THOUGHT_END: Final = lazy_re(r"^[ \t]*</think(?:ing)?>[ \t]*$", re.MULTILINE | re.IGNORECASE)
#: The channels of Harmony, the format of gpt-oss: an answer is in the last one, if that is "final".
_CHANNEL: Final = lazy_re(r"(?:<\|start\|>\w+)?<\|channel\|>(\w+)[^<]*<\|message\|>")
_CHANNEL_END: Final = lazy_re(r"<\|(?:end|return|call)\|>\s*\Z")
#: The marks of sources in answers of ChatGPT, as its exports have them.
_CITATION: Final = lazy_re("\ue200[^\ue201]*\ue201|【\\d+(?::\\d+)?†[^】\\n]*】")


def cleaned(text: str) -> str:
    r"""
    Return the answer without what models put around it, with plain line breaks and without blanks at its ends.

    Removed are thoughts before the answer, a fence, a `<summary>` tag or rules around all of it, a line that announces
    it, a line that offers more, and a stop sign of the model's format. The result is "" if nothing is left. Cleaning twice
    changes nothing more.

    >>> cleaned("以下是总结：\n\n```markdown\n## 饮食\n对花生过敏。\n```\n")
    '## 饮食\n对花生过敏。'
    """
    plain = bare = text.replace("\r\n", "\n").replace("\r", "\n").strip(_BLANK)
    for _ in range(_DEPTH):
        before, bare = bare, _cleaned_once(bare)
        if bare == before:
            return bare
    return plain


def without_thinking(text: str) -> str:
    r"""
    Return the answer without thinking and without a fence around it, stripped; "" when it is only thinking.

    >>> without_thinking("<think>用户要摘要……</think>\n\n## 部署")
    '## 部署'
    """
    return _without_fence(after_thoughts(text).strip()).strip()


def says_nothing(text: str) -> bool:
    r"""
    Return whether the text only says "nothing to record", in any of the usual ways, with or without headings.

    >>> says_nothing("## 总结\n\n（无需记录）"), says_nothing("无需记录的事很多")
    (True, False)
    """
    bare = cleaned(text)
    lines = [line for line in bare.split("\n") if _WORD.search(line)] if len(bare) <= _NOTHING_CHARS else []
    nothing = [bool(_NOTHING.fullmatch(line)) for line in lines]
    return (
        len(lines) <= _NOTHING_LINES
        and any(nothing)
        and all(n or HEADING.match(t) for n, t in zip(nothing, lines, strict=True))
    )


def continued(so_far: str, answer: str) -> str:
    """Return the new summary: the *answer*, added to the summary so far if the model wrote only what is new."""
    if says_nothing(answer):
        return so_far
    return f"{so_far}\n\n{answer}" if len(answer) * _SHRUNK < len(so_far) else answer


def goes_round(text: str) -> bool:
    r"""
    Return whether the text ends in one run of characters said over and over, so that a model would go on for ever.

    >>> goes_round("对花生过敏。" + "换了水管，花了 38 元。" * 60), goes_round("对花生过敏。" * 3)
    (True, False)
    """
    tail = text[-_ROUNDS * _ROUND_CHARS :]
    for size in range(1, _ROUND_CHARS + 1):
        stretch = max(_ROUNDS * size, _ROUND_CHARS)
        if len(tail) >= stretch and tail[-stretch:-size] == tail[size - stretch :]:
            return True
    return False


def outside_code(text: str, fences: re.Pattern[str] = _FENCE) -> tuple[list[str], bool]:
    """Return the lines outside code, whose first and last lines are *fences*, and whether one is still open at the end."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = fences.fullmatch(line)
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
        elif mark:
            fence = mark[1]
        else:
            lines.append(line)
    return lines, bool(fence)


def opening(text: str) -> str:
    """Return the text after its first headings; all of it if it consists of headings."""
    start = 0
    for line in text.split("\n"):
        if line.strip() and not HEADING.match(line):
            return text[start:].lstrip("*_ \t")
        start += len(line) + 1
    return text.strip()


def own_words(text: str) -> list[str]:
    """Return the lines outside fenced code, without their code spans."""
    return [_CODE_SPAN.sub("", line) for line in outside_code(text)[0]]


def _without_tag(text: str) -> str:
    tagged = _TAGGED.fullmatch(text)
    return tagged[2] if tagged and f"</{tagged[1]}>" not in tagged[2] else text


def _without_fence(text: str) -> str:
    """Return the content of the one fence around the text; the text itself if its fences are ambiguous."""
    first, _, rest = text.partition("\n")
    inside, _, last = rest.rpartition("\n")
    mark = _FENCE.fullmatch(first)
    if not mark or mark[1] != last.strip() or mark[2].strip().lower() not in {*_MARKDOWN, ""}:
        return text
    within = next((match for line in inside.split("\n") if (match := _FENCE.fullmatch(line))), None)
    if within and (not mark[2].strip() or not within[2].strip() or outside_code(inside)[1]):
        return text
    return inside


def _cleaned_once(text: str) -> str:
    bare = after_thoughts(text).strip(_BLANK) or text  # thinking alone is judged as it is
    for pattern in (_STOP_SIGN, _OPENING, _CLOSING):
        bare = pattern.sub("", bare, count=1).strip(_BLANK)
    bare = _without_tag(bare).strip(_BLANK)
    for pattern in (_RULE, _LAST_RULE):
        bare = pattern.sub("", bare, count=1).strip(_BLANK)
    return _without_fence(bare).strip(_BLANK)


def after_thoughts(text: str) -> str:
    r"""
    Return what is said in the text: what comes after thinking at its beginning, without marks of sources.

    >>> after_thoughts("<think>用户要摘要……</think>\n周五部署。"), after_thoughts("周五部署。")
    ('\n周五部署。', '周五部署。')
    >>> after_thoughts("```\n</think>\n```")
    '```\n</think>\n```'
    >>> after_thoughts("<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Friday.")
    'Friday.'
    """
    while match := _THOUGHT.match(text):
        text = text[match.end() :]
    if end := _THOUGHT_END.search(text) if "</" in text else None:
        before = text[: end.start()].lstrip()
        is_in_code = outside_code(before)[1] and not outside_code(text)[1]  # in a block that is closed behind it
        first, mark, _ = before.lower().partition("<think")
        is_later = bool(mark) and "\n" in first
        text = text if is_in_code or is_later else text[end.end() :]
    if "<|channel|>" in text:
        *_, last = _CHANNEL.split(text) if (channels := _CHANNEL.findall(text)) else (text,)
        text = _CHANNEL_END.sub("", last) if channels and channels[-1] == "final" else "" if channels else text
    return _CITATION.sub("", text) if "\ue200" in text or "†" in text else text
