"""
The sentences of a day or a month that may be quoted, each with its time, its speaker and its worth, and what it answers.

Source: docs/reference/protocol.md, 6.8.
"""

from __future__ import annotations

import math
import re
from collections import deque
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from recalld.supervisor.extracts.cues import cue_worth, event_in
from recalld.supervisor.extracts.replies import (
    asks_for_yes,
    asks_to_tell,
    denial,
    is_offer,
    is_question,
    is_reply,
    numbers_in,
    says_back,
    taken_up,
    tells_figure,
    without_yes,
)
from recalld.supervisor.extracts.sentences import clean, cut, end_of, last_clause, sentences, units
from recalld.supervisor.extracts.worth import weight
from recalld.supervisor.storage.clock import local
from recalld.supervisor.text.language import ROLES
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.record import record
from recalld.supervisor.text.tokenizer import spelled
from recalld.supervisor.text.word_frequency import rarity

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import tzinfo

    from recalld.supervisor.protocol.dated_file import Block
    from recalld.supervisor.text.language import Language

#: Who has no label: a person's notes, an earlier summary.
NOBODY: Final = frozenset({"note", "summary"})
_NAME_CHARS: Final = 40
#: A speaker's name before the words, and the share of messages that have one where the conversation is one of named speakers.
_NAME: Final = lazy_re(r"\s*([^\W\d_][\w.'’-]{0,19}(?: [A-Z][\w.'’-]{0,19})?)[:：]\s*(?=\S)")
_NAMED: Final = 0.8
_CAPITAL: Final = lazy_re(r"\b[A-Z]\w+")
_LABEL: Final = lazy_re(r"^[^：:]*[：:] ?")
#: A yes or no comes within this time of its question, of which at most so many characters are shown; another answer just after.
_ANSWER: Final = timedelta(hours=6)
_SHORT: Final = 90
#: Lines of an earlier summary that say nothing: what it is, headings, comments.
_NO_WORDS: Final = lazy_re(r"^\s*(?:>|#{1,6}\s|<!--).*$", re.MULTILINE)
#: How much the sentences of its message count against a sentence.
_CROWD: Final = 0.3
#: In so many messages before stand the numbers of a sum.
_JUST_SAID: Final = 8
#: What belongs to what was said just before comes within this time, and among so many sentences.
JUST_BEFORE: Final = timedelta(minutes=30)
_RECENT: Final = 12
#: The rarity of a name or a noun.
NOUN: Final = 0.45
#: How a message opens that says of somebody who was named in the one before.
_PRONOUN: Final = lazy_re(r"(?:and |but |so )?(?:he|she|they|his|her|their)\b|[但而]?[且是]?[他她]", re.IGNORECASE)


@record
class Line:
    """A sentence that may be quoted, with what it is worth to quote it."""

    place: int  # among all lines
    message: int
    at: datetime  # local
    role: str
    who: str  # its speaker's label, with the colon
    text: str
    asked: str = ""  # the question that it answers, with the label of who asked
    weight: float = 0.0
    cues: float = 0.0
    words: tuple[str, ...] = ()
    event: tuple[str, ...] = ()  # the words that say what changes a life
    leans: int = -1  # the place of the line before that says who or what it is about
    opens: bool = True  # no words of its message are before it
    closes: bool = True


def lines_of(blocks: Sequence[Block], zone: tzinfo, language: Language, longest: int) -> list[Line]:
    """Return the sentences of all messages in the order of time, each of at most *longest* characters."""
    blocks = sorted(blocks, key=lambda block: block.created_at)
    names = _speakers(blocks)
    lines: list[Line] = []
    before: tuple[Block, str, list[str], str] | None = None
    numbers: deque[frozenset[float]] = deque(maxlen=_JUST_SAID)  # that people said
    for number, block in enumerate(blocks):
        name = _NAME.match(block.text) if names else None
        who = _label(name[1] if name else str(block.fields.get("name") or ""), block.role, language)
        words = _NO_WORDS.sub("", block.text) if block.role == "summary" else block.text[name.end() if name else 0 :]
        parts = sentences(words)
        answered = _question_of(before, block, who, parts)
        if before and before[0].role == "assistant" and not any(map(is_question, before[2])):
            _unsay(lines, number - 1, "\n".join(parts[:2]))
        is_person = bool(names) or block.role in {"user", *NOBODY}
        found = list(units(parts, answered, longest))
        crowd = 1 if len(found) == 1 and found[0][0][:1].islower() else len(parts)  # in pieces, but one: "he's out. went fine"
        for i, (text, question) in enumerate(found):
            counts = weight(_uncalled(text, names), question, person=is_person)
            counts = 0.0 if counts and not is_person and says_back(text, frozenset().union(*numbers)) else counts
            lines.append(
                Line(
                    place=len(lines),
                    message=number,
                    at=local(block.created_at, zone),
                    role=block.role,
                    who=who,
                    text=text,
                    asked=question,
                    weight=counts / math.pow(crowd, _CROWD),
                    cues=cue_worth(text),
                    words=tuple(dict.fromkeys(token for _, token in spelled(f"{question} {text}" if question else text))),
                    event=_event_of(text),
                    leans=_leans_on(text, question, lines, who, block) if i == 0 else -1,
                    opens=i == 0 or block.role in NOBODY,
                    closes=i == len(found) - 1 or block.role in NOBODY,
                ),
            )
        numbers.append(numbers_in(words) if is_person else frozenset())
        before = block, who, parts, answered
    return lines


