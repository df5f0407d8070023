"""
Whether the text of a result may become a summary: the rules that reject one, in their order (docs/reference/protocol.md, 6.5).

The text of a model is untrusted input. A rejected text costs no memory, since the originals stay and the group is tried again;
so a rule that is not sure accepts: a good summary that is rejected each time costs calls without end. The phrases by which
refusals, errors and chatter are recognised are in `phrases.py`; here are form, echo, language, and texts that are cut off or
repeat themselves. Whether the model reached its output limit is the worker's to report; here the text alone is read. A list
needs no full stop, and a text may end in code, a URL or a number. A text that says less than an extract of its material would
is rejected too: the extract costs nothing. Pure, and linear in the length of the text.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Final, Literal

from recalld.supervisor.protocol.summary_file import MARKER, SOURCES
from recalld.supervisor.summaries.phrases import (
    continues_the_talk,
    gives_orders,
    has_unclosed_thought,
    is_data,
    is_error,
    is_greeting,
    is_prompt,
    is_refusal,
    reports_too_long_input,
    thinks_aloud,
)
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.llm_output import HEADING, outside_code, own_words
from recalld.supervisor.text.tokenizer import HAN, KANA
from recalld.supervisor.text.word_frequency import telling_words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from recalld.supervisor.protocol.task import Reason

MAX_CHARS: Final = 8_000  # characters of one summary

_WORD: Final = lazy_re(r"\w")

#: Characters that can't be written, or are written and can't be seen.
_UNWRITABLE: Final = lazy_re("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_FORGED: Final = lazy_re(
    r"\A(?:---|\+\+\+)[ \t]*$|^---\nrecalld:|^[ \t>*+-]*<!--[ \t]*(?:recalld|\{)"
    rf"|(?:{re.escape(SOURCES)}|{re.escape(MARKER)})[ \t]*$|^- [^\s/]+\.md · \d+ · [0-9a-f]{{16}}[ \t]*$",
    re.MULTILINE,
)
#: The tag before a quoted memory; a link is no tag.
_SOURCE_TAG: Final = lazy_re(r"[ \t>*_+#.\d-]*(\[(?:memory\.md|memory/[^\]\n]*)\])(?!\()", re.IGNORECASE)
_MARK_MIN_CHARS: Final = 8  # characters of a prompt's sentence that no other text has by chance

_HAN: Final = lazy_re(f"[{HAN}]")
_KANA: Final = lazy_re(f"[{KANA}]")
#: Words, not names and identifiers, of any script that has them.
_PLAIN_WORD: Final = lazy_re(rf"(?<![\w./@-])[^\W\d_A-Z{HAN}{KANA}][^\W\d_A-Z{HAN}{KANA}]+(?![\w./@-])")
_URL: Final = lazy_re(r"https?://\S+")
_HAN_WORTH: Final = 0.75  # words; as in supervisor/text/language.py
_KANA_SHARE: Final = 0.1
#: Fewest words that show a text's language, and the shares of Chinese that count as low and high.
_MIN_WORDS: Final = 8
_LOW_SHARE: Final = 0.2
_HIGH_SHARE: Final = 0.8

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
_SENTENCES: Final = lazy_re(r"[\n。！？!?；;]|\.\s")
#: Telling words of the material from which a text must hold some, and how many for each square root of their number: an
#: extract, which grows with the root of its material, holds five times as many. Half will do for a text with sections.
_MIN_TELLING: Final = 16
_TOLD_OF_ROOT: Final = 0.75
#: Horizontal rules, the line under a table's head, dot leaders.
_PUNCTUATION_RUN: Final = lazy_re(r"(\W)\1{2,}")
_NO_WORD: Final = lazy_re(r"[\W_]+")


def reject_reason(
    text: str,
    max_chars: int = MAX_CHARS,
    *,
    material_language: Literal["zh", "en"] | None = None,
    material: str = "",
    prompt_marks: Sequence[str] = (),
    extract: bool = False,
) -> Reason | None:
    """
    Return why the text can't become a summary; None when it can. It is judged as it is: clean it first.

    - empty: no word; a greeting, a courtesy, "done".
    - truncated: a thought, fence or comment that is not closed; it ends in a heading, or in the middle of a sentence.
    - input: an error that says that the material was too long.
    - vague: hardly any of the material's telling words, so that an extract would say more: "Okay, noted."
    - refused: all else. A refusal or apology, an error page, JSON, thinking aloud, the prompt (its sentences are
      *prompt_marks*), an answer or a continued conversation, an order to its reader, repetition, the wrong
      language, forged structure, more than *max_chars*.

    *material* is a sample of what was summarised, *material_language* its language by `language_of` ("en" also covers all
    others). A sentence that is in the sample is neither an echo of the prompt nor a forged tag. An *extract* consists of
    quotations: only its form is judged. An error page counts against the group, not the provider: a message that quotes an
    error must not pause everything.
    """
    if not _WORD.search(text):
        return "empty"
    if len(text) > max_chars or _UNWRITABLE.search(text) or _FORGED.search(text):
        return "refused"
    if extract:
        return None
    reason = next((reason for matches, reason in _RULES if matches(text)), None)
    if reason == "refused" and (is_data(text) or is_error(text)) and reports_too_long_input(text):
        return "input"
    if reason:
        return reason
    if _forges_source_tag(text, material) or _echoes_prompt(text, prompt_marks, material):
        return "refused"
    if material_language and _is_foreign(text, material_language, material):
        return "refused"
    return "vague" if _is_vague(text, material) else None


def _forges_source_tag(text: str, material: str) -> bool:
    """Return whether a line begins with the tag of a memory that is not in the material."""
    tags = (tag[1] for line in outside_code(text)[0] if (tag := _SOURCE_TAG.match(line)))
    return any(tag not in material for tag in tags)


def _echoes_prompt(text: str, prompt_marks: Sequence[str], material: str) -> bool:
    """Return whether the text has a sentence of its prompt that is not in the material."""
    folded, known = _folded(text), _folded(material)
    marks = (mark for mark in map(_folded, prompt_marks) if len(mark) >= _MARK_MIN_CHARS)
    return any(mark in folded and mark not in known for mark in marks)


def _folded(text: str) -> str:
    return "".join(text.casefold().split())


def _is_foreign(text: str, language: Literal["zh", "en"], material: str) -> bool:
    """
    Return whether the text is clearly in the other language; where the material is mixed, either may be right.

    "en" without a sample proves nothing: `language_of` also returns it for a text without words.
    """
    share, words = _chinese_share("\n".join(own_words(text)))
    if words < _MIN_WORDS:
        return False
    known = bool(_WORD.search(material))
    of_material = _chinese_share(material)[0] if known else 1.0
    if language == "zh":
        return share < _LOW_SHARE and of_material > _HIGH_SHARE
    return share > _HIGH_SHARE and known and of_material < _LOW_SHARE


def _is_vague(text: str, material: str) -> bool:
    """Return whether the text holds so few of the material's telling words that an extract would say more."""
    known = telling_words(material)
    if len(known) < _MIN_TELLING:
        return False
    share = _TOLD_OF_ROOT / 2 if any(map(HEADING.match, outside_code(text)[0])) else _TOLD_OF_ROOT
    return len(known & telling_words(text)) < int(share * math.sqrt(len(known)))


