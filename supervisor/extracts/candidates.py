"""
The sentences of a day or a month that may be quoted, each with its time, its speaker and its worth, and what it answers.

What nobody wants to find again are greetings, thanks, praise and wishes. Source: docs/reference/protocol.md, 6.8.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ..storage.clock import local
from ..text.language import ROLES, count_words
from ..text.lazy_re import lazy_re
from ..text.small_talk import is_small_talk
from ..text.tokenizer import spelled
from .cues import cue_worth, has_cue, has_data, has_figures, is_of_self
from .replies import (
    JUST_BEFORE,
    Line,
    is_bare_figure,
    is_question,
    is_reply,
    needs_question,
    puts_right,
)
from .sentences import clean, cut, end_of, sentences, units

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import tzinfo

    from ..protocol.dated_file import Block
    from ..text.language import Language


#: Who has no label: a person's notes, an earlier summary.
NOBODY: Final = frozenset({"note", "summary"})
_NAME_CHARS: Final = 40
#: Lines of an earlier summary that say nothing: what it is, headings, comments.
_NO_WORDS: Final = lazy_re(r"(?m)^\s*(?:>|#{1,6}\s|<!--).*$")
#: Characters of a question that are shown before its answer.
_QUESTION_CHARS: Final = 90
#: How much it counts that a sentence has data, and whom it is about; and what the assistant is to do.
_WITH_DATA: Final = 1.5
_OF_SELF: Final = 1.4
_OF_OTHER: Final = 0.3
_REQUEST: Final = 0.3
_OTHER: Final = lazy_re(r"(?i)\b(?:you|yours?)\b|[你您]")
#: How much the words of a machine count: what it has worked out, and other data.
_RESULT: Final = 0.9
_OF_MACHINE: Final = 0.35
#: Words of which a sentence without data has at least so many, and a clause of a courtesy at most.
_WORDS: Final = 4
#: Words of what an assistant answers to a courtesy, at most, where that is one, too.
_ANSWER_WORDS: Final = 24
#: How a clause opens that greets, thanks, praises, wishes or agrees.
_COURTESY: Final = lazy_re(
    r"(?:and |but |so )?[嗯哦啊]*(?:嗨|你好|您好|早上好|晚上好|晚安|再见|不客气|不用谢|没关系|谢谢|感谢|辛苦|加油|哇|哎呀|哈哈"
    r"|好[的啊呀]|[是对][啊呀]|没错|确实|当然|没问题|很高兴|真棒|太[好棒]|听起来|[听看]到?[你您]|[我真也衷心]*(?:希望"
    r"|祝|愿|期待|相信)[你您]|随时|(?:如果|要是|有什么).{0,8}(?:需要|问题)"
    r"|(?:hi|hello|hey|good (?:morning|night)|bye|thanks?|you're welcome|no (?:problem|worries)|my pleasure|wow"
    r"|congrat\w*|great"
    r"|awesome|amazing|nice|cool|glad|sure|of course|got it|sounds?|so (?:happy|glad|proud)|(?:i )?(?:\S+ )?(?:agree|hope|wish)"
    r"|let me know|take care|good luck|have a|feel free|ha(?:ha)+|phew|that(?:'s| is| sounds)|yeah|yes|well done|cheers"
    r"|enjoy)\b)",
    re.IGNORECASE,
)
_CLAUSES: Final = lazy_re(r"[，,。！!;；~～…]+|\.(?=\s|$)|\s[—–-]\s")
#: What makes a courtesy worth keeping all the same: a matter of the speaker's own.
_OWN_MATTER: Final = lazy_re(
    r"\bI(?:'m| am|'ve| have)? (?!glad|happy|hope|agree|appreciate|wish|think|bet)\w|\bmy\b|我(?![也真很]|希望|祝|相信"
    r"|会|都|[为替]你)"
)


def lines_of(blocks: Sequence[Block], zone: tzinfo, language: Language, longest: int) -> list[Line]:
    """Return what may be quoted of all messages in the order of time, each of at most *longest* characters."""
    lines: list[Line] = []
    before: Block | None = None
    for number, block in enumerate(sorted(blocks, key=lambda block: block.created_at)):
        is_person = block.role in {"user", *NOBODY}
        who = _label(block, language)
        words = _NO_WORDS.sub("", block.text) if block.role == "summary" else block.text
        kept = [
            sentence for sentence in sentences(words) if is_reply(sentence) or has_data(sentence) or not is_courtesy(sentence)
        ]
        parts = list(units(kept, longest)) if block.role not in NOBODY else kept
        asked = _question_of(before, block, kept[0], language) if before and kept else ""
        for i, text in enumerate(parts):
            question = asked if i == 0 else ""
            shown = f"{question} {text}" if question else text
            lines.append(
                Line(
                    place=len(lines),
                    message=number,
                    at=local(block.created_at, zone),
                    role=block.role,
                    who=who,
                    text=text,
                    asked=question,
                    weight=weight(text, question, person=is_person),
                    cues=cue_worth(text),
                    words=tuple(dict.fromkeys(token for _, token in spelled(shown))),
                    opens=i == 0 or block.role in NOBODY,
                    closes=i == len(parts) - 1 or block.role in NOBODY,
                )
            )
        before = block
    return lines


def _question_of(before: Block, block: Block, answer: str, language: Language) -> str:
    """Return the question of the message *before* that an answer needs, with the label of who asked, else ""."""
    is_same = (before.role, before.speaker) == (block.role, block.speaker)
    if before.role in NOBODY or is_same or block.created_at - before.created_at > JUST_BEFORE:
        return ""
    parts = sentences(before.text)
    questions = [sentence for sentence in parts if is_question(sentence)]
    if questions and needs_question(answer):
        return _label(before, language) + end_of(questions[-1], _QUESTION_CHARS)
    return _label(before, language) + end_of(parts[-1], _QUESTION_CHARS) if parts and puts_right(answer, parts[-1]) else ""


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
    if is_question(text) or text.endswith((":", "：")) or (is_bare_figure(text) and not question):
        return 0.0
    if not person:
        is_advice = has_cue(text, "advice") and not has_figures(text)
        counts = _RESULT if has_cue(text, "result") else _OF_MACHINE
        return 0.0 if not tells_data or is_advice or is_courtesy(text) else counts
    is_kept = has_cue(shown, "event", "decision", "change", "off", "amendment")
    is_personal = has_cue(shown, "person", "health")
    if not (tells_data or is_kept or is_personal) and (count_words(shown) < _WORDS or is_courtesy(text) or is_reply(text)):
        return 0.0
    of_self = is_of_self(text)
    of_other = bool(_OTHER.search(text)) and not (of_self or is_kept)
    counts = (_WITH_DATA if tells_data or is_kept else 1.0) * (_OF_SELF if of_self else _OF_OTHER if of_other else 1.0)
    return counts * _REQUEST if has_cue(text, "request") else counts


def are_courtesies(blocks: Iterable[Block]) -> bool:
    """
    True if the messages are nothing but courtesies and what the assistant answers to them.

    Such an answer is short and has no data: "Hello! How can I help you today?". A question of its is none where a yes or a no
    follows.
    """
    before: Block | None = None
    is_asked = False
    for block in blocks:
        is_courteous = is_small_talk(block.text)
        if block.role == "assistant" and before and before.role == "user" and not is_courteous:
            if has_data(block.text) or count_words(block.text) > _ANSWER_WORDS:
                return False
            is_asked = is_question(block.text.strip())
        elif not is_courteous or (is_asked and is_reply(block.text.strip())):
            return False
        else:
            is_asked = False
        before = block
    return True


def is_courtesy(text: str) -> bool:
    """True if the clauses are courtesies, or too short to say more: "Thanks, I see"."""
    if is_small_talk(text):
        return True
    clauses = [clause.strip() for clause in _CLAUSES.split(text) if clause.strip()]
    if not _COURTESY.match(text) or _OWN_MATTER.search(text):
        return False
    return all(_COURTESY.match(clause) or count_words(clause) <= _WORDS for clause in clauses)
