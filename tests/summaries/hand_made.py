"""The hand-made answers of tests/summaries/answers, each with the material that it answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Final

from bench.facts import Day, Said, Story, stories
from recalld.supervisor.extracts.extract import extract
from recalld.supervisor.protocol.dated_file import Block
from recalld.supervisor.protocol.llm import shipped_template
from recalld.supervisor.summaries.quality import Material
from recalld.supervisor.text.language import language_of

FOLDER: Final = Path(__file__).parent / "answers"
#: An answer that goes on and on has so many times the length of its material.
_TIMES: Final = 10


@dataclass(frozen=True)
class Answer:
    """An answer to the material of a day or a month, and what it is: a fault, or the way in which it is good."""

    story: Story
    period: str
    what: str
    text: str
    is_good: bool

    @property
    def days(self) -> list[Day]:
        return [day for date, day in self.story.days.items() if date.startswith(self.period)]

    @property
    def said(self) -> list[Said]:
        return [said for day in self.days for said in day.said]

    @property
    def material(self) -> str:
        return "\n".join(said.text for said in self.said)

    def __str__(self) -> str:
        return f"{self.story.name} {self.period} {self.what}"


def answers() -> list[Answer]:
    """Return the two hundred answers."""
    return [one for path in sorted(FOLDER.glob("*.??.md")) for one in _read(path)]


def material_of(answer: Answer) -> Material:
    """Return what the answer is judged against, as a collected result is."""
    blocks = blocks_of(answer.said)
    kind = "day" if len(answer.days) == 1 else "month"
    languages = {language_of(block.text) for block in blocks}
    return Material(
        parts=((None, answer.story.name[3:].title()), *((one.at.date(), one.text) for one in answer.said)),  # who spoke
        extract=extract(blocks, period=answer.period, zone=answer.story.zone, kind=kind, longest=8_000),
        language=answer.story.language if len(languages) == 1 else None,
    )


def blocks_of(said: Sequence[Said]) -> list[Block]:
    """Return the messages as a dated file has them."""
    return [Block(f"{one.at:%d}-{one.number}", one.role, one.text, one.at.astimezone(UTC), {}) for one in said]


def _read(path: Path) -> Iterator[Answer]:
    for part in path.read_text(encoding="utf-8").split("=== ")[1:]:
        head, _, text = part.partition("\n")
        place, _, what = head.partition(" | ")
        name, period = place.split()
        answer = Answer(_stories()[name], period, what.strip(), text.strip(), path.name.startswith("good"))
        yield Answer(answer.story, period, answer.what, _filled(answer), answer.is_good)


def _filled(answer: Answer) -> str:
    """Return the text of the answer with what its braces stand for (answers/README.md)."""
    text = answer.text.replace("{copy}", answer.material)
    if "{transcript}" in text:
        text = text.replace("{transcript}", "\n".join(f"{one.at:%H:%M} {one.role}: {one.text}" for one in answer.said))
    if text.startswith("{prompt "):
        name, _, language = text[len("{prompt ") : -1].rpartition(".")
        return shipped_template(name, "zh" if language == "zh" else "en").text
    return _long(answer) if text == "{long}" else text


def _long(answer: Answer) -> str:
    """Return the day gone on with the other days of its story, ten times as long as its material."""
    text, others = answer.material, cycle(day.text for day in answer.story.days.values() if day not in answer.days)
    while len(text) < _TIMES * len(answer.material):
        text += f"\n\n{next(others)}"
    return text


@cache
def _stories() -> dict[str, Story]:
    return stories()
