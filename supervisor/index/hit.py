"""Types of a search: a passage of memory, a hit (a passage with its score), and the result of a search (recall.md)."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Final, Literal, Protocol, TypeAlias

#: memory.md; a dated file without a covering summary; a message that no dated file holds yet; a summary without a wider one;
#: a covered file in originals/.
Tier: TypeAlias = Literal["long_term", "dated", "unfiled", "summary", "original"]
#: The parts of a score, by name.
PartName: TypeAlias = Literal["words", "meaning", "days", "who"]
#: The first day of memory, or the last one before today and what came since.
Edge: TypeAlias = Literal["first", "last"]
#: The end of a message that asks.
_ASKS: Final = ("?", "？")
#: The reason of a long answer of the assistant, which has lost a part of its score.
LONG: Final = "long"
#: The reasons of a statement that a better answer brings: it was made later, or has a name of it (index/newest).
LATER: Final = "later"
LINK: Final = "link"
#: How a search has found (`SearchResult.how`): by words alone, or by meaning too.
WORDS: Final = "bm25"
BOTH: Final = "hybrid"
#: The reason of a hit that is near by meaning.
MEANING: Final = "meaning"
#: The path of a message up to its id: of one that no dated file holds yet (its place in history.json changes), and of any
#: message in a group.
BY_ID: Final = "history.json#"
#: The reader of a passage (`Passage.readers`) that is marked for all groups.
SHARED: Final = "shared"


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A message, a ``##`` section of a summary, a paragraph of a note, or a line of memory.md."""

    path: str  # from the workspace, with slashes: "memory/2026-01-28-deploy.md"; or "history.json#<id>", of a message
    start: int  # first line, 1-based
    end: int  # last line, inclusive
    text: str  # the words, without recalld's marks
    tier: Tier
    day: date | None = None  # local day, None for memory.md lines without one
    at: datetime | None = None  # time of a message
    role: str = ""  # of a message, else ""
    speaker: str = ""  # the name of who said it, "" if the message has none
    message: str = ""  # id of a message
    session: str = ""
    project: str = ""  # the folder of the project in which it was said, "" if the message names none
    chat: str = "direct"  # "direct" | "group" | "channel"
    shared: bool = False  # marked for groups too
    marked: tuple[tuple[int, str], ...] = ()  # the lines of a note that are marked for groups, with their numbers

    @property
    def file(self) -> str:
        """The path of its file."""
        return BY_ID[:-1] if self.path.startswith(BY_ID) else self.path

    @property
    def searched(self) -> str:
        """The text that is searched: the name of the speaker, and the words."""
        return f"{self.speaker}\n{self.text}" if self.speaker else self.text

    @property
    def asks(self) -> bool:
        """Whether it ends in a question."""
        return self.text.rstrip().endswith(_ASKS)

    @property
    def moment(self) -> tuple[int, float]:
        """What passages are ordered by in time: the day, and the time of a message; 0 without one."""
        return self.day.toordinal() if self.day else 0, self.at.timestamp() if self.at else 0.0

    @property
    def place(self) -> tuple[str, int, int]:
        """The path, and the first and the last line."""
        return self.path, self.start, self.end

    @property
    def citation(self) -> str:
        """The place, as `get` takes it: "memory.md#L3", "memory/2026-01-28-deploy.md#L4-L6", "history.json#<id>"."""
        return self.path + ("" if self.path.startswith(BY_ID) else line_marks([(self.start, self.end)]))

    @property
    def readers(self) -> tuple[str, ...]:
        """The marks by which the index finds the passage for an audience that may see it, or one of its lines, but not all."""
        readers_own = (reader_of(self.session),) if self.session and self.chat != "direct" else ()
        return (SHARED, *readers_own) if self.shared or self.marked else readers_own


def reader_of(session: str) -> str:
    """Return the mark of the messages of the conversation with this key, which may be any text."""
    return hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def line_marks(spans: Sequence[tuple[int, int]]) -> str:
    """
    Return the lines as a citation has them after the path.

    >>> line_marks([(3, 3)]), line_marks([(4, 6), (9, 9)])
    ('#L3', '#L4-L6,L9')
    """
    return "#" + ",".join(f"L{start}" + (f"-L{end}" if end > start else "") for start, end in spans)


