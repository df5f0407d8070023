"""
The sentences of a day or a month that may be quoted, each with its time, its speaker and its worth, and what it answers.

What nobody wants to find again are greetings, thanks, praise and wishes. Source: docs/reference/protocol.md, 6.8.
"""

from collections.abc import Iterable, Sequence
from datetime import tzinfo
from typing import Final

from ..protocol.dated_file import Block
from ..storage.clock import local
from ..text.language import ROLES, Language, count_words, is_small_talk
from ..text.lazy_re import lazy_re
from ..text.tokenizer import spelled
from .cues import cue_worth, has_cue, has_data, is_of_self
from .replies import JUST_BEFORE, Line, is_question, is_reply, needs_question
from .sentences import LEFT_OUT, clean, cut, sentences, units

#: Who has no label: a person's notes, an earlier summary.
NOBODY: Final = frozenset({"note", "summary"})
_NAME_CHARS: Final = 40
#: Lines of an earlier summary that say nothing: what it is, headings, comments.
_NO_WORDS: Final = lazy_re(r"(?m)^\s*(?:>|#{1,6}\s|<!--).*$")
#: Characters of a question that are shown before its answer.
_QUESTION_CHARS: Final = 90
#: How much it counts that a sentence has data, or is about its speaker; and what the assistant is to do.
_WITH_DATA: Final = 1.5
_OF_SELF: Final = 1.4
_REQUEST: Final = 0.3
#: Words of which a sentence without data has at least so many.
_WORDS: Final = 4
#: How much the words of a machine count: what it has worked out, and other data.
_RESULT: Final = 0.9
_OF_MACHINE: Final = 0.35


def lines_of(blocks: Sequence[Block], zone: tzinfo, language: Language, longest: int) -> list[Line]:
    """Return what may be quoted of all messages in the order of time, each of at most *longest* characters."""
    lines: list[Line] = []
    before: Block | None = None
    for number, block in enumerate(sorted(blocks, key=lambda block: block.created_at)):
        is_person = block.role in {"user", *NOBODY}
        who = _label(block, language)
        words = _NO_WORDS.sub("", block.text) if block.role == "summary" else block.text
        kept = [text for text in sentences(words, language) if _is_kept(text)]
        parts = list(units(kept, longest, language)) if block.role not in NOBODY else kept
        question_before = _question_of(before, block, kept[0], language) if before and kept else ""
        for i, text in enumerate(parts):
            question = question_before if i == 0 else ""
            lines.append(
                Line(
                    place=len(lines),
                    message=number,
                    at=local(block.created_at, zone),
                    role=block.role,
                    who=who,
                    text=text,
                    question=question,
                    asked_at=local(before.created_at, zone) if before and question else None,
                    weight=weight(text, question, person=is_person),
                    cues=cue_worth(text),
                    words=tuple(dict.fromkeys(token for _, token in spelled(f"{question} {text}"))),
                    opens=i == 0 or block.role in NOBODY,
                    closes=i == len(parts) - 1 or block.role in NOBODY,
                )
            )
        before = block
    return lines


def _question_of(before: Block, block: Block, answer: str, language: Language) -> str:
    """Return the question of the message *before* that an answer needs, with the label of who asked, else ""."""
    is_same = (before.role, before.speaker) == (block.role, block.speaker)
    is_just_before = block.created_at - before.created_at <= JUST_BEFORE
    if before.role in NOBODY or is_same or not is_just_before or not needs_question(answer):
        return ""
    questions = [sentence for sentence in sentences(before.text, language) if is_question(sentence)]
    return _label(before, language) + cut(questions[-1], _QUESTION_CHARS) if questions else ""


def _is_kept(sentence: str) -> bool:
    return sentence == LEFT_OUT or is_reply(sentence) or has_data(sentence) or not is_small_talk(sentence)


def _label(block: Block, language: Language) -> str:
    """Return the speaker's label before the words, on one line: the name, else the role; "" where there is no speaker."""
    name = cut(" ".join(clean(str(block.fields.get("name") or "")).split()), _NAME_CHARS)
    who = name or (ROLES.get(block.role, block.role) if language == "zh" else block.role)
    return "" if block.role in NOBODY else f"{who}：" if language == "zh" else f"{who}: "


def weight(text: str, question: str = "", *, person: bool) -> float:
    """
    Return how much the words of a sentence count; 0 where it must not be quoted.

    *question* is the question that it answers, with which it is shown. *person*: a human being says it; of a machine only data
    counts.

    >>> weight("So it goes.", person=True), weight("我对花生过敏。", person=True) > 1
    (0.0, True)
    >>> weight("帮我写个 sql", person=True) < weight("sql 写好了", person=True)
    True
    """
    shown = f"{question} {text}"
    tells_data = has_data(shown)
    if is_question(text) or text.endswith((":", "：")):
        return 0.0
    if not person:
        return (_RESULT if has_cue(text, "result") else _OF_MACHINE) if tells_data else 0.0
    is_kept = has_cue(shown, "event", "decision", "change", "off", "amendment")
    if not (tells_data or is_kept or has_cue(shown, "health")) and (
        count_words(shown) < _WORDS or is_small_talk(text) or is_reply(text)
    ):
        return 0.0
    counts = (_WITH_DATA if tells_data or is_kept else 1.0) * (_OF_SELF if is_of_self(text) else 1.0)
    return counts * _REQUEST if has_cue(text, "request") else counts


def are_courtesies(blocks: Iterable[Block]) -> bool:
    """True if the messages are small talk, and what an assistant answers to it without data: "Hello! How can I help you?"."""
    return all(is_small_talk(block.text) or (block.role == "assistant" and not has_data(block.text)) for block in blocks)
