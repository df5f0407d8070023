"""
Texts that end too early or never: cut off in the middle, or going round in a loop.

Whether the model's output limit was reached is the worker's to say; here it is read from the text. Lists need no full stop, and
a text may end in code, a URL or a number.

What of a worker's text may become a summary (docs/protocol.md, 6). Text of a model is input like any other.

Pure, and linear in the text. A fault is why the text can't stand; none of them costs a memory, since the originals stay and the
group is tried again. Where a rule can't be sure it lets the text pass: a good summary refused for ever is money for nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final, Literal

from supervisor.protocol.summary_file import MARKER, SOURCES
from supervisor.summaries.phrases import (
    answers,
    is_data,
    is_error,
    is_prompt,
    refuses,
    says_hello,
    says_too_long,
    thinks,
    thinks_on,
)
from supervisor.text.llm_output import HEADING, cleaned, outside_code, own_words
from supervisor.text.small_talk import says_nothing
from supervisor.text.tokenizer import HAN, KANA

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from supervisor.protocol.task import Reason

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


__all__ = ["LONGEST", "cleaned", "reject_reason", "says_nothing"]

LONGEST: Final = 8_000  # characters of one summary

_WORD: Final = re.compile(r"\w")

#: What can't be written, or is written and can't be seen.
_UNWRITABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_FORGED: Final = re.compile(
    r"\A(?:---|\+\+\+)[ \t]*$|^---\nrecalld:|^[ \t>*+-]*<!--[ \t]*(?:recalld|\{)"
    rf"|(?:{re.escape(SOURCES)}|{re.escape(MARKER)})[ \t]*$|^- [^\s/]+\.md · \d+ · [0-9a-f]{{16}}[ \t]*$",
    re.MULTILINE,
)
#: The tag before what is told of a memory (003, 注入格式); a link is none.
_SOURCE_TAG: Final = re.compile(r"[ \t>*_+#.\d-]*(\[(?:memory\.md|memory/[^\]\n]*)\])(?!\()", re.IGNORECASE)
_MARK_LEAST: Final = 8  # characters of a prompt's sentence that another text would not have by chance

_HAN: Final = re.compile(f"[{HAN}]")
_KANA: Final = re.compile(f"[{KANA}]")
#: Words, not names and identifiers, of any script that has them.
_PLAIN_WORD: Final = re.compile(rf"(?<![\w./@-])[^\W\d_A-Z{HAN}{KANA}][^\W\d_A-Z{HAN}{KANA}]+(?![\w./@-])")
_ADDRESS: Final = re.compile(r"https?://\S+")
_HAN_WORTH: Final = 0.75  # words; as supervisor.text.language has it
_KANA_SHARE: Final = 0.1
#: Words from which a text's language can be told, and the shares of Chinese that are little and much.
_WORDS_LEAST: Final = 8
_LITTLE: Final = 0.2
_MUCH: Final = 0.8

#: In this order: an error page may also be a refusal in form, and what is cut off is judged by its beginning first.
_RULES: Final[tuple[tuple[Callable[[str], bool], Reason], ...]] = (
    (thinks_on, "truncated"),
    (is_data, "refused"),
    (is_error, "refused"),
    (refuses, "refused"),
    (says_hello, "empty"),
    (thinks, "refused"),
    (is_prompt, "refused"),
    (answers, "refused"),
    (loops, "refused"),
    (cut_off, "truncated"),
)


def reject_reason(
    text: str,
    longest: int = LONGEST,
    *,
    material_language: Literal["zh", "en"] | None = None,
    material: str = "",
    prompt_marks: Sequence[str] = (),
    extract: bool = False,
) -> Reason | None:
    """
    Return why the text can't stand as a summary; None when it can. It is judged as it is: clean it first.

    - empty: no word; a greeting, a courtesy, "done".
    - truncated: a thought, fence or comment that is not closed; it ends in a heading, or in the middle of a sentence.
    - input: an error that says that the material was too long.
    - refused: all else. A refusal or apology, an error page, JSON, thinking aloud, the prompt (its sentences are
      *prompt_marks*), an answer or further talk, a loop, the wrong language, forged structure, more than *longest* characters.

    *material* is a sample of what was summarised, *material_language* what language_of says of it ("en" is every other one
    too): what the sample itself says is no echo and no forged tag. An *extract* is quotations: only its form is judged.
    An error page counts against the group, not the provider: words that a chat can bring forth must not pause everything.
    """
    if not _WORD.search(text):
        return "empty"
    if len(text) > longest or _UNWRITABLE.search(text) or _FORGED.search(text):
        return "refused"
    if extract:
        return None
    reason = next((reason for faulty, reason in _RULES if faulty(text)), None)
    if reason == "refused" and (is_data(text) or is_error(text)) and says_too_long(text):
        return "input"
    if reason:
        return reason
    if _forges_a_source(text, material) or _echoes(text, prompt_marks, material):
        return "refused"
    return "refused" if material_language and _is_foreign(text, material_language, material) else None


def _forges_a_source(text: str, material: str) -> bool:
    tags = (tag[1] for line in outside_code(text)[0] if (tag := _SOURCE_TAG.match(line)))
    return any(tag not in material for tag in tags)


def _echoes(text: str, prompt_marks: Sequence[str], material: str) -> bool:
    """Tell whether the text says a sentence of its prompt that the material does not say."""
    said, known = _folded(text), _folded(material)
    marks = (mark for mark in map(_folded, prompt_marks) if len(mark) >= _MARK_LEAST)
    return any(mark in said and mark not in known for mark in marks)


def _folded(text: str) -> str:
    return "".join(text.casefold().split())


def _is_foreign(text: str, language: Literal["zh", "en"], material: str) -> bool:
    """
    Tell whether the text is plainly in the other language; where the material is mixed, either may be right.

    "en" without a sample says nothing: it is also what language_of makes of no words at all.
    """
    share, words = _chinese("\n".join(own_words(text)))
    if words < _WORDS_LEAST:
        return False
    known = bool(_WORD.search(material))
    of_material = _chinese(material)[0] if known else 1.0
    if language == "zh":
        return share < _LITTLE and of_material > _MUCH
    return share > _MUCH and known and of_material < _LITTLE


def _chinese(text: str) -> tuple[float, float]:
    """Return the Chinese share of the words, and how many words there are, names and identifiers left out."""
    bare = _ADDRESS.sub(" ", text)
    han, kana = len(_HAN.findall(bare)), len(_KANA.findall(bare))
    plain = len(_PLAIN_WORD.findall(bare))
    if kana > _KANA_SHARE * han:
        return 0.0, plain + kana * _HAN_WORTH
    words = han * _HAN_WORTH + plain
    return (han * _HAN_WORTH / words if words else 0.0), words
