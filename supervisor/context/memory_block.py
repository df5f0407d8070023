"""
A memory block while it is filled: lines in their files, runs of neighbours behind one tag, and what all of it costs.

Which of what was found goes into the memory block, so that it is well filled and never too large (003, 上下文注入预算).

By default a hit is a source *file* with those of its lines that answer, at most five files: the best first, within a file in
the order of time, each run of neighbours one entry with one tag. A file is as good as its best line, and a little better for
each other one. `hit = "line"` is 003 to the letter: five lines. Lines are taken by rank, and a smaller one still goes in where
a larger one before it did not. The budget is a ceiling, header and tags counted; `max_chars` is 001's clamp: whole snippets
while they fit, then one cut snippet, then none.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from supervisor.context.render import BETWEEN, HEADER, NOTE, Language, entry, nameless, shown, spoken, tag
from supervisor.text.token_count import estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.index.hit import Hit, Unit

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


#: A cut snippet shorter than this says nothing.
_LEAST_CHARS: Final = 20
#: Of the budget, what one message may take in full length where a hit is a file. A longer one is cut at line_chars.
_WHOLE_SHARE: Final = 0.25
#: What the next best line of a file adds to the file, beside the one before it (docs/recall.md).
_NEXT_LINE: Final = 0.3


@dataclass(frozen=True, slots=True)
class Block:
    """The block, "" where nothing goes in; what it shows by rank, and what it leaves out, with the reason."""

    text: str = ""
    tokens: int = 0
    entries: int = 0
    shown: tuple[Hit, ...] = ()
    left_out: tuple[tuple[Hit, str], ...] = ()


def pack(hits: Sequence[Hit], terms: Sequence[str], limits: Limits) -> Block:
    """
    Return the memory block of what was found; *terms* are the words that a longer line is cut around.

    Ties of score keep their order. Left out are: "same words" already there, more "files" (or "lines") than may be,
    what passes the budget of "tokens" or of "characters".
    """
    empty = [(hit, "empty") for hit in hits if not hit.unit.text.strip()]
    ranked, same = _once(sorted((hit for hit in hits if hit.unit.text.strip()), key=lambda hit: -hit.score))
    page = Page(limits)
    left = _fill(page, ranked, terms)
    left_out = (*((ranked[rank], left[rank]) for rank in sorted(left)), *((hit, "same words") for hit in same), *empty)
    if not page.order:
        return Block(left_out=left_out)
    text, hits = page.text(), [line.hit for line in sorted(page.order, key=lambda line: line.rank)]
    return Block(text, page.measure(), len(page.entries()), tuple(hits), left_out)


def _once(hits: Sequence[Hit]) -> tuple[list[Hit], list[Hit]]:
    """Return the hits, and those whose place, or whose words of that day and speaker, a better one has."""
    met: set[tuple[object, ...]] = set()
    kept: list[Hit] = []
    same: list[Hit] = []
    for hit in hits:
        unit = hit.unit
        keys = {(unit.path, unit.start, unit.end), (unit.day, unit.role, unit.text)}
        (same if met & keys else kept).append(hit)
        met |= keys
    return kept, same


def _fill(page: Page, hits: Sequence[Hit], terms: Sequence[str]) -> dict[int, str]:
    """Take by rank what fits, then what fits into what rounding had counted too high; return who is left, and why."""
    pencil = _Pencil(page, hits, terms)
    left = dict.fromkeys(range(len(hits)), "tokens")
    first = _best_files(page, hits)
    spare, taken = 0, -1
    while first or taken < len(page.order):
        taken = len(page.order)
        for rank in [rank for rank, why in left.items() if why == "tokens"]:
            if page.is_full(hits[rank]):
                left[rank] = "files" if page.limits.hit == "file" else "lines"
                continue
            if first and page.group(hits[rank]) not in first:
                continue
            line = pencil.fitting(rank, page.limits.tokens - page.tokens + spare)
            if not line:
                continue
            page.put(line)
            if page.limits.max_chars and not page.fits():
                page.take_back()
                if pencil.cut(rank):
                    del left[rank]
                return {other: "characters" if why == "tokens" else why for other, why in left.items()}
            del left[rank]
        while page.order and not page.fits():  # the sum of the parts is a ceiling; this makes it a promise
            left[page.take_back().rank] = "tokens"
        spare = page.tokens - page.measure()
        if first:  # where one of them has no line that fits, another file may come in
            first, taken = frozenset(), -1
    if hits and not page.order and pencil.cut(0):  # a budget below one line
        del left[0]
    return left


def _best_files(page: Page, hits: Sequence[Hit]) -> frozenset[object]:
    """Return the groups that come first, as many as may be; none where every one may."""
    worth: dict[object, float] = {}
    share: dict[object, float] = {}
    for hit in hits:
        group = page.group(hit)
        share[group] = share[group] * _NEXT_LINE if group in share else 1.0
        worth[group] = worth.get(group, 0.0) + share[group] * hit.score
    most = page.limits.max_hits
    return frozenset(sorted(worth, key=lambda group: -worth[group])[:most]) if 0 < most < len(worth) else frozenset()


class _Pencil:
    """Writes hits as lines, each once at each length."""

    def __init__(self, page: Page, hits: Sequence[Hit], terms: Sequence[str]) -> None:
        self._page, self._hits, self._terms = page, hits, terms
        self._lines: dict[tuple[int, int], Line] = {}
        self._least: dict[int, float] = {}
        self._whole_tokens = page.limits.tokens * _WHOLE_SHARE if page.limits.hit == "file" else 0.0

    def line(self, rank: int, chars: int) -> Line:
        """Return the hit as a line of at most *chars* characters, 0: whole."""
        if (rank, chars) not in self._lines:
            unit = self._hits[rank].unit
            text = spoken(unit.role, shown(unit.text, chars, self._terms))
            self._lines[rank, chars] = self._page.line(rank, self._hits[rank], text)
        return self._lines[rank, chars]

    def fitting(self, rank: int, room: int) -> Line | None:
        """Return the line in at most *room* tokens: whole where it may be, else cut at line_chars; None where neither fits."""
        text, chars, least = self._hits[rank].unit.text, self._page.limits.line_chars, self._least_tokens(rank)
        if not 0 < chars < len(text):
            return self._within(rank, 0, room) if least <= room else None
        if least <= self._whole_tokens and least <= room:
            whole = self._within(rank, 0, min(room, int(self._whole_tokens)))
            if whole:
                return whole
        return self._within(rank, chars, room) if least * chars / len(text) / 2 <= room else None

    def _within(self, rank: int, chars: int, room: int) -> Line | None:
        line = self.line(rank, chars)
        return line if self._page.cost(line) <= room else None

    def _least_tokens(self, rank: int) -> float:
        """Return a number of tokens that the text surely has, quickly: its words, and its characters of other scripts."""
        if rank not in self._least:
            text = self._hits[rank].unit.text
            others = len(text.encode("utf-8", "surrogatepass")) - len(text)  # two bytes more for a Han character
            self._least[rank] = text.count(" ") + min(1.0, self._page.limits.cjk_weight) * others / 2
        return self._least[rank]

    def cut(self, rank: int) -> bool:
        """Put the hit on the page with as many characters as fit, where that still says anything; tell whether."""
        low, high, page = _LEAST_CHARS, len(self._hits[rank].unit.text) - 1, self._page
        fitting = 0
        while low <= high:
            middle = (low + high) // 2
            page.put(self.line(rank, middle))
            if page.fits():
                fitting, low = middle, middle + 1
            else:
                high = middle - 1
            page.take_back()
        if fitting:
            page.put(self.line(rank, fitting))
        return fitting > 0
