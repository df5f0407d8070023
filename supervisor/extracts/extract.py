"""
Summaries without a model: the sentences of a day or a month that say most, word for word.

Deterministic and offline. The first line says that no model wrote it. What people say of themselves comes first, then numbers,
names and decisions; of an assistant only what has data. Courtesies, praise and advice are left out, and so is a question,
unless its answer needs it: "助手：桌子多长？ → 用户：1.6 米". Each bullet is one line with its time and its speaker, so that a
quotation can't forge structure. A heading is a noun phrase that the bullets below it share; bullets that share none come
first, without one. What a sentence is about is decided in `sentences.py`. Source: docs/architecture.md, rule 9.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Final, Literal

from recalld.supervisor.extracts.sentences import (
    LONGEST,
    clean,
    columns,
    cue_worth,
    cut,
    end_of,
    is_question,
    joint,
    noun_phrases,
    sentences,
    units,
    weight,
)
from recalld.supervisor.protocol.dated_file import Block
from recalld.supervisor.storage.clock import local
from recalld.supervisor.text.language import language_of
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.small_talk import is_chitchat
from recalld.supervisor.text.tokenizer import HAN, spelled, stem
from recalld.supervisor.text.word_frequency import is_known, rarity

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from datetime import tzinfo

    from recalld.supervisor.text.language import Language

Kind = Literal["day", "month"]

#: Characters of an extract, at most; lines of a month's; and (base, growth): base + growth * sqrt(columns of the messages) is
#: its budget.
LIMITS: Final = {"day": 4_000, "month": 8_000}
MONTH_LINES: Final = 40
_GROWTH: Final = {"day": (120, 12.0), "month": (600, 28.0)}
#: Worth below which a sentence is not quoted, and that of words and cues below which it says nothing.
_LEAST: Final = 0.043
_SAYS_SOMETHING: Final = 1.4
#: Columns of the messages, below which less is asked of a sentence: of a day of three messages nearly all is kept.
_LITTLE: Final = 500
#: How much each line of a day makes its next give way in a month.
_DAYS_SHARE: Final = 0.25
#: How much the sentences of its message, and its own length, count against a sentence; the columns added to its length: its
#: bullet, and the trouble of reading one more.
_CROWD: Final = 0.3
_LENGTH: Final = 0.8
_EACH: Final = 24
#: How much the worth of a word grows with the lines that have it, how much its rarity counts, and what a lone digit is worth.
_CENTRAL: Final = 0.35
_POWER: Final = 1.5
_LONE_DIGIT: Final = 0.3
#: How the time of a bullet is written; its characters, with the line break; those of a bullet that joins sentences.
_STAMPS: Final = {"day": "%H:%M", "month": "%m-%d"}
_STAMP_CHARS: Final = 8
_JOINED: Final = 300
#: Sections under a heading, at most; the messages that share one, at least; the rarity of its words in all.
_SECTIONS: Final = {"day": 4, "month": 6}
_SHARED: Final = {"day": 2, "month": 3}
_HEADING: Final = 0.35
#: The time given to what has none: a person's notes, the summaries of days.
_NOON: Final = time(12)
#: Characters shown of a message that has no words.
_BARE: Final = 60

#: The label of each speaker in Chinese; other roles are their own labels.
_LABELS: Final = {"user": "用户", "assistant": "助手", "tool": "工具", "system": "系统"}
_NOBODY: Final = frozenset({"note", "summary"})
_NAME_CHARS: Final = 40
#: A speaker's name before the words, and the share of messages that have one where the conversation is one of named speakers.
_NAME: Final = lazy_re(r"\s*([^\W\d_][\w.'’-]{0,19}(?: [A-Z][\w.'’-]{0,19})?)[:：]\s*(?=\S)")
_NAMED: Final = 0.8
#: An answer comes within this time of its question, of which at most so many characters are shown.
_ANSWER: Final = timedelta(hours=6)
_SHORT: Final = 90
#: Lines of an earlier summary that say nothing: what it is, headings, comments.
_NO_WORDS: Final = lazy_re(r"^\s*(?:>|#{1,6}\s|<!--).*$", re.MULTILINE)
_WORD: Final = lazy_re(rf"[^\W{HAN}]+|[{HAN}]+")
_CAPITAL: Final = lazy_re(r"\b[A-Z]\w+")
_CODE_SPAN: Final = lazy_re(r"(`[^`]+`)")
_TAG: Final = lazy_re(r"<(?=[A-Za-z/?!])")
#: What would open a block where a bullet begins with the words themselves.
_OPENING: Final = lazy_re(r"(?=[#>+*~=|-]|\d+[.)]\s)")


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence that may be quoted, with what it is worth to quote it."""

    place: int  # among all lines
    message: int
    at: datetime  # local
    role: str
    who: str  # its speaker's label, with the colon
    text: str
    asked: str  # the question that it answers, with the label of who asked
    weight: float
    cues: float
    words: tuple[str, ...]

    @property
    def cost(self) -> int:
        """Characters of its bullet."""
        return _STAMP_CHARS + len(self.who) + len(self.asked) + len(self.text)


