"""
What of a model's answer is the summary: the wrapping around it taken off, its prose told from its code.

Only what stands around a summary goes, never a word of it. What is no harmless wrapping stays, and the gate judges it.

What a model says, less what it only thought, and less the wrapping that it puts around Markdown. Pure.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

#: Wrappings in one another, at most; deeper ones are no accident, and nothing is taken off.
_DEPTH: Final = 6
_BLANK: Final = " \t\n\v\f\x1c\x1d\x1e\x1f\x85\xa0\u2028\u2029\u3000\ufeff\u200b"
_FENCE: Final = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?(`{3,}|~{3,})([^`\n]*)")
#: A heading, and the bold line that stands for one.
HEADING: Final = re.compile(r"[ \t]{0,3}#{1,6}(?:[ \t]|$)|[ \t]*\*\*[^*\n]{1,40}\*\*[:：]?[ \t]*$")
_CODE_SPAN: Final = re.compile(r"`[^`\n]*`")
_MARKDOWN: Final = frozenset({"markdown", "md", "text", "txt", "plaintext"})

_THOUGHTS: Final = re.compile(r"<(think|thinking|thought|reasoning)>.*?</\1>", re.IGNORECASE | re.DOTALL)
#: A server that puts the opening tag into the prompt sends back only the closing one.
_THOUGHTS_END: Final = re.compile(r"(?<!`)</(?:think|thinking)>[ \t]*(?:\n|\Z)", re.IGNORECASE)
_TAGGED: Final = re.compile(r"<(summary|answer|output|response)>(.*)</\1>", re.IGNORECASE | re.DOTALL)
_STOP_SIGN: Final = re.compile(r"(?:<\|(?:im_end|eot_id|end|endoftext|return)\|>|</s>|<end_of_turn>)\Z")
_RULE: Final = re.compile(r"(?:-{3,}|\*{3,}|_{3,})[ \t]*\n(?=[ \t]*\n|#)")
_LAST_RULE: Final = re.compile(r"\n[ \t]*\n(?:-{3,}|\*{3,}|_{3,})\Z")

_OPENING: Final = re.compile(
    r"[*_# \t]{0,8}(?:(?:sure|certainly|of course|okay|ok|absolutely|no problem|got it)\b[^\w\n]{0,4})?"
    r"(?:[^\n,，:：]{0,60},\s{0,2})?(?:here(?:['’]s| is| are)|below (?:is|are)|the following (?:is|are))\b[^\n]{0,100}?"
    r"\b(?:summary|summaries|digest|notes|recap|overview|highlights)\b[^\n.。:：]{0,60}"
    r"(?:[:：][*_ \t]{0,6}(?:\n|\Z)|[.!]?[*_ \t]{0,6}\n)"
    r"|[*_# \t]{0,8}(?:(?:好的|好|当然|当然可以|没问题|明白了?|收到|可以)[，,。！!\s]{1,3})?(?:根据[^\n，,]{0,40}[，,])?(?:我)?"
    r"(?:(?:以下|下面)(?:就)?[是为]|这是(?:今天|当天|当日|本月|对话)|已?总结如下|整理如下)[^\n。；，]{0,60}?"
    r"(?:(?<=如下)|总结|摘要|小结|概要|纪要|要点|归纳)[^\n。；：]{0,30}(?:[:：][*_ \t]{0,6}(?:\n|\Z)|[。！]?[*_ \t]{0,6}\n)",
    re.IGNORECASE,
)
_CLOSING: Final = re.compile(
    r"(?:please )?let me know if (?:you|there|this|anything|i)\b.{0,160}|feel free to (?:ask|reach|let)\b.{0,160}"
    r"|(?:i )?hope (?:this|the summary|that) (?:helps|is helpful|meets|summary)\b.{0,160}"
    r"|(?:would you like|do you want) me to\b.{0,160}\?"
    r"|如(?:果|有|需)?(?:您|你)?[^，。]{0,15}(?:需要|需求|调整|修改|补充|其他|疑问|问题)[^。]{0,25}(?:告诉我|告知我|联系我|跟我说)[^。]{0,6}[。！]?"
    r"|希望(?:这份|以上|这个|本)(?:总结|摘要|内容|整理)[^。]{0,20}(?:帮助|有用|帮到您|帮到你|满意)[^。]{0,6}[。！]?"
    r"|(?:还)?需要我[^。]{1,40}吗？",
    re.IGNORECASE,
)


def cleaned(text: str) -> str:
    r"""
    Return the answer without what models wrap around one: its line breaks plain, no blanks at its ends.

    Taken off are complete thoughts before it, a fence, a `<summary>` tag or rules around the whole of it, a line that announces
    it, a line that offers more, a stop sign of the model's format. "" where nothing else was said. Cleaning twice changes
    nothing more.

    >>> cleaned("以下是总结：\n\n```markdown\n## 饮食\n对花生过敏。\n```\n")
    '## 饮食\n对花生过敏。'
    """
    plain = bare = text.replace("\r\n", "\n").replace("\r", "\n").strip(_BLANK)
    for _ in range(_DEPTH):
        before = bare
        for step in _STEPS:
            bare = step(bare).strip(_BLANK)
        if bare == before:
            return bare
    return plain


def outside_code(text: str) -> tuple[list[str], bool]:
    """Return the lines that stand in no fenced code, and whether a fence is still open where the text ends."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.fullmatch(line)
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
        elif mark:
            fence = mark[1]
        else:
            lines.append(line)
    return lines, bool(fence)


