"""A memory block while it is filled: lines in their files, runs of neighbours behind one tag, and what all of it costs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from supervisor.policy.render import BETWEEN, HEADER, NOTE, Language, entry, nameless, tag
from supervisor.text.tokens import estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.policy.hit import Hit, Unit

#: Lines from the end of a message's words to the words of the next, at most: blank, comment, time, blank, fence.
_NEXT_MESSAGE: Final = 6
_NEXT_SECTION: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a memory block may be; defaults are 003's, but for `hit`."""

    tokens: int = 2048
    max_hits: int = 5  # 0: no limit
    hit: Literal["file", "line"] = "file"
    line_chars: int = 300  # 0: every message whole, however few then fit
    max_chars: int = 0  # of the block, header and tags counted (001); 0: no limit
    citations: bool = True
    names: bool = True  # of dated files; their words may come from what the hearers did not hear
    cjk_weight: float = 1.0
    language: Language = "en"


@dataclass(frozen=True, slots=True)
class Line:
    """A hit as it stands in an entry, its rank, and at most how many tokens it adds there."""

    rank: int
    hit: Hit
    text: str
    tokens: int


@dataclass(slots=True)
class Page:
    """
    The block. *groups* are the hits of 003, in the order in which they came: files, or single lines.

    *tokens* is at least what the text costs: parts are rounded up one by one.
    """

    limits: Limits
    groups: dict[object, list[Line]] = field(default_factory=dict)
    order: list[Line] = field(default_factory=list)
    tokens: int = 0
    _costs: Counter[object] = field(default_factory=Counter)
    _head_tokens: int = 0
    _known: dict[str, int] = field(default_factory=dict)  # estimates of tags and entries

    def __post_init__(self) -> None:
        self.tokens = self._head_tokens = self.estimate(self._head())

    def estimate(self, text: str) -> int:
        """Return about how many tokens the text is."""
        return estimate(text, self.limits.cjk_weight)

    def line(self, rank: int, hit: Hit, text: str) -> Line:
        """Return the line that *text* makes."""
        return Line(rank, hit, text, self.estimate(BETWEEN + text))

    def group(self, hit: Hit) -> object:
        """Return what the hit is counted with: its file, or itself."""
        unit = hit.unit
        return unit.path if self.limits.hit == "file" else (unit.path, unit.start, unit.end)

    def is_full(self, hit: Hit) -> bool:
        """Tell whether the hit would be one more than may be."""
        return 0 < self.limits.max_hits <= len(self.groups) and self.group(hit) not in self.groups

    def cost(self, line: Line) -> int:
        """Return at most how many tokens more the block is with the line."""
        group = self.group(line.hit)
        return self._cost([*self.groups.get(group, ()), line]) - self._costs[group]

    def put(self, line: Line) -> None:
        """Add the line."""
        group = self.group(line.hit)
        self.groups.setdefault(group, []).append(line)
        self.order.append(line)
        self._count(group)

    def take_back(self) -> Line:
        """Remove the line that was added last, and return it."""
        line = self.order.pop()
        group = self.group(line.hit)
        self.groups[group].pop()
        self._count(group)
        if not self.groups[group]:
            del self.groups[group]
        return line

    def measure(self) -> int:
        """Return the tokens of the block as it stands, rounded up entry by entry: a ceiling, and closer than *tokens*."""
        return self._head_tokens + sum(self._estimated(line) + 1 for line in self.entries())

    def fits(self) -> bool:
        """Tell whether the text keeps both ceilings."""
        within = not self.limits.max_chars or len(self.text()) <= self.limits.max_chars
        return within and self.measure() <= self.limits.tokens

    def entries(self) -> list[str]:
        """Return the lines below the note, groups in their order, within a file the order of time."""
        runs = (run for lines in self.groups.values() for run in _runs(lines))
        return [entry(self._tag(run), [line.text for line in run]) for run in runs]

    def text(self) -> str:
        """Return the whole block."""
        return self._head() + "".join(f"{line}\n" for line in self.entries())

    def _head(self) -> str:
        return f"{HEADER}\n{NOTE[self.limits.language]}\n"

    def _count(self, group: object) -> None:
        cost = self._cost(self.groups[group])
        self.tokens += cost - self._costs[group]
        self._costs[group] = cost

    def _cost(self, lines: Sequence[Line]) -> int:
        """Return at most how many tokens the lines of one file cost, tags and line breaks counted."""
        return sum(self._estimated(self._tag(run)) + 1 for run in _runs(lines)) + sum(line.tokens for line in lines)

    def _tag(self, run: Sequence[Line]) -> str:
        first = run[0].hit.unit
        path = first.path if self.limits.names else nameless(first.path)
        return tag(path, first.start, max(line.hit.unit.end for line in run), lines=self.limits.citations)

    def _estimated(self, text: str) -> int:
        if text not in self._known:
            self._known[text] = self.estimate(text)
        return self._known[text]


def _runs(lines: Sequence[Line]) -> list[list[Line]]:
    """Return the lines of one file in order, in runs of neighbours."""
    runs: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: (line.hit.unit.start, line.hit.unit.end)):
        if runs and _are_neighbours(runs[-1][-1].hit.unit, line.hit.unit):
            runs[-1].append(line)
        else:
            runs.append([line])
    return runs


def _are_neighbours(one: Unit, other: Unit) -> bool:
    """Tell whether nothing stands between two units of a file."""
    between = other.start - one.end
    if one.message and other.message:
        return between <= _NEXT_MESSAGE
    return between <= (_NEXT_SECTION if one.tier == other.tier == "summary" else 1)
