"""
Summaries without a model: the sentences of a day or a month that say most, word for word, in the order of time.

Deterministic and offline. The first line says that no model wrote it. What changes a life comes first, then decisions, money,
health and what people say of themselves; of an assistant only what has data. A question is left out, unless its answer needs
it: "助手：桌子多长？ → 用户：1.6 米". Each bullet is one line with
its time and its speaker, so that a quotation can't forge structure; … is where words or code are left out. Sources:
docs/architecture.md, rule 9; docs/reference/protocol.md, 6.8.
"""

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, time, tzinfo
from typing import Final, Literal, TypeAlias

from ..protocol.dated_file import Block
from ..storage.clock import local
from ..text.language import Language, is_small_talk, language_of_sentences
from ..text.lazy_re import lazy_re
from ..text.tokenizer import spelled
from ..text.word_frequency import rarity_of
from .candidates import NOBODY, are_courtesies, lines_of
from .cues import has_cue
from .replies import Line
from .sentences import LONGEST, clean, columns, cut, joint

Kind = Literal["day", "month"]
#: Returns a text with marks in the place of its secrets.
Hide: TypeAlias = Callable[[str, Language], str]

#: Characters of an extract, at most; lines of a month's; and (base, growth): base + growth * sqrt(columns of the messages) is
#: its budget.
LIMITS: Final = {"day": 4_000, "month": 8_000}
MONTH_LINES: Final = 40
_GROWTH: Final = {"day": (120, 12.0), "month": (500, 26.0)}
#: Worth below which a sentence is not quoted.
_LEAST: Final = 0.1
#: Columns of the messages below which less is asked of each: of a few short ones nearly all are kept.
_LITTLE: Final = 600
#: How much each line of a day makes its next give way in a month.
_DAYS_SHARE: Final = 0.05
#: How much the length of a sentence counts against it; the columns added to its length: its bullet, and the trouble of reading
#: one more.
_LENGTH: Final = 0.8
_EACH: Final = 18
#: How much the worth of a word grows with the lines that have it, and what a lone digit is worth.
_CENTRAL: Final = 0.35
_LONE_DIGIT: Final = 0.3
#: How the time of a bullet is written; its characters, with the line break; those of a bullet that joins sentences.
_STAMPS: Final = {"day": "%H:%M", "month": "%m-%d"}
_STAMP_CHARS: Final = 8
_JOINED: Final = 400
#: The time given to what has none: a person's notes, the summaries of days.
NOON: Final = time(12)
#: Characters shown of a message that has no words.
_BARE: Final = 60
_CODE_SPAN: Final = lazy_re(r"(`[^`]+`)")
_TAG: Final = lazy_re(r"<(?=[A-Za-z/?!])")
#: What would open a block where a bullet begins with the words themselves.
_OPENING: Final = lazy_re(r"(?=[#>+*~=|-]|\d+[.)]\s)")


