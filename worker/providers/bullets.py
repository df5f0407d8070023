"""
Chosen lines as Markdown bullets: one line each, with time and speaker, and nothing in them that Markdown or recalld would obey.

What is quoted of one message stands in one bullet, what was left out between two sentences marked with …. A question that an
answer needs stands before it: "助手：那张书桌多长？ → 1.6 米".
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal

from worker.providers.cues import substance
from worker.providers.sentences import cut

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from supervisor.text.language import Language
    from worker.providers.talk import Line

#: Who speaks, where it is not the person (whose words stand bare), and the heading of what has no words of its own.
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
class Page:
    """What all bullets of an extract share: *lines* are all lines by place, *longest* the characters of a quotation."""

    lines: Sequence[Line]
    language: Language
    kind: Literal["day", "month"]
    longest: int


def bullets(group: Sequence[Line], page: Page) -> list[str]:
    """Return the bullets of *group*, in its order."""
    quoted: dict[int, set[int]] = defaultdict(set)
    for line in group:
        quoted[line.message].add(line.place)
    return [_bullet(places, page) for places in quoted.values()]


def escaped(text: str) -> str:
    """Return *text* so that Markdown shows it and obeys none of it: no HTML, no comment of ours."""
    parts = _CODE_SPAN.split(text)
    return "".join(part if i % 2 else _TAG.sub(r"\\<", part).replace("<!", r"<\!") for i, part in enumerate(parts))


def _bullet(places: Collection[int], page: Page) -> str:
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
    """Return the places of one message to quote, in order: those chosen, the sentences they lean on, and short gaps."""
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