def opening(text: str) -> str:
    """Return the text from its first words on that are no heading; all of it where it is nothing but headings."""
    start = 0
    for line in text.split("\n"):
        if line.strip() and not HEADING.match(line):
            return text[start:].lstrip("*_ \t")
        start += len(line) + 1
    return text.strip()


def own_words(text: str) -> list[str]:
    """Return the lines that stand in no code, and of them what stands in no code span: what the text says itself."""
    return [_CODE_SPAN.sub("", line) for line in outside_code(text)[0]]


def _without_thoughts(text: str) -> str:
    thoughts = _THOUGHTS.match(text)
    if thoughts:
        return text[thoughts.end() :]
    end = _THOUGHTS_END.search(text)
    if not end:
        return text
    before = text[: end.start()]
    return text if "<think" in before.lower() or outside_code(before)[1] else text[end.end() :]


def _without_announcement(text: str) -> str:
    line = _OPENING.match(text)
    return text[line.end() :] if line else text


def _without_offer(text: str) -> str:
    said, _, last = text.rpartition("\n\n")
    return said if _CLOSING.fullmatch(last) else text


def _without_tag(text: str) -> str:
    tagged = _TAGGED.fullmatch(text)
    return tagged[2] if tagged and f"</{tagged[1]}>" not in tagged[2] else text


def _without_rules(text: str) -> str:
    return _LAST_RULE.sub("", _RULE.sub("", text, count=1) if _RULE.match(text) else text)


def _without_stop_sign(text: str) -> str:
    return _STOP_SIGN.sub("", text)


def _without_fence(text: str) -> str:
    """Return what stands in the one fence around the text; the text where the fences in it are more than one reads."""
    first, _, rest = text.partition("\n")
    inside, _, last = rest.rpartition("\n")
    mark = _FENCE.fullmatch(first)
    if not mark or mark[1] != last.strip() or mark[2].strip().lower() not in {*_MARKDOWN, ""}:
        return text
    within = next((found for line in inside.split("\n") if (found := _FENCE.fullmatch(line))), None)
    if within and (not mark[2].strip() or not within[2].strip() or outside_code(inside)[1]):
        return text
    return inside


_STEPS: Final[tuple[Callable[[str], str], ...]] = (
    _without_thoughts,
    _without_stop_sign,
    _without_announcement,
    _without_offer,
    _without_tag,
    _without_rules,
    _without_fence,
)


_THOUGHT: Final = re.compile(r"\s*<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
#: Where a chat template has opened the thinking itself, only its end is seen, on a line of its own.
_END: Final = re.compile(r"\A.*?^[ \t]*</think(?:ing)?>[ \t]*$", re.DOTALL | re.MULTILINE | re.IGNORECASE)
_WRAPPED: Final = re.compile(r"\A(`{3,}|~{3,})(?:markdown|md)?[ \t]*\n(.*)\n\1\Z", re.DOTALL | re.IGNORECASE)


def spoken(text: str) -> str:
    r"""
    Return the answer alone, stripped; "" when it holds nothing else than thinking.

    >>> spoken("<think>用户要摘要……</think>\n\n## 部署")
    '## 部署'
    """
    while match := _THOUGHT.match(text):
        text = text[match.end() :]
    text = _END.sub("", text).strip()
    wrapped = _WRAPPED.match(text)
    if wrapped and not re.search(rf"^{wrapped[1]}", wrapped[2], re.MULTILINE):
        text = wrapped[2].strip()
    return text