def extract(
    blocks: Sequence[Block], *, period: str, zone: tzinfo, previous: str = "", kind: Kind, longest: int | None = None
) -> str:
    """
    Return the extract of *blocks* as Markdown, "" when they are nothing but courtesy; of at most *longest* characters.

    Times are local to *zone*: hours in a day's extract, dates in a month's, which has at most MONTH_LINES lines. *previous* is
    the period's existing summary; its lines may be quoted like those of the messages.
    """
    if all(is_chitchat(block.text) for block in blocks):
        return ""
    language = language_of("\n".join(clean(block.text) for block in blocks if block.role != "tool"))
    noon = datetime.combine(date.fromisoformat(f"{period}-01"[: len("2026-01-28")]), _NOON, zone)
    material = [*blocks, *([Block("", "summary", previous, noon, {})] if previous.strip() else [])]
    limit = min(LIMITS[kind], longest or LIMITS[kind])
    lines = lines_of(material, zone, language, min(LONGEST, limit // 3))
    base, growth = _GROWTH[kind]
    budget = min(limit, int(base + growth * math.sqrt(sum(columns(line.text) for line in lines))))
    messages = sum(block.role != "summary" for block in material)
    while True:
        chosen = choose(lines, budget, _DAYS_SHARE if kind == "month" else 0.0) or [_one_line(lines, material, zone)]
        text = _render(chosen, language, kind, messages)
        is_short = len(text) <= limit and (kind == "day" or text.count("\n") < MONTH_LINES)
        if is_short or len(chosen) == 1:
            return text[:limit]
        budget = min(budget, sum(line.cost for line in chosen)) * 9 // 10


def lines_of(blocks: Sequence[Block], zone: tzinfo, language: Language, longest: int) -> list[Line]:
    """Return the sentences of all messages in the order of time, each of at most *longest* characters."""
    blocks = sorted(blocks, key=lambda block: block.created_at)
    names = _speakers(blocks)
    lines: list[Line] = []
    asker, asked = None, ""  # the message before where it ends in a question
    for number, block in enumerate(blocks):
        name = _NAME.match(block.text) if names else None
        who = _label(name[1] if name else str(block.fields.get("name") or ""), block.role, language)
        is_other = asker is not None and (asker.role != block.role or not asked.startswith(who))
        answered = asked if asker and is_other and block.created_at - asker.created_at <= _ANSWER else ""
        words = _NO_WORDS.sub("", block.text) if block.role == "summary" else block.text[name.end() if name else 0 :]
        parts = sentences(words)
        for text, question in units(parts, answered, longest):
            is_person = bool(names) or block.role in {"user", *_NOBODY}
            counts = weight(_uncalled(text, names), question, person=is_person)
            lines.append(
                Line(
                    place=len(lines),
                    message=number,
                    at=local(block.created_at, zone),
                    role=block.role,
                    who=who,
                    text=text,
                    asked=question,
                    weight=counts / math.pow(len(parts), _CROWD),
                    cues=cue_worth(text),
                    words=tuple(dict.fromkeys(token for _, token in spelled(f"{question} {text}" if question else text))),
                ),
            )
        questions = [sentence for sentence in parts if is_question(sentence)]
        asker, asked = block, who + end_of(questions[-1], _SHORT) if questions else ""
    return lines


def _speakers(blocks: Sequence[Block]) -> frozenset[str]:
    """Return the names that messages begin with ("Wang: …") where nearly all do, of a handful of people; else none."""
    spoken = [block for block in blocks if block.role in {"user", "assistant"}]
    names = [match[1] for block in spoken if (match := _NAME.match(block.text))]
    are_speakers = len(spoken) > 1 and len(names) >= _NAMED * len(spoken) and len(set(names)) <= max(2, len(spoken) // 4)
    return frozenset(names) if are_speakers else frozenset()


def _label(name: str, role: str, language: Language) -> str:
    """Return the speaker's label before the words, on one line: the name, else the role; "" where there is no speaker."""
    who = cut(" ".join(clean(name).split()), _NAME_CHARS) or (_LABELS.get(role, role) if language == "zh" else role)
    return "" if role in _NOBODY else f"{who}：" if language == "zh" else f"{who}: "


def _uncalled(text: str, names: Collection[str]) -> str:
    """Return *text* without the names of its speakers, whole or short: that they call each other says nothing."""
    return _CAPITAL.sub(lambda word: "" if any(name.startswith(word[0]) for name in names) else word[0], text)


def choose(lines: Sequence[Line], budget: int, days_share: float) -> list[Line]:
    """
    Return the lines worth quoting, in their order, of at most *budget* characters in all.

    A line is worth what it adds to the words that are quoted already, for its length; each line of a day makes its next worth
    less by *days_share*. The choice is greedy with a heap: worth only falls as more is chosen, so that a line is weighed again
    only when it comes up.
    """
    word_worth = _word_worths(lines)
    own = [sum(map(word_worth, line.words)) for line in lines]
    asked = min(1.0, sum(columns(line.text) for line in lines) / _LITTLE)
    known: set[str] = set()
    quoted: Counter[date] = Counter()

    def worth(i: int) -> float:
        line = lines[i]
        if not line.weight or not own[i] or own[i] + line.cues < _SAYS_SOMETHING * asked:
            return 0.0
        new = sum(word_worth(word) for word in line.words if word not in known)
        length = math.pow(columns(line.asked + line.text) + _EACH, _LENGTH)
        return line.weight * (new + line.cues * new / own[i]) / length / (1 + days_share * quoted[line.at.date()])

    taken = []
    heap = [(-worth(i), i) for i in range(len(lines))]
    heapq.heapify(heap)
    while heap:
        _, i = heapq.heappop(heap)
        now = worth(i)
        if now < _LEAST * asked or not now:
            continue
        if heap and now < -heap[0][0]:
            heapq.heappush(heap, (-now, i))
        elif lines[i].cost <= budget:
            taken.append(i)
            known.update(lines[i].words)
            quoted[lines[i].at.date()] += 1
            budget -= lines[i].cost
    return [lines[i] for i in sorted(taken)]


def _word_worths(lines: Sequence[Line]) -> Callable[[str], float]:
    """Return the worth of a word on this material; calling the speakers by name says nothing."""
    lines_with = Counter(word for line in lines for word in line.words)
    called = {token for who in {line.who for line in lines} for _, token in spelled(who)}

    def worth_of(word: str) -> float:
        if word in called:
            return 0.0
        if word.isdigit():
            return _LONE_DIGIT if len(word) == 1 else 1.0
        return math.pow(rarity(word), _POWER) * (1 + _CENTRAL * math.log(lines_with[word]))

    return {word: worth_of(word) for word in lines_with}.__getitem__


def _one_line(lines: Sequence[Line], blocks: Sequence[Block], zone: tzinfo) -> Line:
    """Return the line to quote where none is worth it: a person's with the rarest words, else how the first message begins."""
    if lines:
        best = max(lines, key=lambda line: (line.role == "user", sum(map(rarity, line.words)), -line.place))
        return replace(best, text=cut(best.text, _BARE), asked="")
    block = next(block for block in blocks if not is_chitchat(block.text))
    text = cut(" ".join(clean(block.text[:_BARE]).split()), _BARE) or "…"
    return Line(0, 0, local(block.created_at, zone), block.role, "", text, "", 0.0, 0.0, ())


def _render(chosen: Sequence[Line], language: Language, kind: Kind, messages: int) -> str:
    """Return the whole text: what it is, then the bullets; *messages* is how many were read."""
    quoted = len({line.message for line in chosen if line.role != "summary"})
    parts = [f"> Extract: no model was used; these are the words of {quoted} of {messages} messages."]
    if language == "zh":
        parts = [f"> 摘录：没有用模型，从 {messages} 条消息里挑出 {quoted} 条的原话。"]
    for heading, lines in sections(chosen, kind):
        parts += ["", f"## {escaped(heading)}", ""] if heading else [""]
        parts += [_bullet(group, kind) for group in _joined(lines, kind)]
    return "\n".join(parts)


def sections(lines: Sequence[Line], kind: Kind) -> list[tuple[str, list[Line]]]:
    """
    Return the lines under headings, in their order: each heading a noun phrase of its lines, the first one "" for the others.

    What one line names, others may have inside of longer phrases. The phrase is taken first that has the rarest words in the
    most lines; what calls a speaker is none, and of words that no list has, which may be typos, it has one at most.
    """
    called = [_key(line.who) for line in lines]
    keys = {line.place: f" {_key(line.text)} " for line in lines}
    shown: dict[str, str] = {}
    for line in lines:
        shown |= {key: phrase for phrase in noun_phrases(line.text) if (key := _key(phrase)) not in shown}
    worth = {key: _heading_worth(key) for key in shown if not any(name.startswith(key) for name in called)}
    rest, found = list(lines), list[tuple[str, list[Line]]]()
    while len(found) < _SECTIONS[kind]:
        times = {key: len({line.message for line in rest if _has(keys[line.place], key)}) for key in worth}
        shared = [key for key in worth if worth[key] and times[key] >= _SHARED[kind]]
        if not shared:
            break
        best = max(shared, key=lambda key: (worth[key] * math.log2(times[key]), len(key), key))
        found.append((shown[best], [line for line in rest if _has(keys[line.place], best)]))
        rest = [line for line in rest if not _has(keys[line.place], best)]
    found.sort(key=lambda section: section[1][0].place)
    return [("", rest), *found] if rest else found


def _key(text: str) -> str:
    """Return the text as phrases are looked for in it: stems of Latin words with a blank between."""
    return " ".join(stem(word) if word.isascii() else word for word in _WORD.findall(text.casefold()))


def _has(text: str, key: str) -> bool:
    return f" {key} " in text if key.isascii() else key in text


def _heading_worth(key: str) -> float:
    """Return how well a noun phrase serves as a heading, 0 where it doesn't."""
    tokens = [token for _, token in spelled(key)]
    worth = sum(map(rarity, tokens))
    return worth if worth >= _HEADING and sum(not is_known(token) for token in tokens) <= 1 else 0.0


def _joined(lines: Sequence[Line], kind: Kind) -> list[list[Line]]:
    """Return the lines of each bullet: those of one message, in a month those of one speaker on one day."""
    groups: list[list[Line]] = []
    for line in lines:
        last = groups[-1] if groups else []
        is_alike = bool(last) and last[0].who == line.who and not line.asked
        if is_alike and last[0].message != line.message:
            is_alike = kind == "month" and bool(line.who) and last[0].at.date() == line.at.date()
        if is_alike and sum(one.cost for one in last) + line.cost <= _JOINED:
            last.append(line)
        else:
            groups.append([line])
    return groups


def _bullet(lines: Sequence[Line], kind: Kind) -> str:
    first = lines[0]
    text = f"{first.asked} → {first.who}{first.text}" if first.asked else first.who + first.text
    for i, line in enumerate(lines[1:]):
        before = lines[i]
        is_left_out = before.message == line.message and line.place > before.place + 1
        text += (" … " if is_left_out else joint(before.text)) + line.text
    text = escaped(text)
    if first.role in _NOBODY and first.at.time() == _NOON:  # it has no time of its own
        return "- " + _OPENING.sub(r"\\", text, count=1) if _OPENING.match(text) else f"- {text}"
    return f"- {first.at:{_STAMPS[kind]}} {text}"


def escaped(text: str) -> str:
    """Return *text* escaped for Markdown, so that it contains no HTML and no comment."""
    parts = _CODE_SPAN.split(text)
    return "".join(part if i % 2 else _TAG.sub(r"\\<", part).replace("<!", r"<\!") for i, part in enumerate(parts))
