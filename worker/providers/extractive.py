"""
Summaries without a model: the telling sentences of a day or a month, word for word, under headings.

Deterministic and offline. The first line says that no model wrote it. Each chosen line becomes a Markdown bullet with time
and speaker, on one line, so that a quotation can't forge structure. The sentences of one message are one bullet, with …
where some were left out between them; a question that an answer needs comes before it: "助手：那张书桌多长？ → 1.6 米". Which
sentences are quoted is decided in `ranking.py`, the headings in `topics.py`. Source: 003, worker 提示词;
docs/architecture.md, rule 9.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal
from zoneinfo import ZoneInfo

from supervisor.protocol.dated_file import Block
from supervisor.text.language import language_of
from supervisor.text.small_talk import is_chitchat
from worker.providers import ranking, topics
from worker.providers.ranking import choose
from worker.providers.sentences import LONGEST, clean, cut, substance
from worker.providers.talk import Line, lines_of, named_speakers

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import tzinfo

    from supervisor.protocol.config import Config
    from supervisor.protocol.task import Task
    from supervisor.text.language import Language

#: The label of each speaker (none for the person), and the heading of a group without words of its own.
LABELS: Final[Mapping[Language, Mapping[str, str]]] = {
    "zh": {"user": "", "note": "", "summary": "", "assistant": "助手：", "tool": "工具：", "system": "系统：", "other": "其他"},
    "en": {
        "user": "",
        "note": "",
        "summary": "",
        "assistant": "assistant: ",
        "tool": "tool: ",
        "system": "system: ",
        "other": "Other",
    },
}
#: Sentences of so few characters between two that are quoted are quoted too, if they say something.
_GAP: Final = 24
_CODE_SPAN: Final = re.compile(r"(`[^`]+`)")
_TAG: Final = re.compile(r"<(?=[A-Za-z/?!])")
#: What would open a block where a bullet begins with the words themselves.
_OPENING: Final = re.compile(r"(?=[#>+*~=|-]|\d+[.)]\s)")
_NOON: Final = "12:00"
_STAMPS: Final = {"day": "%H:%M", "month": "%m-%d"}


@dataclass(frozen=True, slots=True)
class ExtractPage:
    """What all bullets of an extract share: *lines* are all lines by place, *longest* is the most characters of a quotation."""

    lines: Sequence[Line]
    language: Language
    kind: Literal["day", "month"]
    longest: int


def bullets(group: Sequence[Line], page: ExtractPage) -> list[str]:
    """Return the bullets of *group*, in its order."""
    quoted: dict[int, set[int]] = defaultdict(set)
    for line in group:
        quoted[line.message].add(line.place)
    return [_bullet(places, page) for places in quoted.values()]


def escaped(text: str) -> str:
    """Return *text* escaped for Markdown, so that it contains no HTML and no comment."""
    parts = _CODE_SPAN.split(text)
    return "".join(part if i % 2 else _TAG.sub(r"\\<", part).replace("<!", r"<\!") for i, part in enumerate(parts))


def _bullet(places: Collection[int], page: ExtractPage) -> str:
    first = page.lines[min(places)]
    text = _label(first, page.language) + cut(_joined(_with_leads(places, page.lines), page.lines), page.longest)
    asked = page.lines[first.lead] if first.lead is not None else None
    if asked and asked.message != first.message:
        text = f"{_label(asked, page.language)}{cut(asked.text, page.longest)} → {text}"
    text = escaped(text)
    if first.role in {"note", "summary"} and f"{first.at:%H:%M}" == _NOON:  # not said at a time
        return "- " + _OPENING.sub(r"\\", text, count=1) if _OPENING.match(text) else f"- {text}"
    return f"- {first.at:{_STAMPS[page.kind]}} {text}"


def _with_leads(places: Collection[int], lines: Sequence[Line]) -> list[int]:
    """Return the places of one message to quote, in order: the chosen ones, the sentences they refer to, and short gaps."""
    message = lines[min(places)].message
    leads = {lines[place].lead for place in places}
    wanted = set(places) | {lead for lead in leads if lead is not None and lines[lead].message == message}
    ordered = sorted(wanted)
    gaps = (range(a + 1, b) for a, b in pairwise(ordered))
    short = [gap for gap in gaps if sum(len(lines[place].text) for place in gap) <= _GAP]
    filled = {place for gap in short for place in gap if substance(lines[place].text)}
    return sorted(wanted | filled)


def _joined(places: Sequence[int], lines: Sequence[Line]) -> str:
    text = lines[places[0]].text
    for before, place in pairwise(places):
        if place > before + 1:
            text += " … "
        elif lines[before].item and lines[place].item and text[-1].isalnum():
            text += "；" if text[-1] > "\u2e7f" or lines[place].text[0] > "\u2e7f" else "; "
        elif text[-1] not in "。！？；，：…”」）":
            text += " "
        text += lines[place].text
    return text


def _label(line: Line, language: Language) -> str:
    return f"{line.who}: " if line.who else LABELS[language].get(line.role, f"{line.role}: ")


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

    Times are local to *zone*: hours in a day's extract, dates in a month's. *previous* is the period's existing summary; its
    lines may be quoted like those of the messages.
    """
    if all(is_chitchat(block.text) for block in blocks):
        return ""
    language = language_of("\n".join(clean(block.text) for block in blocks if block.role != "tool"))
    day = f"{period}-01"[: len("2026-01-28")]
    noon = datetime.combine(date.fromisoformat(day), time(12), zone)
    material = [*blocks, *([Block("", "summary", previous, noon, {})] if previous.strip() else [])]
    named = named_speakers(material)
    page = ExtractPage(lines_of(material, zone, named=named), language, kind, LONGEST)
    limit = min(LIMITS[kind], longest or LIMITS[kind])
    return _fitted(page, sum(block.role != "summary" for block in material), limit)


def _fitted(page: ExtractPage, messages: int, limit: int) -> str:
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
        chosen = _without_questions_shown_with_their_answers(chosen, page.lines)
        text = _render(chosen, page, messages)
        if len(text) <= limit:
            return text
        budget, page = budget * 9 // 10, replace(page, longest=max(_SHORTEST, page.longest * 3 // 4))
    return _one_line(ranking.most_telling(weighed, worth)[0], page, messages, limit)


def _one_line(line: Line, page: ExtractPage, messages: int, limit: int) -> str:
    """Return the least that an extract can be: what it is, and the beginning of the one line that says most."""
    alone = replace(line, lead=None, text=cut(line.text, _SHORTEST))
    lines = [alone if other is line else other for other in page.lines]
    text = f"{_first(page, messages, 1)}\n\n{bullets([alone], replace(page, lines=lines))[0]}"
    return text[:limit]


def _without_questions_shown_with_their_answers(chosen: Sequence[Line], lines: Sequence[Line]) -> list[Line]:
    told = {line.lead for line in chosen if line.lead is not None and lines[line.lead].message != line.message}
    return [line for line in chosen if line.place not in told]


def _first(page: ExtractPage, messages: int, quoted: int) -> str:
    return {
        "zh": f"> 摘录：没有用模型，从 {messages} 条消息里挑出 {quoted} 条的原话。",
        "en": f"> Extract: no model was used; these are the words of {quoted} of {messages} messages.",
    }[page.language]


def _render(chosen: Sequence[Line], page: ExtractPage, messages: int) -> str:
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
