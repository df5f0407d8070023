"""
Whether an answer may become a summary: one table of rules, in order, each with its reason (docs/reference/protocol.md, 6.5).

One gate for days, months, the lines of sessions and running summaries. The text of a model is untrusted input. A rejected text
costs no memory: the extract of the same material, which costs no call, is the summary, and what an answer has to say is
measured by it; whether a name or a number is right is not judged (docs/decisions/0108). A rule that is not sure accepts, since
a good text that is rejected each time costs calls for nothing. What else says nothing of its material, an error or a greeting,
is refused for that (`says_less`). Whether the model reached its output limit is the worker's to report. Pure, and linear in
the length of the text.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Final

from ..protocol.summary_file import MARKER, SOURCES
from ..protocol.task import Reason
from ..text.chinese import to_simplified
from ..text.comparing import figures
from ..text.language import Language, count_words, is_small_talk, language_of
from ..text.lazy_re import lazy_re
from ..text.llm_output import HEADING, opening, outside_code, own_words
from ..text.tokenizer import tokens
from ..text.word_frequency import rarity_of, telling_words

_WORD: Final = lazy_re(r"\w")
#: From so many telling words on the material says enough to judge its answer strictly.
_MIN_TELLING: Final = 16
#: An answer holds this share of the extract's facts and telling words at least: of a month's more, since a small model tells of
#: some of its days and leaves out the others; less where its length is bounded, or the material is short; of what code joined
#: from summaries of days nearly all, since the extract of the messages repeats no fault of theirs.
_HELD_SHARE: Final = 0.3
_HELD_OF_MONTH: Final = 0.35
_HELD_BOUNDED: Final = 0.2
_HELD_JOINED: Final = 0.8
#: A bullet of an extract, with the time of its message: a quoted message may end in any way.
_STAMP: Final = lazy_re(r"(?m)^- \d\d[:-]\d\d ")
#: A copy: at least so many characters, this share of the material, and of its runs of twelve so many are in the material, or in
#: the summaries of its days where there are so many.
_RUN: Final = 12
_COPY_CHARS: Final = 160
_COPIES: Final = ((0.7, 0.6), (0.45, 0.85))
_MANY_DAYS: Final = 3
#: A circle: of its runs of so many letters this share was said before. A list of doses by the day has 0.2, six circles 0.42.
_ROUND_RUN: Final = 24
_ROUND_SHARE: Final = 0.4
_NUMBER: Final = lazy_re(r"(?m)^[^\w\n]*\d+[.)、](?!\d)")  # of a line in a list
#: Characters of the material that an answer is compared with: a month of long days.
_MOST_CHARS: Final = 400_000


@dataclass(frozen=True)
class Material:
    """
    What was summarised: who spoke, the texts with their days, oldest first, and the *extract* of them.

    A day is None where it is not known. *language* is None where the texts have several, and either is right.
    """

    parts: tuple[tuple[date | None, str], ...] = ()
    extract: str = ""
    language: Language | None = None
    days: tuple[str, ...] = ()  # the summaries of its days, where it is a month; they are in what was said, too
    is_bounded: bool = False  # its answer has a limit far below it, as that of a session: it says less, and may copy
    may_copy: bool = False  # its answer was joined by code from texts that are part of it

    @cached_property
    def text(self) -> str:
        """All of it, as much as an answer is compared with."""
        return "\n".join(text for _, text in self.parts)[:_MOST_CHARS]

    @cached_property
    def says_enough(self) -> bool:
        """Whether it says enough for an answer to be compared with it."""
        return len(telling_words(self.text)) >= _MIN_TELLING

    @cached_property
    def bare(self) -> str:
        """Its letters and digits, in simplified characters and small letters."""
        return _bare(self.text)

    @cached_property
    def tokens(self) -> frozenset[str]:
        """All of its words, as the index has them."""
        return frozenset(tokens(self.text))


def thinks_aloud(text: str) -> bool:
    """Return whether the text thinks aloud about its task, or has a thinking tag at either end of a line."""
    return bool(_THINKING.match(opening(text))) or any(_THOUGHT.match(line) for line in own_words(text))


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


def is_cut_off(text: str) -> bool:
    """Return whether the text ends in code, in a comment or in a heading: what is written below it would be a part of that."""
    lines, in_code = outside_code(text)
    words = "\n".join(own_words(text))
    last = text.rstrip().rpartition("\n")[2]
    return in_code or words.rfind("<!--") > words.rfind("-->") or (last in lines and bool(HEADING.match(last)))


def is_transcript(text: str) -> bool:
    """Return whether the text is a conversation: lines in both roles, with times or speakers, or a mark of a chat template."""
    lines = [line for line in outside_code(text)[0] if line.strip()]
    roles = {match.lastgroup for line in lines if (match := _ROLE.match(line))}
    if len(roles) > 1 or any(map(_TEMPLATE.match, lines)) or sum(map(bool, map(_SPOKEN.match, lines))) >= _SPOKEN_LINES:
        return True
    speakers = Counter(match[1].casefold() for line in lines if (match := _LABEL.match(line)))
    again = sum(times for times in speakers.values() if times > 1)
    return (
        any(_ASSISTANT.fullmatch(speaker) for speaker in speakers)
        and len(speakers) > 1
        and again >= max(_TURNS, len(lines) / 2)
    )


def is_form(text: str) -> bool:
    r"""
    Return whether most lines, or headings, are fields of a form, whose labels are what prompts ask to keep.

    >>> is_form("人名：秦朵\n路径：无\n日期：9 月 6 日"), is_form("日期：改到 9 月 6 日。\n秦朵来接。")
    (True, False)
    """
    lines = [line for line in outside_code(text)[0] if line.strip()]
    parts = [part for line in lines for part in _FIELD_ENDS.split(line) if part.strip()]
    headings = [line.strip("#* \t:：") + ":" for line in lines if HEADING.match(line)]
    return any(_has_fields(some) for some in (parts, headings))


def _has_fields(parts: Sequence[str]) -> bool:
    fields = [match for part in parts if (match := _FIELD.match(part))]
    kept = {match["kept"].casefold() for match in fields if match["kept"]}
    return len(kept) >= _FIELDS and len(fields) >= _FIELD_SHARE * len(parts)


#: Thinking aloud, at the beginning of a text.
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

_DATA: Final = lazy_re(
    r"(?:json\s*)?(?:\{\s*(?:[\"'][^\"'\n]{0,80}[\"']\s*:|\}\s*\Z)|\[\s*(?:[{\"]|\]\s*\Z))"
    r"|<(?:!doctype|html|head|body|\?xml|error|tool_call|function|invoke)\b|Traceback \(most recent call last\)",
    re.IGNORECASE,
)

_REFUSAL_MAX_CHARS: Final = 600  # characters of a refusal
#: How a refusal begins. Longer material knows one by what it leaves unsaid (`says_less`).
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
#: Characters that can't be written, or are written and can't be seen.
_UNWRITABLE: Final = lazy_re("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_FORGED: Final = lazy_re(
    r"\A(?:---|\+\+\+)[ \t]*$|^---\nrecalld:|^[ \t>*+-]*<!--[ \t]*(?:recalld|\{)"
    rf"|(?:{re.escape(SOURCES)}|{re.escape(MARKER)})[ \t]*$|^- [^\s/]+\.md · \d+ · [0-9a-f]{{16}}[ \t]*$",
    re.MULTILINE,
)
#: Fewest words that show a text's language.
_MIN_WORDS: Final = 8
#: A text is too long for what it sums up from so many characters on, where it is so many times longer.
_LONG_CHARS: Final = 400
_LONGER: Final = 1.5
NO_WORD: Final = lazy_re(r"[\W_]+")
_ROLE: Final = lazy_re(
    r"(?:\*\*)?(?:(?P<them>user|human|用户|人类)|(?P<us>assistant|ai|bot|助手|助理|机器人))(?:\*\*)?[ \t]*[:：]", re.IGNORECASE
)
#: What only a template has on a line, or a dated file before a message.
_TEMPLATE: Final = lazy_re(
    r"\s*(?:<\|[a-z_]{2,24}\|>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>|#{2,3} (?:Instruction|Response|Human|Assistant):)"
    r"|.*(?:<\|[a-z_]{2,24}\|>|\[/?INST\])\s*$|\*\*\d\d:\d\d [a-z_-]+\*\*[ \t]*$",
)
#: A line of a conversation: a time, and who speaks.
_SPEAKERS: Final = "user|assistant|human|ai|用户|助手|助理"
_TIME: Final = r"[(（\[]?(?:\d{4}-)?(?:\d\d-\d\d )?\d{1,2}[:：]\d\d[)）\]]?"
_SPOKEN: Final = lazy_re(
    rf"[ \t>*_-]*(?:{_TIME}[ \t*_,，-]*(?:{_SPEAKERS})\b.{{0,24}}?[:：]|(?:{_SPEAKERS})[ \t*_]*[(（\[]?\d{{1,2}}[:：]\d\d)",
    re.IGNORECASE,
)
_SPOKEN_LINES: Final = 2
#: A line with its speaker, and how many there are of speakers that speak again, where one is the assistant.
_LABEL: Final = lazy_re(r"[ \t>*_+-]*([^\W\d_][\w .'’-]{0,19}?)[*_]*[ \t]*[:：]")
_ASSISTANT: Final = lazy_re(r"assistant|ai|bot|助手|助理")
_TURNS: Final = 4
#: What prompts ask to keep, as the label of a field; and what notes of people have for labels, too.
_FIELD: Final = lazy_re(
    r"[ \t>*_#+-]*(?:\d+[.)、][ \t]*)?[*_]*(?:(?P<kept>人名|姓名|人物|家庭成员|参与者|项目名?称?|路径|命令|数字|日期|金额"
    r"|(?:people|persons?|names?|projects?|paths?|commands?|numbers?|dates?|amounts?|participants))"
    r"|时间|地点|决定|结论|待办(?:事项)?|(?:times?|places?|decisions?|conclusions?|findings?|to-?dos?))[*_]*[ \t]*[:：]",
    re.IGNORECASE,
)
_FIELD_ENDS: Final = lazy_re(r"[\n；;／|]")
_FIELDS: Final = 2
_FIELD_SHARE: Final = 0.5


def says_less(text: str, material: Material) -> bool:
    """Return whether the text says so little of what the extract says that the extract is the better summary."""
    held, wanted = _held(_STAMP.sub("- ", material.extract.partition("\n")[2]), text)
    if material.is_bounded or not material.says_enough:
        return held < max(min(1, wanted), _HELD_BOUNDED * wanted)
    is_month = len({day for day, _ in material.parts if day}) > 1
    share = _HELD_JOINED if material.may_copy else _HELD_OF_MONTH if is_month else _HELD_SHARE
    return held < share * wanted


def _held(extract: str, text: str) -> tuple[int, int]:
    """Return how many of the extract's figures and telling words the text has, in any spelling, and how many these are."""
    answer = Material(((None, text),))
    wanted, words = {*figures(extract)}, _telling(extract)
    has_word = (word in answer.tokens or any(pair in answer.bare for pair in _pairs(word)) for word in words)
    return len(wanted.intersection(figures(text))) + sum(has_word), len(wanted) + len(words)


