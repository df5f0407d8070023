"""What recall answers, whoever answers: the engine, a literal search, or nobody (docs/recall.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.policy.hit import Hit


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
