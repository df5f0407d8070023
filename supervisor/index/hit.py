"""
What recall finds: a unit of memory, where it stands, and how well it answers (docs/recall.md).

What recall answers, whoever answers: the engine, a literal search, or nobody (docs/recall.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime  # noqa: TC003 - dataclass fields
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

#: memory.md; a dated file that no summary covers; a summary no wider one covers; a covered file in originals/.
Tier: TypeAlias = Literal["long_term", "dated", "summary", "original"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A message, a ``##`` section of a summary, a paragraph of a note, or a line of memory.md."""

    path: str  # from the workspace, with slashes: "memory/2026-01-28-deploy.md"
    start: int  # first line, 1-based
    end: int  # last line, inclusive
    text: str  # the words, without marks of ours
    tier: Tier
    day: date | None = None  # local day, None for memory.md lines without one
    at: datetime | None = None  # of a message
    role: str = ""  # of a message, "" elsewhere
    message: str = ""  # id of a message
    session: str = ""
    chat: str = "direct"  # "direct" | "group" | "channel"
    shared: bool = False  # marked for groups too


@dataclass(frozen=True, slots=True)
class Hit:
    """A unit that answers, with its score (0 and more; 0 marks a literal find) and what raised it."""

    unit: Unit
    score: float
    because: tuple[str, ...] = ()  # "words: 备份, nas", "day 2026-01-28", "role assistant", "window", "literal"


class Found(Protocol):
    """What was found."""

    @property
    def hits(self) -> Sequence[Hit]:
        """The units that answer, the best first."""
        ...

    @property
    def terms(self) -> Sequence[str]:
        """The words that were searched for, as the tokeniser spells them."""
        ...

    @property
    def dates(self) -> Sequence[object]:
        """The days that the question names."""
        ...

    @property
    def files(self) -> int:
        """How many files were searched."""
        ...

    @property
    def how(self) -> str:
        """The way it was found."""
        ...

    @property
    def ms(self) -> float:
        """Milliseconds that it took."""
        ...


@dataclass(frozen=True, slots=True)
class Nothing:
    """A recall that brought nothing; *how* says why."""

    how: str
    hits: tuple[Hit, ...] = ()
    terms: tuple[str, ...] = ()
    dates: tuple[object, ...] = ()
    files: int = 0
    ms: float = 0.0