def _chinese_share(text: str) -> tuple[float, float]:
    """Return the Chinese share of the words, and the number of words, without names and identifiers."""
    bare = _URL.sub(" ", text)
    han, kana = len(_HAN.findall(bare)), len(_KANA.findall(bare))
    plain = len(_PLAIN_WORD.findall(bare))
    if kana > _KANA_SHARE * han:
        return 0.0, plain + kana * _HAN_WORTH
    words = han * _HAN_WORTH + plain
    return (han * _HAN_WORTH / words if words else 0.0), words


def _is_cut_off(text: str) -> bool:
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


def _repeats_itself(text: str) -> bool:
    """Return whether a stretch of the text repeats itself, or most of its sentences occur again and again."""
    flat = _PUNCTUATION_RUN.sub(r"\1\1", text)
    if len(flat) < _LOOP_MIN_CHARS:
        return False
    starts = [*range(0, max(1, len(flat) - _WINDOW), _WINDOW), max(0, len(flat) - _WINDOW)]
    return any(_is_repetitive(flat[start : start + _WINDOW]) for start in starts) or _repeats_sentences(flat)


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
    sentences = [_NO_WORD.sub("", sentence).casefold() for sentence in _SENTENCES.split(text)]
    counted = ((len(sentence), times) for sentence, times in Counter(sentences).items())
    again = sum(length * times for length, times in counted if times >= _SENTENCE_TIMES and length >= _SENTENCE_LETTERS)
    return again >= _REPEATED_SHARE * sum(map(len, sentences)) > 0


#: The order counts: an error page may also look like a refusal, and the beginning of a text is judged before its end.
_RULES: Final[tuple[tuple[Callable[[str], bool], Reason], ...]] = (
    (has_unclosed_thought, "truncated"),
    (is_data, "refused"),
    (is_error, "refused"),
    (is_refusal, "refused"),
    (is_greeting, "empty"),
    (thinks_aloud, "refused"),
    (is_prompt, "refused"),
    (continues_the_talk, "refused"),
    (gives_orders, "refused"),
    (_repeats_itself, "refused"),
    (_is_cut_off, "truncated"),
)
