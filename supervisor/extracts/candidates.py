"""
The sentences of a day or a month that may be quoted, each with its time, its speaker and its worth, and what each takes back.

Source: docs/reference/protocol.md, 6.8.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict, deque
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from recalld.supervisor.extracts.sentences import clean, cut, end_of, sentences, units
from recalld.supervisor.extracts.worth import cue_worth, is_offer, is_question, is_reply, takes_back, weight
from recalld.supervisor.storage.clock import local
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.tokenizer import spelled
from recalld.supervisor.text.word_frequency import rarity

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import tzinfo

    from recalld.supervisor.protocol.dated_file import Block
    from recalld.supervisor.text.language import Language

#: Who has no label: a person's notes, an earlier summary.
NOBODY: Final = frozenset({"note", "summary"})
#: The label of each speaker in Chinese; other roles are their own labels.
_LABELS: Final = {"user": "用户", "assistant": "助手", "tool": "工具", "system": "系统"}
_NAME_CHARS: Final = 40
#: A speaker's name before the words, and the share of messages that have one where the conversation is one of named speakers.
_NAME: Final = lazy_re(r"\s*([^\W\d_][\w.'’-]{0,19}(?: [A-Z][\w.'’-]{0,19})?)[:：]\s*(?=\S)")
_NAMED: Final = 0.8
_CAPITAL: Final = lazy_re(r"\b[A-Z]\w+")
#: An answer comes within this time of its question, of which at most so many characters are shown.
_ANSWER: Final = timedelta(hours=6)
_SHORT: Final = 90
#: Lines of an earlier summary that say nothing: what it is, headings, comments.
_NO_WORDS: Final = lazy_re(r"^\s*(?:>|#{1,6}\s|<!--).*$", re.MULTILINE)
#: How much the sentences of its message count against a sentence.
_CROWD: Final = 0.3
#: The rarity of the words that two sentences share, from which one may take the other back; how far back it may lie, and for
#: how many sentences each word is remembered. What says that it is a correction may mean what was said just before.
_SHARED: Final = {"change": 1.2, "correction": 0.5}
_BACK: Final = timedelta(days=21)
_REMEMBERED: Final = 12
_JUST_BEFORE: Final = timedelta(minutes=10)
_DIGITS: Final = 0.4


@dataclass(frozen=True, slots=True)
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
    opens: bool = True  # no words of its message are before it
    closes: bool = True


def lines_of(blocks: Sequence[Block], zone: tzinfo, language: Language, longest: int) -> list[Line]:
    """Return the sentences of all messages in the order of time, each of at most *longest* characters."""
    blocks = sorted(blocks, key=lambda block: block.created_at)
    names = _speakers(blocks)
    lines: list[Line] = []
    asker, asked, is_last = None, "", False  # the message before where it has a question, and whether it ends in it
    for number, block in enumerate(blocks):
        name = _NAME.match(block.text) if names else None
        who = _label(name[1] if name else str(block.fields.get("name") or ""), block.role, language)
        is_other = asker is not None and (asker.role != block.role or not asked.startswith(who))
        is_soon = asker is not None and block.created_at - asker.created_at <= _ANSWER
        words = _NO_WORDS.sub("", block.text) if block.role == "summary" else block.text[name.end() if name else 0 :]
        parts = sentences(words)
        answers = is_last or any(is_reply(part) or any(map(str.isdigit, part)) for part in parts[:1])
        answered = asked if is_other and is_soon and answers else ""
        is_person = bool(names) or block.role in {"user", *NOBODY}
        found = list(units(parts, answered, longest))
        for i, (text, question) in enumerate(found):
            lines.append(
                Line(
                    place=len(lines),
                    message=number,
                    at=local(block.created_at, zone),
                    role=block.role,
                    who=who,
                    text=text,
                    asked=question,
                    weight=weight(_uncalled(text, names), question, person=is_person) / math.pow(len(parts), _CROWD),
                    cues=cue_worth(text),
                    words=tuple(dict.fromkeys(token for _, token in spelled(f"{question} {text}" if question else text))),
                    opens=i == 0 or block.role in NOBODY,
                    closes=i == len(found) - 1 or block.role in NOBODY,
                ),
            )
        questions = [sentence for sentence in parts if is_question(sentence) and not is_offer(sentence)]
        asker, asked = block, who + end_of(questions[-1], _SHORT) if questions else ""
        is_last = bool(questions) and questions[-1] == parts[-1]
    return lines


def taken_back(lines: Sequence[Line]) -> dict[int, int]:
    """
    Return by the place of each line that takes something back the place of what it takes back, which is taken back once.

    That is a person's line before it with which it shares most; a line that says of itself that it is a correction may mean
    what was said just before. Where something was changed twice, the last change counts.
    """
    with_word: dict[str, deque[Line]] = defaultdict(lambda: deque(maxlen=_REMEMBERED))
    first: dict[int, int] = {}  # of a line that takes back: what it was about in the first place
    last: dict[int, int] = {}
    before: Line | None = None
    for line in lines:
        if not line.weight or line.role not in {"user", *NOBODY}:
            continue
        if kind := takes_back(line.text):
            worth: dict[int, float] = defaultdict(float)
            for word in line.words:
                for one in with_word[word]:
                    if one.message != line.message and line.at - one.at <= _BACK:
                        worth[one.place] += _DIGITS if word.isdigit() else rarity(word)
            best = max(worth, key=lambda place: (worth[place], place), default=-1)
            if best >= 0 and worth[best] < _SHARED[kind]:
                best = -1
            if best < 0 and kind == "correction" and before and line.at - before.at <= _JUST_BEFORE:
                best = before.place
            if best >= 0:
                first[line.place] = first.get(best, best)
                last[first[line.place]] = line.place
        for word in line.words:
            with_word[word].append(line)
        before = line
    return {late: early for early, late in last.items()}


def _speakers(blocks: Sequence[Block]) -> frozenset[str]:
    """Return the names that messages begin with ("Wang: …") where nearly all do, of a handful of people; else none."""
    spoken = [block for block in blocks if block.role in {"user", "assistant"}]
    names = [match[1] for block in spoken if (match := _NAME.match(block.text))]
    are_speakers = len(spoken) > 1 and len(names) >= _NAMED * len(spoken) and len(set(names)) <= max(2, len(spoken) // 4)
    return frozenset(names) if are_speakers else frozenset()


def _label(name: str, role: str, language: Language) -> str:
    """Return the speaker's label before the words, on one line: the name, else the role; "" where there is no speaker."""
    who = cut(" ".join(clean(name).split()), _NAME_CHARS) or (_LABELS.get(role, role) if language == "zh" else role)
    return "" if role in NOBODY else f"{who}：" if language == "zh" else f"{who}: "


def _uncalled(text: str, names: Collection[str]) -> str:
    """Return *text* without the names of its speakers, whole or short: that they call each other says nothing."""
    return _CAPITAL.sub(lambda word: "" if any(name.startswith(word[0]) for name in names) else word[0], text)
