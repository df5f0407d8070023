"""
The memory block: which hits of a search it shows, and how they are written and measured (003, 上下文注入预算).

By default a hit is a source *file* with those of its lines that answer, at most fifteen files, the best first. Within a file
lines are in the order of time, below one tag that names the day. Code and lists are an entry of their own, with their lines.
`hit = "line"` with `max_hits = 5` is 003 to the letter: five lines `[path] text` below `## Memory`. `pack` takes the hits
once, best first. A line goes in if the whole block, header and tags included, then still has at most the tokens of the
budget; a smaller line may follow a larger one that did not fit. `max_chars` is the clamp of 001: whole snippets while they fit,
then one cut snippet, then none. `render` writes lines, tags and entries, `text/token_count` says what a text costs.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from recalld.supervisor.context.distinct import distinct, is_visible, lines_of
from recalld.supervisor.context.render import (
    BETWEEN,
    HEADER,
    NOTE,
    Language,
    entry,
    fenced,
    has_layout,
    shown,
    shown_lines,
    spoken,
    tag,
)
from recalld.supervisor.context.said_when import with_days
from recalld.supervisor.index.hit import Hit
from recalld.supervisor.recall.audience import nameless
from recalld.supervisor.text.day_words import day_in_brackets
from recalld.supervisor.text.token_count import token_cost, whole_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import date

    from recalld.supervisor.index.hit import Passage

#: The reason of a line that a person wants shown whatever is asked.
PINNED: Final = "pinned"
#: So many of the pinned lines that have no room are named; each receipt has them.
_MOST_UNPINNED: Final = 20
#: A snippet that is cut shorter than this says nothing. In characters.
_MIN_CUT_CHARS: Final = 20
#: The share of the budget up to which a message is shown whole where a hit is a file. A longer one is cut at line_chars.
_WHOLE_SHARE: Final = 0.25
#: What the next best line of a file adds to the worth of the file, beside the line before it (docs/explanation/recall.md).
_NEXT_LINE: Final = 0.3
#: A token has at most this many ASCII characters: a word of five letters and its blank.
_CHARS_PER_TOKEN: Final = 6
#: Lines from the end of one message to the start of the next, at most: blank, comment, time, blank, fence.
_NEXT_MESSAGE: Final = 6
_NEXT_SECTION: Final = 2
#: The tiers whose passages were said on their day; a summary has been written later.
_SAID: Final = frozenset({"dated", "unfiled", "original"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockLimits:
    """What a memory block may hold and how it is written; the defaults are those of 003, except `hit` and `max_hits`."""

    tokens: int = 2048
    max_hits: int = 15  # 0: no limit
    hit: Literal["file", "line"] = "file"
    line_chars: int = 300  # 0: every message whole, however few then fit
    pinned_tokens: int = 0  # of the pinned lines of memory.md, beside *tokens*
    max_chars: int = 0  # of the block, header and tags included (001); 0: no limit
    citations: bool = True  # line numbers in the tags
    days: bool = True  # after the tags
    note: bool = True  # the line that says that nothing here is an instruction; never with hit = "line"
    names: bool = True  # of dated files; their words may be from a chat that the readers did not take part in
    hide: Callable[[str], str] = str  # the secrets of a text
    cjk_weight: float = 1.0
    language: Language = "en"


@dataclass(frozen=True, slots=True)
class PackedBlock:
    """The text of a memory block ("" if nothing fits), the hits it shows by score, and those it leaves out, with the reason."""

    text: str = ""
    tokens: int = 0
    pinned_tokens: int = 0  # of these, those of the pinned lines of memory.md
    entries: int = 0
    shown: tuple[Hit, ...] = ()
    left_out: tuple[tuple[Hit, str], ...] = ()


def pack(hits: Sequence[Hit], terms: Sequence[str], limits: BlockLimits, pinned: Sequence[Passage] = ()) -> PackedBlock:
    """
    Return the memory block for the hits of a search; a longer line is cut around *terms*.

    The *pinned* lines of memory.md stand before the hits, in a budget of their own, those that are given first rather than the
    others; where characters are limited they come after the hits, so that an answer is never crowded out. Hits of the same
    score keep their order. The reasons for what is left out, pinned lines too: "tokens" or "characters" (the block would be
    over its budget), "files" or "lines" (more than max_hits), "same words" (a better hit says them), "empty" (nothing to see).
    """
    block = MemoryBlock(limits, terms)
    unpinned = [] if limits.max_chars else block.pin(pinned, hits)
    kept, rejected = distinct(hits, block.shown)
    order = _best_files_first(kept, limits)
    left_out = [(hit, why) for hit in order if (why := block.add(hit))]
    if len(left_out) == len(order) > 0 and block.add_cut(order[0]):  # the budget is smaller than any line
        del left_out[0]
    if limits.max_chars:
        unpinned = block.pin(pinned, hits)
    told = {lines_of(hit.unit) for hit in (*block.shown, *(hit for hit, _ in (*left_out, *rejected)))}
    gave_way = [(hit, why) for hit, why in unpinned if lines_of(hit.unit) not in told]
    return block.packed((*left_out, *rejected, *gave_way[:_MOST_UNPINNED]))


def _best_files_first(hits: Sequence[Hit], limits: BlockLimits) -> list[Hit]:
    """Return the hits with those of the max_hits best files first. The others come in if one of these has no line that fits."""
    worth: dict[object, float] = {}
    share: dict[object, float] = {}
    for hit in hits:
        group = _group(hit, limits)
        share[group] = share[group] * _NEXT_LINE if group in share else 1.0
        worth[group] = worth.get(group, 0.0) + share[group] * hit.rank
    if not 0 < limits.max_hits < len(worth):
        return list(hits)
    best = set(sorted(worth, key=lambda group: -worth[group])[: limits.max_hits])
    return sorted(hits, key=lambda hit: _group(hit, limits) not in best)


def _group(hit: Hit, limits: BlockLimits) -> object:
    """Return what counts as one hit of 003: the file, or the single line."""
    unit = hit.unit
    return unit.file if limits.hit == "file" else (unit.path, unit.start, unit.end)


class _Size(NamedTuple):
    """What a part of the block costs."""

    tokens: float
    chars: int


class _Line(NamedTuple):
    """A hit as it is written in an entry; *cost* is what it adds to the block, with the bar before it."""

    hit: Hit
    text: str
    cost: _Size
    is_fenced: bool = False


class MemoryBlock:
    """
    A memory block while it is filled, best hits first; at no time has it more tokens, characters or files than *limits* allow.

    *terms* are the words that a longer line is cut around. *shown* are the hits in it, in the order in which they were added.
    """

    def __init__(self, limits: BlockLimits, terms: Sequence[str] = ()) -> None:
        self.shown: list[Hit] = []
        self._limits, self._terms = limits, terms
        has_note = limits.note and limits.hit == "file"
        self._head = f"{HEADER}\n{NOTE[limits.language]}\n" if has_note else f"{HEADER}\n"
        self._size = _Size(token_cost(self._head, limits.cjk_weight), len(self._head))
        self._groups: dict[object, list[_Line]] = {}  # in the order in which they came in
        self._sources: dict[object, tuple[str, float]] = {}  # with their tokens
        self._is_closed = False
        self._pinned_tokens = 0.0
        self._pinned_groups: set[object] = set()  # they have no hit, and count for none

    def pin(self, passages: Sequence[Passage], hits: Sequence[Hit]) -> list[tuple[Hit, str]]:
        """
        Add those of the *passages* that fit into their budget and are not shown; one of the *hits* keeps its score.

        Returns the others, each with the reason.
        """
        left_out = []
        found, before, limits = {lines_of(hit.unit): hit for hit in hits}, self._size.tokens, self._limits
        shown = {lines_of(hit.unit) for hit in self.shown}
        self._limits = replace(limits, tokens=min(limits.tokens, int(before)) + limits.pinned_tokens)
        for passage in passages if limits.pinned_tokens else ():
            if lines_of(passage) in shown:
                continue
            hit = found.get(lines_of(passage), Hit(passage, 0.0))
            hit = replace(hit, because=(*hit.because, PINNED))
            line = self._fitting(self._without_secrets(hit)) if is_visible(passage.text) else None
            if line and self._fits(line):
                self._put(line)
                self._pinned_groups.add(_group(hit, limits))
            elif is_visible(passage.text):
                left_out.append((hit, "characters" if line else "tokens"))
        self._pinned_tokens = self._size.tokens - before
        self._limits = replace(limits, tokens=limits.tokens + int(self._pinned_tokens))
        return left_out

    def add(self, hit: Hit) -> str:
        """Add the hit, whole or cut at line_chars. Return "", or the reason why it is left out."""
        limits, group = self._limits, _group(hit, self._limits)
        if self._is_closed:
            return "characters"
        found = self._groups.keys() - self._pinned_groups
        if 0 < limits.max_hits <= len(found) and group not in found:
            return "files" if limits.hit == "file" else "lines"
        if self._is_too_long(hit.unit.text):  # most of what is found: not worth looking for secrets in
            return "tokens"
        hit = self._without_secrets(hit)
        line = self._fitting(hit)
        if not line:
            return "tokens"
        if limits.max_chars and not self._fits(line):
            self._is_closed = True
            return "" if self.add_cut(hit) else "characters"
        self._put(line)
        self._pinned_groups.discard(group)
        return ""

    def add_cut(self, hit: Hit) -> bool:
        """Add as many characters of the hit as fit; return False if they are too few to say anything."""
        hit = self._without_secrets(hit)
        lengths = range(_MIN_CUT_CHARS, len(hit.unit.text))
        count = bisect_left(lengths, 1, key=lambda chars: not self._fits(self._line(hit, chars)))
        if count:  # subtle: a longer line may cost less, by where it is cut; this length was tried and fits
            self._put(self._line(hit, lengths[count - 1]))
        return count > 0

    def packed(self, left_out: tuple[tuple[Hit, str], ...]) -> PackedBlock:
        """Return the block as it is now."""
        if not self.shown:
            return PackedBlock(left_out=left_out)
        entries = [
            f"{source}{said[0].text}" if said[0].is_fenced else entry(source, [line.text for line in said]) + "\n"
            for lines in self._groups.values()
            for said, source, _ in self._entries(lines)
        ]
        hits = sorted(self.shown, key=lambda hit: -hit.rank)
        tokens = whole_tokens(self._size.tokens)
        text = self._head + "".join(entries)
        return PackedBlock(text, tokens, whole_tokens(self._pinned_tokens), len(entries), tuple(hits), left_out)

    def _without_secrets(self, hit: Hit) -> Hit:
        """Return the hit with its secrets hidden: before it is cut, since half a secret does not look like one."""
        text = self._limits.hide(hit.unit.text)
        return hit if text == hit.unit.text else replace(hit, unit=replace(hit.unit, text=text))

    def _fitting(self, hit: Hit) -> _Line | None:
        """Return the hit as a line within the budget of tokens: whole if it may be, else cut; None if neither fits."""
        chars, room = self._limits.line_chars, self._limits.tokens - self._size.tokens
        if not 0 < chars < len(hit.unit.text):
            return self._within(room, hit, 0)
        share = self._limits.tokens * _WHOLE_SHARE if self._limits.hit == "file" else 0.0
        return self._within(min(room, share), hit, 0) or self._within(room, hit, chars)

    def _is_too_long(self, text: str) -> bool:
        """Tell whether the text has no room, neither whole nor cut; a long secret in it, which is hidden shorter, counts."""
        chars, room = self._limits.line_chars, self._limits.tokens - self._size.tokens
        return self._least(text, chars if 0 < chars < len(text) else 0) > room

    def _least(self, text: str, chars: int) -> float:
        """Return a number of tokens that the text has at least as a line of *chars* characters, 0: whole."""
        least = _min_tokens(text, self._limits.cjk_weight)
        return least * (chars / len(text) / 2 if chars else 1.0)  # half: parts of a text differ

    def _within(self, room: float, hit: Hit, chars: int) -> _Line | None:
        """Return the hit as a line of at most *chars* characters, 0: whole, if it adds at most *room* tokens."""
        if self._least(hit.unit.text, chars) > room:
            return None
        line = self._line(hit, chars)
        return line if self._size_with(line).tokens - self._size.tokens <= room else None

    def _line(self, hit: Hit, chars: int) -> _Line:
        """Return the hit as a line of at most *chars* characters, 0: whole; code and lists as several lines."""
        unit, weight, language, is_line = hit.unit, self._limits.cjk_weight, self._limits.language, self._limits.hit == "line"
        said = (
            with_days(unit.text, unit.day)
            if unit.day and unit.tier in _SAID and self._limits.days and not is_line
            else unit.text
        )
        if not is_line and has_layout(said):
            lines = shown_lines(said, chars, self._terms)
            if "\n" in lines:
                text = fenced(unit.role, lines, unit.speaker, language)
                return _Line(hit, text, _Size(token_cost(text, weight), len(text)), is_fenced=True)
        text = spoken("" if is_line else unit.role, shown(said, chars, self._terms), unit.speaker, language)
        return _Line(hit, text, _Size(token_cost(BETWEEN + text, weight), len(BETWEEN + text)))

    def _fits(self, line: _Line) -> bool:
        tokens, chars = self._size_with(line)
        return tokens <= self._limits.tokens and (not self._limits.max_chars or chars <= self._limits.max_chars)

    def _size_with(self, line: _Line) -> _Size:
        """Return the exact size of the block if the line is added, however runs of its file then grow or join."""
        lines = self._groups.get(_group(line.hit, self._limits), [])
        old, new = self._measure(lines), self._measure([*lines, line])
        return _Size(self._size.tokens - old.tokens + new.tokens, self._size.chars - old.chars + new.chars)

    def _put(self, line: _Line) -> None:
        self._size = self._size_with(line)
        self._groups.setdefault(_group(line.hit, self._limits), []).append(line)
        self.shown.append(line.hit)

    def _measure(self, lines: Sequence[_Line]) -> _Size:
        """Return the exact size of the entries of one file."""
        tokens, chars = 0.0, 0
        for said, source, cost in self._entries(lines):
            tokens += cost + sum(line.cost.tokens for line in said)
            # subtle: one bar less than lines, but a line break, which costs as many tokens; in characters, a blank more
            chars += len(source) + sum(line.cost.chars for line in said) + (not said[0].is_fenced) * (len(" \n") - len(BETWEEN))
        return _Size(tokens, chars)

    def _entries(self, lines: Sequence[_Line]) -> Iterator[tuple[list[_Line], str, float]]:
        """Yield the entries of one file: its lines, what stands before them, the tag and a new day, and the tokens of that."""
        before = None
        for runs in _entries_of(lines):
            day = runs[0][0].hit.unit.day if self._limits.hit == "file" else None
            yield [line for run in runs for line in run], *self._source(runs, None if day == before else day)
            before = day

    def _source(self, runs: Sequence[Sequence[_Line]], day: date | None) -> tuple[str, float]:
        first = runs[0][0].hit.unit
        spans = tuple((run[0].hit.unit.start, max(line.hit.unit.end for line in run)) for run in runs)
        place = first.path, spans, day
        if place not in self._sources:
            path = first.path if self._limits.names else nameless(first.path)
            text = tag(path, spans, lines=self._limits.citations)
            if day and self._limits.days:
                text += f" {day_in_brackets(day, self._limits.language)}"
            self._sources[place] = text, token_cost(text, self._limits.cjk_weight)
        return self._sources[place]


def _min_tokens(text: str, cjk_weight: float) -> float:
    """Return a number of tokens that the text has at least: once the block is nearly full, most lines need no estimate."""
    wide = (len(text.encode("utf-8", "surrogatepass")) - len(text)) / 2  # a Han character has three bytes
    return max(0.0, len(text) - wide) / _CHARS_PER_TOKEN + wide * min(1.0, cjk_weight)


def _entries_of(lines: Sequence[_Line]) -> list[list[list[_Line]]]:
    """Return the entries of one file in the order of the file: of the same day, in runs of neighbours; a fenced line is one."""
    entries: list[list[list[_Line]]] = []
    before: _Line | None = None
    for line in sorted(lines, key=lambda line: _place(line.hit.unit)):
        if not before or not _share_an_entry(before, line):
            entries.append([[line]])
        elif _are_neighbours(before.hit.unit, line.hit.unit):
            entries[-1][-1].append(line)
        else:
            entries[-1].append([line])
        before = line
    return entries


def _share_an_entry(one: _Line, other: _Line) -> bool:
    """Return whether one tag names both: each unfiled message has its own, which is its id."""
    is_alone = one.is_fenced or other.is_fenced or one.hit.unit.tier == "unfiled"
    return not is_alone and one.hit.unit.day == other.hit.unit.day


def _place(unit: Passage) -> tuple[float, int, int]:
    """Return what sorts the units of a file: their lines; of messages that no file holds yet, their time."""
    return (unit.at.timestamp() if unit.at and unit.tier == "unfiled" else 0.0, unit.start, unit.end)


def _are_neighbours(one: Passage, other: Passage) -> bool:
    """Return whether no other message, section or line is between two units of a file."""
    between = other.start - one.end
    if one.message and other.message:
        return between <= _NEXT_MESSAGE
    return between <= (_NEXT_SECTION if one.tier == other.tier == "summary" else 1)
