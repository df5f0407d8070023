"""
The form of an answer: whether it is cut off, repeats itself, is a transcript, or fills in a list of its prompt as a form.

A list needs no full stop, and a text may end in code, a URL or a number; so a rule that is not sure accepts. Whether the model
reached its output limit is the worker's to report. Pure, and linear in the length of the text.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Final

from ..text.lazy_re import lazy_re
from ..text.llm_output import HEADING, outside_code, own_words

if TYPE_CHECKING:
    from collections.abc import Sequence

_ITEM: Final = lazy_re(r"[ \t]*(?:[-*+•]|\d{1,3}[.)、])(?:[ \t]+|$)|[ \t]*>")
#: A bullet of an extract, with the time of its message: a quoted message may end in any way.
_QUOTED: Final = lazy_re(r"- \d\d[:-]\d\d ")
_CLOSERS: Final = " \t*_)）]】」』”’\"'》"
_ENDS: Final = "。！？!?.…；;।۔؟"
_INNER_END: Final = lazy_re(r"[。！？!?]|\.[ \t]")
#: A last sentence without an end is cut off after so many sentence ends in its line, or so many lines before it that end.
_ENDED_PROSE: Final = 2
_ENDED_ITEMS: Final = 4
_CUT_MARK: Final = lazy_re(
    r"[\[（(【<](?:\.\.\.|…)?\s?(?:(?:output |text )?truncated|cut off|max[ _]tokens|(?:内容)?过长|已?截断"
    r"|to be continued|continued|未完待续|待续)[^\])）】>]{0,24}[\])）】>]?[.。]?$",
    re.IGNORECASE,
)
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

#: Repetition, in characters: the shortest text that is checked, a window, a piece of it; the least share of distinct pieces.
_LOOP_MIN_CHARS: Final = 80
_WINDOW: Final = 400
_SHINGLE: Final = 12
_DISTINCT_SHARE: Final = 0.35
#: Or a sentence of at least so many letters, that occurs so often, in at least this share of the text.
_SENTENCE_LETTERS: Final = 6
_SENTENCE_TIMES: Final = 3
_REPEATED_SHARE: Final = 0.5
SENTENCE_ENDS: Final = lazy_re(r"[\n。！？!?；;]|\.\s")
#: Or a clause of so many letters that occurs so often, wherever.
_CLAUSES: Final = lazy_re(r"[\n。！？!?；;，,：:、]|\.\s")
_CLAUSE_LETTERS: Final = {True: 16, False: 8}  # in ASCII, and not
_CLAUSE_TIMES: Final = 4
#: Fewer letters are enough where a clause comes more often, and nothing is between the times.
_SHORTEST_CLAUSE: Final = 4
_IN_A_ROW: Final = 6
#: Horizontal rules, the line under a table's head, dot leaders.
_PUNCTUATION_RUN: Final = lazy_re(r"(\W)\1{2,}")
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


def is_cut_off(text: str) -> bool:
    """Return whether the text ends in code, in a comment, in a heading, or in the middle of a sentence."""
    lines, in_code = outside_code(text)
    if in_code or _in_comment(text):
        return True
    prose = [line.rstrip() for line in lines if line.strip()]
    if not prose or prose[-1] != text.rstrip().rpartition("\n")[2]:
        return False  # it ends with code
    last = prose[-1]
    if HEADING.match(last) or _CUT_MARK.search(last):
        return True
    return not _QUOTED.match(last) and (_dangles(last, prose[:-1]) or _lacks_full_stop(last, prose[:-1]))


def repeats_itself(text: str) -> bool:
    """Return whether a stretch of the text repeats itself, or most of its sentences occur again and again."""
    flat = _PUNCTUATION_RUN.sub(r"\1\1", text)
    if len(flat) < _LOOP_MIN_CHARS:
        return False
    starts = [*range(0, max(1, len(flat) - _WINDOW), _WINDOW), max(0, len(flat) - _WINDOW)]
    return (
        any(_is_repetitive(flat[start : start + _WINDOW]) for start in starts)
        or _repeats_sentences(flat)
        or _repeats_a_clause(flat)
    )


def is_transcript(text: str) -> bool:
    """Return whether lines have a time and a speaker, as those of a conversation, or most have one of the same speakers."""
    lines = [line for line in outside_code(text)[0] if line.strip()]
    if sum(bool(_SPOKEN.match(line)) for line in lines) >= _SPOKEN_LINES:
        return True
    speakers = Counter(match[1].casefold() for line in lines if (match := _LABEL.match(line)))
    again = sum(times for times in speakers.values() if times > 1)
    return any(_ASSISTANT.fullmatch(one) for one in speakers) and len(speakers) > 1 and again >= max(_TURNS, len(lines) / 2)


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


def _dangles(last: str, before: Sequence[str]) -> bool:
    bare = last.rstrip("*_ \t")
    item = _ITEM.match(last)
    words = last[item.end() :] if item else last
    row = bool(before) and last.startswith("|") and not last.endswith("|") and before[-1].startswith("|")
    return (
        bool(_DANGLING.search(bare[-_TAIL:]))
        or (row and before[-1].endswith("|"))
        or bool(_OPEN_SPAN.search(_SPAN.sub("", last)))
        or (words.startswith("**") and words.count("**") == 1)
        or (bare[-1:] not in _ENDS and any(last.count(pair[0]) > last.count(pair[1]) for pair in _PAIRS))
    )


def _lacks_full_stop(last: str, before: Sequence[str]) -> bool:
    """Return whether the last sentence has no full stop although the others have one."""
    end = last.rstrip(_CLOSERS)
    token = end.rsplit(None, 1)[-1] if end.strip() else ""
    if last.startswith("|") or not end[-1:].isalpha() or end != last.rstrip("*_ \t") or re.search(r"[/\\:@=]|\w[._]\w", token):
        return False
    others = [line for line in before if not HEADING.match(line) and not line.startswith("|")]
    alike = [line for line in others if bool(_ITEM.match(line)) == bool(_ITEM.match(last))]
    ended = all(line.rstrip(_CLOSERS)[-1:] in _ENDS for line in alike)
    if _ITEM.match(last):
        return ended and len(alike) >= _ENDED_ITEMS
    return len(_INNER_END.findall(last)) >= _ENDED_PROSE or (ended and len(alike) >= _ENDED_PROSE)


def _is_repetitive(window: str) -> bool:
    pieces = len(window) - _SHINGLE + 1
    return len({window[i : i + _SHINGLE] for i in range(pieces)}) < _DISTINCT_SHARE * pieces


def _repeats_sentences(text: str) -> bool:
    sentences = [_NO_WORD.sub("", sentence).casefold() for sentence in SENTENCE_ENDS.split(text)]
    counted = ((len(sentence), times) for sentence, times in Counter(sentences).items())
    again = sum(length * times for length, times in counted if times >= _SENTENCE_TIMES and length >= _SENTENCE_LETTERS)
    return again >= _REPEATED_SHARE * sum(map(len, sentences)) > 0


def _repeats_a_clause(text: str) -> bool:
    clauses = [one for clause in _CLAUSES.split(text) if (one := _NO_WORD.sub("", clause).casefold())]
    if any(len(one) >= _SHORTEST_CLAUSE and sum(1 for _ in same) >= _IN_A_ROW for one, same in groupby(clauses)):
        return True
    times = Counter(clauses).items()
    return any(n >= _CLAUSE_TIMES and len(one) >= _CLAUSE_LETTERS[one.isascii()] for one, n in times)
