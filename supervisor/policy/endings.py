"""
Texts that end too early or never: cut off in the middle, or going round in a loop.

Whether the model's output limit was reached is the worker's to say; here it is read from the text. Lists need no full stop, and
a text may end in code, a URL or a number.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from supervisor.text.prose import HEADING, outside_code, own_words

if TYPE_CHECKING:
    from collections.abc import Sequence


_ITEM: Final = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)、])(?:[ \t]+|$)|[ \t]*>")
#: A bullet that quotes what was said at a time, as extracts do: people end their messages as they like.
_QUOTED: Final = re.compile(r"- \d\d[:-]\d\d ")
_CLOSERS: Final = " \t*_)）]】」』”’\"'》"
_ENDS: Final = "。！？!?.…；;।۔؟"
_INNER_END: Final = re.compile(r"[。！？!?]|\.[ \t]")
#: Sentence ends in the last line, or ended lines before it, from which a last sentence without an end is a cut one.
_ENDED_PROSE: Final = 2
_ENDED_ITEMS: Final = 4
_CUT_MARK: Final = re.compile(
    r"[\[（(【<](?:\.\.\.|…)?\s?(?:(?:output |text )?truncated|cut off|max[ _]tokens|(?:内容)?过长|已?截断"
    r"|to be continued|continued|未完待续|待续)[^\])）】>]{0,24}[\])）】>]?[.。]?$",
    re.IGNORECASE,
)
#: What no text ends with: a comma, an opening bracket, a bullet without words, a link's half, a word that leads on.
_DANGLING: Final = re.compile(
    r"[，、：,:（(“《「【\[]$|——$|\]\([^)\s]*$|^[ \t]*(?:[-*+•]|\d{1,3}[.)、])(?:[ \t]+\[[ xX]?\]?)?$"
    r"|(?:以及|并且|因为|但是|由于|而且|例如|比如|包括)$"
    r"|\s(?:and|or|the|an|of|because|but|which|was|were|with|into)$",
)
_SPAN: Final = re.compile(r"`[^`]*`")
_OPEN_SPAN: Final = re.compile(r"(?<![A-Za-z`])`")  # not the apostrophe that some type with it
_TAIL: Final = 200  # characters that show how a line ends
_PAIRS: Final = ("（）", "《》", "「」", "【】")

#: Characters: below, nothing is a loop; a window; a piece of it; and the share of a window's pieces that differ, at least.
_LOOP_LEAST: Final = 80
_WINDOW: Final = 400
_SHINGLE: Final = 12
_DISTINCT: Final = 0.35
#: A sentence of so many letters or more, said so often, in so much of the text.
_SENTENCE: Final = 6
_AGAIN: Final = 3
_SHARE: Final = 0.5
_SENTENCES: Final = re.compile(r"[\n。！？!?；;]|\.\s")
#: Rules, the line under a table's head, leaders.
_RUN: Final = re.compile(r"(\W)\1{2,}")
_NO_WORD: Final = re.compile(r"[\W_]+")


def cut_off(text: str) -> bool:
    """Tell whether the text stops in the middle: in code, in a comment, under a heading, or a sentence."""
    lines, in_code = outside_code(text)
    if in_code or _in_comment(text):
        return True
    told = [line.rstrip() for line in lines if line.strip()]
    if not told or told[-1] != text.rstrip().rpartition("\n")[2]:
        return False  # it ends with code
    last = told[-1]
    if HEADING.match(last) or _CUT_MARK.search(last):
        return True
    return not _QUOTED.match(last) and (_dangles(last, told[:-1]) or _lacks_its_end(last, told[:-1]))


def loops(text: str) -> bool:
    """Tell whether the text says the same again and again: a stretch of it that repeats itself, or most of its sentences."""
    flat = _RUN.sub(r"\1\1", text)
    if len(flat) < _LOOP_LEAST:
        return False
    starts = [*range(0, max(1, len(flat) - _WINDOW), _WINDOW), max(0, len(flat) - _WINDOW)]
    return any(_turns(flat[start : start + _WINDOW]) for start in starts) or _repeats(flat)


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


def _lacks_its_end(last: str, before: Sequence[str]) -> bool:
    """Tell whether the last sentence has no end where the others have theirs."""
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


def _turns(window: str) -> bool:
    pieces = len(window) - _SHINGLE + 1
    return len({window[i : i + _SHINGLE] for i in range(pieces)}) < _DISTINCT * pieces


def _repeats(text: str) -> bool:
    pieces = [_NO_WORD.sub("", piece).casefold() for piece in _SENTENCES.split(text)]
    counted = Counter(pieces)
    again = sum(len(piece) * times for piece, times in counted.items() if times >= _AGAIN and len(piece) >= _SENTENCE)
    return again >= _SHARE * sum(len(piece) for piece in pieces) > 0