@dataclass(frozen=True, slots=True)
class ScoreParts:
    """
    The four parts of a score, which is their sum.

    *words*: of the passage and of those around it; *meaning*: how near it is; *days*: the days that the question names, and
    what is newer; *who*: who speaks, and how. It is below zero where the passage counts less: a question, a long answer.
    """

    words: float = 0.0
    meaning: float = 0.0
    days: float = 0.0
    who: float = 0.0

    @property
    def total(self) -> float:
        """The score."""
        return self.words + self.meaning + self.days + self.who

    def reaching(self, score: float, part: PartName) -> ScoreParts:
        """Return the parts of this *score*: the difference is in the *part* that it is for."""
        return replace(self, **{part: getattr(self, part) + score - self.total})


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that answers, with its score (0 for a literal hit, None where scores are not shown) and the reasons for it."""

    unit: Passage
    score: float | None
    because: tuple[str, ...] = ()  # "words: 备份, nas", "related: bike", "window", "day 2026-01-28", "role user", "literal"
    parts: ScoreParts = ScoreParts()  # of the score

    @property
    def rank(self) -> float:
        """What hits are ordered by."""
        return self.score or 0.0

    def reaching(self, score: float, part: PartName) -> Hit:
        """Return the hit with this *score*: the difference is in the *part* that it is for."""
        return replace(self, score=score, parts=self.parts.reaching(score, part))


class Nearness(Protocol):
    """How near the passages of memory come to a question by meaning."""

    #: The names of the nearest (`Document.unit`), the nearest first, with their standard deviations from the middle of memory,
    #: those of the very nearest, and whether it stands out more than one does by chance.
    nearest: Mapping[int, float]
    highest: float
    stands_out: bool

    def like(self, unit: int) -> Mapping[int, float]:
        """Return what is near to this passage, the nearest first, as a part of the nearness from which two are alike."""
        ...

    def worth(self, units: Sequence[int]) -> Sequence[float]:
        """Return for each passage what its nearness adds, as a share of the best score by words; 0.0 where it has no vector."""
        ...


class Asked(Protocol):
    """
    A question by its meaning: called with passages by name (None: all), it returns its nearness among them, and of no others.

    *talk*: it asks what was talked about "first" or "last", and nothing else; both where it may be either, the likelier first.
    *is_small_talk*: it asks for nothing.
    """

    @property
    def talk(self) -> Sequence[Edge]: ...  # noqa: D102 - said above

    @property
    def is_small_talk(self) -> bool: ...  # noqa: D102 - said above

    def __call__(self, units: Collection[int] | None) -> Nearness:
        """Return how near these passages come."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The hits for a question, and how they were found; without hits, *how* is the reason."""

    hits: tuple[Hit, ...] = ()  # best first
    terms: tuple[str, ...] = ()  # the words that were searched for, as the tokeniser spells them
    dates: tuple[str, ...] = ()  # the days that the question names, as labels
    role: str = ""  # whose words it asks for
    files: int = 0  # how many were searched
    pinned: tuple[Passage, ...] = ()  # lines of memory.md, newest first, for the turn of an input, whatever was found
    evidence: float = 1.0  # how much memory has of it: the part of the budget for the block
    unfiled: int = 0  # how many messages were searched that no file holds yet
    skipped: tuple[Passage, ...] = ()  # messages that no file holds yet, left out as the question itself
    subject: tuple[str, ...] = ()  # what the question is about, as it was typed, if nothing was found
    nowhere: tuple[str, ...] = ()  # the words that no passage has, if nothing was found
    unsearched: str = ""  # why not all of memory was searched, "" if it was
    how: str = "none"  # the backend that scored, or "literal"; "none": nothing was found, "failed": the search failed
    ms: float = 0.0  # milliseconds that the search took