def _pairs(word: str) -> list[str]:
    """Return the pairs of characters in a Chinese word: 交房租 is said where 房租 is."""
    return [] if word.isascii() else [word[at : at + 2] for at in range(len(word) - 1)]


def is_copy(text: str, material: Material) -> bool:
    """Return whether the text is mostly what the material or the summaries of its days say, word for word, hardly shorter."""
    bare = _bare(text)
    if len(bare) < _COPY_CHARS or material.is_bounded or material.may_copy or not material.says_enough:
        return False
    days = [_bare("\n".join(material.days))] if len(material.days) >= _MANY_DAYS else []
    return any(_copies(bare, whole) for whole in (material.bare, *days))


def repeats(text: str) -> bool:
    """Return whether the text says much of its words, with the figures of their line, again and again: a model in a circle."""
    lines = [(" ".join(map(str, figures(line))), _bare(line)) for line in _NUMBER.sub("", text).split("\n")]
    runs = [*zip(_runs("".join(bare for _, bare in lines), _ROUND_RUN), (of for of, bare in lines for _ in bare), strict=False)]
    return len(runs) - len({*runs}) > _ROUND_SHARE * len(runs)


def _runs(bare: str, length: int) -> list[str]:
    return [bare[at : at + length] for at in range(len(bare) - length + 1)]