def _leans_on(text: str, asked: str, lines: Sequence[Line], who: str, block: Block) -> int:
    """
    Return the place of the line of this speaker's message before without which *text* is not understood, else -1.

    It says who "she" is, or what a question means that names nothing: "What happened?"
    """
    last = next((line for line in reversed(lines) if line.who == who), None)
    names = [rarity(word) >= NOUN for _, word in spelled(_LABEL.sub("", asked))]
    leans = not any(names) if asked else bool(_PRONOUN.match(text))
    if last is None or not leans or block.created_at - last.at > JUST_BEFORE:
        return -1
    said = [line for line in lines[-_RECENT:] if line.message == last.message and line.weight]
    return max(said, key=lambda line: line.weight).place if said else -1


def _event_of(text: str) -> tuple[str, ...]:
    """Return the words that say what changes a life, without everyday ones where there are others."""
    words = [token for _, token in spelled(event_in(text))]
    return tuple(word for word in words if rarity(word) >= NOUN) or tuple(words)


def _question_of(before: tuple[Block, str, list[str], str] | None, block: Block, who: str, parts: Sequence[str]) -> str:
    """Return the question of the message *before* that this one answers, with the label of who asked, else ""."""
    if before is None or not parts or not before[2]:
        return ""
    asker, asking, said, answered = before
    longest = _ANSWER if is_reply(parts[0]) else JUST_BEFORE
    if (asker.role == block.role and asking == who) or block.created_at - asker.created_at > longest:
        return ""
    is_told = asker.role == "assistant"
    questions = [one for one in said if (is_question(one) or (is_told and asks_to_tell(one))) and not is_offer(one)]
    if questions and (questions[-1] == said[-1] or is_reply(parts[0]) or any(map(str.isdigit, parts[0]))):
        return asking + end_of(questions[-1], _SHORT)
    if is_told and (clause := next(filter(None, (taken_up(one, parts[0]) for one in reversed(said))), "")):
        return " → ".join(filter(None, [answered, asking + cut(clause, _SHORT)]))
    clause = without_yes(last_clause(said[-1]))
    return asking + clause if asks_for_yes(clause, parts[0]) else ""


def _unsay(lines: list[Line], message: int, answer: str) -> None:
    """Have none of the last lines be quoted, those of the message, that the *answer* to it says to be wrong."""
    wrong = denial(answer)
    if not wrong or (wrong == "figures" and not tells_figure(answer)):
        return
    for at in range(len(lines) - 1, -1, -1):
        if lines[at].message != message:
            return
        if wrong == "all" or tells_figure(lines[at].text):
            lines[at] = replace(lines[at], weight=0.0)


def _speakers(blocks: Sequence[Block]) -> frozenset[str]:
    """Return the names that messages begin with ("Wang: …") where nearly all do, of a handful of people; else none."""
    spoken = [block for block in blocks if block.role in {"user", "assistant"}]
    names = [match[1] for block in spoken if (match := _NAME.match(block.text))]
    are_speakers = len(spoken) > 1 and len(names) >= _NAMED * len(spoken) and len(set(names)) <= max(2, len(spoken) // 4)
    return frozenset(names) if are_speakers else frozenset()


def _label(name: str, role: str, language: Language) -> str:
    """Return the speaker's label before the words, on one line: the name, else the role; "" where there is no speaker."""
    who = cut(" ".join(clean(name).split()), _NAME_CHARS) or (ROLES.get(role, role) if language == "zh" else role)
    return "" if role in NOBODY else f"{who}：" if language == "zh" else f"{who}: "


def _uncalled(text: str, names: Collection[str]) -> str:
    """Return *text* without the names of its speakers, whole or short: that they call each other says nothing."""
    return _CAPITAL.sub(lambda word: "" if any(name.startswith(word[0]) for name in names) else word[0], text)
