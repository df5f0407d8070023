"""
The material and the facts of bench/questions/summaries, written by hand, and what a summary keeps of them, without a judge.

A fact is kept where every word a person marked for it, in one of its spellings, stands within four sentences in a row, and it is not said
wrongly. It is where a sentence has one of the wordings marked as wrong, or where it is out of date and what came after it is not told. The folder's README
has the form of the files.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Final, Literal
from zoneinfo import ZoneInfo

from bench.pieces import MONTHS, bare, in_digits, shaped

FOLDER: Final = Path(__file__).parent / "questions" / "summaries"
#: So many sentences in a row may say a fact.
SENTENCES: Final = 4
_SENTENCE: Final = re.compile(r"(?<=[。！？!?；;])|(?<=\.)\s+|\n+")
_SAID: Final = re.compile(r"(\d+) (\d\d:\d\d) (user|assistant) ?(.*)")
_FACT: Final = re.compile(r"(?:([+-])|~(\S+)/(\d+)) \[([\d,]+)\] (.+)")
_KEEPS: Final = re.compile(r"keeps \[(\S+)\] ([\d ]+)")
_UNSAID: Final = re.compile(r"(?<=\d),(?=\d{3})|[£€¥$]")
_COUNT: Final = re.compile(r"one|two|three|four|five|six|seven|eight|nine|ten")


@dataclass(frozen=True)
class Said:
    """A message of a day: its *number* on it, and what was said by whom and when."""

    number: int
    at: datetime
    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True)
class Fact:
    """
    What a careful reader keeps of a day.

    *sources* are the numbers of its messages. *needs* has for each word its equal spellings. *wrong* are wordings that say it wrongly,
    *corrected* those that were said on the day and put right: they are wrong where the fact is not told beside them. *large* ones belong
    into a month or a line too; one that is *outdated* is told there only together with the fact that it names by its day and number.
    """

    day: str
    sources: tuple[int, ...]
    sentence: str
    needs: tuple[tuple[str, ...], ...]
    wrong: tuple[str, ...] = ()
    corrected: tuple[str, ...] = ()
    large: bool = False
    outdated: tuple[str, int] | None = None


@dataclass
class Day:
    """A day of a story: its messages and its facts."""

    date: str
    said: list[Said] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(one.text for one in self.said)


@dataclass
class Story:
    """A month of one person: *name* is that of its file."""

    name: str
    zone: ZoneInfo
    language: Literal["zh", "en"]
    days: dict[str, Day] = field(default_factory=dict)

    @property
    def month(self) -> str:
        return next(iter(self.days))[:7]

    def fact(self, day: str, number: int) -> Fact:
        return self.days[day].facts[number - 1]

    def after(self, fact: Fact) -> Fact | None:
        """Return the fact that came in the place of one that is out of date."""
        return self.fact(*fact.outdated) if fact.outdated else None


@dataclass(frozen=True)
class Running:
    """A summary of a conversation so far, the day that is added to it, and what of the summary so far must stay."""

    story: Story
    before: str
    day: Day
    keeps: tuple[Fact, ...]

    @property
    def facts(self) -> list[Fact]:
        return [*self.keeps, *(fact for fact in self.day.facts if fact.large or fact.outdated)]


@dataclass(frozen=True)
class Score:
    """How many of so many *facts* a summary has *kept*, and those it has said wrongly."""

    facts: int
    kept: tuple[Fact, ...]
    wrong: tuple[Fact, ...]


def score(summary: str, facts: Sequence[Fact], story: Story | None = None) -> Score:
    """Return what a summary keeps of the facts; with its *story*, one out of date is wrong where what came after it is missing."""
    told = [_Sentences(window) for window in _windows(summary)]
    single = [_Sentences(sentence) for sentence in _sentences(summary)]

    def keeps(fact: Fact) -> bool:
        return any(all(window.has_one(spellings) for spellings in fact.needs) for window in told)

    def says_wrongly(fact: Fact) -> bool:
        wrong = fact.wrong if keeps(fact) else fact.wrong + fact.corrected
        return bool(wrong) and any(sentence.has_one(wrong) for sentence in single)

    wrong = {id(fact): fact for fact in facts if says_wrongly(fact)}
    kept = tuple(fact for fact in facts if keeps(fact) and id(fact) not in wrong)
    if story:
        known = [fact for day in story.days.values() for fact in day.facts]
        for fact in known:
            after = story.after(fact)
            if after in facts and keeps(fact) and after is not None and not keeps(after):
                wrong[id(fact)] = fact
    return Score(len(facts), kept, tuple(wrong.values()))


def month_facts(story: Story) -> list[Fact]:
    """Return the facts that the month needs: the large ones that are not out of date at its end."""
    return [fact for day in story.days.values() for fact in day.facts if fact.large]


def line_facts(day: Day) -> list[Fact]:
    """Return the facts that a session's line needs: the large ones, as they were that day."""
    return [fact for fact in day.facts if fact.large or fact.outdated]