def extract(
    blocks: Sequence[Block],
    *,
    period: str,
    zone: tzinfo,
    previous: str = "",
    kind: Kind,
    longest: int | None = None,
    quotes_alone: bool = False,
    hide: Hide | None = None,
) -> str:
    """
    Return the extract of *blocks* as Markdown, "" when they are nothing but courtesy; of at most *longest* characters.

    Times are local to *zone*: hours in a day's extract, dates in a month's, which has at most MONTH_LINES lines. *previous* is
    the period's existing summary; its lines may be quoted like those of the messages. *quotes_alone*: without head and
    bullets, in the budget of a month. *hide* puts marks in the place of secrets.
    """
    if are_courtesies(blocks):
        return ""
    language = language_of_sentences(block.text for block in blocks if block.role != "tool")
    noon = datetime.combine(date.fromisoformat(f"{period}-01"[: len("2026-01-28")]), NOON, zone)
    material = [*blocks, *([Block("", "summary", previous, noon, {})] if previous.strip() else [])]
    material = [replace(block, text=hide(block.text, language)) for block in material] if hide else material
    limit = min(LIMITS[kind], longest or LIMITS[kind])
    lines = lines_of(material, zone, language, min(LONGEST, limit // 3))
    base, growth = _GROWTH["month" if quotes_alone else kind]
    width = sum(columns(line.text) for line in lines)
    budget = min(limit, int(base + growth * math.sqrt(width)))
    messages = sum(block.role not in NOBODY for block in material)
    while True:
        chosen = choose(lines, budget, kind) or [_one_line(lines, material, zone)]
        head = [] if quotes_alone else [_head(chosen, language, messages), ""]
        quotes = _quotes if quotes_alone else _bullets
        text = "\n".join([*head, *quotes(_joined(chosen, kind), language, kind)])
        is_short = len(text) <= limit and (kind == "day" or text.count("\n") < MONTH_LINES)
        if is_short or len(chosen) == 1:
            return text[:limit]
        budget = min(budget, sum(map(_cost, chosen))) * 9 // 10


def choose(lines: Sequence[Line], budget: int, kind: Kind) -> list[Line]:
    """
    Return the lines worth quoting, in their order, of at most *budget* characters in all.

    A line is worth what it adds to the words that are quoted already of its day and of later ones, for its length: what an
    earlier day has said may have changed, and the newer of two facts is quoted where the older one is. What is decided or
    changed is worth as much where its words are known. In a month each line of a day makes its next worth a little less. The
    choice is greedy with a heap: worth only falls as more is chosen, so that a line is weighed again only when it comes up.
    """
    word_worth = _word_worths(lines)
    is_news = [has_cue(line.text, "decision", "change", "off", "amendment") for line in lines]  # though its words are known
    least = _LEAST * min(1.0, sum(columns(line.text) for line in lines) / _LITTLE)
    quoted: Counter[date] = Counter()
    known: dict[str, date] = {}  # the last day on which a word is quoted

    def worth(i: int) -> float:
        line = lines[i]
        all_words = sum(map(word_worth, line.words))
        if not line.weight or not all_words:
            return 0.0
        new = sum(word_worth(word) for word in line.words if known.get(word, date.min) < line.at.date())
        length = math.pow(columns(line.question + line.text) + _EACH, _LENGTH)
        gain = 1.0 if is_news[i] else new / all_words
        of_its_day = quoted[line.at.date()] if kind == "month" else 0
        return line.weight * (new + line.cues * gain) / length / (1 + _DAYS_SHARE * of_its_day)

    taken = set[int]()
    last_said = {(line.who, line.words): i for i, line in enumerate(lines)}
    heap = [(-worth(i), i) for i in last_said.values()]
    heapq.heapify(heap)
    while heap:
        _, i = heapq.heappop(heap)
        now = worth(i)
        if now < least or not now:
            continue
        if heap and now < -heap[0][0]:
            heapq.heappush(heap, (-now, i))
            continue
        if (cost := _cost(lines[i])) <= budget:
            day = lines[i].at.date()
            taken.add(i)
            quoted[day] += 1
            known |= {word: max(day, known.get(word, date.min)) for word in lines[i].words}
            budget -= cost
    return [lines[i] for i in sorted(taken)]


def _cost(line: Line) -> int:
    return _STAMP_CHARS + len(line.who) + len(line.question) + len(line.text)


def _word_worths(lines: Sequence[Line]) -> Callable[[str], float]:
    """Return the worth of a word on this material, of a rare one more; to call the speakers by name says nothing."""
    lines_with = Counter(word for line in lines for word in line.words)
    called = {token for who in {line.who for line in lines} for _, token in spelled(who)}

    def worth_of(word: str) -> float:
        if word in called:
            return 0.0
        if word.isdigit():
            return _LONE_DIGIT if len(word) == 1 else 1.0
        return rarity_of(word) * (1 + _CENTRAL * math.log(lines_with[word]))

    return {word: worth_of(word) for word in lines_with}.__getitem__


def _one_line(lines: Sequence[Line], blocks: Sequence[Block], zone: tzinfo) -> Line:
    """Return the line to quote where none is worth it: a person's with the rarest words, else how the first message begins."""
    if lines:
        best = max(lines, key=lambda line: (line.role == "user", sum(map(rarity_of, line.words)), -line.place))
        return replace(best, text=cut(best.text, _BARE), question="")
    block = next(block for block in blocks if not is_small_talk(block.text))
    text = cut(" ".join(clean(block.text[:_BARE]).split()), _BARE) or "…"
    return Line(0, 0, local(block.created_at, zone), block.role, "", text)


def _head(chosen: Sequence[Line], language: Language, messages: int) -> str:
    """Return the first line: that no model was used, and whose of so many *messages* these are; notes are none."""
    quoted = len({line.message for line in chosen if line.role not in NOBODY})
    has_notes = any(line.role == "note" for line in chosen)
    if has_notes and not quoted:
        phrase, chinese = "words of notes", "摘自笔记的原话"
    else:
        phrase, chinese = f"the words of {quoted} of {messages} messages", f"从 {messages} 条消息里摘了 {quoted} 条原话"
        phrase, chinese = (f"{phrase}, and of notes", f"{chinese}，还有笔记里的") if has_notes else (phrase, chinese)
    return f"> 摘录（未用模型）：{chinese}。" if language == "zh" else f"> Extract: no model was used; these are {phrase}."


def _joined(lines: Sequence[Line], kind: Kind) -> list[list[Line]]:
    """Return the lines of each bullet: those of one speaker with one time, which in a month is the day."""
    groups: list[list[Line]] = []
    for line in lines:
        last = groups[-1] if groups else []
        is_alike = bool(last) and last[0].who == line.who and not line.question
        if is_alike and last[0].message != line.message:
            is_alike = bool(line.who) and _stamp(last[0].at, kind) == _stamp(line.at, kind) and not last[0].question
        if is_alike and sum(map(_cost, (*last, line))) <= _JOINED:
            last.append(line)
        else:
            groups.append([line])
    return groups


def _stamp(at: datetime, kind: Kind) -> str:
    return f"{at:{_STAMPS[kind]}}"


def _bullets(groups: Iterable[Sequence[Line]], language: Language, kind: Kind) -> Iterator[str]:
    for lines in groups:
        first, who = lines[0], lines[0].who
        stamp = answered = _stamp(first.at, kind)
        if first.asked_at:
            stamp = _stamp(first.asked_at, kind)
            who = f"{first.question} → {'' if answered == stamp else f'{answered} '}{first.who}"
        text = escaped(who + _words(lines, language))
        if first.role in NOBODY and first.at.time() == NOON:  # it has no time of its own
            yield "- " + _OPENING.sub(r"\\", text, count=1) if _OPENING.match(text) else f"- {text}"
        else:
            yield f"- {stamp} {text}"


def _quotes(groups: Iterable[Sequence[Line]], language: Language, kind: Kind) -> Iterator[str]:
    """Yield the quotes without greetings, with the days of a month; who says several things in a row is named once."""
    speaker = ""
    for lines in groups:
        first, words = lines[0], _words(lines, language)
        who = f"{_stamp(first.at, kind)} {first.who}" if kind == "month" else first.who
        if first.question or not is_small_talk(words):
            asked_by = f"{first.question} → " if first.question else ""
            yield escaped(words if who == speaker and not asked_by else f"{asked_by}{who}{words}")
            speaker = who


def _words(lines: Sequence[Line], language: Language) -> str:
    text = ""
    for before, line, after in zip((None, *lines), lines, (*lines[1:], None), strict=False):
        if before:
            text += joint(before.text, language)
        words = _quoted(line, before, after)
        text += words.removeprefix("…") if text.rstrip().endswith("…") else words
    return text


def _quoted(line: Line, before: Line | None, after: Line | None) -> str:
    """Return the words of a line, with … where words of its message are left out before or behind them."""
    goes_on = before is not None and before.message == line.message and before.place == line.place - 1
    is_continued = after is not None and after.message == line.message
    left = "" if line.opens or goes_on or line.text.startswith("…") else "…"
    right = "" if line.closes or is_continued or line.text.endswith(("…", "。。", "..")) else "…"
    return left + line.text + right


def escaped(text: str) -> str:
    """Return *text* escaped for Markdown, so that it contains no HTML and no comment."""
    parts = _CODE_SPAN.split(text)
    return "".join(part if i % 2 else _TAG.sub(r"\\<", part).replace("<!", r"<\!") for i, part in enumerate(parts))
