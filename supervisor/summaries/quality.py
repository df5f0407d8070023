"""
Whether an answer may become a summary: one table of rules, in order, each with its reason (docs/reference/protocol.md, 6.5).

One gate for days, months, the lines of sessions and running summaries. The text of a model is untrusted input. A rejected text
costs no memory: the extract of the same material is the summary, and what an answer is measured by. A rule that is not sure
accepts, since a good text that is rejected each time costs calls for nothing. What refusals and data look like is in
`phrases.py`, and what it says against its material in `material.py`. Its form is judged here: whether it is cut off, repeats
itself, is a transcript, or fills in a form. A list needs no full stop, and a text may end in code, a URL or a
number. Whether the model reached its output limit is the worker's to report. Pure, and linear in the length of the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from ..protocol.summary_file import MARKER, SOURCES
from ..text.language import count_words, language_of
from ..text.lazy_re import lazy_re
from ..text.llm_output import HEADING, outside_code, own_words
from ..text.small_talk import is_small_talk
from . import phrases
from .material import Material, is_copy, says_less

if TYPE_CHECKING:
    from ..protocol.task import Reason

MAX_CHARS: Final = 8_000  # characters of one summary

_WORD: Final = lazy_re(r"\w")


def is_cut_off(text: str) -> bool:
    """Return whether the text ends in code, in a comment, in a heading, or in the middle of a sentence."""
    lines, in_code = outside_code(text)
    if in_code or _in_comment(text):
        return True
    prose = [line.rstrip() for line in lines if line.strip()]
    if not prose or prose[-1] != text.rstrip().rpartition("\n")[2]:
        return False  # it ends with code
    last = prose[-1]
    return bool(HEADING.match(last)) or (not _QUOTED.match(last) and _dangles(last))


def repeats_itself(text: str) -> bool:
    """Return whether a clause of the text occurs again and again."""
    clauses = [bare for clause in _CLAUSES.split(text) if (bare := _NO_WORD.sub("", clause).casefold())]
    if any(len(clause) >= _SHORTEST_CLAUSE and sum(1 for _ in same) >= _IN_A_ROW for clause, same in groupby(clauses)):
        return True
    times = Counter(clauses).items()
    return any(n >= _CLAUSE_TIMES and len(clause) >= _CLAUSE_LETTERS[clause.isascii()] for clause, n in times)


def is_transcript(text: str) -> bool:
    """Return whether lines have a time and a speaker, as those of a conversation, or most have one of the same speakers."""
    lines = [line for line in outside_code(text)[0] if line.strip()]
    if sum(bool(_SPOKEN.match(line)) for line in lines) >= _SPOKEN_LINES:
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


def _in_comment(text: str) -> bool:
    words = "\n".join(own_words(text))
    return words.rfind("<!--") > words.rfind("-->")


def _dangles(last: str) -> bool:
    bare = last.rstrip("*_ \t")
    item = _ITEM.match(last)
    words = last[item.end() :] if item else last
    return (
        bool(_DANGLING.search(bare[-_TAIL:]))
        or bool(_OPEN_SPAN.search(_SPAN.sub("", last)))
        or (words.startswith("**") and words.count("**") == 1)
        or (bare[-1:] not in _ENDS and any(last.count(pair[0]) > last.count(pair[1]) for pair in _PAIRS))
    )


#: Characters that can't be written, or are written and can't be seen.
_UNWRITABLE: Final = lazy_re("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_FORGED: Final = lazy_re(
    r"\A(?:---|\+\+\+)[ \t]*$|^---\nrecalld:|^[ \t>*+-]*<!--[ \t]*(?:recalld|\{)"
    rf"|(?:{re.escape(SOURCES)}|{re.escape(MARKER)})[ \t]*$|^- [^\s/]+\.md · \d+ · [0-9a-f]{{16}}[ \t]*$",
    re.MULTILINE,
)
#: The tag before a quoted memory; a link is no tag.
_SOURCE_TAG: Final = lazy_re(r"[ \t>*_+#.\d-]*(\[(?:memory\.md|memory/[^\]\n]*)\])(?!\()", re.IGNORECASE)
#: Fewest words that show a text's language.
_MIN_WORDS: Final = 8
#: A text is too long for what it sums up from so many characters on, where it is so many times longer.
_LONG_CHARS: Final = 400
_LONGER: Final = 1.5
_ITEM: Final = lazy_re(r"[ \t]*(?:[-*+•]|\d{1,3}[.)、])(?:[ \t]+|$)|[ \t]*>")
#: A bullet of an extract, with the time of its message: a quoted message may end in any way.
_QUOTED: Final = lazy_re(r"- \d\d[:-]\d\d ")
_ENDS: Final = "。！？!?.…；;।۔؟"
#: Endings that no whole text has: a comma, an opening bracket, a bullet without words, half a link, a conjunction.
_DANGLING: Final = lazy_re(
    r"[，、：,:（(“《「【\[]$|——$|\]\([^)\s]*$|^[ \t]*(?:[-*+•]|\d{1,3}[.)、])(?:[ \t]+\[[ xX]?\]?)?$"
    r"|(?:以及|并且|因为|但是|由于|而且|例如|比如|包括)$"
    r"|\s(?:and|or|the|an|of|because|but|which|was|were|with|into)$",
)
_SPAN: Final = lazy_re(r"`[^`]*`")
_OPEN_SPAN: Final = lazy_re(r"(?<![A-Za-z`])`")  # but not a backtick typed as an apostrophe
_TAIL: Final = 200  # characters that show how a line ends
_PAIRS: Final = ("（）", "《》", "「」", "【】")
#: Repetition: a clause of so many letters that occurs so often, wherever.
_CLAUSES: Final = lazy_re(r"[\n。！？!?；;，,：:、]|\.\s")
_CLAUSE_LETTERS: Final = {True: 16, False: 8}  # in ASCII, and not
_CLAUSE_TIMES: Final = 4
#: Fewer letters are enough where a clause comes more often, and nothing is between the times.
_SHORTEST_CLAUSE: Final = 4
_IN_A_ROW: Final = 6
_NO_WORD: Final = lazy_re(r"[\W_]+")
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


def judge(text: str, material: Material, most_chars: int = MAX_CHARS) -> Reason | None:
    """Return why the answer may not be the summary of the material, None if it may. It is judged as it is: clean it first."""
    return reject_form(text, most_chars) or next((reason for rule, reason in RULES if rule(text, material)), None)


def reject_form(text: str, most_chars: int = MAX_CHARS) -> Reason | None:
    """Return why no text of this form can be written as a summary, an extract either; None when it can."""
    if not _WORD.search(text):
        return "empty"
    if len(text) > most_chars:
        return "long"
    return "forged" if _UNWRITABLE.search(text) or _FORGED.search(text) else None


def _forges_source_tag(text: str, material: Material) -> bool:
    """Return whether a line begins with the tag of a memory that is not in the material."""
    tags = (tag[1] for line in outside_code(text)[0] if (tag := _SOURCE_TAG.match(line)))
    return any(tag not in material.text for tag in tags)


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
    return bool(material.said) and len(text) > max(_LONG_CHARS, _LONGER * len(material.text))


def _alone(rule: Callable[[str], bool]) -> Callable[[str, Material], bool]:
    return lambda text, _: rule(text)


#: What is refused, and why. The order counts: data may also look like a refusal, and the beginning of a text is judged
#: before its end.
RULES: Final[tuple[tuple[Callable[[str, Material], bool], Reason], ...]] = (
    (_alone(phrases.thinks_aloud), "thought"),
    (_alone(phrases.is_data), "data"),  # JSON, whole or half, or only code
    (_alone(phrases.is_refusal), "refused"),
    (_alone(is_small_talk), "empty"),
    (_alone(is_transcript), "transcript"),
    (_alone(phrases.continues_the_talk), "transcript"),
    (_forges_source_tag, "forged"),
    (_alone(repeats_itself), "repeats"),
    (_is_foreign, "language"),  # before its length, since English has more characters than Chinese
    (_is_too_long, "long"),
    (_alone(is_form), "form"),
    (is_copy, "copy"),
    (_alone(is_cut_off), "truncated"),
    (says_less, "vague"),  # than the extract
)