def _sentences(text: str) -> list[str]:
    return [sentence for sentence in _SENTENCE.split(text) if sentence.strip()]


def _windows(text: str) -> list[str]:
    found = _sentences(text)
    return ["\n".join(found[start : start + SENTENCES]) for start in range(max(1, len(found) - SENTENCES + 1))]


class _Sentences:
    """Sentences in which marked words are looked for, in any width, with or without commas in numbers, spoken numbers in digits."""

    def __init__(self, text: str) -> None:
        plain = _UNSAID.sub("", unicodedata.normalize("NFKC", text).replace("’", "'")).casefold()
        self._spaced = f"{plain}\n{in_digits(plain)}"
        self._bare = f"{bare(plain)}\n{bare(in_digits(plain))}"
        self._times = {piece.means for piece in shaped(self._spaced)[0] if piece.kind == "time"}

    def has_one(self, spellings: Sequence[str]) -> bool:
        return any(self._has(spelling) for spelling in spellings)

    def _has(self, marked: str) -> bool:
        if marked.startswith("@"):
            hours = marked[1:].split(":")
            if len(hours) == 2:
                return (int(hours[0]) % 12, int(hours[1])) in self._times
            return bool(_date(*map(int, marked[1:].split("-"))).search(self._spaced))
        if marked.isascii():
            return bool(_pattern(marked).search(self._spaced))
        return bare(marked) in self._bare


@cache
def _date(month: int, day: int) -> re.Pattern[str]:
    """Return what finds a day of a month, as either language writes it, at the beginning of a span of days too."""
    name, th = f"{MONTHS[month - 1]}[a-z]*\\.?", "(?:st|nd|rd|th)?"
    return re.compile(
        rf"(?<!\d){month}\s*月\s*{day}(?!\d)|(?<!\d)0?{month}[-/]0?{day}(?!\d)|(?<!\d)0?{day}/0?{month}(?!\d)"
        rf"|\b{name}\s+{day}{th}(?!\d)|(?<!\d){day}{th}(?:\s*(?:to|until|-|–)\s*\d+{th})?(?:\s+of)?\s+{name}"
    )


@cache
def _pattern(marked: str) -> re.Pattern[str]:
    """Return what finds a marked word of Latin letters or digits at the start of a word; a number and a count are found whole."""
    folded = _UNSAID.sub("", marked.casefold())
    body = r"\s*".join(map(re.escape, folded.split()))
    before = r"(?<![\d.])" if folded[0].isdigit() else r"(?<![a-z0-9])"
    after = r"(?!\d|\.\d)" if folded[-1].isdigit() else r"(?![a-z])" if _COUNT.fullmatch(folded) else ""
    return re.compile(f"{before}{body}{after}")


def stories(folder: Path = FOLDER) -> dict[str, Story]:
    """Return the stories by name; ValueError names the line of a file that is not of the form of the folder's README."""
    return {path.stem: _read(path) for path in sorted(folder.glob("??-*.md"))}


