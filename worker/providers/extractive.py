"""
Summaries without a model: the telling sentences of a day or a month, word for word, under headings that say what they tell.

Deterministic and offline. The first line says that no model wrote it. What is quoted can't forge structure: every quotation is
one bullet on one line. Source: 003, worker 提示词 (topics, decisions, conclusions, to-dos; names, paths and numbers kept; by
theme, not by date, for a month); architecture.md, rule 11.
"""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Final, Literal
from zoneinfo import ZoneInfo

from supervisor.protocol.dated import Block
from supervisor.text.chitchat import is_chitchat
from supervisor.text.language import language_of
from worker.providers import ranking, topics
from worker.providers.bullets import LABELS, Page, bullets, escaped
from worker.providers.ranking import choose
from worker.providers.sentences import LONGEST, clean, cut
from worker.providers.talk import Line, lines_of, named_speakers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import tzinfo

    from supervisor.protocol.config import Config
    from supervisor.protocol.task import Task

#: Characters of an extract, at most; and (base, growth): base + growth * sqrt(characters said) is its budget.
LIMITS: Final = {"day": 4_000, "month": 8_000}
_GROWTH: Final = {"day": (200, 17.0), "month": (500, 30.0)}
#: Headings of a day, of a month; what is left over comes under one more.
_HEADINGS: Final = {"day": 5, "month": 10}
#: Worth below which a sentence is not quoted, and how much each line of a day makes its next give way in a month.
_LEAST: Final = {"day": 0.036, "month": 0.022}
#: Characters said, below which less is asked of a sentence: of a day of three messages nearly all is kept.
_LITTLE: Final = 500
_DAYS_SHARE: Final = 0.12
#: Characters kept for first line and headings.
_FRAME: Final = 120
#: Characters down to which quotations are cut, where the days of a month are too many for its limit.
_SHORTEST: Final = 60


def make(config: Config, _environ: Mapping[str, str]) -> Extractive:
    """Return the provider, its extracts no longer than a summary may be."""
    return Extractive(longest=config.archive.summarise_chars)


class Extractive:
    """The provider that needs no model."""

    name = "extractive"
    model = ""
    extract = True

    def __init__(self, longest: int | None = None) -> None:
        """*longest* is how many characters an extract may have; None leaves it to LIMITS."""
        self._longest = longest

    def summarise(self, task: Task, blocks: Sequence[Block]) -> str:
        """Return the Markdown body, "" when there is nothing to record."""
        kind: Literal["day", "month"] = "day" if task.kind == "daily-summary" else "month"
        zone = ZoneInfo(task.zone)
        return extract(blocks, period=task.period, zone=zone, previous=task.previous, kind=kind, longest=self._longest)


def extract(
    blocks: Sequence[Block],
    *,
    period: str,
    zone: tzinfo,
    previous: str = "",
    kind: Literal["day", "month"],
    longest: int | None = None,
) -> str:
    """
    Return the extract of *blocks* as Markdown, "" when they are nothing but courtesy; of at most *longest* characters.

    Times are local to *zone*: hours in a day's extract, dates in a month's. *previous* is the text that stands for the period
    so far, and is drawn from like the messages.
    """
    if all(is_chitchat(block.text) for block in blocks):
        return ""
    language = language_of("\n".join(clean(block.text) for block in blocks if block.role != "tool"))
    day = f"{period}-01"[: len("2026-01-28")]
    noon = datetime.combine(date.fromisoformat(day), time(12), zone)
    told = [*blocks, *([Block("", "summary", previous, noon, {})] if previous.strip() else [])]
    named = named_speakers(told)
    page = Page(lines_of(told, zone, named=named), language, kind, LONGEST)
    limit = min(LIMITS[kind], longest or LIMITS[kind])
    return _fitted(page, sum(block.role != "summary" for block in told), limit)


def _fitted(page: Page, messages: int, limit: int) -> str:
    """Return the text of at most *limit* characters that says most: fewer lines, shorter quotations until it fits."""
    weighed, worth = ranking.weigh(page.lines)
    base, growth = _GROWTH[page.kind]
    said = sum(len(line.text) for line in page.lines)
    budget = min(limit - _FRAME, int(base + growth * math.sqrt(said)))
    least = _LEAST[page.kind] * min(1.0, said / _LITTLE)
    share = _DAYS_SHARE if page.kind == "month" else 0.0
    days = len({line.day for line in page.lines})
    while budget > 0:
        # a line of each day, as long as there is room for so many
        chosen = choose(weighed, worth, budget, least, share if budget >= days * _SHORTEST or not share else 0.0)
        chosen = chosen or ranking.most_telling(weighed, worth)  # nothing is worth it
        chosen = _without_questions_told_with_their_answers(chosen, page.lines)
        text = _render(chosen, page, messages)
        if len(text) <= limit:
            return text
        budget, page = budget * 9 // 10, replace(page, longest=max(_SHORTEST, page.longest * 3 // 4))
    return _one_line(ranking.most_telling(weighed, worth)[0], page, messages, limit)


def _one_line(line: Line, page: Page, messages: int, limit: int) -> str:
    """Return the least that an extract can be: what it is, and the beginning of the one line that says most."""
    alone = replace(line, lead=None, text=cut(line.text, _SHORTEST))
    lines = [alone if other is line else other for other in page.lines]
    text = f"{_first(page, messages, 1)}\n\n{bullets([alone], replace(page, lines=lines))[0]}"
    return text[:limit]


def _without_questions_told_with_their_answers(chosen: Sequence[Line], lines: Sequence[Line]) -> list[Line]:
    told = {line.lead for line in chosen if line.lead is not None and lines[line.lead].message != line.message}
    return [line for line in chosen if line.place not in told]


def _first(page: Page, messages: int, quoted: int) -> str:
    return {
        "zh": f"> 摘录：没有用模型，从 {messages} 条消息里挑出 {quoted} 条的原话。",
        "en": f"> Extract: no model was used; these are the words of {quoted} of {messages} messages.",
    }[page.language]


def _render(chosen: Sequence[Line], page: Page, messages: int) -> str:
    """Return the whole text: what it is, then a heading and its bullets for each topic; *messages* is how many were read."""
    shown = [*chosen, *(page.lines[line.lead] for line in chosen if line.lead is not None)]
    quoted = len({line.message for line in shown if line.role != "summary"})
    groups, rest = topics.grouped(chosen, page.lines, _HEADINGS[page.kind])
    everything = [*groups, rest] if rest else groups
    headings = topics.titles(everything, page.lines, {line.who for line in page.lines if line.who})
    other = LABELS[page.language]["other"]
    parts = [_first(page, messages, quoted)]
    for group, words in zip(everything, headings, strict=True):
        named = [other, *words] if group is rest else words or [other]
        parts.append(f"\n## {escaped(' · '.join(named))}\n")
        parts.extend(bullets(group, page))
    return "\n".join(parts)