def _copies(bare: str, whole: str) -> bool:
    runs, known = _runs(bare, _RUN), {*_runs(whole, _RUN)}
    copied = sum(run in known for run in runs) / len(runs)
    return any(len(bare) >= share * len(whole) and copied > runs_share for share, runs_share in _COPIES)


def _bare(text: str) -> str:
    return NO_WORD.sub("", to_simplified(text).casefold())


def _telling(text: str) -> frozenset[str]:
    words = (word for word in telling_words(text) if rarity_of(word) and not any(map(str.isnumeric, word)))
    return frozenset(word for word in words if not figures(word))


def judge(text: str, material: Material, most_chars: int) -> Reason | None:
    """Return why the answer may not be the summary of the material, None if it may. It is judged as it is: clean it first."""
    return reject_form(text, most_chars) or next((reason for rule, reason in RULES if rule(text, material)), None)


def reject_form(text: str, most_chars: int) -> Reason | None:
    """Return why no text of this form can be written as a summary, an extract either; None when it can."""
    if not _WORD.search(text):
        return "empty"
    if len(text) > most_chars:
        return "long"
    return "forged" if _UNWRITABLE.search(text) or _FORGED.search(text) else None


def _is_foreign(text: str, material: Material) -> bool:
    """
    Return whether the text is in the other language; where the material is mixed, either may be right.

    "en" without a sample proves nothing: `language_of` also returns it for a text without words.
    """
    words = "\n".join(own_words(text))
    if material.language in {None, language_of(words)} or count_words(words) < _MIN_WORDS:
        return False
    known = bool(_WORD.search(material.text))
    return (language_of(material.text) if known else "zh") == material.language


def _is_too_long(text: str, material: Material) -> bool:
    return bool(material.parts) and len(text) > max(_LONG_CHARS, _LONGER * len(material.text))


def _alone(rule: Callable[[str], bool]) -> Callable[[str, Material], bool]:
    return lambda text, _: rule(text)


#: What is refused, and why. The order counts: data may also look like a refusal.
RULES: Final[tuple[tuple[Callable[[str, Material], bool], Reason], ...]] = (
    (_alone(thinks_aloud), "thought"),
    (_alone(is_data), "data"),  # JSON, whole or half, or only code
    (_alone(is_refusal), "refused"),
    (_alone(is_small_talk), "empty"),
    (_alone(is_transcript), "transcript"),
    (_is_foreign, "language"),  # before its length, since English has more characters than Chinese
    (_is_too_long, "long"),
    (_alone(is_form), "form"),
    (is_copy, "copy"),
    (_alone(repeats), "repeats"),
    (_alone(is_cut_off), "truncated"),
    (says_less, "vague"),  # than the extract
)