def running(known: dict[str, Story], folder: Path = FOLDER) -> list[Running]:
    """Return the running summaries: running.md has for each a heading, the summary so far, and what of it must stay."""
    found = []
    for part in (folder / "running.md").read_text(encoding="utf-8").split("\n## ")[1:]:
        head, _, rest = part.partition("\n")
        name, date = head.split()
        lines = rest.strip().splitlines()
        keeps = [match for line in lines if (match := _KEEPS.fullmatch(line.strip()))]
        before = "\n".join(line for line in lines if not _KEEPS.fullmatch(line.strip())).strip()
        facts = tuple(known[name].fact(match[1], int(number)) for match in keeps for number in match[2].split())
        found.append(Running(known[name], before, known[name].days[date], facts))
    return found


def sessions(known: dict[str, Story], folder: Path = FOLDER) -> list[tuple[Story, Day]]:
    """Return the days of which one line is asked: sessions.md names them."""
    lines = (folder / "sessions.md").read_text(encoding="utf-8").splitlines()
    named = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    return [(known[name], known[name].days[date]) for name, date in named]


def _read(path: Path) -> Story:
    lines = path.read_text(encoding="utf-8").splitlines()
    head = dict(line.split(": ", 1) for line in lines if line.startswith(("zone: ", "language: ")))
    story = Story(path.stem, ZoneInfo(head["zone"]), "zh" if head["language"] == "zh" else "en")
    for number, line in enumerate(lines, 1):
        try:
            _take(story, line)
        except ValueError as error:
            raise ValueError(f"{path.name}, line {number}: {error}") from error
    for day in story.days.values():
        sentences = [_Sentences(sentence) for sentence in _sentences(day.text)]
        day.facts = [_parted(fact, sentences) for fact in day.facts]
    return story


def _parted(fact: Fact, sentences: Sequence[_Sentences]) -> Fact:
    """Return the fact with those of its wrong wordings that stand in these sentences of its day as corrected ones."""
    corrected = tuple(wording for wording in fact.wrong if any(sentence.has_one([wording]) for sentence in sentences))
    return replace(fact, wrong=tuple(wording for wording in fact.wrong if wording not in corrected), corrected=corrected)


def _take(story: Story, line: str) -> None:
    """Add what a line says to the story."""
    if line.startswith("## "):
        date = line[3:].strip()
        datetime.fromisoformat(date)
        story.days[date] = Day(date)
    if not story.days or line.startswith("## "):
        return
    day = list(story.days.values())[-1]
    if match := _SAID.fullmatch(line):
        at = datetime.fromisoformat(f"{day.date}T{match[2]}").replace(tzinfo=story.zone)
        day.said.append(Said(int(match[1]), at, "user" if match[3] == "user" else "assistant", match[4]))
    elif match := _FACT.fullmatch(line):
        day.facts.append(_fact(day, match))
    elif line.startswith("    ") or (not line and day.said and not day.facts):
        last = day.said[-1]
        day.said[-1] = Said(last.number, last.at, last.role, f"{last.text}\n{line[4:]}".strip("\n"))
    elif line.strip():
        raise ValueError(f"neither a message nor a fact: {line}")


def _fact(day: Day, match: re.Match[str]) -> Fact:
    sources = tuple(map(int, match[4].split(",")))
    if not set(sources) <= {said.number for said in day.said}:
        raise ValueError(f"the day has no message {match[4]}")
    sentence, needs, *wrong = (part.strip() for part in match[5].split("::"))
    return Fact(
        day.date,
        sources,
        sentence,
        tuple(tuple(_spellings(part)) for part in needs.split(";")),
        tuple(_spellings(wrong[0])) if wrong else (),
        large=match[1] == "+",
        outdated=(match[2], int(match[3])) if match[2] else None,
    )


def _spellings(part: str) -> Iterator[str]:
    return (spelling.strip() for spelling in part.split("=") if spelling.strip())
